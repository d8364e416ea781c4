"""Result of a bounded solver run, and its thread."""

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
    """Knowledge at the end of a run."""

    OPTIMAL = "optimal"
    """The solution is best."""
    FEASIBLE = "feasible"
    """A better solution may exist."""
    INFEASIBLE = "infeasible"
    """No solution exists."""
    UNKNOWN = "unknown"
    """No solution found, nothing proven."""


class EndReason(StrEnum):
    """Why a run ended."""

    PROVEN = "proven"
    """Search complete."""
    BUDGET = "budget"
    """Deterministic time spent; repeatable."""
    GUARD = "guard"
    """Stopped by the wall clock."""
    STOPPED = "stopped"
    """Stopped by the caller."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Run's bounds: `deterministic_s` of work, `guard_s` of wall clock."""

    deterministic_s: float
    guard_s: float = math.inf
    workers: int = 1
    """In fixed turns; one worker has no large neighbourhood search."""
    seed: int = 1
    conflicts: int | None = None
    """Most conflicts (None: any)."""
    linear: int | None = None
    """Linear relaxation, 0 to 2 (None: solver's choice)."""
    presolve: bool = True
    """Simplify the model first; no bound limits this."""
    probing: bool = True
    """Try choices first; hardly counted as deterministic time."""
    first_only: bool = False
    """End with the first solution."""

    def __post_init__(self) -> None:
        if not 0 < self.deterministic_s < math.inf or self.guard_s <= 0 or self.workers < 1:
            raise ValueError("a run needs a finite deterministic time above 0, a time limit above 0 and a worker")


def gap(objective: float | None, bound: float | None) -> float | None:
    """Relative gap of objective and bound, or None."""
    if objective is None or bound is None:
        return None
    return abs(bound - objective) / max(abs(objective), 1e-9)


@dataclass(frozen=True, slots=True)
class Result:
    """Run's outcome."""

    status: SolverStatus
    ended: EndReason
    objective: float | None
    bound: float | None
    """Bound within the solver's arithmetic."""
    deterministic_s: float | None = None
    """Work done."""
    cpu_s: float = 0.0
    found_at: tuple[float, ...] = ()
    """Deterministic s of each improvement, if requested."""

    @property
    def found(self) -> bool:
        """Whether a solution exists."""
        return self.status in {SolverStatus.OPTIMAL, SolverStatus.FEASIBLE}

    @property
    def proven(self) -> bool:
        """Whether the solution is proven best."""
        return self.status is SolverStatus.OPTIMAL

    @property
    def gap(self) -> float | None:
        """Relative gap, or None."""
        return gap(self.objective, self.bound)


T = TypeVar("T")


@contextmanager
def run_in_thread(work: Callable[[], T]) -> Iterator[Future[tuple[T, float]]]:
    """Run `work` in a thread; the future gives answer and CPU time, in s."""
    # OR-Tools blocks Ctrl-C until done, and the caller's CPU time excludes solver work.
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool.submit(_timed, work)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    whom = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    begun = resource.getrusage(whom)
    answer = work()
    ended = resource.getrusage(whom)
    return answer, ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
