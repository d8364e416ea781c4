"""What jobs take of the machine: against a slow count node by node, by hand, and from the files of a run."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.schedules import schedule_of

from dardis.metrics import job_metrics as module
from dardis.metrics.audit import audit
from dardis.metrics.job_metrics import footprint_metrics, footprints
from dardis.metrics.jobs_csv import read_jobs, write_jobs
from dardis.metrics.system import schedule_metrics
from dardis.model.job import Status
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import PartsOfJobs, Schedule

MACHINE = Platform("m", (NodeGroup("a", 8, {"cores": 16}), NodeGroup("b", 5, {"cores": 16, "gpu": 1})))
WHERE = st.dictionaries(st.integers(0, MACHINE.node_count - 1), st.integers(1, 3), min_size=1)
JOB = st.tuples(st.lists(WHERE, min_size=1, max_size=3), st.integers(1, 10), st.booleans())
"""Nodes of each part and units there, for how long it runs, and whether it is rejected instead."""
Where = dict[int, int]


def one_after_the_other(drawn: list[tuple[list[Where], int, bool]]) -> Schedule:
    """A legal schedule: each job has the machine for itself. Job by job: where its parts are, runtime, rejected."""
    rows = []
    for place, (parts, run, rejected) in enumerate(drawn):
        total: Where = {}
        for part in parts:
            for node, units in part.items():
                total[node] = total.get(node, 0) + units
        row = {"queue": "ab"[place % 2], "units": sum(total.values())}
        ran = {"start": 10 * place, "finish": 10 * place + run, "placed": total}
        rows.append(row | ({"status": Status.REJECTED} if rejected else ran))
    schedule: Schedule = schedule_of(MACHINE.kinds, rows)
    if all(len(parts) == 1 for parts, _, _ in drawn):
        return schedule
    everything = [part for parts, _, _ in drawn for part in parts]
    there = [{} if rejected else part for parts, _, rejected in drawn for part in parts]
    placed = Placements(
        offsets_of([*map(len, there)]),
        np.array([node for part in there for node in sorted(part)], dtype=np.int64),
        np.array([part[node] for part in there for node in sorted(part)], dtype=np.int64),
    )
    return replace(
        schedule,
        parts=PartsOfJobs(
            offsets_of([len(parts) for parts, _, _ in drawn]),
            np.array([sum(part.values()) for part in everything], dtype=np.int64),
            np.tile([1] + [0] * (len(MACHINE.kinds) - 1), (len(everything), 1)),
            placed,
        ),
    )


def counted_slowly(parts: list[Where]) -> tuple[int, float]:
    """Blocks and spread of a job, as they are defined."""
    nodes = {node for part in parts for node in part}
    return sum(node - 1 not in nodes for node in nodes), (max(nodes) - min(nodes) + 1) / len(nodes)


@given(drawn=st.lists(JOB, max_size=9), block=st.integers(1, 10))
@settings(deadline=None)
def test_footprints_equal_a_slow_count(
    drawn: list[tuple[list[Where], int, bool]], block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    schedule = one_after_the_other(drawn)
    assert audit(schedule, MACHINE) == []
    ran = np.flatnonzero(schedule.ran)
    slow = [counted_slowly(parts) for parts, _, rejected in drawn if not rejected]
    used = [run * sum(map(sum, (part.values() for part in parts))) for parts, run, rejected in drawn if not rejected]
    with patch.object(module, "_BLOCK", block):
        taken = footprints(schedule)
    assert list(zip(taken.fragmentation[ran].tolist(), taken.spread[ran].tolist(), strict=True)) == slow
    assert taken.core_s[ran].tolist() == used
    assert not any(column[~schedule.ran].any() for column in taken)

    figures = footprint_metrics(taken, MACHINE, ran)
    if not slow:
        assert set(figures.values()) == {None}
    else:
        blocks, spreads = zip(*slow, strict=True)
        assert figures == {
            "theoretical_runtime_s": sum(used) / MACHINE.cores,
            "mean_fragmentation": sum(blocks) / len(blocks),
            "sd_fragmentation": pytest.approx(statistics.pstdev(blocks)),
            "mean_spread": pytest.approx(statistics.fmean(spreads)),
            "sd_spread": pytest.approx(statistics.pstdev(spreads)),
        }
    path = tmp_path_factory.mktemp("footprints") / "jobs.csv"
    write_jobs(schedule, path)
    assert schedule_metrics(read_jobs(path), MACHINE, None) == schedule_metrics(schedule, MACHINE, None)


def test_job_without_nodes_has_no_footprint(tmp_path: Path) -> None:
    header = "job_id,submission_time,requested_time,starting_time,finish_time,units,units_by_node,req_cores,status"
    rows = ("1,0,10,0,10,1,,1,completed", "2,0,10,0,10,2,3:1 1:1,1,completed", "3,0,10,0,10,1,,1,completed")
    (tmp_path / "jobs.csv").write_text("\n".join((header, *rows)))
    taken = footprints(read_jobs(tmp_path / "jobs.csv"))
    assert taken.fragmentation.tolist() == [0, 2, 0]
    assert taken.spread.tolist() == [0, 1.5, 0]
