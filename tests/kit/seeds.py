"""Many seeds in one test: those that fail tell what is wrong, and how to see them again."""

from collections.abc import Iterable
from typing import Any


def assert_sound(outcomes: Iterable[Any], script: str, options: str = "") -> None:
    """See that no outcome of a seed has `violations`; `scripts/lab/run replay` shows a seed of the kind `script`."""
    failed = [outcome for outcome in outcomes if outcome.violations]
    lines = [f"{outcome}\n  replay: scripts/lab/run replay {script} {outcome.seed}{options}" for outcome in failed]
    assert not failed, "\n".join([f"{len(failed)} of {len(outcomes)} seeds failed", *lines])
