"""Runs with a scheduler that speaks Batsim's protocol, in this process."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.batsim_scheduler import BatsimScheduler, QueueScheduler, call, execute, scripted
from kit.central_runs import dispatch, setup_of
from kit.error_lines import line_of

from dardis.batsim.batsim_messages import read_answer
from dardis.batsim.batsim_turns import BatsimTurns
from dardis.metrics.audit import audit
from dardis.metrics.requested_jobs import RequestedJobs
from dardis.model.errors import InputError
from dardis.model.job import Status
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.schedule import Schedule
from dardis.sim.simulation import Simulation

POWER = NodePower(idle_w=100.0, core_w=10.0, off_w=1.0, boot_s=10, boot_w=50.0, shutdown_s=5, shutdown_w=20.0)


def machine(nodes: int, cores: int = 1, power: NodePower | None = None) -> Platform:
    return Platform("m", (NodeGroup("n", nodes, {"cores": cores}, power),))


def job(number: int, submit: int, units: int, runtime: int, walltime: int = 100, earliest: int = 0):
    return actual(number, submit, max(submit, earliest), None, walltime, units, (1,), 1, runtime=runtime)


def simulated(platform, jobs, scheduler, *, dynamic: bool = False) -> Simulation:
    turns = BatsimTurns(platform, jobs, "t.swf", lambda: scheduler, dynamic=dynamic)
    simulation = Simulation(jobs, turns, site=platform)
    simulation.run()
    return simulation


def played(platform, jobs, scheduler, *, dynamic: bool = False) -> Schedule:
    """The audited schedule."""
    simulation = simulated(platform, jobs, scheduler, dynamic=dynamic)
    schedule = simulation.recorder.schedule(simulation.jobs, platform.kinds)
    numbers = [one.number for one in simulation.jobs]
    killed = [numbers[place] for place in simulation.recorder.killed]
    downtime = simulation.recorder.downtime()
    assert audit(schedule, platform, expected=numbers, downtime=downtime, killed=killed) == []
    assert scheduler.closed
    assert scheduler.heard[-1]["events"][0]["type"] == "SIMULATION_ENDS"
    return schedule


@st.composite
def instances(draw):
    platform = machine(draw(st.integers(1, 4)), draw(st.integers(1, 3)))
    jobs, submit = [], 0
    for number in range(1, draw(st.integers(1, 12)) + 1):
        submit += draw(st.integers(0, 9))
        units, runtime, walltime = draw(st.integers(1, platform.cores + 1)), *draw(st.tuples(*[st.integers(1, 20)] * 2))
        jobs.append(job(number, submit, units, runtime, walltime))
    return platform, jobs


@given(instances(), st.booleans())
def test_same_rule_gives_the_same_starts_as_the_own_dispatcher(instance, backfill):
    platform, jobs = instance
    ours = dispatch(platform, jobs, setup_of("easy" if backfill else "rules-fcfs", "unit_cores=1")).schedule
    scheduler = QueueScheduler(backfill=backfill)
    theirs = played(platform, jobs, scheduler)
    assert (theirs.start.tolist(), theirs.status.tolist()) == (ours.start.tolist(), ours.status.tolist())
    asked = RequestedJobs.of(jobs, platform.kinds)
    assert audit(theirs, platform, asked=asked) == []
    states = {data["job_id"]: data["job_state"] for _, _, data in scheduler.events("JOB_COMPLETED")}
    for one in jobs:
        late = one.runtime > one.walltime
        expected = "COMPLETED_WALLTIME_REACHED" if late else "COMPLETED_SUCCESSFULLY"
        assert states.get(f"w0!{one.number}", expected) == expected


def test_messages_of_a_small_run():
    scheduler = QueueScheduler()
    played(machine(1, 2), [job(1, 0, 2, 5), job(7, 3, 1, 9, 6)], scheduler)

    def message(now: float, *events) -> dict:
        return {"now": now, "events": [{"timestamp": now, "type": kind, "data": data} for kind, data in events]}

    def submitted(number: int, subtime: float, units: int, walltime: int, profile: str):
        said = {"id": f"w0!{number}", "subtime": subtime, "res": units, "walltime": walltime, "profile": profile}
        return "JOB_SUBMITTED", {"job_id": f"w0!{number}", "job": said}

    def completed(number: int, state: str, code: int, reason: str, alloc: str):
        said = {"job_id": f"w0!{number}", "job_state": state, "return_code": code, "kill_reason": reason}
        return "JOB_COMPLETED", said | {"alloc": alloc}

    begins = scheduler.heard[0]["events"][0]
    assert begins["type"] == "SIMULATION_BEGINS"
    data = begins["data"]
    assert data["nb_resources"] == data["nb_compute_resources"] == 2
    assert data["storage_resources"] == []
    assert data["workloads"] == {"w0": "t.swf"}
    delays = {f"delay-{runtime}": {"type": "delay", "delay": runtime} for runtime in (5, 9)}
    assert data["profiles"] == {"w0": delays}
    assert data["compute_resources"][1] == {"id": 1, "name": "n0.1", "state": "idle", "properties": {"node": "n0"}}
    assert scheduler.heard[1:] == [
        message(1e-7, submitted(1, 0.0, 2, 100, "delay-5")),
        message(3.0, submitted(7, 3.0, 1, 6, "delay-9"), ("NOTIFY", {"type": "no_more_static_job_to_submit"})),
        message(5.0, completed(1, "COMPLETED_SUCCESSFULLY", 0, "", "0-1")),
        message(11.0, completed(7, "COMPLETED_WALLTIME_REACHED", -1, "Walltime reached", "0")),
        message(11.0, ("SIMULATION_ENDS", {})),
    ]


def test_killed_job_ends_at_once_and_frees_its_cores():
    kill = ("KILL_JOB", {"job_ids": ["w0!1"]})
    scheduler = scripted([execute(1, "0-1"), call(6.5)], [kill], [execute(2, "1", mapping={"0": "0"})])
    schedule = played(machine(1, 2), [job(1, 0, 2, 50), job(2, 0, 1, 8)], scheduler)
    assert schedule.status.tolist() == [Status.KILLED, Status.COMPLETED]
    assert (schedule.start.tolist(), schedule.finish.tolist()) == ([0, 7], [7, 15])
    at, *told = [(at, kind, data) for at, kind, data in scheduler.events("JOB_COMPLETED", "JOB_KILLED")][:2]
    assert (at[0], at[1], at[2]["job_state"]) == (7.0, "JOB_COMPLETED", "COMPLETED_KILLED")
    progress = {"w0!1": {"profile": "delay-50", "progress": 7 / 50}}
    assert told == [(7.0, "JOB_KILLED", {"job_ids": ["w0!1"], "job_progress": progress})]


def test_job_killed_at_its_start_runs_for_a_second():
    scheduler = scripted([execute(1, "0"), ("KILL_JOB", {"job_ids": ["w0!1"]})])
    schedule = played(machine(1), [job(1, 3, 1, 50)], scheduler)
    assert (schedule.start.tolist(), schedule.finish.tolist()) == ([3], [4])


def test_kill_after_the_end_is_acknowledged_without_progress():
    scheduler = scripted([execute(1, "0")], [("KILL_JOB", {"job_ids": ["w0!1"]})], [execute(2, "0")])
    schedule = played(machine(1), [job(1, 0, 1, 5), job(2, 0, 1, 5)], scheduler)
    assert schedule.start.tolist() == [0, 5]
    assert scheduler.events("JOB_KILLED") == [(5.0, "JOB_KILLED", {"job_ids": ["w0!1"], "job_progress": {}})]


def test_jobs_of_the_scheduler_run_until_it_ends_registration():
    twice = {"type": "composed", "repeat": 2, "seq": ["d"]}
    profiles = [
        ("REGISTER_PROFILE", {"workload_name": "dyn", "profile_name": name, "profile": profile})
        for name, profile in (("d", {"type": "delay", "delay": 2.2}), ("twice", twice))
    ]
    job_data = {"job_id": "dyn!a", "job": {"id": "dyn!a", "res": 2, "profile": "twice", "walltime": 9}}
    scheduler = scripted(
        [execute(1, "0"), *profiles, ("REGISTER_JOB", job_data),
         ("SET_JOB_METADATA", {"job_id": "dyn!a", "metadata": "x"})],
        [call(3)],
        [execute("dyn!a", "1-2"), ("NOTIFY", {"type": "registration_finished"})],
    )  # fmt: skip
    schedule = played(machine(3), [job(1, 0, 1, 50)], scheduler, dynamic=True)
    assert [data["job_id"] for _, _, data in scheduler.events("JOB_SUBMITTED")] == ["w0!1", "dyn!a"]
    assert (schedule.number.tolist(), schedule.start.tolist()) == ([1, 2], [0, 3])
    assert (schedule.finish.tolist(), schedule.walltime.tolist()) == ([50, 8], [100, 9])


def later(at: float, *said):
    return {"now": at, "events": [{"timestamp": at, "type": kind, "data": data} for kind, data in said]}


def test_busy_scheduler_decides_later_and_hears_of_events_then():
    scheduler = scripted(later(3.5, execute(1, "0")), later(6.5, execute(2, "1"), execute(3, "2")), later(17.5))
    schedule = played(machine(3), [job(1, 1, 1, 9), job(2, 2, 1, 9), job(3, 2, 1, 9)], scheduler)
    assert schedule.start.tolist() == [4, 7, 7]
    assert [at for at, _, _ in scheduler.events("JOB_SUBMITTED")] == [1.0, 4.0, 4.0]
    assert [at for at, _, _ in scheduler.events("JOB_COMPLETED", "SIMULATION_ENDS")] == [13.0, 18.0, 18.0, 18.0]


def test_units_groups_and_other_resources_are_checked():
    groups = NodeGroup("a", 2, {"cores": 3, "gpu": 1}), NodeGroup("b", 1, {"cores": 4})
    platform = Platform("m", groups, partitions={"a": (0,)})
    jobs = [actual(number, 0, 0, None, 9, 2, (2, gpu), 1, runtime=9) for number, gpu in ((1, 0), (2, 1))]
    for said, line in (
        ([execute(1, "0,1,2,3")], "a unit of the job has 2 cores of one node"),
        ([execute(1, "6-9")], "the partition or queue of the job excludes one of the nodes"),
        ([execute(1, "0-1 3-4")], "no event follows, but jobs wait: 1, first w0!2"),
    ):
        assert line in line_of(simulated, platform, jobs, scripted(said))
    lacking = Platform("m", (NodeGroup("a", 1, {"cores": 4, "gpu": 1}),))
    assert "node a0 lacks gpu" in line_of(simulated, lacking, jobs[1:], scripted([execute(2, "0-3")]))


def test_submission_is_reported_at_the_earliest_start():
    scheduler = QueueScheduler()
    assert played(machine(1), [job(1, 0, 1, 5, earliest=8)], scheduler).start.tolist() == [8]
    assert scheduler.events("NOTIFY")[0][0] == 8.0


def test_nodes_switch_and_energy_is_counted():
    power, asks = machine(2, 2, POWER), ("QUERY", {"requests": {"consumed_energy": {}}})
    off, on = (("SET_RESOURCE_STATE", {"resources": "2-3", "state": state}) for state in "10")
    scheduler = scripted([execute(1, "0-1"), off], [on], [asks], [execute(2, "2-3")])
    schedule = played(power, [job(1, 0, 2, 90), job(2, 0, 2, 30)], scheduler)
    changed = [(at, data["state"]) for at, _, data in scheduler.events("RESOURCE_STATE_CHANGED")]
    assert changed == [(5.0, "1"), (15.0, "0")]
    assert schedule.start.tolist() == [0, 15]
    joules = 15 * (100 + 2 * 10) + 5 * 20 + 10 * 50
    assert scheduler.events("ANSWER") == [(15.0, "ANSWER", {"consumed_energy": pytest.approx(joules)})]


TOO_LATE = {"now": 5, "events": [{"timestamp": 9, "type": "NOTIFY", "data": {}}]}
REGISTER = ("REGISTER_JOB", {"job_id": "d!1", "job": {"res": 1, "profile": "p"}})
MISTAKES = [
    ([execute(1, "0"), execute(2, "0-1")], "EXECUTE_JOB at 5 s: job w0!2 on '0-1': resource 0 is in use by job w0!1"),
    ([execute(9, "0")], "EXECUTE_JOB at 5 s: job 'w0!9' is unknown"),
    ([execute(3, "0")], "EXECUTE_JOB at 5 s: job 'w0!3' is not submitted yet"),
    ([execute(1, "0"), execute(1, "1")], "EXECUTE_JOB at 5 s: job 'w0!1' runs already"),
    ([("REJECT_JOB", {"job_id": "w0!1"}), execute(1, "1")], "EXECUTE_JOB at 5 s: job 'w0!1' is over"),
    ([execute(1, "0 1")], "EXECUTE_JOB at 5 s: job w0!1 on '0 1': 2 resources, but the job asks for 1"),
    ([execute(1, "")], "EXECUTE_JOB at 5 s: job w0!1 on '': 0 resources, but the job asks for 1"),
    ([execute(1, "4")], "EXECUTE_JOB at 5 s: alloc '4': no resources 4"),
    ([execute(2, "1,0-1")], "EXECUTE_JOB at 5 s: alloc '1,0-1' has a resource twice"),
    ([execute(1, "1-x")], "EXECUTE_JOB at 5 s: alloc '1-x'; expected an interval set"),
    ([execute(2, "0-1", mapping={"0": "0", "1": "0"})], "mapping of 2 executors to 2 resources; expected one executor"),
    ([execute(1, "1", mapping={"a": "0"})], "EXECUTE_JOB at 5 s: mapping {'a': '0'}"),
    ([execute(1, "1", storage_mapping={"pfs": 2})], "EXECUTE_JOB at 5 s: storage_mapping"),
    ([("EXECUTE_JOB", {"job_id": "w0!1"})], "EXECUTE_JOB at 5 s: alloc is None; expected a text"),
    ([("EXPLODE", {})], "EXPLODE at 5 s: is not supported; expected one of EXECUTE_JOB"),
    ([("KILL_JOB", {"job_ids": ["w0!1"]})], "KILL_JOB at 5 s: job 'w0!1' waits"),
    ([("KILL_JOB", {"job_ids": "w0!1"})], "KILL_JOB at 5 s: job_ids is 'w0!1'; expected a list of texts"),
    ([call(5)], "CALL_ME_LATER at 5 s: asks for a call at 5.0 s; expected a later time"),
    ([call(True)], "CALL_ME_LATER at 5 s: timestamp is True; expected a time in s"),
    ([REGISTER], "REGISTER_JOB at 5 s: registration is closed; expected a run with --batsim-dynamic"),
    ([("SET_RESOURCE_STATE", {"resources": "0", "state": "1"})], "state '1': some cores of a node"),
    ([("SET_RESOURCE_STATE", {"resources": "0-1", "state": "1"})], "state '1': the platform states no boot_s"),
    ([("SET_RESOURCE_STATE", {"resources": "0-1", "state": "7"})], "state '7' of 2 resources; expected 0 (on)"),
    ([("QUERY", {"requests": {"air_temperature_all": {}}})], "QUERY at 5 s: requests air_temperature_all; expected"),
    ([("QUERY", {"requests": {"consumed_energy": {}}})], "QUERY at 5 s: consumed_energy: the platform states no power"),
    ([("NOTIFY", {"type": "hello"})], "NOTIFY at 5 s: type 'hello'; expected registration_finished"),
    ([("SET_JOB_METADATA", {"job_id": "x", "metadata": ""})], "SET_JOB_METADATA at 5 s: job 'x' is unknown"),
    (b"{", "answer to JOB_SUBMITTED at 5 s: is not JSON"),
    (b'{"now": NaN, "events": []}', "answer to JOB_SUBMITTED at 5 s: is not JSON (NaN is not a number)"),
    (b"\xff", "answer to JOB_SUBMITTED at 5 s: is not JSON"),
    (b"[" * 100_000, "answer to JOB_SUBMITTED at 5 s: is not JSON: nested too deeply"),
    ({"now": 5, "events": [[1]]}, "answer to JOB_SUBMITTED at 5 s: event [1]; expected an object with type"),
    ({"now": 5}, "answer to JOB_SUBMITTED at 5 s: lacks `now` or `events`"),
    ({"now": 4, "events": []}, "answer to JOB_SUBMITTED at 5 s: goes back to 4.0 s"),
    (TOO_LATE, "NOTIFY at 5 s: timestamp 9.0 s; expected ascending timestamps from 5 s"),
    ([], "last answer at 20 s: no event follows, but jobs wait: 3, first w0!1; expected EXECUTE_JOB"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "line"), MISTAKES, ids=lambda one: one[:50] if isinstance(one, str) else "")
def test_mistake_of_the_scheduler_is_one_line(answer, line):
    jobs = [job(1, 5, 1, 9), job(2, 5, 2, 9), job(3, 20, 1, 9)]
    scheduler = scripted(answer)
    found = line_of(simulated, machine(2, 2), jobs, scheduler)
    assert found.startswith("--batsim: ")
    assert line in found
    assert scheduler.closed


def test_mistakes_of_registered_jobs_and_switched_nodes():
    jobs, dynamic = [job(1, 0, 1, 9)], {"dynamic": True}
    end = ("NOTIFY", {"type": "registration_finished"})
    for said, line in (
        ([REGISTER], "REGISTER_JOB at 0 s: profile 'p' is unknown"),
        ([end, REGISTER], "REGISTER_JOB at 0 s: registration is closed; expected continue_registration first"),
        ([("REGISTER_JOB", {"job_id": "w0!1", "job": {}})], "job_id 'w0!1' is registered already"),
        ([("REGISTER_JOB", {"job_id": "d!1", "job": {"res": True}})], "REGISTER_JOB at 0 s: res is True"),
        ([execute(1, "0")], "last answer at 9 s: no event follows, but jobs may be registered"),
    ):
        assert line in line_of(simulated, machine(1), jobs, scripted(said), **dynamic)
    off, on = (("SET_RESOURCE_STATE", {"resources": "0", "state": state}) for state in "10")
    for said, line in (
        ([off, execute(1, "0")], "node n0 is switching off"),
        ([on], "a node is not sleeping"),
        ([execute(1, "0"), off], "job w0!1 runs there"),
    ):
        assert line in line_of(simulated, machine(1, power=POWER), jobs, scripted(said))


def test_silence_is_one_line():
    def react(*_):
        raise TimeoutError

    found = line_of(simulated, machine(1), [job(1, 0, 1, 9)], BatsimScheduler(react))
    assert found.startswith("--batsim: SIMULATION_BEGINS at 0 s: no answer from tcp://here:1 within 60 s")


TEXTS = st.sampled_from(["w0!1", "w0!2", "d!1", "0-1", "0", "1", "registration_finished", "p", ""])
NAMES = TEXTS | st.sampled_from(["res", "profile"])
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-3, 1 << 70) | st.floats(0, 1e9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KEYS = ("job_id", "alloc", "mapping", "job_ids", "timestamp", "job", "workload_name", "profile_name", "profile",
        "resources", "state", "type", "requests")  # fmt: skip
DATA = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUES))
KINDS = st.sampled_from(["EXECUTE_JOB", "KILL_JOB", "REJECT_JOB", "CALL_ME_LATER", "REGISTER_JOB", "REGISTER_PROFILE",
                         "SET_RESOURCE_STATE", "SET_JOB_METADATA", "NOTIFY", "QUERY"])  # fmt: skip


def line_or_none(call, *arguments, **named) -> str | None:
    try:
        call(*arguments, **named)
    except InputError as error:
        return str(error)
    return None


@given(st.lists(st.tuples(KINDS, DATA), max_size=6))
def test_any_answer_gives_a_schedule_or_one_line(events):
    scheduler = scripted(events, [execute(1, "0"), execute(2, "0")])
    line = line_or_none(played, machine(2, 1, POWER), [job(1, 0, 1, 9), job(2, 3, 1, 9)], scheduler, dynamic=True)
    assert line is None or line.startswith("--batsim: ")


@given(VALUES | st.fixed_dictionaries({"now": VALUES, "events": st.lists(VALUES | st.fixed_dictionaries({}, optional={
    "type": VALUES, "timestamp": st.integers(4, 9), "data": VALUES}), max_size=3)}))  # fmt: skip
def test_any_json_is_an_answer_or_one_line(value):
    line = line_or_none(read_answer, json.dumps(value).encode(), 5, "NOTIFY")
    assert line is None or " at 5 s: " in line
