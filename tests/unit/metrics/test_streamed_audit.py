"""The audit of a file finds in blocks of any size, and in a fixed memory, what the audit of a whole schedule finds."""

from __future__ import annotations

import re
import resource
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.schedules import INSTANCES, schedule_of

from dardis.metrics import capacities as placements
from dardis.metrics import jobs_csv
from dardis.metrics.audit import Audit, audit
from dardis.metrics.job_rules import Violation
from dardis.metrics.jobs_csv import read_jobs, write_jobs
from dardis.model.job import FOREVER, NO_TIME, Status
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.schedule import Downtime, Schedule

SMALL = st.integers(0, 40)
FIELDS: dict[str, st.SearchStrategy[int]] = {
    "number": st.integers(1, 9), "submit": SMALL, "earliest": SMALL, "walltime": st.integers(0, 20),
    "units": st.integers(0, 6), "start": SMALL, "finish": SMALL, "status": st.sampled_from(list(Status)),
}  # fmt: skip
PLACED = {"nodes": st.integers(-1, 5), "units": st.integers(-1, 5)}
"""What a fault may be put into, and with which values: of a job, and of a placement."""


@st.composite
def cases(draw: st.DrawFn) -> tuple[Platform, Schedule, Downtime | None]:
    """A machine with maintenance, a schedule on it with up to eight faults, and nodes that were down."""
    platform, schedule = draw(INSTANCES)
    columns = {name: getattr(schedule, name).copy() for name in FIELDS} | {"request": schedule.request.copy()}
    placed = {name: getattr(schedule.placed, name).copy() for name in PLACED}
    for of, faults in ((columns, FIELDS), (placed, PLACED)):
        for name in draw(st.lists(st.sampled_from(list(faults)), max_size=4)):
            if len(of[name]):
                of[name][draw(st.integers(0, len(of[name]) - 1))] = draw(faults[name])
    schedule = replace(schedule, placed=replace(schedule.placed, **placed))
    if draw(st.booleans()):
        columns["request"] *= draw(st.integers(0, 2))
    if draw(st.booleans()):
        schedule = replace(schedule, kinds=("cores", draw(st.sampled_from(["memory", "gpu"]))))
    node = st.integers(0, platform.node_count - 1)
    windows = draw(st.lists(st.tuples(st.lists(node, min_size=1, max_size=3), SMALL, st.integers(1, 9)), max_size=2))
    closed = tuple(Maintenance(tuple(nodes), start, start + length) for nodes, start, length in windows)
    spans = sorted(draw(st.lists(st.tuples(st.integers(-1, 5), SMALL, st.integers(1, 9)), max_size=4)))
    down = np.array([(n, a, a + length if length < 9 else FOREVER) for n, a, length in spans], dtype=np.int64)
    downtime = draw(st.sampled_from([None, Downtime(*down.reshape(-1, 3).T.copy())]))
    return replace(platform, maintenance=closed), replace(schedule, **columns), downtime


@contextmanager
def blocks_of(jobs: int, characters: int, places: int) -> Iterator[None]:
    """Blocks of at most so many jobs, characters and placements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs_csv, "BLOCK_JOBS", jobs)
        patch.setattr(jobs_csv, "BLOCK_CHARACTERS", characters)
        patch.setattr(placements, "BLOCK", places)
        yield


def of_file(path: Path, platform: Platform, expected: list[int], **settings: Any) -> list[Violation]:
    with closing(Audit(platform, **settings)) as judge:
        found = [*judge.check_file(path), *judge.check_remaining(expected)]
        assert judge.job_count == len(read_jobs(path).number)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streamed")


def miswritten(path: Path, value: str) -> None:
    """Write another waiting time into every second row, so that columns contradict each other."""
    header, *rows = path.read_text().splitlines()
    place = header.split(",").index("waiting_time")
    for row in range(0, len(rows), 2):
        fields = rows[row].split(",")
        rows[row] = ",".join([*fields[:place], value, *fields[place + 1 :]])
    path.write_text("\n".join([header, *rows]) + "\n")


@given(
    data=st.data(), jobs=st.integers(1, 4), characters=st.sampled_from([1, 150, 1 << 20]), places=st.integers(1, 6),
    reserved=st.booleans(), waiting=st.sampled_from([None, "77"]),
)  # fmt: skip
@examples(3)
def test_audit_in_blocks_equals_the_audit_of_the_full_schedule(
    data: st.DataObject, folder: Path, jobs: int, characters: int, places: int, reserved: bool,
    waiting: str | None,
) -> None:  # fmt: skip
    platform, schedule, downtime = data.draw(cases())
    expected = data.draw(st.lists(st.integers(1, 9), unique=True))
    path = folder / "jobs.csv"
    write_jobs(replace(schedule, queue=[""] * len(schedule.queue), user=[""] * len(schedule.user)), path)
    path.write_text(path.read_text().replace(str(NO_TIME), ""))
    if waiting is not None:
        miswritten(path, waiting)
    whole = of_file(path, platform, expected, reserved=reserved, downtime=downtime)
    with blocks_of(jobs, characters, places):
        assert of_file(path, platform, expected, reserved=reserved, downtime=downtime) == whole
    own = audit(read_jobs(path), platform, reserved=reserved, expected=expected, downtime=downtime)
    assert [violation for violation in whole if "but the other columns give" not in violation.text] == own


def peak_of(width: int, path: Path) -> int:
    """Bytes that the audit of 300 jobs on so many of 6000 nodes each holds at most, with blocks of 2000 placements."""
    platform = Platform("wide", (NodeGroup("n", 6000, {"cores": 1}),))
    rows = [{"submit": 10 * job, "placed": {(7 * job + i) % 6000: 1 for i in range(width)}} for job in range(300)]
    write_jobs(schedule_of(("cores",), rows), path)
    with blocks_of(300, 20_000, 2000):
        assert of_file(path, platform, list(range(1, 301))) == []  # and everything is imported and compiled
        tracemalloc.start()
        with closing(Audit(platform)) as judge:
            assert [*judge.check_file(path), *judge.check_remaining()] == []
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_placements(tmp_path: Path) -> None:
    narrow, wide = (peak_of(width, tmp_path / "jobs.csv") for width in (30, 300))
    assert wide < 1.3 * narrow


def test_a_full_disk_is_told_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    shelf = placements.PlacementsByNode(1)
    nothing = np.zeros(2 * placements.BLOCK, dtype=np.int64)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, most))
        with pytest.raises(OSError, match=re.escape(str(tmp_path))), closing(shelf):
            shelf.add(nothing, nothing, nothing)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
        signal.signal(signal.SIGXFSZ, ignored)
