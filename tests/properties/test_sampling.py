"""Whole runs that ask samples first: legal, however split the same, and no start later than all nodes would allow."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import desired_profiles, jobs, platforms
from kit.replay import decisions, earliest_by_the_rules, horizon_of
from properties.test_simulation import THROUGHPUT, Case, legal, setups

from dardis.model.choices import EventOrder, OnOff, ProfileRule
from dardis.task_manager.setups import BackfillScope


@st.composite
def cases(draw, **fixed) -> Case:
    """Machines of up to 30 nodes, so that there is something to choose from."""
    platform = draw(platforms(most_nodes=30))
    desired = draw(st.none() | desired_profiles(platform))
    queue = draw(jobs(platform, following=True, most=16))
    setup = replace(draw(setups()), **fixed)
    return Case(platform, queue, setup, desired, draw(st.integers(1, 3)))


def nothing_left(run) -> bool:
    return not any(agent._negotiation.sampling.hints.any() for agent in run.agents)


@given(cases())
@examples(1.5)
def test_every_schedule_is_legal_and_nobody_is_rejected_who_could_run(case):
    run = case.run()
    schedule = legal(case, run)
    assert {place for place in range(len(case.jobs)) if not schedule.ran[place]} == {*run.reasons}
    assert nothing_left(run)
    if case.setup.profile is not ProfileRule.HARD:
        full = replace(case, sample=0).run()
        assert run.reasons.keys() == full.reasons.keys()


@given(cases(), st.integers(0, 3), st.data())
@examples(1.5)
def test_hosts_do_not_change_the_schedule(case, arity, data):
    inside = st.integers(1, case.platform.node_count - 1)
    cuts = sorted(data.draw(st.sets(inside, max_size=3))) if case.platform.node_count > 1 else []
    expected, split = case.run(), case.run(cuts, arity=arity)
    assert split.schedule.digest() == expected.schedule.digest()
    assert [agent.messages for agent in split.agents] == [agent.messages for agent in expected.agents] or arity


@given(cases(), st.integers(2, 3), st.data())
@examples(0.5)
def test_several_task_managers_are_legal_too(case, managers, data):
    """Each has hints of its own, so the schedule is another one; but any hosts give the same."""
    run = case.run(managers=managers)
    legal(case, run)
    assert nothing_left(run)
    cut = data.draw(st.integers(0, case.platform.node_count - 1))
    assert case.run([cut] if cut else [], managers).schedule.digest() == run.schedule.digest()


@given(cases())
@examples(1)
def test_a_sample_of_half_of_the_nodes_or_more_is_all_of_them(case):
    case.sample = -(-case.platform.node_count // 2)
    assert case.run().schedule.digest() == replace(case, sample=0).run().schedule.digest()


@given(cases(backfill=OnOff.OFF))
@examples(1.5)
def test_the_throughput_setup_finds_the_earliest_start_of_all_nodes(case):
    """A sample's start is taken only if it is the soonest of all; so only the nodes can be others."""
    case.jobs = [replace(job, after=None, think=0) for job in case.jobs]
    case.setup = replace(
        THROUGHPUT, backfill=OnOff.OFF, units_per_node=case.setup.units_per_node, node_choice=case.setup.node_choice,
        profile=case.setup.profile, event_order=case.setup.event_order,
    )  # fmt: skip
    schedule = legal(case, case.run())
    until = horizon_of(case.platform, case.jobs, case.desired)
    for decision in decisions(case.platform, schedule, case.jobs, case.setup, case.desired):
        has_desired = case.desired is not None
        owed = earliest_by_the_rules(decision, case.setup, until, now=decision.job.submit, has_desired=has_desired)
        if schedule.ran[decision.place]:
            assert owed is not None
            assert schedule.start[decision.place] == owed[0]


@given(cases(backfill=OnOff.ON, backfill_scope=BackfillScope.ALL_NODES, event_order=EventOrder.BATCHED))
@examples(1)
def test_backfilling_only_ever_gains(case):
    run = case.run()
    assert all((np.diff(starts) <= 0).all() for starts in run.starts.values())
