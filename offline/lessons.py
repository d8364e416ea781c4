"""What near-optimal plans of past days teach: each is planned once in hindsight, a tree learns its use by hour."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from dardis.model.errors import InputError
from dardis.model.profile import StepFunction
from dardis.model.schedule import Schedule
from dardis.model.series import Floats, Series
from offline.calendar import DAY_S
from offline.extract.target_tree import TargetTree, learn_target
from offline.forecast.forecast import forecast
from offline.history import plan_jobs, predictor_of, state_at, that_fit
from offline.planner.budget import Budget, Watch
from offline.planner.ours import improve
from offline.planner.problem import Problem
from offline.planner.searches import heuristic
from offline.planner.use import cores_used
from offline.site import Site
from offline.wishes import Known

LEAST_DAYS = 5
"""With fewer past days nothing is learned."""
MOST_DAYS = 14
GROUPS = 200
"""Groups of jobs that a plan in hindsight rebuilds."""


@dataclass
class Lessons:
    """Plans of past days and forecasts of them, each made once; share one between days that are planned in turn."""

    site: Site
    past: Schedule
    _use: dict[int, Floats] = field(default_factory=dict)
    _demand: dict[int, Floats] = field(default_factory=dict)

    def target(self, known: Known, day: int, seed: int) -> tuple[TargetTree | None, StepFunction]:
        """The tree that the days before `day` give, and the cores that it aims at in its hours; None with few days."""
        platform = self.site.platform
        first = max(known.first_day, day - MOST_DAYS)
        # A day can be planned in hindsight when weather and prices are known of it.
        days = [d for d in range(first, day) if self._covered(d)]
        if len(days) < LEAST_DAYS or days[-1] - days[0] + 1 != len(days):
            return None, StepFunction.from_steps(0, [])
        use = np.concatenate([self._use_of(d) for d in days])
        edges = np.concatenate([self.site.calendar.day(days[0])[0] + 3600 * np.arange(24 * (len(days) + 1) + 1)])
        demand = np.concatenate([self._demand_of(d, seed) for d in (*days, day)])
        told = replace(known, more=known.more | {"forecast use": Series(edges, demand / platform.cores)})
        tree = learn_target(told.table(days[0], len(days)), use)
        return tree, tree.cores(told.table(day, 1), platform.cores)

    def _covered(self, day: int) -> bool:
        try:
            self.site.conditions(day)
        except InputError:
            return False
        return self.site.calendar.day(day)[0] >= int(self.past.submit.min()) + DAY_S

    def _demand_of(self, day: int, seed: int) -> Floats:
        """Forecast mean cores in use of the hours of a day, as it was known when the day began."""
        if day not in self._demand:
            made = forecast(self.site.waited(self.past), self.site.calendar, day, seed=seed)
            self._demand[day] = made.demand.in_use.mean
        return self._demand[day]

    def _use_of(self, day: int) -> Floats:
        """Share of the machine in use in each hour of a past day by a plan that knew all of that day."""
        if day not in self._use:
            site, (start, end) = self.site, self.site.calendar.day(day)
            state = state_at(self.past, site.jobs, site.platform, start, predictor_of(self.past))
            # As it was known when the day ended; how long a job ran on does not matter to the day.
            came = [
                replace(job, runtime=min(job.runtime, end - job.submit))
                for job in that_fit(site.jobs, site.platform)
                if start <= job.submit < end
            ]
            problem = Problem(
                site.platform, site.conditions(day), site.cooling, site.tariff,
                plan_jobs([*state.waiting, *came], site.platform, start), state.running, horizon=end + DAY_S,
            )  # fmt: skip
            best = improve(problem, heuristic(problem), Budget(GROUPS, 1), Watch())
            hours = start + 3600 * np.arange(25, dtype=np.int64)
            used = cores_used(problem, best.start)
            areas = [used.integral(a, b) for a, b in zip(hours[:-1].tolist(), hours[1:].tolist(), strict=True)]
            self._use[day] = np.array(areas) / (3600 * site.platform.cores)
        return self._use[day]
