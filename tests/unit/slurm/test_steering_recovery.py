"""What the steerer does after lapses, crashes, lost answers, limits, requeues and changes by users."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kit.fake_slurm import DENIED, FakeJob, FakeSlurm
from kit.steering import T, entries, job, lapse, starts, steered, steerer_of

from dardis.model.errors import InputError
from dardis.slurm import steered_queue, steering_log
from dardis.slurm.learned_limits import RETRY_S
from dardis.slurm.reservation_lease import LEASE_S
from dardis.slurm.slurm_client import SlurmError
from dardis.slurm.steered_queue import PATIENCE_S
from dardis.slurm.steering_log import Event


def test_job_left_to_slurm_is_ordered_again_after_a_lapse(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1, 4, 4), runtime=500), job(2, 4, 1, contiguous=True)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    assert slurm.jobs[1].reservation
    lapse(slurm)
    steered(steerer, slurm, 600)
    assert slurm.jobs[1].starts == 1
    entries(tmp_path)


def test_oldest_of_many_jobs_are_considered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steered_queue, "MOST_JOBS", 2)
    slurm = FakeSlurm([replace(job(number, 4, 4), submit=T - number) for number in range(1, 6)])
    assert [*starts(slurm, tmp_path)] == ["5"]


def test_order_whose_answer_was_lost_is_not_forgotten(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1), blocked=True)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    slurm.lost_answers = "NodeList"
    steered(steerer, slurm, 1)
    slurm.lost_answers = ""
    steered(steerer, slurm, PATIENCE_S + 5)
    assert (slurm.jobs[0].reservation, slurm.jobs[0].required) == ("", "")
    slurm.states["n0"], slurm.jobs[0].blocked = "DOWN", False
    steered(steerer, slurm, 2 * RETRY_S)
    assert slurm.jobs[0].starts == 1
    entries(tmp_path)


def test_refused_order_is_tried_later(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    slurm.denies = True
    steered(steerer, slurm, 3)
    slurm.denies = False
    steered(steerer, slurm, RETRY_S + 3)
    found = [(entry.event, entry.detail) for entry in entries(tmp_path) if entry.job == "1"]
    assert found[1] == (Event.REFUSED, DENIED)
    assert slurm.jobs[0].starts == 1


def test_lease_whose_creation_gave_no_answer_is_ours(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1)])
    slurm.lost_answers = "create"
    steerer = steerer_of(slurm, tmp_path)
    with pytest.raises(SlurmError, match="no answer"):
        steerer.begin()
    slurm.lost_answers = ""
    slurm.now += 5
    steered(steerer, slurm, 3)
    again = steerer_of(slurm, tmp_path)
    again.begin()
    assert slurm.jobs[0].starts == 1


def test_reservation_that_has_ended_and_remains_is_nobodys(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    slurm.lingers = True
    steered(steerer, slurm, 3)
    steerer.give_back()
    again = steerer_of(slurm, tmp_path)
    with pytest.raises(SlurmError, match="has ended, but Slurm has not removed it yet"):
        again.begin()
    slurm.lingers = False
    steered(again, slurm, 3)
    assert slurm.active()
    slurm.lingers = True
    lapse(slurm)
    (found,) = steered(again, slurm, 1)
    assert found.is_taken_again
    assert slurm.active()


def test_reservation_ended_by_an_administrator_is_noticed(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1), submit=T + 6)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    slurm.reservations.clear()
    assert any(found.is_taken_again for found in steered(steerer, slurm, 2))
    steered(steerer, slurm, 20)
    entries(tmp_path)


def test_steps_of_the_clock_do_not_end_the_lease(tmp_path: Path) -> None:
    slurm = FakeSlurm([])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    slurm.clock_step = -600
    steered(steerer, slurm, 100)
    assert slurm.active()


def test_jobs_under_a_limit_do_not_hold_the_partition(tmp_path: Path) -> None:
    reason = "QOSMaxJobsPerUserLimit"
    slurm = FakeSlurm([replace(job(number), blocked=number > 1, reason=reason) for number in range(1, 121)])
    slurm.jobs.append(FakeJob(121, T + 10, 1, 1, 30, user="bob"))
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3 * PATIENCE_S)
    assert slurm.jobs[-1].starts == 1
    assert len(entries(tmp_path)) < 100
    for one in slurm.jobs[1:50]:
        one.blocked, one.runtime = False, 5
    steered(steerer, slurm, 5 * RETRY_S)
    assert sum(one.starts for one in slurm.jobs[1:50]) > 40  # an attempt that succeeds opens the queue again


def test_limit_of_one_job_does_not_keep_its_user_from_starting_others(tmp_path: Path) -> None:
    for reason in ("QOSMaxCpuPerJobLimit", "QOSMaxCpuPerUserLimit"):
        slurm = FakeSlurm([replace(job(1, 4, 4), blocked=True, reason=reason)])
        slurm.jobs += [job(number) for number in range(2, 7)]
        folder = tmp_path / reason
        folder.mkdir()
        steerer = steerer_of(slurm, folder)
        steerer.begin()
        steered(steerer, slurm, 6 * RETRY_S)
        assert all(one.starts == 1 for one in slurm.jobs[1:])
        entries(folder)


def test_jobs_after_a_limit_are_backfilled(tmp_path: Path) -> None:
    slurm = FakeSlurm(
        [FakeJob(1, T, 3, 4, 10_000, 600, user="bob"), replace(job(2), blocked=True, reason="AssocMaxJobs")]
    )
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 2 * PATIENCE_S)
    slurm.jobs.pop()
    slurm.jobs += [
        FakeJob(3, slurm.now, 4, 4, 30),
        *(FakeJob(number, slurm.now, 1, 1, 30, 1) for number in range(4, 9)),
    ]
    steered(steerer, slurm, 2 * RETRY_S)
    assert all(one.starts == 1 for one in slurm.jobs[2:])


def test_job_that_was_queued_again_after_the_lease_gets_its_request_back(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1, 2, 4), runtime=5000)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    lapse(slurm)
    slurm.jobs[0].reservation = ""  # of running jobs, too
    steered(steerer, slurm, 3)
    slurm.states["n0"] = "DOWN"
    slurm.requeue(slurm.jobs[0])
    steered(steerer, slurm, 3 * RETRY_S)
    assert slurm.jobs[0].placed == ("n1", "n2")
    entries(tmp_path)


def test_restart_while_a_job_that_was_queued_again_still_ends(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1, 2, 4), runtime=5000)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    slurm.jobs[0].state, slurm.jobs[0].restarts = "COMPLETING", 1
    slurm.states["n0"] = "DOWN"
    steerer.round()
    again = steerer_of(slurm, tmp_path)
    again.begin()
    again.round()
    slurm.requeue(slurm.jobs[0])
    steered(again, slurm, 3 * RETRY_S)
    assert slurm.jobs[0].placed == ("n1", "n2")
    entries(tmp_path)


def test_malformed_record_does_not_repeat_entries(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1), job(2, job_id="x")])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 60)
    assert [entry.event for entry in entries(tmp_path) if entry.job == "1"] == [Event.START, Event.STARTED, Event.ENDED]


def test_full_disk_lets_the_lease_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = FakeSlurm([replace(job(number), submit=T + number) for number in range(1, 61)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)

    def full(_entries: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(steerer.log, "add", full)
    for _ in range(5 * LEASE_S):
        slurm.schedule()
        with pytest.raises(OSError, match="No space"):
            steerer.round()
        slurm.now += 1
    assert not slurm.active()
    assert all(one.starts for one in slurm.jobs)


def test_order_that_is_carried_out_late_is_not_forgotten(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1), blocked=True)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    slurm.denies = True
    steered(steerer, slurm, 2)
    slurm.denies = False
    slurm.jobs[0].reservation, slurm.jobs[0].required = "dardis_batch", "n0"
    steered(steerer, slurm, PATIENCE_S + 3)
    assert (slurm.jobs[0].reservation, slurm.jobs[0].required) == ("", "")


def test_return_that_fails_is_told(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1), blocked=True)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    slurm.lost_answers = "JobId=1"
    with pytest.raises(SlurmError, match="job 1 keeps its decision"):
        steerer.give_back()
    assert not slurm.active()
    assert entries(tmp_path)[-1].event is not Event.RETURNED


def test_rare_rounds_read_reservations(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1, 4, 4), submit=T + 100)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    times = f"StartTime={T} EndTime={T + 9000}"
    slurm.other_reservations = f"ReservationName=course {times} Duration=1 Nodes=n0 NodeCnt=1 Flags=MAINT TRES=cpu=4\n"
    for _ in range(30):
        steered(steerer, slurm, 1)
        slurm.now += 11
    assert Event.START not in {entry.event for entry in entries(tmp_path)}


def test_exact_start_of_the_reservation_makes_it_ours(tmp_path: Path) -> None:
    slurm = FakeSlurm([])
    first, second = (steerer_of(slurm, tmp_path / name) for name in "ab")
    for name in "ab":
        (tmp_path / name).mkdir()
    first.begin()
    slurm.reservations.clear()  # by an administrator
    slurm.now += 5
    second.begin()
    with pytest.raises(InputError, match="is steered by another dardis steer"):
        first.round()


def test_clock_set_back_does_not_keep_decisions(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1, 4, 4), blocked=True, reason="QOSGrp"), FakeJob(2, T + 1, 1, 1, 9, user="bob")])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    slurm.clock_step = -3600
    steered(steerer, slurm, PATIENCE_S)
    assert slurm.jobs[1].starts == 1


@pytest.mark.parametrize(
    ("change", "left"),
    [({"reservation": "course"}, ("course", "")), ({"required": "n3"}, ("", "n3")), ({"partition": "other"}, ("", ""))],
)
def test_changes_by_users_stay(tmp_path: Path, change: dict[str, str], left: tuple[str, str]) -> None:
    slurm = FakeSlurm([replace(job(1), blocked=True)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    for name, value in change.items():
        setattr(slurm.jobs[0], name, value)
    steered(steerer, slurm, PATIENCE_S + 5)
    assert (slurm.jobs[0].reservation, slurm.jobs[0].required) == left


def test_removal_restores_requests_after_the_lease_has_ended(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1), blocked=True)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    lapse(slurm)
    assert slurm.jobs[0].required
    steerer.give_back()
    assert slurm.jobs[0].required == ""


def test_job_that_still_ends_after_it_was_queued_again_starts_once(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(1)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    one = slurm.jobs[0]
    one.state, one.restarts = "COMPLETING", 1
    for _ in range(5):
        one.start = slurm.now  # as Slurm shows it
        steerer.round()
        slurm.now += 1
    slurm.requeue(one)
    one.restarts = 1
    steered(steerer, slurm, 3)
    found = [entry.event for entry in entries(tmp_path) if entry.job == "1"]
    assert found == [Event.START, Event.STARTED, Event.ENDED, Event.START, Event.STARTED]


def test_job_of_several_partitions_is_left_alone(tmp_path: Path) -> None:
    slurm = FakeSlurm([replace(job(1), partition="batch,other")])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    assert slurm.jobs[0].reservation == ""
    assert [entry.event for entry in entries(tmp_path)] == [Event.LEASE, Event.LEASE, Event.NEVER]


def test_cores_with_several_cpus_are_given_whole(tmp_path: Path) -> None:
    slurm = FakeSlurm([job(number) for number in range(1, 5)], count=1)
    slurm.node_words["n0"] = "Sockets=1 CoresPerSocket=2 ThreadsPerCore=2"
    assert len(starts(slurm, tmp_path)) == 2
    slurm.node_words["n0"] = "Sockets=1 CoresPerSocket=4 ThreadsPerCore=2"
    assert len(starts(slurm, tmp_path)) == 4


def test_changed_nodes_of_the_partition_are_named_once(tmp_path: Path) -> None:
    slurm = FakeSlurm([])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    slurm.nodes.append("n4")
    slurm.states["n4"], slurm.node_words["n4"] = "IDLE", ""
    assert [found.changed_nodes for found in steered(steerer, slurm, 3)] == ["n4", "", ""]
    slurm.partitions = "other"
    with pytest.raises(InputError, match="has no nodes any more"):
        steerer.round()


def test_large_log_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = FakeSlurm([replace(job(1), blocked=True), job(2), job(3, 4, 1, contiguous=True), job(4, 4, 4)])
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    steered(steerer, slurm, 3)
    monkeypatch.setattr(steering_log, "ROTATED_BYTES", 100)
    again = steerer_of(slurm, tmp_path)
    before = again._queue.open.pins, again._queue.open.running, again._queue.open.passed, again._queue.open.decided
    again.begin()
    assert (tmp_path / "steering-1970-01-12-1.csv").exists()
    after = steerer_of(slurm, tmp_path)._queue.open
    assert (after.pins, after.running, after.passed, after.decided) == before
    assert after.decided.keys() == {"1", "2"}
    assert entries(tmp_path)[0].event is Event.LEASE
