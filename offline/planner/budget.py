"""How much a search may do, whom it tells how far it is, and when it must end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dardis.engine.clock import monotonic_s
from offline.planner.day_problem import StoppedBy

SearchProgress = Callable[[str, float | None, float | None], None]
"""Told what is being done, the best profit so far and the bound (None: none yet)."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Bounds of a search. `iterations` is its own count, so that it ends the same wherever it runs."""

    iterations: int
    seed: int = 1


def tell_nobody(doing: str, best: float | None, bound: float | None) -> None:
    """Let progress pass."""


def never() -> bool:
    """Let the search go on."""
    return False


@dataclass
class Watch:
    """Shows progress and says when to stop: `guard_s` after it was made, by the clock, or when `stop` says so."""

    guard_s: float = math.inf
    progress: SearchProgress = tell_nobody
    stop: Callable[[], bool] = never
    stopped_by: StoppedBy = field(default=StoppedBy.DONE, init=False)
    """Why the search had to end early; DONE while it has not."""
    _began: float = field(default_factory=monotonic_s, init=False)

    @property
    def left_s(self) -> float:
        """Seconds until the guard fires."""
        return self._began + self.guard_s - monotonic_s()

    def over(self) -> bool:
        """Whether the search must end now."""
        if self.stopped_by is StoppedBy.DONE:
            if self.stop():
                self.stopped_by = StoppedBy.USER
            elif self.left_s <= 0:
                self.stopped_by = StoppedBy.TIME
        return self.stopped_by is not StoppedBy.DONE

    def part(self, share: float) -> Watch:
        """A watch for a part of the search, which may take this share of the whole time, and what is left at most."""
        return Watch(max(min(self.guard_s * share, self.left_s), 0.0), self.progress, self.stop)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Take Ctrl-C as the user's wish to end the search with the best that it has."""
        try:
            yield
        except KeyboardInterrupt:
            self.stopped_by = StoppedBy.USER
