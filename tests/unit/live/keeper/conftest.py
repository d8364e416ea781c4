"""Keepers that tests start, and their ends."""

import pytest
from kit.keeper import Keeper, close_all, finish


@pytest.fixture
def plain(tmp_path):
    """One without cgroups."""
    one = Keeper(tmp_path / "keeper", "--cgroups=none")
    yield one
    finish(one)


@pytest.fixture(autouse=True)
def _closes():
    yield
    close_all()
