"""Nodes that are switched: legal runs, one schedule however split, spares kept, reservations never on a node down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual, asking
from kit.effort import examples
from kit.machine import desired_profiles, jobs, platforms

from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher, CentralSetUp
from dardis.metrics.audit import audit
from dardis.model.addresses import address_of
from dardis.model.choices import NodeChoice, ProfileRule
from dardis.model.job import ActualJob
from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Switching
from dardis.node_manager import NodePool, RelayingHost
from dardis.node_manager.switching import Switcher
from dardis.sim.simulation import NO_HOSTS, Simulation
from dardis.task_manager import LATE_SETUPS, SETUPS, LateSetUp, LockstepLateManager, PlannedManager, Reach, SetUp
from dardis.task_manager.layout import layout_of
from dardis.task_manager.setups import BackfillScope
from dardis.transport.base import Hosts
from dardis.transport.local_transport import LocalHosts
from dardis.turns import CentralTurns, LateTurns, PlannedTurns, Turns

LATE = LATE_SETUPS["dardis-late"]
THROUGHPUT = SETUPS["dardis-throughput"]
CENTRAL = tuple(CENTRAL_SETUPS[name].checked() for name in ("easy", "conservative", "rules-fcfs"))


@dataclass
class Run:
    """What came of a run."""

    schedule: Schedule
    downtime: Downtime
    delays: list[int]
    reasons: dict[int, str]


@dataclass
class Case:
    """What a run is made of."""

    platform: Platform
    jobs: list[ActualJob]
    setup: SetUp | LateSetUp | CentralSetUp
    desired: DesiredProfile | None
    switching: Switching | None

    def run(self, cuts: Sequence[int] = (), managers: int = 1, arity: int = 0) -> Run:
        bounds = (0, *cuts, self.platform.node_count)
        spans = enumerate(pairwise(bounds))
        pools = [RelayingHost(NodePool(self.platform, *span, desired=self.desired, host=host)) for host, span in spans]
        hosts: Hosts = LocalHosts(pools, encoded=True)
        layout = layout_of(self.platform, bounds, self.desired)
        switcher = Switcher(self.platform, self.switching, self.jobs[0].submit) if self.switching else None
        turns: Turns
        if isinstance(self.setup, CentralSetUp):
            hosts = NO_HOSTS
            dispatcher = CentralDispatcher(self.setup, self.platform, self.desired, 1)
            turns = CentralTurns(self.setup.event_order, dispatcher, switcher)
        elif isinstance(self.setup, LateSetUp):
            late = [LockstepLateManager(self.setup, layout, 1, Reach(arity), address_of(m)) for m in range(managers)]
            turns = LateTurns(self.setup.event_order, late, bounds, switcher)
        else:
            early = [PlannedManager(self.setup, layout, 1, Reach(arity), address_of(m)) for m in range(managers)]
            turns = PlannedTurns(self.setup, early, bounds, switcher)
        simulation = Simulation(self.jobs, turns, hosts)
        simulation.run()
        recorder = simulation.recorder
        schedule = recorder.schedule(simulation.jobs, self.platform.kinds)
        return Run(schedule, recorder.downtime(), recorder.boot_delay, recorder.reasons)


def legal(case: Case, run: Run) -> None:
    numbers = [job.number for job in case.jobs]
    assert audit(run.schedule, case.platform, expected=numbers, downtime=run.downtime) == []


@st.composite
def switched(draw) -> tuple[Platform, Switching]:
    """A machine whose groups take some seconds to boot and to shut down, and how many nodes are to stay on."""
    platform, seconds = draw(platforms()), st.sampled_from((0, 1, 1, 2, 9))
    groups = [
        replace(
            group,
            power=NodePower(boot_s=draw(seconds), shutdown_s=draw(seconds)),
            always_on=draw(st.integers(0, 9)) == 0,
        )
        for group in platform.groups
    ]
    counts = {index: steps(draw, group.count) for index, group in enumerate(groups) if draw(st.integers(0, 9))}
    rarely = st.sampled_from((False, False, True))
    floors = {index: steps(draw, group.count) for index, group in enumerate(groups) if draw(rarely)}
    rule = Switching(
        counts, floors, draw(st.sampled_from((0, 1, 5))), draw(st.sampled_from((1.0, 5000.0, 5000.0, 5000.0)))
    )
    return replace(platform, groups=tuple(groups)), rule


def steps(draw, most: int) -> StepFunction:
    value = st.sampled_from((0, 0, 1, most))
    return StepFunction.from_steps(draw(value), draw(st.lists(st.tuples(st.integers(0, 90), value), max_size=3)))


@st.composite
def cases(draw, *, setups: tuple[SetUp | LateSetUp | CentralSetUp, ...] = (LATE, *SETUPS.values())) -> Case:
    platform, switching = draw(switched())
    desired = draw(st.none() | desired_profiles(platform))
    listed = draw(jobs(platform, following=True))
    chosen = draw(st.sampled_from(setups))
    setup = replace(
        chosen, node_choice=draw(st.sampled_from(NodeChoice)), profile=draw(st.sampled_from(ProfileRule)),
        **({"backfill_scope": draw(st.sampled_from(BackfillScope))} if isinstance(chosen, SetUp) else {}),
    )  # fmt: skip
    if draw(st.integers(0, 2)):  # with time between jobs, so that nodes sleep
        wide = draw(st.integers(1, 30))
        listed = [
            asking(
                job, submit=wide * job.submit, earliest=wide * job.submit + job.earliest - job.submit,
                latest=None if job.latest is None else job.latest + (wide - 1) * job.submit,
            )
            for job in listed
        ]  # fmt: skip
    return Case(platform, listed, setup, desired, switching)


@given(cases(setups=(LATE, *SETUPS.values(), *CENTRAL)))
@examples(4)
def test_every_schedule_is_legal_and_no_job_is_lost(case):
    run = case.run()
    legal(case, run)
    for place in np.flatnonzero(run.schedule.ran).tolist():
        assert 0 <= run.delays[place] <= run.schedule.start[place] - run.schedule.submit[place]
    assert set(run.reasons) == set(np.flatnonzero(~run.schedule.ran).tolist())
    if case.desired is None or case.setup.profile is not ProfileRule.HARD:
        assert set(run.reasons) == set(replace(case, switching=None).run().reasons)


@given(cases(), st.data())
@examples(2)
def test_hosts_and_task_managers_do_not_change_the_schedule(case, data):
    expected = case.run()
    inside = range(1, case.platform.node_count)
    cuts = sorted(data.draw(st.sets(st.sampled_from(inside)))) if inside else []
    for run in (case.run(cuts), case.run(cuts, managers=data.draw(st.integers(2, 3)))):
        assert run.schedule.digest() == expected.schedule.digest()
        assert run.delays == expected.delays
        for ours, theirs in zip(
            (run.downtime.node, run.downtime.down, run.downtime.up),
            (expected.downtime.node, expected.downtime.down, expected.downtime.up),
            strict=True,
        ):
            assert ours.tolist() == theirs.tolist()


def idle_and_up(platform: Platform, run: Run, now: int) -> int:
    """Nodes that run nothing at `now` and are not down then."""
    s = run.schedule
    busy = {
        node
        for place in np.flatnonzero(s.ran & (s.start <= now) & (now < s.finish)).tolist()
        for node in s.placed.of(place)[0].tolist()
    }
    down = run.downtime.node[(run.downtime.down <= now) & (now < run.downtime.up)]
    return platform.node_count - len(busy | set(down.tolist()))


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(1, 40), st.integers(1, 6)), min_size=1, max_size=12),
       st.integers(0, 8), st.integers(0, 20), st.sampled_from([LATE, THROUGHPUT, *CENTRAL]))  # fmt: skip
@examples(2)
def test_waits_stay_below_one_boot_and_the_reserve_is_restored_on_a_lightly_loaded_machine(rows, spares, boot_s, setup):
    platform = Platform("roomy", (NodeGroup("n", 80, {"cores": 1}, NodePower(boot_s=boot_s, shutdown_s=3)),))
    queue = [
        actual(number, submit, submit, None, time, units, (1,), 1, runtime=time)
        for number, (submit, time, units) in enumerate(sorted(rows), 1)
    ]
    case = Case(platform, queue, setup, None, Switching({0: StepFunction.from_steps(spares, [])}, idle_s=4))
    run = case.run()
    legal(case, run)
    arrived, wait = run.schedule.submit, run.schedule.start - run.schedule.submit
    assert (wait <= boot_s + 3).all()
    assert wait.tolist() == run.delays
    for now in range(queue[0].submit, int(run.schedule.finish.max())):
        if not ((now - boot_s - 3 <= arrived) & (arrived <= now)).any():
            assert idle_and_up(platform, run, now) >= spares


@given(switched(), st.data())
@examples(2)
def test_no_node_in_maintenance_is_shut_down_or_booted_as_a_spare(case, data):
    # Whatever is idle, and however many spares are wished: what is closed to all stays as it is.
    platform, rule = case
    nodes = st.sets(st.integers(0, platform.node_count - 1), min_size=1)
    windows = [
        Maintenance(tuple(sorted(data.draw(nodes))), begin, begin + data.draw(st.integers(1, 40)))
        for begin in data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=3))
    ]
    platform = replace(platform, maintenance=tuple(windows))
    switcher = Switcher(platform, rule, 0)
    off = set()
    for now in range(110):
        if not switcher.is_due(now):
            continue
        closed = {node for window in windows if window.start <= now < window.end for node in window.nodes}
        for switch in switcher.decide(now):
            changed = set(switch.node.tolist())
            assert not changed & closed
            off = off - changed if switch.up else off | changed
        # Idle nodes beyond the wishes are off, once they have idled for long enough; so many as may be stay on.
        group_of = platform.group_of_node
        for group, wished in rule.spares.items():
            mine = set(np.flatnonzero(group_of == group).tolist())
            if platform.groups[group].always_on:
                assert not mine & off
            else:
                assert len(mine - off - closed) >= min(int(wished.at(now)), len(mine - closed))
