"""Services of the tests that were never started: a fixture may end them all the same."""

import pytest
from kit.live import Live
from kit.live_ranks import Ranks


@pytest.mark.parametrize("kind", [Live, Ranks])
def test_a_service_that_was_never_started_can_be_ended(tmp_path, kind):
    kind(tmp_path).end()
