"""The late set-up over random machines, jobs and settings: the agreed order, however split, and what it promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples
from kit.late_reference import Key, SlowLate, key_of
from kit.late_runs import LateRun, run_late
from kit.machine import desired_profiles, jobs, platforms, shared_profiles, with_queues
from kit.replay import never_above, placement, rejected_that_could_run

from dardis.kernels import job_table, placer
from dardis.metrics.system import used_profile
from dardis.model.choices import EventOrder, Expecting, NodeChoice, ProfileRule, UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction, breakpoints
from dardis.model.target import DesiredProfile
from dardis.task_manager import LATE_SETUPS, LateSetUp
from dardis.task_manager.late import order as view

LATE = LATE_SETUPS["dardis-late"]
KEYED = [choice for choice in NodeChoice if choice is not NodeChoice.RANDOM]
"""Node choices that need no draw: a draw's key counts the rounds of a job."""


@dataclass
class Case:
    """What a run is made of."""

    platform: Platform
    jobs: list[ActualJob]
    setup: LateSetUp
    desired: DesiredProfile | None

    def run(self, cuts: Sequence[int] = (), managers: int = 1, **more) -> LateRun:
        return run_late(
            self.platform, self.jobs, self.setup, desired=self.desired, cuts=cuts, managers=managers, **more
        )


@st.composite
def setups(draw, **fixed) -> LateSetUp:
    """Any settings, some of them fixed; jobs grow old early."""
    setup = replace(
        LATE,
        aged_after_s=draw(st.sampled_from((0, 1, 5, 20, 20, 60, 86_400))),
        longest_wait=draw(st.sampled_from((1.1, 1.5, 3.7, 10.0))),
        expected=draw(st.sampled_from((Expecting.WALLTIME, Expecting.USED_SHARE, Expecting.REAL))),
        node_choice=draw(st.sampled_from(NodeChoice)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        profile=draw(st.sampled_from(ProfileRule)),
        event_order=draw(st.sampled_from(EventOrder)),
    )
    return replace(setup, **fixed)


@st.composite
def cases(draw, *, following: bool = True, **fixed) -> Case:
    """Any machine, jobs, wishes and settings, some of them fixed."""
    platform = draw(platforms())
    desired = draw(st.none() | desired_profiles(platform))
    platform, listed = draw(with_queues(platform, draw(jobs(platform, most=12, following=following))))
    return Case(platform, listed, draw(setups(**fixed)), desired)


@st.composite
def shared_cases(draw, **fixed) -> Case:
    """As `cases`, with wishes that the nodes share."""
    platform = draw(platforms())
    desired = draw(shared_profiles(platform))
    platform, listed = draw(with_queues(platform, draw(jobs(platform, most=12))))
    profile = draw(st.sampled_from([ProfileRule.SOFT, ProfileRule.HARD]))
    return Case(platform, listed, draw(setups(**({"profile": profile} | fixed))), desired)


@st.composite
def splits(draw, case: Case) -> list[int]:
    """Any cut of the machine into hosts."""
    inner = range(1, case.platform.node_count)
    return sorted(draw(st.sets(st.sampled_from(inner)))) if inner else []


def where(case: Case, run: LateRun) -> dict[int, tuple[int, dict[int, int]]]:
    """Start and place of each job that ran."""
    ran = np.flatnonzero(run.schedule.ran).tolist()
    return {case.jobs[p].number: (int(run.schedule.start[p]), placement(run.schedule, p)) for p in ran}


@given(st.data(), st.integers(1, 3))
@examples(3)
def test_schedule_equals_the_slow_late_reference(data, managers):
    case = data.draw(cases() | shared_cases())
    case.setup = replace(case.setup, node_choice=data.draw(st.sampled_from(KEYED)))
    run = case.run(data.draw(splits(case)), managers)
    assert where(case, run) == SlowLate(case.platform, case.jobs, case.setup, case.desired).claims


@st.composite
def crowds(draw) -> Case:
    """Many jobs that all fit the machine, at about the same time: heads change, and jobs grow old, also unseen."""
    cores = draw(st.integers(1, 4))
    platform = Platform("crowded", (NodeGroup("n", draw(st.integers(1, 4)), {"cores": cores}),))
    setup = draw(setups(node_choice=NodeChoice.BEST_FIT, units_per_node=UnitsPerNode.PACK))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 30),
                st.integers(1, 25),
                st.integers(0, 6),
                st.integers(1, cores),
                st.integers(1, 8),
                st.just(0) | st.integers(1, 60),
            ),
            min_size=8,
            max_size=20,
        )
    )
    listed = []
    for number, (submit, runtime, more, request, wanted, later) in enumerate(sorted(rows), 1):
        units = min(wanted, platform.node_count * (cores // request))
        listed.append(
            actual(number, submit, submit + later, None, runtime + more, units, (request,), 1, runtime=runtime)
        )
    return Case(platform, listed, setup, None)


@st.composite
def rivals(draw) -> Case:
    """A job of more than half the machine, or some, against streams of short narrow ones, which have better keys."""
    nodes = draw(st.integers(1, 4))
    platform = Platform("rivals", (NodeGroup("n", nodes, {"cores": 2}),))
    wide = [
        (draw(st.integers(0, 40)), draw(st.integers(5, 30)), draw(st.integers(nodes + 1, 2 * nodes)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    every, lasts = draw(st.integers(1, 3)), draw(st.integers(2, 8))
    narrow = [(submit, lasts, 1) for submit in range(0, draw(st.integers(20, 60)), every)]
    listed = [
        actual(number, submit, submit, None, walltime + draw(st.integers(0, 5)), units, (1,), 1, runtime=walltime)
        for number, (submit, walltime, units) in enumerate(sorted(wide + narrow), 1)
    ]
    return Case(platform, listed, draw(setups(node_choice=NodeChoice.BEST_FIT, units_per_node=UnitsPerNode.PACK)), None)


@given(st.data(), st.integers(2, 4))
@examples(1.5)
def test_schedule_is_independent_of_hosts_and_task_managers(data, managers):
    case = data.draw(cases() | shared_cases())
    alone = case.run(encoded=False)
    cuts = data.draw(splits(case))
    split, encoded = case.run(cuts, managers, encoded=False), case.run(cuts, managers)
    assert alone.schedule.digest() == split.schedule.digest() == encoded.schedule.digest()
    assert alone.reasons == split.reasons == encoded.reasons
    assert alone.renegotiations == split.renegotiations == encoded.renegotiations
    # What nodes publish is a message to each task manager.
    assert split.messages == encoded.messages == case.run([], managers).messages


@dataclass
class Promises:
    """Watches the reservations of a run."""

    case: Case
    broken: list[str] = field(default_factory=list)
    _reserved: dict[int, int] = field(default_factory=dict)

    def key(self, number: int, now: int, oldest: int | None) -> Key:
        job = next(job for job in self.case.jobs if job.number == number)
        level = self.case.platform.level_of(job.queue)
        return key_of(job, now, oldest, self.case.platform.kinds, level)

    def is_closed(self, number: int, now: int) -> bool:
        """Whether its queue lets the job not start now: then it holds nothing."""
        queue = next(job.queue for job in self.case.jobs if job.number == number)
        return self.case.platform.starts_of(queue).opens(now) > now

    def watch(self, now: int, reserved: dict[int, int], begun: list[int], oldest: int | None) -> None:
        if len(reserved) > 1:
            self.broken.append(f"at {now} {len(reserved)} hold reservations")
        for job, promised in self._reserved.items():
            given = now if job in begun else reserved.get(job)
            mine = self.key(job, now, oldest)
            better = any(self.key(other, now, oldest) < mine for other in {*begun, *reserved} - {job})
            if (given is None or given > promised) and not better and not self.is_closed(job, now):
                self.broken.append(f"at {now} job {job} has {given}, promised {promised}")
        self._reserved = reserved


PROMISES = [ProfileRule.HARD, ProfileRule.OFF]
"""A soft profile gives way to deadlines, not by any order."""


@given(st.data())
@examples(2)
def test_only_a_better_job_moves_the_heads_reservation(data):
    case = data.draw(crowds() | cases(profile=data.draw(st.sampled_from(PROMISES)), following=False))
    case.setup = replace(case.setup, expected=Expecting.WALLTIME)  # as the keys of `Promises`
    promises = Promises(case)
    case.run(watch=promises.watch)
    assert promises.broken == []


@given(crowds() | rivals())
@examples(2)
def test_waits_stay_below_the_documented_bound(case):
    """docs/late.md: once it is old, it starts within two of the longest walltimes for itself and each job that is
    old before it and has not started."""
    starts = {number: start for number, (start, _) in where(case, case.run()).items()}
    slow = SlowLate(case.platform, case.jobs, case.setup, None)
    longest = max(job.walltime for job in case.jobs)
    asked = {job.number: job for job in case.jobs}
    of = {number: (old, asked[number].submit, number) for number, old in slow._old_at.items()}
    for number, start in starts.items():
        since = max(of[number][0], asked[number].earliest)
        before = sum(of[other] < of[number] and starts[other] > since for other in starts)
        assert start <= since + 2 * (before + 1) * longest


@given(cases() | cases(profile=ProfileRule.HARD))
@examples(1.5)
def test_hard_profile_is_never_exceeded_and_only_impossible_jobs_are_rejected(case):
    run = case.run()
    binds = case.desired is not None and case.setup.profile is ProfileRule.HARD
    assert not binds or never_above(run.schedule, case.platform, case.desired)
    wishes, distinct = case.desired if binds else None, case.setup.units_per_node is UnitsPerNode.DISTINCT
    assert rejected_that_could_run(case.platform, case.jobs, run.schedule, wishes, distinct=distinct) == []
    for place, reason in run.reasons.items():
        given_up = reason.startswith("no start within the hard desired profile")
        assert given_up or reason.startswith(f"requests {case.jobs[place].units} units of")
        assert binds or not given_up


@given(shared_cases(profile=ProfileRule.HARD))
@examples(1)
def test_sum_never_exceeds_a_hard_shared_profile_and_only_impossible_jobs_are_rejected(case):
    run, desired = case.run(), case.desired
    kinds, schedule = case.platform.kinds, run.schedule
    limits = [(desired.total(kind), used_profile(schedule, name)) for kind, name in enumerate(kinds)]
    cores = kinds.index("cores")
    if desired.watts is not None:
        used = limits[cores][1]
        limits.append((desired.watts, StepFunction(used.times, -(-9455 * used.values // 1000))))
    for allowed, used in limits:
        times = breakpoints([allowed, used])
        assert (used.at(times) <= allowed.at(times)).all()
    for place, reason in run.reasons.items():
        job = case.jobs[place]
        need = [job.units * amount for amount in job.request]
        need += [-(-9455 * need[cores] // 1000)] if desired.watts is not None else []
        lasting = [allowed.values[-1] for allowed, _ in limits]
        assert reason.startswith(f"requests {job.units} units of") or any(
            amount > left for amount, left in zip(need, lasting, strict=True)
        )


@given(st.data(), st.integers(1, 3))
@examples(1)
def test_schedule_is_independent_of_initial_buffer_sizes(data, slots):
    case = data.draw(crowds() | cases())
    expected = case.run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_table, "FIRST_SLOTS", slots)
        make_rows, make_room = view.make_rows, placer.make_pass_buffers
        patch.setattr(view, "make_rows", lambda count, columns, _, dtype: make_rows(count, columns, 1, dtype))
        patch.setattr(placer, "FIRST_LONGEST", 1)
        patch.setattr(placer, "make_pass_buffers", lambda kinds, scratch, _, count: make_room(kinds, scratch, 1, count))
        narrow = case.run()
    assert narrow.schedule.digest() == expected.schedule.digest()
    assert narrow.reasons == expected.reasons


@given(crowds() | rivals(), st.integers(1, 3))
@examples(1)
def test_schedule_equals_the_slow_late_reference_under_high_load(case, managers):
    run = case.run([1] if case.platform.node_count > 1 else [], managers)
    assert where(case, run) == SlowLate(case.platform, case.jobs, case.setup, None).claims
