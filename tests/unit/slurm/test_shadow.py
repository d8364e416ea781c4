"""Rounds of the shadow, its folder and its expected starts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from kit.slurm_programs import NODES, LivedPrograms
from kit.slurm_queue import LivedJob, squeue_text

from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.errors import InputError
from dardis.slurm.expected_starts import SlurmStarts
from dardis.slurm.job_record import QueueChanges
from dardis.slurm.shadow import Shadow
from dardis.slurm.shadow_folder import ExpectedStart, ShadowFolder
from dardis.slurm.slurm_client import LONGEST_WAIT_S, SLOW_S, PollPace, SlurmError
from dardis.slurm.slurm_job import RecordedJobs, job_of_cells, merged_records, recorded_jobs, squeue_jobs
from dardis.workload.trace_reader import read_trace

T = 1_690_000_000
MANY = [
    LivedJob(number, T + 400 * number, T + 400 * number + 900, T + 400 * number + 1500, user=f"u{number % 3}")
    for number in range(1, 700)
]


def watched(folder: Path, jobs: list[LivedJob]) -> tuple[Shadow, LivedPrograms, ShadowFolder]:
    kept, programs = ShadowFolder(folder), LivedPrograms(jobs)
    kept.prepare()
    return Shadow(kept, programs, RecordedJobs([], 0)), programs, kept


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the figures, which count failures."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".prom"}


def test_round_makes_one_call_of_each_program_and_writes_the_folder(tmp_path: Path) -> None:
    jobs = [LivedJob(1, T, T, T + 500), LivedJob(2, T, T + 600, T + 900), LivedJob(3, T, None, T + 900, priority=0)]
    shadow, programs, folder = watched(tmp_path, jobs)
    programs.now = T + 100
    found = shadow.round(T + 100)
    assert programs.calls == [("squeue", "--all", "--json", "--states=all"), ("scontrol", "show", "node", "-o")]
    assert (found.running, found.waiting) == (1, 2)
    assert folder.expected_row("2")["expected_utc"]
    assert not folder.expected_row("3")["expected_utc"]
    assert "dardis_shadow_waiting_jobs 2\n" in (tmp_path / "shadow.prom").read_text()


def test_record_of_many_rounds_is_a_trace(tmp_path: Path) -> None:
    shadow, programs, folder = watched(tmp_path, MANY[:30])
    for programs.now in range(T, T + 16_000, 100):
        shadow.round(programs.now)
    trace = read_trace(folder.ended_in(T))
    assert trace.number.tolist() == [job.number for job in MANY[:30]]
    assert (set(trace.wait.tolist()), set(trace.runtime.tolist())) == ({900}, {600})
    assert len(recorded_jobs(folder.path, folder.record_text(T)).jobs) == 30


@pytest.mark.parametrize("failure", ["squeue: Unable to contact slurm controller", "squeue gave no answer within 60 s"])
def test_failed_round_changes_nothing_and_the_next_one_works(tmp_path: Path, failure: str) -> None:
    shadow, programs, folder = watched(tmp_path, MANY[:3])
    programs.now = T + 2000
    shadow.round(T + 2000)
    before = contents(tmp_path)
    programs.failure = failure
    with pytest.raises(SlurmError, match=failure[:12]):
        shadow.round(T + 2030)
    assert contents(tmp_path) == before
    assert "dardis_shadow_failed_rounds 1\n" in (tmp_path / "shadow.prom").read_text()
    programs.failure, programs.now = "", T + 2600
    shadow.round(T + 2600)
    assert "dardis_shadow_failed_rounds 1\n" in (tmp_path / "shadow.prom").read_text()
    assert len(folder.ended_in(T).read_text().splitlines()) == 3


def test_incomplete_output_and_other_clocks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow, programs, _ = watched(tmp_path, MANY[:3])
    programs.now = T + 2000
    with pytest.raises(SlurmError, match="this host's clock is 1700 s behind Slurm's"):
        shadow.round(T)
    monkeypatch.setattr("kit.slurm_programs.squeue_text", lambda *_: '{"meta": {}, "jobs": [')
    with pytest.raises(SlurmError, match="is not JSON"):
        shadow.round(T + 2000)
    monkeypatch.setattr("kit.slurm_programs.squeue_text", lambda *_: '{"jobs": [], "errors": [{"error": "down"}]}')
    with pytest.raises(SlurmError, match="Slurm's error: down"):
        shadow.round(T + 2000)
    assert not contents(tmp_path)


def test_ended_jobs_lie_in_the_files_of_their_months(tmp_path: Path) -> None:
    folder = watched(tmp_path, [])[2]
    months = [LivedJob(number, T, T, T + number * 20 * 86_400) for number in (1, 2, 3)]
    folder.add_ended([{"JobID": cells["JobIDRaw"]} | cells for job in months if (cells := job.cells(job.end))])
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["ended-2023-08.txt", "ended-2023-09.txt"]
    assert [len(folder.record_text(T + days * 86_400).splitlines()) for days in (0, 50, 90)] == [4, 2, 1]


def test_jobs_that_ended_while_the_folder_was_full_are_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow, programs, folder = watched(tmp_path, MANY[:3])
    write = ShadowFolder.add_ended

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for programs.now in range(T, T + 6000, 100):
        monkeypatch.setattr(ShadowFolder, "add_ended", refuse if 2000 <= programs.now - T < 2500 else write)
        with suppress(OSError):
            shadow.round(programs.now)
    assert read_trace(folder.ended_in(T)).number.tolist() == [1, 2, 3]


def test_task_of_an_array_is_found_among_the_waiting_tasks(tmp_path: Path) -> None:
    folder = watched(tmp_path, [])[2]
    (waiting,), _ = squeue_jobs("squeue", squeue_text([LivedJob(68, T, None, T + 90)], T))
    folder.write_expected([replace(waiting, job="68_[10-99:2%4]")], {68: ExpectedStart(T, T, T)})
    assert folder.expected_row("68_50") == folder.expected_row("68") == folder.expected_row("68_[10-99:2%4]")
    for job in ("68_51", "6", "68_x"):
        with pytest.raises(InputError, match="is no waiting job"):
            folder.expected_row(job)


def test_expectations_are_logged_at_first_sight_and_each_hour(tmp_path: Path) -> None:
    shadow, programs, folder = watched(tmp_path, [LivedJob(1, T, T + 9000, T + 9100)])
    for programs.now in range(T, T + 8000, 600):
        shadow.round(programs.now)
    logged = folder.logged(T - T % 86_400)
    assert [one.at - T for one in logged] == [0, 3600, 7200]
    assert all(one.start.low <= one.start.expected <= one.start.high for one in logged)


def test_restarted_shadow_completes_a_cut_line_and_keeps_the_record(tmp_path: Path) -> None:
    shadow, programs, folder = watched(tmp_path, MANY[:8])
    for programs.now in range(T, T + 2500, 100):
        shadow.round(programs.now)
    folder.ended_in(T).write_bytes(folder.ended_in(T).read_bytes() + b"99|99|cut")
    folder.prepare()
    again = Shadow(folder, programs, recorded_jobs(folder.path, folder.record_text(T)))
    for programs.now in range(T + 2500, T + 7000, 100):
        again.round(programs.now)
    trace = read_trace(folder.ended_in(T))
    assert sorted(trace.number.tolist()) == [job.number for job in MANY[:8]]
    assert len(trace.skipped) == 1


def test_expected_starts_learn_from_the_record() -> None:
    """Jobs start after 900 s, although the machine is almost empty."""
    site, now = parse_slurm(Path("nodes"), NODES), MANY[600].submit + 50
    view, malformed = squeue_jobs("squeue", squeue_text(MANY, now))
    past = [job_of_cells({"JobID": cells["JobIDRaw"]} | cells, cells["State"]) for cells in _ended_by(now)]
    learned, new = SlurmStarts(), SlurmStarts()
    learned.learn(past, site, now)
    for starts in (learned, new):
        starts.on_changes(_no_changes(), site)
    found, first = learned.expect(view, now), new.expect(view, now)
    real = {job.number: job.submit + 900 for job in view if job.start is None}
    errors, unlearned = (
        {number: abs(starts[number].expected - start) for number, start in real.items()} for starts in (found, first)
    )
    assert not malformed
    assert len(errors) == 3
    assert max(errors.values()) <= 400
    assert sum(errors.values()) < sum(unlearned.values())
    assert learned.expect(view, now) == found


def _ended_by(now: int) -> list[dict[str, str]]:
    return [cells for job in MANY if job.end <= now and (cells := job.cells(job.end)) is not None]


def _no_changes() -> QueueChanges:
    return QueueChanges((), (), ())


def test_jobs_ahead_delay_the_first_expectations() -> None:
    """Before anything is learned, expectations are those of a simulation: arrays, priorities and closed nodes count."""
    one = LivedJob(1, T, None, T + 9000, cores=4, limit_min=60)
    last = LivedJob(3, T + 1, None, T + 9000, cores=8, limit_min=60)

    def wait_of(number: int, jobs: list[LivedJob], *, tasks: int = 1, nodes: str = NODES) -> float:
        starts = SlurmStarts()
        starts.on_changes(_no_changes(), parse_slurm(Path("nodes"), nodes))
        view, _ = squeue_jobs("squeue", squeue_text(jobs, T + 2))
        view = [replace(job, tasks=tasks if job.number == 1 else 1) for job in view]
        return starts.expect(view, T + 2)[number].expected - T - 2

    assert wait_of(3, [last]) == 0
    assert wait_of(3, [one, last]) == 3600
    assert wait_of(3, [one, last], tasks=5) == 3 * 3600
    assert wait_of(3, [one, replace(last, priority=2000)]) == 0
    closed = NODES.replace("State=IDLE", "State=DOWN", 1)
    assert wait_of(1, [one, replace(one, number=2, submit=T - 1)], nodes=closed) == 3600


def test_of_equal_runs_of_two_records_the_ended_one_counts() -> None:
    ran = LivedJob(1, T, T + 10, T + 100)
    running, ended = (squeue_jobs("squeue", squeue_text([ran], T + after))[0] for after in (50, 150))
    (waiting,), _ = squeue_jobs("squeue", squeue_text([ran], T + 5))
    for order in ([running, ended], [ended, running], [[waiting], ended, running]):
        merged = merged_records(RecordedJobs(jobs, 0) for jobs in order)
        assert [(job.start, job.end) for job in merged.jobs] == [(T + 10, T + 100)]


def test_slow_and_failed_rounds_double_the_pause() -> None:
    pace = PollPace(30)
    waits = []
    for seconds in (0.1, SLOW_S + 1, None, *[None] * 9, 0.1):
        pace.on_round(seconds)
        waits.append(pace.wait_s)
    assert waits[:3] == [30, 60, 120]
    assert waits[-2:] == [LONGEST_WAIT_S, 30]


def test_partitions_that_share_nodes_have_one_queue() -> None:
    text = NODES.replace("Partitions=batch", "Partitions=batch,long", 1)
    text += NODES.replace("n1", "g1").replace("n2", "g2").replace("batch", "gpu")
    starts = SlurmStarts()
    starts.on_changes(_no_changes(), parse_slurm(Path("nodes"), text))
    assert {frozenset(names) for names in starts._pools} == {frozenset({"batch", "long"}), frozenset({"gpu"})}
