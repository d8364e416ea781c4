"""Many seeds in one test: those that fail tell what is wrong, and how to see them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Outcome(Protocol):
    """What came of a seed; `violations` is empty when all is well."""

    seed: int
    violations: tuple[str, ...]


def assert_sound(outcomes: Sequence[Outcome], script: str, options: str = "") -> None:
    """See that nothing is wrong with any; `script` of `scripts/` replays a seed."""
    failed = [outcome for outcome in outcomes if outcome.violations]
    lines = [f"{outcome}\n  replay: .venv/bin/python scripts/{script} {outcome.seed}{options}" for outcome in failed]
    assert not failed, "\n".join([f"{len(failed)} of {len(outcomes)} seeds failed", *lines])
