from contextlib import closing

import pytest
from kit.live import Live

from dardis.live.journal import Journal


@pytest.fixture
def journal(tmp_path):
    """A new journal in the test's folder."""
    with closing(Journal(tmp_path)) as journal:
        yield journal


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A service for the tests of a module."""
    with Live(tmp_path_factory.mktemp("live")) as live:
        yield live.start()
