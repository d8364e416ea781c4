"""What happens at a site, over random machines, jobs and events: nobody is lost, and the audit finds nothing."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import asking
from kit.effort import examples
from kit.site_events import LAST, WINDOW_S, Case, ask, stopped_crowds, stories

from dardis.config.queue_fields import check_reservations, places_of
from dardis.dispatch.cp.decision_problem import DecisionProblem
from dardis.dispatch.cp.instance import read_instance
from dardis.model.addresses import JobId, all_hosts
from dardis.model.choices import EventOrder
from dardis.model.errors import InputError
from dardis.model.events import JobChanged, NodesDown, NodesUp, QueueStarted, QueueStopped, ReservationMade
from dardis.model.job import Part, Request, Status
from dardis.model.node_layout import make_layout
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue, Reservation
from dardis.model.target import Target
from dardis.runs.hosts import even_bounds, host_from_plan, host_plan
from dardis.runs.play import HostAssignment, SimulatedRun, play_over
from dardis.task_manager import EVERY_HOST
from dardis.transport.local_transport import LocalHosts

BEARING = (
    "dardis-throughput", "dardis-profile", "dardis-balance", "dardis-late", "rules-fcfs", "rules-wt", "easy",
    "conservative", "pbs-walltime", "replan", "pcp14", "hcp19", "pcp19", "cp-eurora", "portfolio",
)  # fmt: skip


def see_that_none_starts_in_a_stopped_queue_or_runs_on_failed_nodes(case: Case, run: SimulatedRun) -> None:
    """By the events alone."""
    schedule = run.schedule
    stopped, down = defaultdict(list), defaultdict(list)
    for event in case.events:
        match event:
            case QueueStopped(at=at, queue=queue):
                stopped[queue].append([at, 1 << 60])
            case QueueStarted(at=at, queue=queue):
                stopped[queue][-1][1] = at
            case NodesDown(at=at, nodes=(node,)):
                down[node].append([at, 1 << 60])
            case NodesUp(at=at, nodes=(node,)):
                down[node][-1][1] = at
    for place in np.flatnonzero(schedule.ran).tolist():
        start, end = int(schedule.start[place]), int(schedule.finish[place])
        assert not any(since <= start < until for since, until in stopped[schedule.queue[place]])
        for node in schedule.placed.of(place)[0].tolist():
            for since, until in down[node]:
                assert end <= since or start >= until
                if end == since and end - start < min(schedule.walltime[place], run.jobs[place].runtime):
                    assert schedule.status[place] == Status.KILLED
    for place, job in enumerate(run.jobs):
        if schedule.ran[place] and place not in run.recorder.cut:
            assert schedule.finish[place] - schedule.start[place] == min(job.runtime, job.walltime)


@pytest.mark.parametrize(
    ("name", "shaped"),
    [(name, False) for name in BEARING] + [(name, True) for name in BEARING[4:10] if name != "rules-wt"],
)
@given(data=st.data())
@examples(0.35)
def test_all_jobs_end_and_schedules_are_legal_with_site_events(data, name, shaped):
    case = data.draw(stories(shaped=shaped))
    run = case.play(name)
    assert case.as_it_was(run) == []
    if not shaped:
        see_that_none_starts_in_a_stopped_queue_or_runs_on_failed_nodes(case, run)
    assert case.play(name).schedule.digest() == run.schedule.digest()


@pytest.mark.parametrize("name", ["dardis-throughput", "dardis-late"])
@given(case=stories(), hosts=st.integers(2, 3), managers=st.integers(2, 5))
@examples(0.4)
def test_hosts_and_task_managers_do_not_change_the_schedule(case, name, hosts, managers):
    machine = make_layout(case.site).machine
    hosts = min(hosts, machine.node_count)
    dispatcher = case.dispatcher(name)
    bounds = even_bounds(machine.node_count, hosts)
    plan = host_plan(machine, None, bounds, 1)
    local = LocalHosts([host_from_plan(plan, host, dispatcher.pool) for host in all_hosts(hosts)], encoded=True)
    run = play_over(
        HostAssignment(local, bounds), case.site, case.jobs, dispatcher, Target(), 1, task_managers=managers,
        reach=EVERY_HOST,
        progress=None, events=case.events,
    )  # fmt: skip
    assert run.schedule.digest() == case.play(name).schedule.digest()


@given(case=stopped_crowds(), managers=st.integers(2, 5))
@examples(1)
def test_requeued_job_keeps_its_age_with_any_number_of_task_managers(case, managers):
    run = case.play("dardis-late", task_managers=managers)
    assert run.schedule.digest() == case.play("dardis-late").schedule.digest()


FOUR = Platform("four", (NodeGroup("n", 4, {"cores": 4}),), queues=(Queue("a"), Queue("b"), Queue("r")))


def starts(run: SimulatedRun) -> dict[int, int | str]:
    return {
        job.number: run.recorder.reasons.get(place, int(run.schedule.start[place]))
        for place, job in enumerate(run.jobs)
    }


TWO_JOBS = [ask(1, 50, 4), ask(2, 50, 4)]
MOVED = [QueueStopped(0, "b"), JobChanged(10, JobId(2), queue="b", groups=1)]
STORIES = {
    "the second job of a stopped queue waits and lets others go before it": (
        [*TWO_JOBS, ask(3, 60, 4, "b", 10)],
        [QueueStopped(20, "a"), QueueStarted(70, "a")],
        {1: 0, 2: 110, 3: 50},
    ),
    "a queue is never started": (TWO_JOBS, [QueueStopped(20, "a")], {1: 0, 2: "waits in queue a, which is stopped"}),
    "a job is moved to a stopped queue": (TWO_JOBS, MOVED, {1: 0, 2: "waits in queue b, which is stopped"}),
    "and back": (TWO_JOBS, [*MOVED, JobChanged(80, JobId(2), queue="a", groups=1)], {1: 0, 2: 80}),
    "nodes never come back": (
        [ask(1, 50, 2), ask(2, 50, 4, submit=1)],
        [NodesDown(30, (3,))],
        {1: 0, 2: "finds no start while nodes have failed"},
    ),
}


@pytest.mark.parametrize("name", ["easy", "conservative", "replan", "dardis-throughput", "dardis-late", "hcp19"])
class TestByHand:
    @pytest.mark.parametrize("what", STORIES)
    def test_sequence_of_site_events_by_hand(self, name, what):
        listed, events, expected = STORIES[what]
        assert starts(Case(FOUR, listed, events).play(name)) == expected

    def test_a_queue_that_is_stopped_and_started_in_one_instant(self, name):
        case = Case(FOUR, [ask(1, 50, 4), ask(2, 50, 4)], [QueueStopped(20, "a"), QueueStarted(20, "a")])
        run = case.play(name)
        assert starts(run) == {1: 0, 2: 50}
        assert all(queue.stopped == () for queue in run.site.platform_after_events.queues)

    def test_change_to_a_smaller_request_applies(self, name):
        listed = [ask(1, 50, 2), ask(2, 50, 4), ask(3, 100, 2, submit=5)]
        if name in ("replan", "hcp19"):
            return  # they let it go before anyway
        assert starts(Case(FOUR, listed, []).play(name))[3] == 100
        run = Case(FOUR, listed, [JobChanged(20, JobId(3), walltime=30)]).play(name)
        assert starts(run) == {1: 0, 2: 50, 3: 20}
        assert run.schedule.status.tolist() == [Status.COMPLETED, Status.COMPLETED, Status.KILLED]

    def test_running_job_is_not_changed(self, name):
        run = Case(FOUR, [ask(1, 50, 2)], [JobChanged(20, JobId(1), walltime=30)]).play(name)
        assert run.schedule.walltime.tolist() == [50]
        assert "job 1" in run.site.notes[0]

    def test_nodes_fail_and_come_back(self, name):
        listed = [ask(1, 50, 4), ask(2, 50, 4), ask(3, 20, 2, submit=5)]
        run = Case(FOUR, listed, [NodesDown(30, (0, 1)), NodesUp(90, (0, 1))]).play(name)
        assert starts(run) == {1: 0, 2: 90, 3: 30}
        assert run.schedule.finish.tolist() == [30, 140, 50]
        assert run.schedule.status.tolist() == [Status.KILLED, Status.COMPLETED, Status.COMPLETED]

    def test_only_jobs_that_remaining_nodes_never_hold_are_lost(self, name):
        listed = [ask(1, 60, 2), ask(2, 60, 4, submit=10), ask(3, 60, 1, submit=20), ask(4, 60, 1, submit=30)]
        listed.append(replace(ask(5, 60, 1, submit=40), after=2, think=5))
        run = Case(FOUR, listed, [NodesDown(5, (3,))]).play(name)
        found = starts(run)
        assert found[2] == "finds no start while nodes have failed"
        assert all(isinstance(found[number], int) for number in (1, 3, 4, 5))

    def test_a_reservation_is_made(self, name):
        one = Reservation("course", "r", (0, 1, 2, 3), ((80, 120),), stands=False)
        site = replace(FOUR, reservations=(one,))
        listed = [ask(1, 50, 4), ask(2, 50, 4), ask(3, 20, 1, "r", 35), ask(4, 20, 1, "r", 10)]
        listed = [asking(job, groups=2) if job.queue == "r" else job for job in listed]
        run = Case(site, sorted(listed, key=lambda job: job.submit), [ReservationMade(30, "course")]).play(name)
        assert starts(run) == {1: 0, 2: 120, 3: 80, 4: "reservation course does not exist now"}

    def test_reservation_on_busy_nodes_is_refused(self, name):
        one = Reservation("course", "r", (0, 1, 2, 3), ((40, 120),), stands=False)
        listed = [ask(1, 50, 4), asking(ask(3, 20, 1, "r", 35), groups=2)]
        run = Case(replace(FOUR, reservations=(one,)), listed, [ReservationMade(30, "course")]).play(name)
        assert starts(run) == {1: 0, 3: "reservation course does not exist now"}
        assert "refused: node 0" in run.site.notes[0]


@pytest.mark.parametrize("name", ["rules-fcfs", "rules-wt", "easy", "replan"])
@given(case=stories(shaped=True))
@examples(0.3)
def test_job_without_start_on_remaining_nodes_has_none_on_an_empty_machine(case, name):
    run = case.play(name)
    events = [event for event in case.events if not isinstance(event, JobChanged)]
    for place, reason in run.recorder.reasons.items():
        if reason == "finds no start while nodes have failed":
            job = replace(run.jobs[place], after=None)
            job = asking(job, submit=LAST + 1, earliest=LAST + 1, latest=LAST + 1 + WINDOW_S)
            assert not replace(case, jobs=[job], events=events).play(name).schedule.ran.any()


def four(units: int) -> Part:
    """Units of four cores."""
    return Part(units, (4,), 1)


@pytest.mark.parametrize("order", EventOrder)
@pytest.mark.parametrize("name", ["rules-fcfs", "easy", "conservative", "replan", "pcp19", "cp-eurora"])
@pytest.mark.parametrize(("then", "start"), [([], 50), ([QueueStopped(50, "a"), QueueStarted(70, "a")], 70)])
def test_job_placed_and_withdrawn_at_once_keeps_all_alternatives(name, order, then, start):
    job = asking(ask(1, 30, 4), requests=(Request((four(4),), 30), Request((four(1), four(2)), 60)))
    events = [QueueStopped(0, "a"), QueueStarted(50, "a"), *then[:1], NodesDown(start - 5 * len(then), (3,)), *then[1:]]
    case = Case(FOUR, [replace(job, runtimes=(50, 40))], events, order)
    run = case.play(name)
    assert case.as_it_was(run) == []
    assert run.schedule.taken.tolist() == [1]
    assert run.schedule.start.tolist() == [start]
    assert run.schedule.finish.tolist() == [start + 40]


@pytest.mark.parametrize("name", ["pcp14", "hcp19", "pcp19", "cp-eurora", "portfolio"])
@given(case=stories() | stories(shaped=True))
@examples(0.2)
def test_decision_files_round_trip_with_site_events(case, name, tmp_path_factory):
    asked: list[DecisionProblem] = []
    case.play(name, lambda _, problem: asked.append(problem))
    path = tmp_path_factory.getbasetemp() / "decision.json"
    for problem in asked:
        path.write_text(json.dumps(problem.plain()))
        again = read_instance(path)
        assert again.plain() == problem.plain()
        assert [one.requests for one in again.waiting] == [one.requests for one in problem.waiting]


@given(stories())
@examples(1)
def test_refused_reservation_conflicts_with_running_jobs(case):
    run = case.play("easy")
    made = [event for event in case.events if isinstance(event, ReservationMade)]
    standing = {one.name for one in run.site.platform_after_events.reservations if one.stands}
    for event in made:
        assert (event.name in standing) != any(
            f"reservation {event.name} is refused" in note for note in run.site.notes
        )
    try:
        check_reservations(case.site, places_of("here", case.site))
    except InputError:
        pytest.fail("the strategy draws reservations that go together")
