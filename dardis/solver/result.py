"""The outcome of a bounded solver run, and the thread that it runs in."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator


class SolverStatus(StrEnum):
    """What a run knows at its end."""

    OPTIMAL = "optimal"
    """A solution, and none is better."""
    FEASIBLE = "feasible"
    """A solution; a better one may exist."""
    INFEASIBLE = "infeasible"
    """There is no solution."""
    UNKNOWN = "unknown"
    """None was found, nothing is proven: the caller needs an answer of its own."""


class Ended(StrEnum):
    """Why a run ended."""

    PROVEN = "proven"
    """Nothing was left to search."""
    BUDGET = "budget"
    """Its deterministic time was spent: the next run with the same inputs ends the same."""
    GUARD = "guard"
    """The wall clock stopped it: the next run may get further."""
    STOPPED = "stopped"
    """The caller stopped it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of a run. `deterministic_s` is work counted in about seconds, `guard_s` seconds of the wall clock."""

    deterministic_s: float
    guard_s: float = math.inf
    workers: int = 1
    """Searches that take turns, in a fixed order; one alone has no large neighbourhood search."""
    seed: int = 1
    conflicts: int | None = None
    """Dead ends that are met at most (None: any number), where the solver counts them."""
    linear: int | None = None
    """How much of a model the solver also relaxes to a linear one, 0 to 2 (None: as it likes)."""
    presolve: bool = True
    """Whether the solver first looks for a simpler model, as long as that may take: no bound here holds for it."""
    probing: bool = True
    """Whether the solver may try every choice before it searches: that is hardly counted as deterministic time."""
    first_only: bool = False
    """Whether the run ends with its first solution."""

    def __post_init__(self) -> None:
        """Refuse a run without bounds."""
        if not 0 < self.deterministic_s < math.inf or self.guard_s <= 0 or self.workers < 1:
            raise ValueError("a run needs a finite deterministic time above 0, a guard above 0 and a worker")


def gap(objective: float | None, bound: float | None) -> float | None:
    """Distance of an objective from its bound, relative to the objective; None where one of them is missing."""
    if objective is None or bound is None:
        return None
    return abs(bound - objective) / max(abs(objective), 1e-9)


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a run. `objective` and `bound` are None where there is none."""

    status: SolverStatus
    ended: Ended
    objective: float | None
    bound: float | None
    """No solution is better, as far as the solver's arithmetic goes."""
    deterministic_s: float | None = None
    """Work that was done, where the solver tells."""
    cpu_s: float = 0.0
    """CPU time of the run, where the solver tells."""
    found_at: tuple[float, ...] = ()
    """When solutions were found, each better than the one before, in deterministic s, where somebody has asked."""

    @property
    def found(self) -> bool:
        """Whether there is a solution."""
        return self.status in {SolverStatus.OPTIMAL, SolverStatus.FEASIBLE}

    @property
    def proven(self) -> bool:
        """Whether the solution is known to be the best."""
        return self.status is SolverStatus.OPTIMAL

    @property
    def gap(self) -> float | None:
        """Distance of the objective from the bound, relative to the objective; None where one of them is missing."""
        return gap(self.objective, self.bound)


T = TypeVar("T")


@contextmanager
def apart(work: Callable[[], T]) -> Iterator[Future[tuple[T, float]]]:
    """Run it beside this thread: its answer and CPU time, in s, are to be waited for.

    OR-Tools holds back Ctrl-C until it is done; and nobody's own CPU time counts what a solver takes.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool.submit(_timed, work)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Nothing is decided by the time."""
    whom = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    begun = resource.getrusage(whom)
    answer = work()
    ended = resource.getrusage(whom)
    return answer, ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
