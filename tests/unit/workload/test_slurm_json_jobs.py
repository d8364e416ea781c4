"""Jobs of Slurm's JSON: the same as those of sacct's text, in every version."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.error_lines import line_of
from kit.sacct_text import JOB, sacct
from kit.slurm_json import VERSIONS, accounting_job, document, number, queue_job

from dardis.workload.recorded_nodes import read_places
from dardis.workload.trace import Trace
from dardis.workload.trace_reader import read_trace

Read = Callable[..., Trace]
RUNS = {"State": "RUNNING", "End": "Unknown"}
WAITS = {
    "State": "PENDING", "Start": "Unknown", "End": "Unknown", "ElapsedRaw": "0", "AllocTRES": "", "NodeList": "",
}  # fmt: skip


def assert_equal_jobs(found: Trace, expected: Trace) -> None:
    for field in fields(Trace):
        if field.name in {"line", "skipped", "notes", "comments"}:
            continue
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "request":
            assert {kind: amounts.tolist() for kind, amounts in ours.items()} == {
                kind: amounts.tolist() for kind, amounts in theirs.items()
            }
        elif isinstance(theirs, np.ndarray):
            assert ours.tolist() == theirs.tolist(), field.name
        else:
            assert ours == theirs, field.name


@st.composite
def slurm_jobs(draw: st.DrawFn) -> list[dict[str, str]]:
    found = []
    for place in range(draw(st.integers(1, 6))):
        submit = draw(st.integers(1_690_000_000, 1_690_100_000))
        start, runtime = submit + draw(st.integers(0, 5000)), draw(st.integers(1, 5000))
        nodes, cores, gpus = draw(st.integers(1, 4)), draw(st.integers(1, 32)), draw(st.integers(0, 4))
        tres = f"billing={nodes * cores},cpu={nodes * cores},mem={nodes * draw(st.integers(1, 64))}G,node={nodes}"
        tres += f",gres/gpu={nodes * gpus},gres/gpu:a100={nodes * gpus}" if gpus else ""
        job = JOB | {
            "JobIDRaw": str(100 + place), "Submit": str(submit), "Eligible": str(submit), "Start": str(start),
            "End": str(start + runtime), "ElapsedRaw": str(runtime),
            "TimelimitRaw": draw(st.sampled_from(["90", "UNLIMITED"])),
            "NNodes": str(nodes), "NCPUS": str(nodes * cores), "ReqTRES": tres, "AllocTRES": tres,
            "User": draw(st.sampled_from(["ann", "bob"])), "Group": "staff", "JobName": "a job",
            "State": draw(st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT"])),
        }  # fmt: skip
        found.append(job | (draw(st.sampled_from([{}, RUNS, WAITS])) if place else {}))
    return found


@given(jobs=slurm_jobs(), version=st.sampled_from(VERSIONS), of_queue=st.booleans())
@examples(1)
def test_json_and_text_give_the_same_jobs(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[dict[str, str]], version: int, of_queue: bool
) -> None:
    folder = tmp_path_factory.mktemp("jobs")
    written = [(queue_job if of_queue else accounting_job)(job, version) for job in jobs]
    (folder / "json").write_text(document("jobs", written, version))
    (folder / "text").write_text(sacct(*jobs))
    ours, theirs = (read_trace(folder / name, strict=True, not_ended=True) for name in ("json", "text"))
    assert_equal_jobs(ours, theirs)


@pytest.mark.parametrize("version", VERSIONS)
def test_waiting_tasks_of_arrays_are_jobs(read: Read, version: int) -> None:
    waiting = queue_job(JOB | WAITS, version, array=(7, None, "0-2,9%2"))
    running = queue_job(JOB | RUNS | {"JobIDRaw": "9"}, version, array=(7, 4, ""))
    ended = queue_job(JOB | {"JobIDRaw": "8"}, version, array=(7, 3, ""))
    trace = read(document("jobs", [waiting, running, ended], version), not_ended=True)
    assert sorted(trace.number.tolist()) == [7, 8, 9, 10, 11, 12]
    assert trace.number[trace.wait >= 0].tolist() == [8, 9]


def test_line_of_a_job_in_json_is_its_first_line(read: Read) -> None:
    jobs = [
        accounting_job(JOB | {"JobIDRaw": str(n), "State": state}, 43) for n, state in ((1, "COMPLETED"), (2, "ODD"))
    ]
    text = document("jobs", jobs, 43)
    (problem,) = read(text).skipped
    line = text.split("\n")[problem.line - 1 :][:2]
    assert [part.strip() for part in line] == ["{", '"job_id": 2,']
    assert problem.reason == "State: 'ODD' is not a state of a job"


def test_nodes_of_jobs_are_read_from_json(tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text(document("jobs", [accounting_job(JOB, 40)], 40))
    assert read_places(tmp_path / "jobs") == {7: ["n1", "n2"]}


def test_documents_may_follow_each_other(read: Read) -> None:
    days = (document("jobs", [accounting_job(JOB | {"JobIDRaw": str(n)}, 41)], 41) for n in (1, 2))
    assert read("\n".join(days)).number.tolist() == [1, 2]


BROKEN = accounting_job(JOB, 43)


@pytest.mark.parametrize(("text", "told"), [
    (document("jobs", [BROKEN, BROKEN], 43)[:900], "is not JSON ("),
    (document("jobs", [BROKEN], 43)[:-3], "is not JSON (Expecting value); expected the complete output of a Slurm"),
    ('{"meta": {}, "jobs": [5]}', ":1: jobs with 5; expected objects"),
    ('{"meta": {}, "jobs": []}', "no valid job"),
    ('{"meta": {}, "jobs": [], "errors": [{"description": "no", "error": "down"}]}', "Slurm's error: no, down"),
    ('{"meta": {}, "errors": ["odd"], "jobs": []}', "Slurm's error: odd"),
    ('{"meta": {}, "jobs": ' + "[" * 100_000, "is not JSON (nested too deeply)"),
    ('{"meta": {}, "jobs": [{"job_id": NaN}]}', "is not JSON (NaN is not a number)"),
])  # fmt: skip
def test_incomplete_json_is_one_line(read: Read, text: str, told: str) -> None:
    assert told in line_of(read, text)


@pytest.mark.parametrize(("change", "reason"), [
    ({"job_id": None}, "no job_id"), ({"job_id": "x"}, "'x' is not a number"), ({"user": 5}, "5 is not a text"),
    ({"tres": {"allocated": "cpu=4"}}, "'cpu=4' is not a list of resources"),
    ({"state": {"current": 3}}, "3 is not a list of words"),
    ({"time": {"submission": number(None, 43)}}, "Submit: 'Unknown' is not a time"),
])  # fmt: skip
def test_job_of_odd_json_is_skipped(read: Read, change: dict[str, object], reason: str) -> None:
    odd = accounting_job(JOB | {"JobIDRaw": "8"}, 43) | change
    trace = read(json.dumps({"meta": {}, "jobs": [odd, accounting_job(JOB, 43)]}))
    assert [(skip.reason, skip.malformed) for skip in trace.skipped] == [(reason, True)]
    assert trace.number.tolist() == [7]
