"""Decisions about jobs of all kinds, and what the steerer does when Slurm does something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kit.fake_slurm import FakeJob, FakeSlurm
from kit.slurm_json import document
from kit.steering import T, entries, job, lapse, starts, steered, steerer_of

from dardis.model.errors import InputError
from dardis.slurm.learned_limits import LONGEST_RETRY_S, RETRY_S
from dardis.slurm.reservation_lease import LEASE_S, RENEW_S, parse_reservations
from dardis.slurm.slurm_client import SlurmError
from dardis.slurm.steered_job import steered_jobs
from dardis.slurm.steered_queue import PATIENCE_S
from dardis.slurm.steering_log import Entry, Event, SteeringLog, compare_with_slurm


@pytest.mark.parametrize(
    ("more", "nodes"),
    [
        ({}, "n0"),
        ({"excluded_nodes": "n[1-3]"}, "n0"),
        ({"required_nodes": "n2"}, "n2"),
        ({"features": "fast&big"}, "n1"),
        ({"features": "fast|slow"}, "n1"),
        ({"features": "slow"}, "n2"),
        ({"tres_per_node": "gres/gpu:a100:2"}, "n0"),
        ({"tres_per_node": "gres:gpu:2"}, "n0"),
        ({"tres_per_job": "gres/gpu:h100"}, "n1"),
        ({"tres_per_task": "gres/gpu:1", "tasks": 3, "cpus_per_task": 1}, "n0"),
        ({"memory_per_node": 8000}, "n3"),
        ({"memory_per_cpu": {"set": True, "infinite": False, "number": 8000}}, "n3"),
        ({"minimum_cpus_per_node": 5}, ""),
        ({"tasks_per_node": 4, "tasks": 4}, "n0"),
    ],
)
def test_request_selects_the_nodes(tmp_path: Path, more: dict[str, object], nodes: str) -> None:
    slurm = FakeSlurm([job(**more)])
    slurm.node_words |= {
        "n0": "Gres=gpu:a100:4(S:0-1)",
        "n1": "Gres=gpu:h100:1 ActiveFeatures=fast,big",
        "n2": "ActiveFeatures=slow",
        "n3": "RealMemory=9000",
    }
    found = starts(slurm, tmp_path)
    assert found.get("1", "") == nodes


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"contiguous": True}, "--contiguous"),
        ({"features": "[a|b]"}, "--constraint=[a|b]"),
        ({"het_job_id": 1}, "a heterogeneous job"),
        ({"required_nodes": "n1", "node_count": 2}, "fewer nodes in --nodelist than --nodes"),
        ({"thread_spec": 1}, "--thread-spec"),
        ({"shared": ["user"]}, "--exclusive=user, mcs or topo"),
        ({"cpus_per_tres": "gres:gpu:3"}, "--cpus-per-gpu"),
        ({"tres_per_node": "gres/gpu:a:b:c:1"}, "job: Gres 'gpu:a:b:c:1'; expected name:type:count as in gpu:a100:4"),
        ({"burst_buffer": "#BB"}, "a burst buffer"),
        ({"minimum_tmp_disk_per_node": 10}, "--tmp"),
    ],
)
def test_jobs_that_cannot_be_steered_are_left_to_slurm(tmp_path: Path, more: dict[str, object], why: str) -> None:
    slurm = FakeSlurm([job(1, **more), job(2)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    (passed,) = (entry for entry in entries(tmp_path) if entry.event is Event.PASSED)
    assert passed.job == "1"
    assert passed.detail.startswith(why)
    assert [one.starts for one in slurm.jobs] == [1, 1]


def test_jobs_that_enter_the_reservation_themselves_are_named(tmp_path: Path) -> None:
    slurm = FakeSlurm([])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 2)
    slurm.jobs.append(replace(job(3), reservation="dardis_batch", runtime=1))
    lapse(slurm, 5)  # it starts and ends between two rounds
    steered(steerer, slurm, 2)
    (wrong,) = compare_with_slurm(SteeringLog(tmp_path).entries()).violations
    assert wrong.startswith("job 3: started at")


@pytest.mark.parametrize("reason", ["JobHeldUser", "JobHeldAdmin", "Dependency", "BeginTime"])
def test_held_jobs_wait(tmp_path: Path, reason: str) -> None:
    slurm = FakeSlurm([replace(job(1), reason=reason)])
    assert starts(slurm, tmp_path) == {}
    slurm.jobs[0].reason = "Resources"
    assert [*starts(slurm, tmp_path)] == ["1"]


def test_job_of_another_reservation_or_later_begin_is_not_touched(tmp_path: Path) -> None:
    later = {"set": True, "infinite": False, "number": T + 60}
    slurm = FakeSlurm([replace(job(1), reservation="course"), job(2, eligible_time=later)])
    assert starts(slurm, tmp_path) == {}


def test_exclusive_job_gets_whole_nodes(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1, 3, 1, shared=["none"]), job(2, 2, 1), job(3, 1, 4)])
    assert starts(slurm, tmp_path) == {"1": "n[0-2]", "3": "n3"}
    slurm.node_words["n3"] = "Gres=gpu:1"  # nodes that differ
    assert starts(slurm, tmp_path) == {"1": "n[0-2]", "3": "n3"}


def test_closed_and_reserved_nodes_get_no_jobs(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1, 2), job(2, 1)])
    slurm.states |= {"n0": "IDLE+DRAIN", "n1": "DOWN*"}
    slurm.other_reservations = (
        f"ReservationName=course StartTime={T + 60} EndTime={T + 9000} Duration=1 Nodes=n2 NodeCnt=1 "
        "Flags=SPEC_NODES TRES=cpu=4\n"
    )
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 2)
    assert [one.placed for one in slurm.jobs] == [(), ("n3",)]


def test_unknown_use_of_a_node_counts(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1, 1, 4)], count=1)
    slurm.node_words["n0"] = "CPUAlloc=2"
    text = "NodeName=n0 CPUAlloc=2 CPUTot=4 State=MIXED Partitions=batch\n"
    steerer = steerer_of(slurm, tmp_path)
    slurm._node = lambda _name: text
    assert steerer.preview().orders == []


def test_array_starts_at_most_as_many_tasks_as_its_limit(tmp_path: Path) -> None:
    array = FakeJob(7, T, 1, 1, 30, more={"array_max_tasks": 2}, array=(7, None, "1,2,3,4,5%2"))
    slurm = FakeSlurm([array])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 20)
    assert sorted(entry.job for entry in entries(tmp_path) if entry.event is Event.STARTED) == ["7_1", "7_2"]
    steered(steerer, slurm, 80)
    done = [entry.job for entry in entries(tmp_path) if entry.event is Event.ENDED]
    assert sorted(done) == [f"7_{task}" for task in range(1, 6)]


def test_decision_is_taken_back_and_tried_again(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1, 4, 4), blocked=True), job(2)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, PATIENCE_S + RETRY_S + 40)
    found = [(entry.at - T, entry.event) for entry in entries(tmp_path) if entry.job == "1"]
    back = PATIENCE_S
    assert found[:3] == [(0, Event.START), (back, Event.TAKEN_BACK), (back + RETRY_S, Event.START)]
    assert slurm.jobs[1].starts == 1  # the nodes were free meanwhile
    slurm.jobs[0].blocked = False
    steered(steerer, slurm, LONGEST_RETRY_S + 60)
    assert slurm.jobs[0].starts == 1


def test_job_of_a_failed_node_starts_again(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1, 2, 4)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 5)
    slurm.states[slurm.jobs[0].placed[0]] = "DOWN"
    slurm.requeue(slurm.jobs[0])
    steered(steerer, slurm, PATIENCE_S + RETRY_S + 10)
    assert slurm.jobs[0].starts == 2
    assert slurm.jobs[0].placed == ("n1", "n2")
    entries(tmp_path)


def test_changed_and_cancelled_jobs_are_forgotten(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1), blocked=True), replace(job(2), blocked=True)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    slurm.jobs[0].state, slurm.jobs[0].end = "CANCELLED", slurm.now
    slurm.jobs[1].partition = "other"
    steered(steerer, slurm, 3)
    found = {entry.job: entry.event for entry in entries(tmp_path)}
    assert (found["1"], found["2"]) == (Event.LEFT, Event.TAKEN_BACK)
    assert (slurm.jobs[1].reservation, slurm.jobs[1].required) == ("", "")


def test_cap_limits_what_starts(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(number, 1, 1) for number in range(1, 9)])
    for dispatcher, settings in (
        ("easy", ("profile=hard", "profile_split=proportional")),
        ("dardis-late", ("profile=hard", "profile_split=shared")),
    ):
        capped = {"cap": lambda _platform: ("cores", [[T - 100, 4], [T + 100_000, 8]])}
        assert len(starts(slurm, tmp_path, dispatcher, *settings, **capped)) == 4
    assert starts(slurm, tmp_path, "easy", **capped) == starts(slurm, tmp_path, "easy", "profile=hard", **capped)
    steerer = steerer_of(slurm, tmp_path, dispatcher, *settings, **capped)
    steerer.begin()
    steered(steerer, slurm, 5)
    assert sum(one.state == "RUNNING" for one in slurm.jobs) == 4  # running jobs count
    with pytest.raises(InputError, match="only nodes that share the profile"):
        starts(slurm, tmp_path, "easy", cap=lambda _platform: ("power", [[T, 100]]))


def test_predicted_runtimes_are_learned(tmp_path: Path) -> None:
    jobs = [replace(job(number, 4, 4), submit=T + 40 * number, limit_min=60) for number in range(4)]
    slurm = FakeSlurm(jobs)
    steerer = steerer_of(slurm, tmp_path, "easy", "expected=last-two")
    steerer.begin()
    steered(steerer, slurm, 200)
    assert all(one.starts == 1 for one in slurm.jobs)
    assert set(steerer._queue._expected.values()) <= {30, 3600}


def test_round_makes_three_calls_and_one_for_each_start(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(number, 1, 1) for number in range(1, 1001)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    for _ in range(2 * RENEW_S):
        before = len(slurm.calls)
        orders = steerer.round().result.orders
        assert len(slurm.calls) - before <= 3 + len(orders)
        slurm.schedule()
        slurm.now += 1
    assert slurm.active()


def test_nothing_is_ordered_after_an_incomplete_answer(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    slurm.cuts = True
    count = len(slurm.calls)
    with pytest.raises(SlurmError, match="is not JSON"):
        steerer.round()
    assert all("show" in call or call[0] == "squeue" for call in slurm.calls[count:])


def test_steerer_of_a_lost_lease_ends(tmp_path: Path) -> None:
    slurm = FakeSlurm([])
    first, second = (steerer_of(slurm, tmp_path / name) for name in "ab")
    for name in "ab":
        (tmp_path / name).mkdir()
    first.begin()
    with pytest.raises(InputError, match="is steered by another dardis steer"):
        second.begin()
    slurm.now += LEASE_S + 1
    second.begin()
    with pytest.raises(InputError, match="is steered by another dardis steer"):
        first.round()


def test_running_job_of_which_slurm_states_shares(tmp_path: Path) -> None:
    del tmp_path
    cores = {"0": {"cores": {"0": "allocated", "1": "allocated"}}, "1": {"cores": {"0": "allocated", "1": "free"}}}
    before = {"nodes": "n[1-2]", "allocated_nodes": [
        {"nodename": "n1", "sockets": cores}, {"nodename": "n2", "sockets": {"0": {"cores": {"0": "allocated"}}}},
    ]}  # fmt: skip
    since = {"nodes": {"list": "n[1-2]", "allocation": [
        {"name": "n1", "cpus": {"count": 3, "used": 0}}, {"name": "n2", "cpus": {"count": 1, "used": 0}},
    ]}}  # fmt: skip
    for version, resources in ((38, before), (43, since)):
        running = replace(
            job(1, 2, 2, job_resources=resources, gres_detail=["gpu:a100:2(IDX:0,3)", "gpu:a100:1(IDX:0)"]),
            state="RUNNING", start=T, placed=("n1", "n2"),
        )  # fmt: skip
        (found,), malformed = steered_jobs("squeue", document("jobs", [running.record(version, 10)], version))
        assert malformed == []
        assert {name: held["cores"] for name, held in found.held.items()} == {"n1": 3, "n2": 1}
        assert [held["gpu_a100"] for held in found.held.values()] == [2, 1]


def test_reservations_are_read_or_refused() -> None:
    text = "ReservationName=a StartTime=1 EndTime=2 Duration=1 Nodes=n[1-2] NodeCnt=2 Flags=MAINT,SPEC_NODES TRES=c\n"
    (found,) = parse_reservations(text)
    assert (found.name, found.start, found.end, found.nodes) == ("a", 1, 2, ("n1", "n2"))
    assert parse_reservations("No reservations in the system\n") == []
    for wrong in ("ReservationName=a StartTime=2026-11-29T07:00:00", text.replace("n[1-2]", "n[2-1]")):
        with pytest.raises(SlurmError):
            parse_reservations(wrong)


def test_log_survives_a_crash_in_a_line(tmp_path: Path) -> None:
    log = SteeringLog(tmp_path)
    log.add([Entry(1, "5", Event.START, "n[1-2]", before="n1", detail="=1")])
    whole = log.path.read_bytes()
    log.add([Entry(2, "6", Event.START, "n[1-2,4]", detail="a, b")])
    added = log.path.read_bytes()[len(whole) :]
    for cut in range(1, len(added) - 1):
        log.path.write_bytes(whole + added[:cut])
        assert log.entries()[0].at == 1
    log.path.write_bytes(whole + b"2,5,star")
    log.add([Entry(3, "5", Event.STARTED, "n[1-2]", start=2)])
    assert [entry.at for entry in log.entries()] == [1, 3]
    assert log.entries()[0].detail == "=1"
    log.path.write_text("a,b\n")
    with pytest.raises(InputError, match="other columns"):
        log.entries()


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([Entry(1, "5", Event.STARTED, "n1", start=1)], "started at 1970-01-01T00:00:01Z without a decision"),
        (
            [Entry(1, "5", Event.START, "n1"), Entry(2, "5", Event.STARTED, "n2", start=2)],
            "decided on n1, started on n2",
        ),
        (
            [Entry(1, "5", Event.START, "n1"), *[Entry(2, "5", Event.STARTED, "n1", start=2)] * 2],
            "started at 1970-01-01T00:00:02Z while it runs",
        ),
    ],
)
def test_comparison_finds_what_slurm_did_otherwise(events: list[Entry], told: str) -> None:
    assert told in " ".join(compare_with_slurm(events).violations)
