"""A better plan from a constraint solver: the model of sums (`cp/sums.py`) with the plan's own weights and profile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.dispatch.cp.bound import Work
from dardis.dispatch.cp.objectives import WeightedStarts
from dardis.dispatch.cp.search import Effort
from dardis.dispatch.cp.sums import Improved, Sums
from dardis.kernels.ahead import Ahead
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER


@dataclass(frozen=True)
class PlanAhead:
    """Those of a plan who start some time; times in s from `now`."""

    ahead: Ahead
    now: int
    places: Ints
    """Their places in the plan's arrays, in its order."""

    @classmethod
    def of_ahead(cls, ahead: Ahead, now: int) -> PlanAhead:
        """The plan that stands there."""
        order = ahead.order[: ahead.count[1]]
        return cls(ahead, now, order[ahead.start[order] != FOREVER])

    @property
    def _objective(self) -> WeightedStarts:
        return WeightedStarts(self.ahead.weight[self.places])

    @property
    def starts(self) -> Ints:
        """When they start."""
        return self.ahead.start[self.places] - self.now

    @property
    def soonest(self) -> Ints:
        """When each could if nobody else did."""
        return self.ahead.soonest[self.places] - self.now

    @property
    def cost(self) -> float:
        """The sum of their weights times starts."""
        return self._objective.value(self.starts)

    @property
    def is_best(self) -> bool:
        """Whether everybody starts as soon as if he were alone."""
        return bool((self.starts == self.soonest).all())

    def improve(self, effort: Effort, seed: int) -> Improved:
        """What the solver makes of it."""
        ahead, steps = self.ahead, int(self.ahead.steps[0])
        time = ahead.time[0, :steps] - self.now
        work = Work(ahead.span[self.places], ahead.need[self.places], time, np.maximum(ahead.value[0, :steps], 0))
        objective, soonest = self._objective, self.soonest
        sums = Sums(work, soonest, int(time[-1] + work.duration.sum()))
        return sums.improve(objective, self.starts, objective.least(soonest, work), effort, seed)

    def order_by(self, starts: Ints) -> Ints:
        """The plan's order with these jobs by other starts; those who never start come last.

        A list schedule in the order of starts has no later ones: whoever is before a job has begun by its start.
        """
        order = self.ahead.order[: self.ahead.count[1]]
        never = order[self.ahead.start[order] == FOREVER]
        return np.concatenate([self.places[np.argsort(starts, kind="stable")], never])
