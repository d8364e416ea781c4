"""The distributed set-ups on random instances: legal, the same on any ranks, and those of slow references."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import asking
from kit.central_runs import dispatch, setup_of
from kit.dense import DenseNode
from kit.effort import examples
from kit.machine import desired_profiles, jobs, platforms, with_queues
from kit.reference import Reference
from kit.replay import decisions, earliest_by_the_rules, horizon_of, never_above, placement, rejected_that_could_run
from kit.run import Run, simulate

from dardis.config.settings import with_settings
from dardis.metrics.audit import audit
from dardis.model import offer_rows
from dardis.model.choices import EventOrder, NodeChoice, OnOff, ProfileRule, UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile
from dardis.task_manager import SETUPS, SetUp
from dardis.task_manager.selection import Selection
from dardis.task_manager.setups import BackfillScope, OfferRule

THROUGHPUT = SETUPS["dardis-throughput"]
CHOICES = {
    NodeChoice.BEST_FIT: offer_rows.BEST_FIT,
    NodeChoice.WORST_FIT: offer_rows.WORST_FIT,
    NodeChoice.FIRST_FIT: offer_rows.FIRST_FIT,
    NodeChoice.CONTIGUOUS: offer_rows.CONTIGUOUS,
}


@dataclass
class Case:
    """What a run is made of."""

    platform: Platform
    jobs: list[ActualJob]
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
    """Any set-up, with these settings fixed; all nodes are asked."""
    platform = draw(platforms())
    desired = draw(st.none() | desired_profiles(platform))
    setup = draw(setups())
    platform, listed = draw(with_queues(platform, draw(jobs(platform, following=following))))
    return Case(platform, listed, replace(setup, **fixed), desired)


@st.composite
def sampled(draw, *, following: bool = True, **fixed) -> Case:
    """Machines of up to 30 nodes of which samples are asked first."""
    platform = draw(platforms(most_nodes=30))
    desired = draw(st.none() | desired_profiles(platform))
    queue = draw(jobs(platform, following=following, most=16))
    return Case(platform, queue, replace(draw(setups()), **fixed), desired, draw(st.integers(1, 3)))


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


def cut(data: st.DataObject, case: Case) -> list[int]:
    """Any cut of the machine into a few hosts."""
    inside = st.integers(1, case.platform.node_count - 1)
    return sorted(data.draw(st.sets(inside, max_size=3))) if case.platform.node_count > 1 else []


def is_nothing_left(run: Run) -> bool:
    sampling = [agent._negotiation.sampling for agent in run.agents]
    return not any(one.hints.any() for one in sampling if one is not None)


@given(cases(following=True) | sampled())
@examples(3)
def test_schedules_are_legal_and_no_runnable_job_is_rejected(case):
    run = case.run()
    schedule = legal(case, run)
    assert {*np.flatnonzero(~schedule.ran).tolist()} == {*run.reasons}
    hard = case.desired is not None and case.setup.profile is ProfileRule.HARD
    if hard:
        assert never_above(schedule, case.platform, case.desired)
    wishes, distinct = case.desired if hard else None, case.setup.units_per_node is UnitsPerNode.DISTINCT
    assert rejected_that_could_run(case.platform, case.jobs, schedule, wishes, distinct=distinct) == []
    assert is_nothing_left(run)
    if case.sample and case.setup.profile is not ProfileRule.HARD:
        assert run.reasons.keys() == replace(case, sample=0).run().reasons.keys()


@given(cases(following=True) | sampled(), st.integers(2, 3), st.data())
@examples(2)
def test_hosts_and_task_managers_do_not_change_the_schedule(case, managers, data):
    cuts, arity = cut(data, case), data.draw(st.integers(0, 3))
    expected, split = case.run(), case.run(cuts, arity=arity)
    assert split.schedule.digest() == expected.schedule.digest()
    assert [agent.messages for agent in split.agents] == [agent.messages for agent in expected.agents] or arity
    several = case.run(managers=managers) if case.sample else expected
    legal(case, several)
    assert is_nothing_left(several)
    assert case.run(cuts, managers).schedule.digest() == several.schedule.digest()


@given(sampled())
@examples(1)
def test_sample_of_at_least_half_of_the_nodes_is_the_full_set(case):
    case.sample = -(-case.platform.node_count // 2)
    assert case.run().schedule.digest() == replace(case, sample=0).run().schedule.digest()


@given(
    st.tuples(st.just(1), cases(following=True, backfill=OnOff.ON))
    | st.tuples(
        st.just(0), sampled(backfill=OnOff.ON, backfill_scope=BackfillScope.ALL_NODES, event_order=EventOrder.BATCHED)
    )
)
@examples(1.5)
def test_backfilling_moves_starts_earlier_by_the_minimum_gain(gain_and_case):
    gain, case = gain_and_case
    if case.setup.node_choice is NodeChoice.RANDOM and case.setup.backfill_scope is BackfillScope.ALL_NODES:
        gain = 0
    run = case.run()
    pairs = [pair for starts in run.starts.values() for pair in itertools.pairwise(starts)]
    assert all(late >= soon + gain for late, soon in pairs), pairs
    final = {place: starts[-1] for place, starts in run.starts.items()}
    assert final == {place: int(run.schedule.start[place]) for place in final}


@given(cases(backfill=OnOff.OFF) | sampled(following=False, backfill=OnOff.OFF))
@examples(2)
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
def test_throughput_setup_equals_the_slow_reference(case):
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


@given(st.data(), st.sampled_from(["pack", "distinct"]), st.sampled_from(["best-fit", "first-fit", "contiguous"]))
@examples(2)
@pytest.mark.parametrize("event_order", ["batched", "per-event"])
def test_all_nodes_backfilling_is_conservative_backfilling(event_order, data, units, choice):
    platform = data.draw(platforms())
    # In the order of submission, which is the one order that the two have in common.
    drawn = [
        asking(job, earliest=job.submit, latest=None) for job in data.draw(jobs(platform, most=14, following=True))
    ]
    settings = [f"event_order={event_order}", f"units_per_node={units}", f"node_choice={choice}"]
    throughput = with_settings(SETUPS["dardis-throughput"], ["backfill_scope=all-nodes", *settings])
    distributed = simulate(platform, drawn, throughput, cuts=data.draw(cuts(platform.node_count)))
    central = dispatch(platform, drawn, setup_of("conservative", *settings))
    assert distributed.schedule.start.tolist() == central.schedule.start.tolist()
    assert distributed.schedule.digest() == central.schedule.digest()


@st.composite
def cuts(draw, nodes: int) -> list[int]:
    return sorted(draw(st.sets(st.integers(1, nodes - 1), max_size=2))) if nodes > 1 else []
