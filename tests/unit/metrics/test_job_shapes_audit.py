"""Schedules of jobs with parts, nodes, neighbours and alternatives: the audit finds what is broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dardis.metrics.audit import audit
from dardis.metrics.jobs_csv import read_jobs, write_jobs
from dardis.metrics.requested_jobs import RequestedJobs
from dardis.model.errors import InputError
from dardis.model.job import ActualJob, Job, Part, Request
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.sim.recorder import Recorder

MACHINE = Platform("m", (NodeGroup("a", 3, {"cores": 4}), NodeGroup("b", 2, {"cores": 4, "gpu": 2})))
ALL, GPUS = 0b11, 0b10
Where = dict[int, int]
SPREAD = Request((Part(5, (1, 0), ALL, 2),), 10)
BESIDE = Request((Part(3, (4, 0), ALL),), 20, contiguous=True)
MIXED = Request((Part(2, (3, 0), ALL), Part(1, (1, 2), GPUS)), 10)


def job(number: int, *requests: Request, runtimes: tuple[int, ...] = ()) -> ActualJob:
    """One that asks for these, and runs to the end."""
    first = requests[0]
    asked = Job(
        number, 0, 0, None, first.walltime, first.units, first.parts[0].request, first.parts[0].groups,
        requests=requests,
    )  # fmt: skip
    return ActualJob(asked, first.walltime, runtimes=runtimes)


def schedule(asked: ActualJob, *where: Where, taken: int = 0, start: int = 0) -> Schedule:
    """The job alone, with its parts there."""
    recorder, running = Recorder(1), asked.with_request(taken)
    total: Where = {}
    for part in where:
        for node, units in part.items():
            total[node] = total.get(node, 0) + units

    def arrays(part: Where) -> tuple[np.ndarray, np.ndarray]:
        return np.array(sorted(part), dtype=np.int64), np.array([part[n] for n in sorted(part)], dtype=np.int64)

    recorder.record_placement(0, start, *arrays(total))
    recorder.attempts[0] = 1
    if len(asked.job.requests) > 1:
        recorder.taken[0] = taken
    if len(where) > 1:
        recorder.parts[0] = tuple(map(arrays, where))
    recorder.record_end(0, start + running.duration)
    return recorder.schedule([running], MACHINE.kinds)


def findings(made: Schedule, asked: ActualJob) -> str:
    """What the audit finds, as one text."""
    return "\n".join(map(str, audit(made, MACHINE, asked=RequestedJobs.of([asked], MACHINE.kinds))))


SOUND = {
    "spread": (job(1, SPREAD), ({0: 4, 2: 1},), 0),
    "beside": (job(1, BESIDE), ({1: 1, 2: 1, 3: 1},), 0),
    "mixed": (job(1, MIXED), ({0: 1, 4: 1}, {4: 1}), 0),
    "second": (job(1, MIXED, BESIDE, runtimes=(10, 15)), ({0: 1, 1: 1, 2: 1},), 1),
}


@pytest.mark.parametrize("name", SOUND)
def test_legal_shaped_schedule_passes_and_round_trips(name: str, tmp_path: Path) -> None:
    asked, where, taken = SOUND[name]
    made = schedule(asked, *where, taken=taken)
    assert findings(made, asked) == ""
    write_jobs(made, tmp_path / "jobs.csv")
    again = read_jobs(tmp_path / "jobs.csv")
    assert findings(again, asked) == ""
    assert again.digest() == made.digest()
    assert again.requested_total("cores").tolist() == [sum(asked.with_request(taken).job.amounts[:1])]


@pytest.mark.parametrize(
    ("name", "where", "taken", "words"),
    [
        ("spread", ({0: 4, 1: 0, 2: 1},), 0, "has none of its units"),
        ("spread", ({0: 3, 1: 1, 2: 1},), 0, "is on 3 nodes instead of 2"),
        ("beside", ({0: 1, 1: 1, 3: 1},), 0, "not on adjacent nodes"),
        ("mixed", ({0: 1, 4: 1}, {2: 1}), 0, "part 2 is on node 2, which it may not use"),
        ("mixed", ({4: 2}, {4: 1}), 0, "exceeds its 4 cores"),
        ("mixed", ({0: 1}, {4: 1}), 0, "part 1 has 1 units placed instead of 2"),
        ("mixed", ({0: 1, 4: 1},), 0, "part 2 has 0 units placed instead of 1"),
        ("second", ({0: 1, 1: 1, 3: 1},), 1, "not on adjacent nodes"),
        ("second", ({0: 1, 4: 1}, {4: 1}), 1, "ran for 15, not 10"),
    ],
)
def test_broken_shaped_schedule_is_reported(name: str, where: tuple[Where, ...], taken: int, words: str) -> None:
    asked = SOUND[name][0]
    made = schedule(asked, *where, taken=taken)
    if words.startswith("ran for"):  # it says that it took the other
        made = replace(made, taken=np.array([0]))
    assert words in findings(made, asked)


def test_parts_that_differ_from_the_request_are_reported() -> None:
    asked, where, _ = SOUND["mixed"]
    made = schedule(asked, *where)
    assert made.parts is not None
    other = replace(made, parts=replace(made.parts, request=np.array([[3, 0], [1, 1]])))
    assert "part 2 has other units" in findings(other, asked)
    assert "has one part, not 2" in findings(replace(made, parts=None), asked)
    elsewhere = replace(made.parts, placed=replace(made.parts.placed, nodes=np.array([1, 4, 4])))
    assert "has parts on other nodes than the job" in findings(replace(made, parts=elsewhere), asked)


@pytest.mark.parametrize(
    ("column", "text", "words"),
    [
        ("parts", "2:cores", "parts is '2:cores'"),
        ("parts", "2:cores=3 1:ssd=2", "ssd in parts has no column"),
        ("parts", '"2:cores=3 1:gpu=2,gpu=2"', "gpu in parts occurs twice"),
        ("parts", "3:cores=3", "parts has one part, where it must be empty"),
        ("parts", "", "units_by_part is given, but parts is empty"),
        ("units_by_part", "0:1", "units_by_part has 1 parts, parts has 2"),
        ("units_by_part", "0:1;x", "units_by_part is '0:1;x'"),
    ],
)
def test_invalid_columns_are_refused(tmp_path: Path, column: str, text: str, words: str) -> None:
    path = tmp_path / "jobs.csv"
    write_jobs(schedule(SOUND["mixed"][0], *SOUND["mixed"][1]), path)
    good = {"parts": '"2:cores=3 1:cores=1,gpu=2"', "units_by_part": "0:1 4:1;4:1"}
    path.write_text(path.read_text().replace(good[column], text))
    with pytest.raises(InputError) as error:
        read_jobs(path)
    assert "jobs.csv line 2" in str(error.value)
    assert words in str(error.value)


def plain(job: ActualJob) -> ActualJob:
    """One that asks for as many units as the first of its parts does, and for no shape."""
    return replace(job, job=replace(job.job, requests=()))


def test_a_job_that_asked_for_no_shape_has_no_parts_and_no_alternative() -> None:
    made = schedule(job(1, Request((Part(1, (1, 0), ALL), Part(1, (1, 0), ALL)), 10)), {0: 1}, {0: 1})
    asked = plain(job(1, Request((Part(2, (3, 0), ALL),), 10)))
    assert "has 2 parts, not 1" in findings(made, asked)
    forged = replace(made, request=np.array([[3, 0]]))
    assert "has another request than its first part" in "\n".join(map(str, audit(forged, MACHINE)))
    simple = replace(schedule(plain(job(1, SPREAD)), {0: 4, 1: 1}), taken=np.array([2]))
    assert "ran as alternative 3, where the trace has 1" in findings(simple, plain(job(1, SPREAD)))
    assert findings(replace(simple, taken=np.array([-1])), plain(job(1, SPREAD))) == ""


def test_invalid_alternative_is_reported() -> None:
    asked, where, _ = SOUND["second"]
    made = replace(schedule(asked, *where, taken=1), taken=np.array([2]))
    assert "ran as alternative 3, where the trace has 2" in findings(made, asked)
