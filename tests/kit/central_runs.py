"""Whole runs of a central dispatcher in this process, each audited, and a view of what it has promised so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from kit.actual import actual
from kit.pool_reference import PoolJobs
from kit.replay import rejected_that_could_run
from kit.run import Run, audited

from dardis.config.settings import with_settings
from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher, CentralSetUp, QueueSetUp
from dardis.dispatch.setups import ProfileCheck
from dardis.kernels import job_queue as kernel
from dardis.kernels import job_table, placer
from dardis.kernels import profile as profiles
from dardis.model.choices import ProfileRule, UnitsPerNode
from dardis.model.job import NO_TIME, ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile
from dardis.predict import Predictor
from dardis.sim.simulation import Simulation
from dardis.turns import CentralTurns
from dardis.wire.effects import Placed

Watch = Callable[[int, list[Placed], dict[int, int]], None]
"""Told after every decision: now, what starts, and the start reserved for each that waits and has a reservation."""

POLICY_SETUPS = {
    "fcfs": ("rules-fcfs", ()), "sjf": ("rules-wt", ()), "easy": ("easy", ()),
    "easy-event": ("easy", ("event_order=per-event",)), "conservative": ("conservative", ()),
    "conservative-event": ("conservative", ("event_order=per-event",)),
}  # fmt: skip
"""Which dispatcher, and which settings, make each policy of the pool reference."""


def setup_of(name: str, *settings: str) -> CentralSetUp:
    """The dispatcher of that name with `KEY=VALUE` settings, as the command makes it."""
    return with_settings(CENTRAL_SETUPS[name], settings).checked()


@contextmanager
def use_small_buffers(slots: int) -> Iterator[None]:
    """Makes all tables of a dispatcher so small at first that its passes stop for want of room, of each sort."""
    make_rows, make_room = profiles.make_rows, placer.make_pass_buffers
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_table, "FIRST_SLOTS", slots)
        patch.setattr(placer, "FIRST_LONGEST", 1)
        patch.setattr(profiles, "make_rows", lambda count, columns, _, dtype: make_rows(count, columns, 3, dtype))
        patch.setattr(placer, "make_pass_buffers", lambda kinds, scratch, _, slots: make_room(kinds, scratch, 1, slots))
        yield


class Watched(CentralDispatcher):
    """Tells of every decision."""

    watch: Watch | None = None

    def decide(self, now: int) -> list[Placed]:
        placed = super().decide(now)
        assert self.wake() > now
        if self.watch is not None:
            queue = self._queue
            waiting = queue.lists[kernel.RULE, : queue.size[kernel.RULE]].tolist()
            reserved = {int(queue.table[slot, kernel.NUMBER]): int(queue.table[slot, kernel.START]) for slot in waiting}
            self.watch(now, placed, {number: start for number, start in reserved.items() if start != NO_TIME})
        return placed


def dispatch(
    platform: Platform,
    jobs: Sequence[ActualJob],
    setup: QueueSetUp,
    *,
    desired: DesiredProfile | None = None,
    seed: int = 1,
    watch: Watch | None = None,
    predictor: Predictor | None = None,
) -> Run:
    """Run the jobs, which must be in (submit, number) order; the schedule has passed the audit."""
    dispatcher = Watched(setup, platform, desired, seed)
    dispatcher.watch = watch
    simulation = Simulation(jobs, CentralTurns(setup.event_order, dispatcher), predictor=predictor)
    simulation.run()
    return audited(simulation, platform, jobs, setup.units_per_node)


@dataclass
class Case:
    """What a run is made of."""

    platform: Platform
    jobs: list[ActualJob]
    setup: QueueSetUp
    desired: DesiredProfile | None

    def run(self, **more) -> Run:
        return dispatch(self.platform, self.jobs, self.setup, desired=self.desired, **more)

    def run_twice(self, slots: int) -> Run:
        """A run, the same as one with little room at first: chance is an argument."""
        run = self.run()
        with use_small_buffers(slots):
            again = self.run()
        assert (again.schedule.digest(), again.reasons) == (run.schedule.digest(), run.reasons)
        return run

    def assert_only_the_impossible_is_rejected(self, schedule: Schedule) -> None:
        wishes = self.desired if self.setup.profile is ProfileRule.HARD else None
        distinct = self.setup.units_per_node is UnitsPerNode.DISTINCT
        instant = self.setup.profile_check is ProfileCheck.INSTANT
        assert not rejected_that_could_run(
            self.platform, self.jobs, schedule, wishes, distinct=distinct, instant=instant
        )


def starts_on_one_node(jobs: PoolJobs, processors: int, setup: CentralSetUp) -> list[int]:
    """Start times on a machine that is one node of `processors` cores."""
    platform = Platform("pool", (NodeGroup("n", 1, {"cores": processors}),))
    rows = zip(jobs.submit, jobs.runtime, jobs.estimate, jobs.cores, strict=True)
    listed = [
        actual(number, submit, submit, None, estimate, 1, (cores,), 1, runtime=runtime)
        for number, (submit, runtime, estimate, cores) in enumerate(rows, 1)
    ]
    starts: list[int] = dispatch(platform, listed, setup).schedule.start.tolist()
    return starts
