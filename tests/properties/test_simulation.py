"""Whole runs over random machines, jobs and settings: legal, however split the same, and as good as promised."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.dense import ONE, DenseNode, dense_nodes
from kit.effort import examples
from kit.machine import desired_profiles, jobs, platforms, with_queues
from kit.reference import Reference
from kit.replay import decisions, earliest_by_the_rules, horizon_of, placement
from kit.run import Run, simulate

from dardis.metrics.audit import audit
from dardis.model import codes
from dardis.model.choices import EventOrder, NodeChoice, OnOff, ProfileRule, UnitsPerNode
from dardis.model.job import Actual
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile
from dardis.task_manager import SETUPS, SetUp
from dardis.task_manager.setups import BackfillScope, OfferRule, Selection

THROUGHPUT = SETUPS["dardis-throughput"]
CHOICES = {
    NodeChoice.BEST_FIT: codes.BEST_FIT,
    NodeChoice.WORST_FIT: codes.WORST_FIT,
    NodeChoice.FIRST_FIT: codes.FIRST_FIT,
    NodeChoice.CONTIGUOUS: codes.CONTIGUOUS,
}


@dataclass
class Case:
    """What a run is made of."""

    platform: Platform
    jobs: list[Actual]
    setup: SetUp
    desired: DesiredProfile | None
    sample: int = 0

    def run(self, cuts: Sequence[int] = (), managers: int = 1, arity: int = 0) -> Run:
        return simulate(
            self.platform, self.jobs, self.setup, desired=self.desired, cuts=cuts, managers=managers, arity=arity,
            sample=self.sample,
        )  # fmt: skip


@st.composite
def setups(draw) -> SetUp:
    """One of the named set-ups, with any settings."""
    return replace(
        draw(st.sampled_from([SETUPS[name] for name in sorted(SETUPS)])),
        selection=draw(st.sampled_from(Selection)),
        node_choice=draw(st.sampled_from(NodeChoice)),
        start_grain_s=draw(st.sampled_from((1, 7, 60))),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        profile=draw(st.sampled_from(ProfileRule)),
        offers=draw(st.sampled_from(OfferRule)),
        backfill=draw(st.sampled_from(OnOff)),
        backfill_depth=draw(st.sampled_from((0, 0, 2))),
        backfill_scope=draw(st.sampled_from(BackfillScope)),
        event_order=draw(st.sampled_from(EventOrder)),
    )


@st.composite
def cases(draw, *, following: bool = False, **fixed) -> Case:
    """Any set-up, with these settings fixed."""
    platform = draw(platforms())
    desired = draw(st.none() | desired_profiles(platform))
    setup = draw(setups())
    platform, listed = draw(with_queues(platform, draw(jobs(platform, following=following))))
    return Case(platform, listed, replace(setup, **fixed), desired)


def legal(case: Case, run: Run) -> Schedule:
    schedule = run.schedule
    assert audit(schedule, case.platform, expected=[job.number for job in case.jobs]) == []
    groups = {job.number: job.groups for job in case.jobs}
    for place, number in enumerate(schedule.number.tolist()):
        nodes, units = schedule.placed.of(place)
        assert all(groups[number] >> int(case.platform.group_of_node[node]) & 1 for node in nodes)
        if case.setup.units_per_node is UnitsPerNode.DISTINCT:
            assert (units == 1).all()
    return schedule


@given(cases(following=True))
@examples(2)
def test_every_schedule_is_legal(case):
    run = case.run()
    schedule = legal(case, run)
    assert {place for place in range(len(case.jobs)) if not schedule.ran[place]} == {*run.reasons}


@given(cases(following=True), st.data())
@examples(1.5)
def test_hosts_and_task_managers_do_not_change_the_schedule(case, data):
    expected = case.run().schedule.digest()
    inside = st.integers(1, case.platform.node_count - 1)
    cuts = sorted(data.draw(st.sets(inside, max_size=2))) if case.platform.node_count > 1 else []
    assert case.run(cuts).schedule.digest() == expected
    assert case.run(cuts, managers=data.draw(st.integers(2, 3))).schedule.digest() == expected


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(2, 30)), min_size=4, max_size=25), st.integers(2, 3), setups())
@examples(0.5)
def test_chance_in_backfilling_does_not_depend_on_who_asks_with_whom(sizes, managers, setup):
    """Jobs that all end early, on equal nodes: many ask again at once, in messages of several jobs."""
    platform = Platform("equal", (NodeGroup("n", 8, {"cores": 2}),))
    queue = [actual(n, 0, 0, None, time, units, (1,), 1, runtime=time // 2) for n, (units, time) in enumerate(sizes)]
    case = Case(platform, queue, replace(setup, backfill=OnOff.ON), None)
    expected = case.run().schedule.digest()
    assert case.run(managers=managers).schedule.digest() == expected
    assert case.run([3, 5]).schedule.digest() == expected


@given(cases(following=True, backfill=OnOff.ON))
@examples(1)
def test_backfilling_only_ever_gains(case):
    run = case.run()
    assert all(late > soon for starts in run.starts.values() for late, soon in itertools.pairwise(starts))
    final = {place: starts[-1] for place, starts in run.starts.items()}
    assert final == {place: int(run.schedule.start[place]) for place in final}


@given(cases(backfill=OnOff.OFF))
@examples(1.5)
def test_the_throughput_setup_finds_the_earliest_start(case):
    case.setup = replace(
        THROUGHPUT,
        backfill=OnOff.OFF,
        units_per_node=case.setup.units_per_node,
        node_choice=case.setup.node_choice,
        profile=case.setup.profile,
        event_order=case.setup.event_order,
    )
    schedule = legal(case, case.run())
    until = horizon_of(case.platform, case.jobs, case.desired)
    for decision in decisions(case.platform, schedule, case.jobs, case.setup, case.desired):
        has_desired = case.desired is not None
        owed = earliest_by_the_rules(decision, case.setup, until, now=decision.job.submit, has_desired=has_desired)
        if schedule.ran[decision.place]:
            assert owed is not None
            assert schedule.start[decision.place] == owed[0]
        elif schedule.finish.max() <= decision.job.submit or case.setup.profile is not ProfileRule.HARD:
            assert owed is None


@given(cases())
@examples(1.5)
def test_the_throughput_setup_is_the_slow_scheduler(case):
    """Every start and every node, with and without backfilling."""
    case.setup = replace(
        THROUGHPUT,
        backfill=case.setup.backfill,
        backfill_scope=BackfillScope.ALL_NODES,
        units_per_node=case.setup.units_per_node,
        node_choice=NodeChoice.BEST_FIT if case.setup.node_choice is NodeChoice.RANDOM else case.setup.node_choice,
        profile=case.setup.profile,
    )
    schedule = legal(case, case.run())
    slow = Reference(case.platform, case.jobs, case.setup, CHOICES[case.setup.node_choice], case.desired)
    ran = {place: (int(schedule.start[place]), placement(schedule, place)) for place in np.flatnonzero(schedule.ran)}
    assert ran == slow.claims


def wished_breaks(nodes: list[DenseNode], schedule: Schedule, place: int) -> bool:
    """Whether the job, where it was put, exceeds what its nodes wish."""
    start = int(schedule.start[place])
    run = slice(start, start + int(schedule.walltime[place]))
    asked = np.flatnonzero(schedule.request[place])
    return any(
        (nodes[node].wished[run][:, asked] < units * schedule.request[place][asked]).any()
        for node, units in placement(schedule, place).items()
    )


def last_change(nodes: list[DenseNode]) -> int:
    """From then on nothing changes on any node."""
    rows = np.concatenate([array for node in nodes for array in (node.free, node.wished) if array is not None], axis=1)
    return int(np.flatnonzero((rows != rows[-1]).any(axis=1)).max(initial=-1)) + 1


@given(cases(backfill=OnOff.OFF))
@examples(1.5)
def test_deadline_and_soft_profile_give_way_only_when_they_must(case):
    """A job is late only if it fits at no start of its window; it exceeds a soft profile only if it must."""
    schedule = legal(case, case.run())
    hard = case.setup.profile is ProfileRule.HARD
    for decision in decisions(case.platform, schedule, case.jobs, case.setup, case.desired):
        job, place = decision.job, decision.place
        if not schedule.ran[place]:
            continue
        last = job.latest if job.latest is not None else max(job.earliest, last_change(decision.nodes))
        grid = slice(None, None, case.setup.grain)
        exceeds = case.desired is not None and wished_breaks(decision.nodes, schedule, place)
        assert not (exceeds and hard)
        if job.latest is not None and schedule.start[place] > last:
            assert (decision.whole_units(job.earliest, last, desired_binds=hard)[grid] < job.units).all()
        elif exceeds and case.setup.profile is ProfileRule.SOFT:
            assert (decision.whole_units(job.earliest, last, desired_binds=True)[grid] < job.units).all()


@given(cases(following=True, profile=ProfileRule.HARD))
@examples(1)
def test_a_hard_profile_is_never_exceeded(case):
    schedule = legal(case, case.run())
    if case.desired is None:
        return
    seconds = max(int(schedule.finish.max()), 0) + 1
    nodes = dense_nodes(replace(case.platform, maintenance=()), case.desired, seconds)
    used = np.zeros((len(nodes), seconds, len(case.platform.kinds)), dtype=np.int64)
    for place in np.flatnonzero(schedule.ran).tolist():
        for node, units in placement(schedule, place).items():
            used[node, schedule.start[place] : schedule.finish[place]] += units * schedule.request[place]
    for node, oracle in enumerate(nodes):
        assert (used[node] <= np.maximum(oracle.wished, 0)).all()


@given(cases(following=True))
@examples(1)
def test_only_a_job_that_can_never_run_is_rejected(case):
    """The empty machine, when all maintenance is over and the profile has had its last step, does not hold it."""
    run = case.run()
    schedule = legal(case, run)
    binds = case.desired is not None and case.setup.profile is ProfileRule.HARD
    until = horizon_of(case.platform, case.jobs, case.desired)
    empty = dense_nodes(case.platform, case.desired if binds else None, until)
    for place in np.flatnonzero(~schedule.ran).tolist():
        job = case.jobs[place]
        index = [
            int(node.index_of_starts(until, until, job.walltime, np.array(job.request), binds)[0]) // ONE
            for number, node in enumerate(empty)
            if job.groups >> int(case.platform.group_of_node[number]) & 1
        ]
        distinct = case.setup.units_per_node is UnitsPerNode.DISTINCT
        assert sum(min(whole, 1) if distinct else whole for whole in index) < job.units, run.reasons[place]
