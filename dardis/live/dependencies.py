"""What keeps the jobs of a submission from starting: ends of others, and how many of an array may run at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from dardis.live.jobs import LiveJob, State, Submission


@dataclass(slots=True)
class Open:
    """A submission not all of whose jobs are over."""

    submission: Submission
    jobs: list[LiveJob]
    waits_for: set[int] = field(default_factory=set)
    """Numbers of the jobs on whose end it depends; an array's first stands for all of it."""
    admitted: int = 0
    """How many of its jobs are with those who decide, or run."""
    behind: deque[LiveJob] = field(default_factory=deque)
    """Those of an array that wait until fewer of it run."""
    left: int = 0
    """How many are not over."""

    @property
    def is_full(self) -> bool:
        """Whether as many of it as may run at once are with those who decide."""
        array = self.submission.asked.array
        return array is not None and array.most is not None and self.admitted >= array.most

    @property
    def waits_in_words(self) -> str:
        """What it waits for; empty: for nobody's end."""
        if not self.waits_for:
            return ""
        return "waits for the end of " + ", ".join(f"job {number}" for number in sorted(self.waits_for))


def meets(kind: str, states: Iterable[State]) -> bool:
    """Whether those that depend so on jobs may begin, as these have ended."""
    match kind:
        case "ok":
            return all(state is State.COMPLETED for state in states)
        case "fail":
            return any(state not in (State.COMPLETED, State.CANCELLED) for state in states)
    return True
