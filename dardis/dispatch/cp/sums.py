"""The model of starts on what all nodes together have: HCP'19's (002), and a plan ahead's. Times in s from now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dardis.dispatch.cp import constraints, variables
from dardis.dispatch.cp.bound import Work
from dardis.dispatch.cp.search import Effort, search
from dardis.engine.clock import cpu_timed
from dardis.model.arrays import Ints
from dardis.solver.cpsat import new_model
from dardis.solver.result import Result

if TYPE_CHECKING:
    from dardis.dispatch.cp.objectives import Objective, Posted
    from dardis.dispatch.cp.variables import Runs
    from dardis.solver.cpsat import CpModel


@dataclass(frozen=True)
class Improved:
    """The better of an answer that was known and of what the solver has found, and what that took."""

    starts: Ints | None
    bound: float
    result: Result
    deterministic_s: float
    solver_cpu_s: float
    build_cpu_s: float


@dataclass(frozen=True)
class Sums:
    """Jobs, and what there is for them."""

    work: Work
    first: Ints
    """The earliest starts, (jobs,)."""
    latest: int
    """No job starts later."""
    late: Sequence[tuple[int, list[int]]] = ()
    """Durations and needs of others, which end at `latest`."""
    lean: bool = True
    """Whether constraints that nobody could break are left out."""

    def improve(self, objective: Objective, ours: Ints | None, bound: float, effort: Effort, seed: int) -> Improved:
        """Ask the solver for better starts than ours, which are its hint; `bound` is what is known of the objective."""
        (model, runs, posted), build_s = cpu_timed(lambda: self._built(objective, ours))
        solved, spent = search(model, effort, seed)
        result = solved.result
        if result.bound is not None:
            bound = max(bound, result.bound / posted.scale)
        best = ours
        if result.found:
            starts = solved.values(runs.start)
            if best is None or objective.value(starts) < objective.value(best):
                best = starts
        return Improved(best, bound, result, spent, result.cpu_s, build_s)

    def _built(self, objective: Objective, hint: Ints | None) -> tuple[CpModel, Runs, Posted]:
        model = new_model()
        runs = variables.runs(model, self.work.duration, self.first, self.latest, hint)
        fixed = [model.new_fixed_size_interval_var(self.latest - length, length, "") for length, _ in self.late]
        for kind in range(self.work.need.shape[1]):
            needs = [*self.work.need[:, kind].tolist(), *(need[kind] for _, need in self.late)]
            if any(needs) or not self.lean:
                most = max(0, int(self.work.free[:, kind].max()))
                constraints.cumulative(model, [*runs.interval, *fixed], needs, self._taken(kind, most), most)
        posted = objective.post(model, runs.start, self.latest, hint)
        model.minimize(posted.expression)
        return model, runs, posted

    def _taken(self, kind: int, most: int) -> list[tuple[int, int, int]]:
        """What is taken of a kind, as the constraints have it."""
        starts, free = self.work.time.tolist(), np.maximum(self.work.free[:, kind], 0).tolist()
        # What is free at last is so until everybody has ended.
        end = max(self.latest, starts[-1]) + int(self.work.duration.max(initial=0)) + 1
        return [
            (a, b, most - has)
            for a, b, has in zip(starts, [*starts[1:], end], free, strict=True)
            if has < most and a < b
        ]
