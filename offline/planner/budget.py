"""Budget, progress and stopping of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dardis.engine.clock import monotonic_s
from offline.planner.day_problem import StoppedBy

SearchProgress = Callable[[str, float | None, float | None], None]
"""Receives activity, best profit and bound, if any."""


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Search's size, independent of the machine."""

    iterations: int
    seed: int = 1


def ignore_progress(doing: str, best: float | None, bound: float | None) -> None:
    """Ignore progress."""


def never_stop() -> bool:
    """Never stop."""
    return False


@dataclass
class Watch:
    """Reports progress, and stops a search after `guard_s` seconds or by `stop`."""

    guard_s: float = math.inf
    progress: SearchProgress = ignore_progress
    stop: Callable[[], bool] = never_stop
    stopped_by: StoppedBy = field(default=StoppedBy.DONE, init=False)
    _began: float = field(default_factory=monotonic_s, init=False)

    @property
    def left_s(self) -> float:
        """Seconds until the time limit."""
        return self._began + self.guard_s - monotonic_s()

    def over(self) -> bool:
        """Whether the search must end."""
        if self.stopped_by is StoppedBy.DONE:
            if self.stop():
                self.stopped_by = StoppedBy.USER
            elif self.left_s <= 0:
                self.stopped_by = StoppedBy.TIME
        return self.stopped_by is not StoppedBy.DONE

    def for_share(self, share: float) -> Watch:
        """Make a watch for a share of the time."""
        return Watch(max(min(self.guard_s * share, self.left_s), 0.0), self.progress, self.stop)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """End the search on Ctrl-C with the best result."""
        try:
            yield
        except KeyboardInterrupt:
            self.stopped_by = StoppedBy.USER
