"""Plans of a queue by exchanges and solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dardis.dispatch.cp.first_answer import JobWork
from dardis.dispatch.cp.objectives import WeightedStarts
from dardis.dispatch.cp.pools import CapacitySumModel, ImprovedStarts
from dardis.dispatch.cp.search_effort import Effort
from dardis.dispatch.queue_orders import RULES
from dardis.dispatch.queue_pass import check_done
from dardis.engine.clock import cpu_timed
from dardis.kernels import replan
from dardis.kernels.job_queue import RULE, STARTED, QueueArrays
from dardis.kernels.job_table import JobTable
from dardis.kernels.list_schedule import PlanBuffers, make_plan_buffers
from dardis.kernels.placer import Placer
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.model.platform import Platform
from dardis.model.step_function import sum_of_columns
from dardis.wire.effects import Solved


class ReplanPass:
    """Passes by a plan of the heaviest jobs."""

    keys: Final = (RULES["fcfs"][1], RULES["fcfs"][1])
    """Ties by arrival."""
    strict: Final = False
    backfill: Final = True
    depth: Final = 1
    window: Final = 0
    """Reservation for the first blocked job."""
    keeps_closed: Final = False
    weighs_levels: Final = False

    def __init__(self, planning: replan.Planning, effort: Effort, seed: int) -> None:
        self._planning = planning
        self._effort = effort
        self._seed = seed
        self._ahead: PlanBuffers | None = None
        self._sums: tuple[Ints, Ints]

    def prepare(self, platform: Platform, placer: Placer) -> None:  # noqa: ARG002 (sums come from the profiles)
        """Read the total capacity."""
        self._sums = _sums(placer)
        self._ahead = None

    def run_pass(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Plan, and start due jobs."""
        ahead = self._ensure_schedule_size(jobs.slots)

        def go_on() -> int:
            return placer.run(replan.run_plan_pass, jobs.queue, self._planning, ahead, now)

        if not self._planning.pauses:
            check_done(go_on())
            return ()
        answer, cpu_s = cpu_timed(go_on)
        told = self._improve(jobs.queue, ahead, cpu_s, now) if answer == replan.PLANNED else None
        check_done(go_on() if answer == replan.PLANNED else answer)
        return () if told is None else (replace(told, started=int(placer.room.state[STARTED])),)

    def _ensure_schedule_size(self, slots: int) -> PlanBuffers:
        most = min(self._planning.jobs, slots)
        if self._ahead is None:
            self._ahead = make_plan_buffers(*self._sums, most, slots)
        elif slots > len(self._ahead.last):
            last = self._ahead.last
            self._ahead = make_plan_buffers(*self._sums, most, slots)
            self._ahead.last[: len(last)] = last
        return self._ahead

    def _improve(self, queue: QueueArrays, ahead: PlanBuffers, cpu_s: float, now: int) -> Solved | None:
        plan = QueuePlan.of_list_schedule(ahead, now)
        if not (plan.soonest == 0).any():
            return None
        found = None
        if not plan.is_best:
            found, more_s = cpu_timed(lambda: plan.improve(self._effort, self._seed))
            cpu_s += more_s - found.build_cpu_s
            if found.starts is not None and (found.starts != plan.starts).any():
                replan.adopt(ahead, queue.table, plan.order_by(found.starts), now)
        cost = QueuePlan.of_list_schedule(ahead, now).cost
        return Solved(
            waiting=int(queue.size[RULE]),
            planned=len(plan.places),
            started=0,
            status="" if found is None else str(found.result.status),
            ended="" if found is None else str(found.result.ended),
            objective=cost,
            bound=cost if found is None else min(cost, found.bound),
            variables=len(plan.places),
            deterministic_s=0.0 if found is None else found.deterministic_s,
            first_cpu_s=cpu_s,
            build_cpu_s=0.0 if found is None else found.build_cpu_s,
            solver_cpu_s=0.0 if found is None else found.solver_cpu_s,
            too_large=False,
        )


def _sums(placer: Placer) -> tuple[Ints, Ints]:
    rows = placer.nodes.profiles
    spans = [slice(head, head + size) for head, size in zip(rows.head.tolist(), rows.size.tolist(), strict=True)]
    return sum_of_columns([(rows.time[span], rows.value[span]) for span in spans])


@dataclass(frozen=True)
class QueuePlan:
    """Jobs with a planned start; times in s from `now`."""

    list_schedule: PlanBuffers
    now: int
    places: Ints

    @classmethod
    def of_list_schedule(cls, ahead: PlanBuffers, now: int) -> QueuePlan:
        """Read the current plan."""
        order = ahead.order[: ahead.count[1]]
        return cls(ahead, now, order[ahead.start[order] != FOREVER])

    @property
    def _objective(self) -> WeightedStarts:
        return WeightedStarts(self.list_schedule.weight[self.places])

    @property
    def starts(self) -> Ints:
        """Planned starts."""
        return self.list_schedule.start[self.places] - self.now

    @property
    def soonest(self) -> Ints:
        """Earliest start of each job alone."""
        return self.list_schedule.soonest[self.places] - self.now

    @property
    def cost(self) -> float:
        """Weighted sum of starts."""
        return self._objective.value(self.starts)

    @property
    def is_best(self) -> bool:
        """Whether each job starts as early as alone."""
        return bool((self.starts == self.soonest).all())

    def improve(self, effort: Effort, seed: int) -> ImprovedStarts:
        """Ask the solver for a better plan."""
        ahead, steps = self.list_schedule, int(self.list_schedule.steps[0])
        time = ahead.time[0, :steps] - self.now
        work = JobWork(ahead.span[self.places], ahead.need[self.places], time, np.maximum(ahead.value[0, :steps], 0))
        objective, soonest = self._objective, self.soonest
        sums = CapacitySumModel(work, soonest, int(time[-1] + work.duration.sum()))
        return sums.improve(objective, self.starts, objective.least(soonest, work), effort, seed)

    def order_by(self, starts: Ints) -> Ints:
        """Order by new starts, then jobs without start.

        A list schedule by starts delays no job.
        """
        order = self.list_schedule.order[: self.list_schedule.count[1]]
        never = order[self.list_schedule.start[order] == FOREVER]
        return np.concatenate([self.places[np.argsort(starts, kind="stable")], never])
