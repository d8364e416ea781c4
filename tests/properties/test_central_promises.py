"""What each central dispatcher promises, also in busy hours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import asking
from kit.central_runs import Case, dispatch
from kit.effort import examples
from kit.late_runs import run_late
from kit.machine import busy_hours, desired_profiles, jobs, platforms
from kit.replay import never_above

from dardis.dispatch import CENTRAL_SETUPS
from dardis.dispatch.queue_orders import RULES, rule_of
from dardis.dispatch.setups import SAME_AS_RULE, ProfileCheck
from dardis.model.choices import EventOrder, NodeChoice, OnOff, ProfileRule, UnitsPerNode
from dardis.model.job import FOREVER, NO_TIME
from dardis.task_manager import LateSetUp
from dardis.wire.effects import Placed

ORDERS = sorted(RULES)


@dataclass
class Promises:
    """Watches a run: the starts promised to each job in turn, and to the head of the queue as long as it is that."""

    rank: dict[int, tuple[float, int, int]] = field(default_factory=dict)
    """By number, what orders the queue."""
    by_job: dict[int, list[int]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    _head: int | None = None
    _promised: int = FOREVER

    def watch_all(self, now: int, placed: list[Placed], reserved: dict[int, int]) -> None:
        for number, start in [*reserved.items(), *((one.job, now) for one in placed)]:
            self.by_job.setdefault(number, []).append(start)

    def watch_head(self, now: int, placed: list[Placed], reserved: dict[int, int]) -> None:
        self.watch_all(now, placed, reserved)
        assert len(reserved) <= 1
        head = self._head
        given = now if head in [one.job for one in placed] else reserved.get(head)
        if given is not None and given > self._promised:
            self.broken.append(f"at {now} job {head} has {given}, promised {self._promised}")
        if head is not None and given is None and not any(self.rank[n] < self.rank[head] for n in reserved):
            self.broken.append(f"at {now} job {head} has lost {self._promised} to nobody before it")
        self._head, self._promised = next(iter(reserved.items()), (None, FOREVER))


@st.composite
def backfillers(draw, name: str, **fixed) -> Case:
    """EASY or conservative backfilling with any order and nodes, and wishes that bind as capacity does, or none."""
    platform = draw(platforms())
    desired = draw(st.none() | desired_profiles(platform))
    setup = replace(
        CENTRAL_SETUPS[name],
        rule=draw(st.sampled_from(ORDERS)),
        order=draw(st.sampled_from([SAME_AS_RULE, *ORDERS])),
        profile=ProfileRule.HARD,
        profile_check=ProfileCheck.SPAN,
        node_choice=draw(st.sampled_from(NodeChoice)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        event_order=draw(st.sampled_from(EventOrder)),
    )
    return Case(platform, draw(jobs(platform, most=14)), replace(setup, **fixed).checked(), desired)


def ranks(case: Case) -> dict[int, tuple[float, int, int]]:
    rule = rule_of(case.setup.rule, case.platform)
    return {job.number: (rule(job.job, case.platform), job.submit, job.number) for job in case.jobs}


@given(backfillers("easy"))
@examples(1)
def test_easy_never_delays_the_head(case):
    """While a job is the head its reserved start never moves later, and it starts by then. Its place only a job takes
    that comes before it in the queue's order."""
    promises = Promises(ranks(case))
    dispatch(case.platform, case.jobs, case.setup, desired=case.desired, watch=promises.watch_head)
    assert promises.broken == []


@given(backfillers("easy"), st.integers(0, 14))
@examples(1)
def test_backfill_window_lies_between_strict_queue_and_easy(case, more):
    def under(**settings) -> str:
        setup = replace(case.setup, **settings)
        return dispatch(case.platform, case.jobs, setup, desired=case.desired).schedule.digest()

    assert under(backfill_window=1) == under(backfill=OnOff.OFF)
    assert under(backfill_window=len(case.jobs) + more) == under()


@given(backfillers("conservative"))
@examples(1)
def test_conservative_never_delays_a_reservation(case):
    promises = Promises()
    run = dispatch(case.platform, case.jobs, case.setup, desired=case.desired, watch=promises.watch_all)
    assert {*promises.by_job} == {*run.schedule.number[run.schedule.ran].tolist()}
    for starts in promises.by_job.values():
        assert starts == sorted(starts, reverse=True)


@st.composite
def rules(draw) -> Case:
    """A strict queue without backfilling."""
    platform = draw(platforms())
    setup = replace(
        CENTRAL_SETUPS["rules-fcfs"],
        rule=draw(st.sampled_from(ORDERS)),
        profile=draw(st.sampled_from(ProfileRule)),
        profile_check=draw(st.sampled_from(ProfileCheck)),
        node_choice=draw(st.sampled_from(NodeChoice)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        event_order=draw(st.sampled_from(EventOrder)),
    )
    listed = draw(jobs(platform, most=14, following=True))
    return Case(platform, listed, setup.checked(), draw(st.none() | desired_profiles(platform)))


@given(rules())
@examples(1)
def test_a_strict_order_never_overtakes(case):
    """No job starts while another waits that comes before it in the rule's order and may start already.

    Jobs that end up rejected are no such others: one whose last start has passed is in nobody's way. With per-event
    decisions, those that arrive at the very instant of the start may come after it.
    """
    schedule = dispatch(case.platform, case.jobs, case.setup, desired=case.desired).schedule
    rule = rule_of(case.setup.rule, case.platform)
    ran = []
    for place in np.flatnonzero(schedule.ran).tolist():
        times = {"submit": int(schedule.submit[place]), "earliest": int(schedule.earliest[place])}
        latest = int(schedule.latest[place])
        job = asking(case.jobs[place], latest=None if latest == NO_TIME else latest, **times)
        ran.append(((rule(job.job, case.platform), job.submit, job.number), job.earliest, int(schedule.start[place])))
    slack = 1 if case.setup.event_order is EventOrder.PER_EVENT else 0
    for (first, ready, start), (then, _, overtaken_at) in itertools.permutations(ran, 2):
        if first < then and ready + slack <= overtaken_at:
            assert start <= overtaken_at


CHOICES = {"profile": ProfileRule, "node_choice": NodeChoice, "units_per_node": UnitsPerNode, "event_order": EventOrder}


def draw_settings(data: st.DataObject, **more: Sequence[object]) -> dict[str, object]:
    """A value for each setting."""
    return {key: data.draw(st.sampled_from(values)) for key, values in {**CHOICES, **more}.items()}


@pytest.mark.parametrize("name", CENTRAL_SETUPS)
@given(busy_hours(), st.data())
@examples(1)
def test_central_dispatchers_overbook_nothing_and_end_all_jobs(name, hours, data):
    platform, jobs, desired = hours
    setup = replace(CENTRAL_SETUPS[name], **draw_settings(data, profile_check=ProfileCheck)).checked()
    run = dispatch(platform, jobs, setup, desired=desired)
    if setup.profile is ProfileRule.HARD and setup.profile_check is ProfileCheck.SPAN:
        assert never_above(run.schedule, platform, desired)


@given(busy_hours(), st.data())
@examples(0.5)
def test_late_binding_overbooks_nothing_and_ends_all_jobs(hours, data):
    platform, jobs, desired = hours
    setup = LateSetUp(**draw_settings(data, aged_after_s=(1, 100, 3000)))
    run = run_late(platform, jobs, setup, desired=desired, cuts=[1][: platform.node_count - 1], managers=2)
    if setup.profile is ProfileRule.HARD:
        assert never_above(run.schedule, platform, desired)
