"""Reads a run's files for the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dardis.config.json_records import RunRecord, read_metrics
from dardis.config.toml_file import read_json
from dardis.metrics.job_metrics import EXPECTATIONS_FILE, Expectations, read_expectations
from dardis.metrics.jobs_csv import read_jobs
from dardis.metrics.power import SEGMENTS
from dardis.metrics.system import DOWNTIME_FILE, profile_table, read_downtime
from dardis.model.arrays import Floats
from dardis.model.csv_table import CsvCells, from_cell
from dardis.model.errors import InputError
from dardis.model.numbers import decimal_number
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.model.step_function import ZERO, StepFunction
from dardis.runs.outputs import DECISIONS
from dardis.runs.solved_instances import SOLVER_FILE, DecisionGap, read_gaps

T = TypeVar("T")
_LATEST: Final = 1 << 60
_LARGEST: Final = 1e24
"""For plotting."""
BY_COLUMNS: Final = ("jobs", "mean_wait_s", "p95_wait_s", "max_wait_s", "mean_bounded_slowdown", "utilisation")
FOOTPRINT_COLUMNS: Final = ("mean_fragmentation", "mean_spread")
DEADLINE_COLUMNS: Final = ("late_jobs", "tardiness_s", "weighted_queue_time", "weighted_tardiness")
QUEUE_COLUMNS: Final = ("queue_late_jobs", "queue_tardiness_s", "queue_weighted_wait", "queue_weighted_tardiness")
"""Columns of queues and users: always; if present; with deadlines; with longest waits."""


@dataclass(frozen=True)
class JobGroup:
    """Jobs of a queue or user (`by`), with figures."""

    by: str
    name: str
    figures: dict[str, float | None]


@dataclass(frozen=True)
class RunFiles:
    """Contents of a run's files; None: no such file.

    - `profile`: step function per column.
    - `decisions` (bins, 3): CPU time from, to (s), count.
    - `power`: by column.
    """

    schedule: Schedule
    platform: Platform
    metrics: dict[str, Any]
    by: list[JobGroup]
    profile: dict[str, StepFunction]
    run: RunRecord
    decisions: Floats | None
    power: dict[str, Floats] | None = None
    downtime: Downtime | None = None
    expected: Expectations | None = None
    """None: walltimes were expected."""
    gaps: list[DecisionGap] | None = None
    """Constraint model decisions, or None."""


def read_run(folder: Path) -> RunFiles:
    """All files of a run. Raises InputError."""
    run = read_json(folder / "run.json", RunRecord)
    platform = run.machine(folder / "run.json")
    downtime, expected, solved = folder / DOWNTIME_FILE, folder / EXPECTATIONS_FILE, folder / SOLVER_FILE
    schedule = _schedule(folder / "jobs.csv", platform)
    return RunFiles(
        schedule=schedule,
        platform=platform,
        metrics=read_metrics(folder / "metrics.json"),
        by=_groups(folder / "metrics_by.csv"),
        profile=_parsed(folder / "profile.csv", lambda text: _profile(text, platform)),
        run=run,
        decisions=_parsed(folder / "decisions.csv", _decisions) if (folder / "decisions.csv").exists() else None,
        power=_parsed(folder / "power.csv", _power) if (folder / "power.csv").exists() else None,
        downtime=_downtime(downtime, platform) if downtime.exists() else None,
        expected=read_expectations(expected, schedule) if expected.exists() else None,
        gaps=read_gaps(solved) if solved.exists() else None,
    )


def _schedule(path: Path, platform: Platform) -> Schedule:
    schedule = read_jobs(path)
    nodes = schedule.placed.nodes
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < platform.node_count:
        raise InputError(path, "has a node that is not in run.json", "the files of one run")
    in_order = (schedule.submit <= schedule.start) & (schedule.start < schedule.finish)
    if (wrong := schedule.ran & ~in_order).any():
        job = int(schedule.number[np.argmax(wrong)])
        raise InputError(path, f"job {job} ran, but has no start with a later end", "a schedule (see dardis audit)")
    return schedule


def _downtime(path: Path, platform: Platform) -> Downtime:
    downtime = read_downtime(path)
    if len(downtime.node) and not 0 <= downtime.node.min() <= downtime.node.max() < platform.node_count:
        raise InputError(path, "has a node that is not in run.json", "the files of one run")
    return downtime


def _groups(path: Path) -> list[JobGroup]:
    cells = CsvCells.of_csv(path)
    more = (*FOOTPRINT_COLUMNS, *QUEUE_COLUMNS)
    shown = (*BY_COLUMNS, *DEADLINE_COLUMNS, *(name for name in more if name in cells.header))
    figures = zip(*(cells.values(name, _figure, "a figure of a metrics_by.csv") for name in shown), strict=True)
    by, names = (cells.values(name, from_cell, "a metrics_by.csv") for name in ("by", "name"))
    return [
        JobGroup(of, name, dict(zip(shown, found, strict=True)))
        for of, name, found in zip(by, names, figures, strict=True)
    ]


def _figure(text: str) -> float | None:
    return decimal_number(text) if text else None


def _parsed(path: Path, parse: Callable[[str], T]) -> T:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read", "the folder of a run") from None
    except (ValueError, KeyError, RecursionError) as error:
        raise InputError(path, f"is damaged ({error})", "a file of a run") from None


def _numbers(lines: list[str], columns: int, kind: DTypeLike) -> NDArray[Any]:
    """Table (lines, columns) of numbers. Raises ValueError."""
    if not lines:
        return np.zeros((0, columns), kind)
    if not all(map(str.strip, lines)):
        raise ValueError("an empty line")
    table = np.loadtxt(lines, delimiter=",", dtype=kind, ndmin=2, comments=None)
    if table.shape != (len(lines), columns) or not (np.abs(table.astype(np.float64)) <= _LARGEST).all():
        raise ValueError(f"not a table of {columns} finite numbers in each line")
    return table


def _profile(text: str, platform: Platform) -> dict[str, StepFunction]:
    header, *lines = text.splitlines() or [""]
    names = header.split(",")
    needed = profile_table(platform).names
    if any(names.count(name) != 1 for name in needed) or names[0] != "time_s":
        raise ValueError("not a table of " + ", ".join(needed))
    table = _numbers(lines, len(names), np.int64)
    if (np.diff(table[:, 0]) <= 0).any():
        raise ValueError("times are not ascending")
    times = np.concatenate([ZERO.times, table[:, 0]])
    return {
        name: StepFunction(
            times, np.concatenate([table[:1, column] if lines else [0], table[:, column]]).astype(np.int64)
        )
        for column, name in enumerate(names[1:], start=1)
    }


def _power(text: str) -> dict[str, Floats]:
    header, *lines = text.splitlines() or [""]
    if tuple(header.split(",")) != SEGMENTS.names or not lines:
        raise ValueError("not a table of power over time")
    columns = dict(zip(SEGMENTS.names, _numbers(lines, len(SEGMENTS.names), np.float64).T, strict=True))
    start, end = columns["time_s"], columns["until_s"]
    if (end <= start).any() or (start[1:] != end[:-1]).any() or max(abs(start[0]), abs(end[-1])) > _LATEST:
        raise ValueError("segments are not consecutive")
    return columns


def _decisions(text: str) -> Floats:
    header, *lines = text.splitlines() or [""]
    table = _numbers(lines, 3, np.float64)
    if header != ",".join(DECISIONS.names) or (table < 0).any() or (table[:, 0] >= table[:, 1]).any():
        raise ValueError("not a histogram of decision times")
    return table
