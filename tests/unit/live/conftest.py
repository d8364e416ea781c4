from contextlib import closing

import pytest

from dardis.live.journal import Journal


@pytest.fixture
def journal(tmp_path):
    """A new journal in the test's folder."""
    with closing(Journal(tmp_path)) as journal:
        yield journal
