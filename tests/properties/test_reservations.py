"""Reservations over random machines and jobs: only their jobs use them, and nobody else is hindered."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples
from kit.machine import jobs, platforms, with_reservations

from dardis.metrics.audit import audit
from dardis.model.job import ActualJob
from dardis.model.node_layout import make_layout
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue, Reservation
from dardis.model.schedule import Schedule
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.runs.play import SimulatedRun, play

DISTRIBUTED = ("dardis-throughput", "dardis-profile", "dardis-balance", "dardis-late")
CENTRAL = (
    "rules-fcfs", "rules-wt", "easy", "conservative", "pbs-walltime", "replan", "pcp14", "hcp19", "pcp20", "cp-eurora",
    "portfolio",
)  # fmt: skip
WINDOW_S = 1000
Case = tuple[Platform, list[ActualJob]]


@st.composite
def reserved(draw) -> Case:
    """A machine with reservations, and jobs that all have windows."""
    platform = draw(platforms())
    site, listed = draw(with_reservations(platform, draw(jobs(platform))))
    assume(site.reservations)
    return site, [replace(job, job=replace(job.job, latest=job.earliest + WINDOW_S)) for job in listed]


def simulate_case(case: Case, name: str) -> SimulatedRun:
    settings = ("composite=off",) if name == "pcp14" else ()
    return play(*case, find_dispatcher(name, settings), Target(), 1)


def see_reservations(schedule: Schedule, site: Platform) -> None:
    """Second by second and node by node, with nothing of ours: who is where, and whose room that is."""
    inside, outside = defaultdict(int), defaultdict(int)
    for place in np.flatnonzero(schedule.ran).tolist():
        mine = site.reservation_of.get(schedule.queue[place])
        start, end = int(schedule.start[place]), int(schedule.start[place] + schedule.walltime[place])
        nodes, units = schedule.placed.of(place)
        if mine is not None:
            assert any(begin <= start and end <= over for begin, over in mine.spans)
            assert set(nodes.tolist()) <= set(mine.nodes)
            assert mine.users is None or schedule.user[place] in mine.users
        for second in range(start, int(schedule.finish[place])):
            for node, count in zip(nodes.tolist(), units.tolist(), strict=True):
                for kind, amount in enumerate(schedule.request[place].tolist()):
                    if mine is None:
                        outside[second, node, kind] += count * amount
                    else:
                        inside[mine.name, second, node, kind] += count * amount
    for (name, second, node, kind), amount in inside.items():
        one = next(one for one in site.reservations if one.name == name)
        assert amount <= one.reserved_amounts(site.capacity, site.kinds)[node, kind], (name, second, node)
    for (second, node, kind), amount in outside.items():
        kept = sum(
            int(one.reserved_amounts(site.capacity, site.kinds)[node, kind])
            for one in site.reservations
            if any(start <= second < end for start, end in one.spans)
        )
        assert amount <= site.capacity[node, kind] - kept, (second, node)


@pytest.mark.parametrize("name", DISTRIBUTED + CENTRAL)
@given(case=reserved())
@examples(0.3)
def test_only_jobs_of_a_reservation_use_its_nodes(case, name):
    site, listed = case
    run = simulate_case(case, name)
    see_reservations(run.schedule, site)
    assert audit(run.schedule, site, expected=[job.number for job in listed]) == []
    assert simulate_case(case, name).schedule.digest() == run.schedule.digest()


@pytest.mark.parametrize("name", DISTRIBUTED + CENTRAL)
@given(case=reserved(), data=st.data())
@examples(0.2)
def test_only_job_of_a_reservation_runs_if_it_fits(case, name, data):
    site, listed = case
    one = data.draw(st.sampled_from(site.reservations))
    job = next((job for job in listed if job.queue == one.queue), None)
    assume(job is not None)
    others = [other for other in listed if other.queue not in site.reservation_of]
    run = simulate_case((site, sorted([*others, job], key=lambda j: (j.submit, j.number))), name)
    place = run.schedule.number.tolist().index(job.number)
    kept = one.reserved_amounts(site.capacity, site.kinds)[list(one.nodes)]
    asks = np.array(job.request)
    could = int((kept[:, asks > 0] // asks[asks > 0]).min(axis=1).sum())
    allowed = one.users is None or job.user in one.users
    in_time = any(max(begin, job.earliest) + job.walltime <= end for begin, end in one.spans)
    if name in ("dardis-profile", "dardis-balance") and in_time:
        return  # a drawn start may lie in no span
    assert run.schedule.ran[place] == (allowed and in_time and could >= job.units)


@given(reserved())
@examples(1)
def test_schedule_survives_conversion_to_stand_in_nodes_and_back(case):
    site, _ = case
    schedule = simulate_case(case, "easy").schedule
    laid_out = make_layout(site)
    assert laid_out.to_own_nodes(laid_out.to_reserved_nodes(schedule)).digest() == schedule.digest()


SITE = Platform(
    "four", (NodeGroup("n", 4, {"cores": 4}),), queues=(Queue("r"), Queue("q")),
    reservations=(Reservation("r1", "r", (1, 2), ((100, 200), (300, 400)), {"cores": 2}, ("ann",)),),
)  # fmt: skip


def ask(number: int, queue: str, *, walltime: int = 50, units: int = 1, cores: int = 2, submit: int = 0) -> ActualJob:
    groups = 0b10 if queue == "r" else 0b1
    return actual(number, submit, submit, None, walltime, units, (cores,), groups, queue, "ann", runtime=walltime)


@pytest.mark.parametrize(
    ("number", "change", "said"),
    [
        (1, {"start": 90, "finish": 150}, "is in maintenance"),
        (1, {"start": 150, "finish": 210}, "is in maintenance"),
        (1, {"start": 500, "finish": 560}, "is not within reservation r1"),
        (1, {"start": 250, "finish": 310}, "is not within reservation r1"),
        (1, {"user": "bob"}, "may not use reservation r1"),
        (6, {"queue": "r"}, "is not available to queue r"),
        (6, {"start": 50, "finish": 150}, "exceeds its 4 cores"),
    ],
)
def test_audit_reports_violated_reservations(number, change, said):
    run = play(SITE, [ask(1, "r", walltime=60), ask(6, "q", walltime=100, units=4, cores=3)], *EASY)
    schedule = run.schedule
    place = schedule.number.tolist().index(number)
    columns = {}
    for name, value in change.items():
        column = list(getattr(schedule, name))
        column[place] = value
        columns[name] = np.array(column, dtype=np.int64) if name in ("start", "finish") else column
    found = audit(replace(schedule, **columns), SITE)
    assert any(said in str(violation) for violation in found), found
    assert all(violation.node is None or violation.node < 4 for violation in found)
    assert all(violation.job != -1 for violation in found)


EASY = (find_dispatcher("easy", ()), Target(), 1)


def test_easy_with_a_reservation_by_hand():
    listed = [
        ask(1, "r", walltime=60), ask(2, "r", walltime=60, units=2), ask(3, "r", walltime=90, units=2),
        ask(4, "r", walltime=101), ask(5, "q", walltime=120, units=4, cores=4),
        ask(6, "q", walltime=100, units=4, cores=3), ask(7, "q", walltime=500, units=4),
        ask(8, "r", walltime=100, submit=350),
    ]  # fmt: skip
    run = play(SITE, listed, *EASY)
    start = dict(zip(run.schedule.number.tolist(), run.schedule.start.tolist(), strict=True))
    reasons = {run.jobs[place].number: reason for place, reason in run.recorder.reasons.items()}
    assert (start[1], start[2]) == (100, 300)  # 2 can't start beside 1, and after it 200 comes too soon
    assert start[6] == 0  # until 100 all cores are free; it must not run into the reservation
    assert (start[5], start[7]) == (400, 520)  # 5 needs all there is for 120 s, and 7 must not delay it
    assert "ends earlier" in reasons[4]
    assert "ends earlier" in reasons[8]
    assert "did not start in time" in reasons[3]
    assert audit(run.schedule, SITE, expected=range(1, 9)) == []


@pytest.mark.parametrize("name", CENTRAL)
@given(case=reserved())
@examples(0.2)
def test_jobs_that_wait_for_a_reservation_do_not_delay_others(case, name):
    site, listed = case
    laid_out = make_layout(site).machine
    own = len(site.groups)
    windows = tuple(window for window in laid_out.maintenance if window.nodes[0] < site.node_count)
    alone = replace(site, reservations=(), queues=(), maintenance=windows)
    assert len(laid_out.groups) > own
    others = [job for job in listed if job.queue not in site.reservation_of]
    whole, part = simulate_case(case, name).schedule, simulate_case((alone, others), name).schedule
    start = dict(zip(whole.number.tolist(), whole.start.tolist(), strict=True))
    assert [start[number] for number in part.number.tolist()] == part.start.tolist()
