"""Keepers that tests start, and their ends."""

import pytest
from kit.keeper import Keeper, close_all


@pytest.fixture
def plain(tmp_path):
    """One without cgroups."""
    with Keeper(tmp_path / "keeper", "--cgroups=none") as one:
        yield one


@pytest.fixture(autouse=True)
def _closes():
    yield
    close_all()
