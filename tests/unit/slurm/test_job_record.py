"""The record of a cluster's jobs, from views of its queue."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.slurm_json import document, queue_job
from kit.slurm_queue import LivedJob, squeue_text

from dardis.model.errors import InputError
from dardis.slurm.job_record import HEADER, QueueChanges, SlurmJobRecord, ended_cells, record_line
from dardis.slurm.slurm_job import SlurmJob, squeue_jobs
from dardis.workload.slurm_cells import is_sacct

T = 1_690_000_000


def view(jobs: list[LivedJob], now: int) -> list[SlurmJob]:
    found, malformed = squeue_jobs("squeue", squeue_text(jobs, now))
    assert not malformed
    return found


@st.composite
def lived_jobs(draw: st.DrawFn) -> list[LivedJob]:
    found = []
    for number in range(draw(st.integers(1, 8))):
        submit = T + draw(st.integers(0, 700))
        start = None if draw(st.integers(0, 4)) == 0 else submit + draw(st.integers(0, 700))
        end = (submit if start is None else start) + draw(st.integers(1, 900))
        found.append(LivedJob(number + 1, submit, start, end, limit_min=draw(st.integers(50, 90))))
    return found


def cells_of(changes: QueueChanges) -> list[Mapping[str, str]]:
    return [ended_cells(job, end) for job, end in changes.ended]


@given(jobs=lived_jobs(), step=st.integers(40, 290))
@examples(1)
def test_frequent_views_record_each_job_once_with_its_times(jobs: list[LivedJob], step: int) -> None:
    record = SlurmJobRecord()
    changes = [record.observe(view(jobs, now), now) for now in range(T, T + 2700, step)]
    ended = {int(cells["JobIDRaw"]): cells for one in changes for cells in cells_of(one)}
    assert sum(len(one.ended) for one in changes) == len(ended)
    assert {number: (int(cells["Start"]), int(cells["End"])) for number, cells in ended.items()} == {
        job.number: (job.start, job.end) for job in jobs if job.start is not None
    }
    assert sorted(job.number for one in changes for job in one.started) == sorted(ended)
    assert sorted(job.number for one in changes for job in one.left) == sorted(
        job.number for job in jobs if job.start is None
    )
    assert not record.jobs


def test_job_that_vanished_ended_at_the_view_or_its_limit() -> None:
    record = SlurmJobRecord()
    jobs = [LivedJob(1, T, T, T + 100), LivedJob(2, T, T, T + 100, limit_min=5)]
    record.observe(view(jobs, T + 50), T + 50)
    changes = record.observe([], T + 2000)
    assert [int(cells["End"]) - T for cells in cells_of(changes)] == [2000, 300]


def test_requeued_job_has_two_runs() -> None:
    record = SlurmJobRecord()
    first, second = LivedJob(1, T, T + 10, T + 9000), LivedJob(1, T, T + 500, T + 600, restarts=1)
    record.observe(view([first], T + 20), T + 20)
    waits = record.observe(view([LivedJob(1, T, None, T + 9000, restarts=1)], T + 200), T + 200)
    assert [cells["Start"] for cells in cells_of(waits)] == [str(T + 10)]
    again = record.observe(view([second], T + 550), T + 550)
    assert [job.start for job in again.started] == [T + 500]
    assert [cells["End"] for cells in cells_of(record.observe(view([second], T + 650), T + 650))] == [str(T + 600)]


def test_requeue_between_two_views_is_two_runs() -> None:
    record = SlurmJobRecord()
    record.observe(view([LivedJob(1, T, T + 10, T + 900)], T + 20), T + 20)
    changes = record.observe(view([LivedJob(1, T, T + 500, T + 900, restarts=1)], T + 550), T + 550)
    assert ([cells["Start"] for cells in cells_of(changes)], len(changes.started)) == ([str(T + 10)], 1)


def test_boot_of_a_node_moves_the_start_of_one_run() -> None:
    record = SlurmJobRecord()
    record.observe(view([LivedJob(1, T, T + 10, T + 900)], T + 20), T + 20)
    changes = record.observe(view([LivedJob(1, T, T + 90, T + 900)], T + 100), T + 100)
    assert changes == QueueChanges((), (), ())
    assert [
        cells["Start"] for cells in cells_of(record.observe(view([LivedJob(1, T, T + 90, T + 900)], T + 950), T + 950))
    ] == [str(T + 90)]


def test_incomplete_view_ends_no_job() -> None:
    record = SlurmJobRecord()
    jobs = [LivedJob(1, T, T + 10, T + 900), LivedJob(2, T, None, T + 900)]
    record.observe(view(jobs, T + 20), T + 20)
    assert record.observe([], T + 50, is_complete=False) == QueueChanges((), (), ())
    assert [job.number for job in record.jobs] == [1, 2]
    assert record.observe(view(jobs, T + 80), T + 80) == QueueChanges((), (), ())


@pytest.mark.parametrize("text", ["", "{}", '{"meta": {}, "errors": []}', '{"nodes": []}'])
def test_output_without_a_list_of_jobs_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="has no jobs"):
        squeue_jobs("squeue", text)


def test_array_whose_list_is_cut_keeps_its_known_tasks() -> None:
    record = queue_job(LivedJob(7, T, None, T + 90).cells(T) or {}, 43, array=(7, None, "1,3,5-9,43..."))
    (job,), malformed = squeue_jobs("squeue", document("jobs", [record], 43))
    assert (job.tasks, malformed) == (7, [])


def test_lines_of_the_record_are_sacct() -> None:
    (job,) = view([LivedJob(1, T, T, T + 100)], T + 150)
    line = record_line(job.cells)
    assert is_sacct(HEADER)
    assert line.count("|") == HEADER.count("|")
    assert "|a_job|" in line


def test_held_jobs_are_known_by_priority_or_reason() -> None:
    jobs = [
        LivedJob(1, T, None, T + 100), LivedJob(2, T, None, T + 100, priority=0),
        LivedJob(3, T, None, T + 100, reason="Dependency"),
    ]  # fmt: skip
    assert [job.is_held for job in view(jobs, T)] == [False, True, True]


def test_empty_view_changes_nothing() -> None:
    assert SlurmJobRecord().observe([], T) == QueueChanges((), (), ())
