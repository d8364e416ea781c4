"""What a run left in its folder, read back for the report; each file is told apart when it is missing or wrong."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dardis.metrics.downtime import DOWNTIME_FILE, read_downtime
from dardis.metrics.power import COLUMNS
from dardis.metrics.table import read_jobs
from dardis.model.downtime import Downtime
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.platform_dict import platform_from_dict
from dardis.model.profile import StepFunction
from dardis.model.schedule import Schedule

T = TypeVar("T")


@dataclass(frozen=True)
class RunFiles:
    """A run as its files tell it.

    `profile` maps a column of `profile.csv` (`cores_used`, …) to its step function; `decisions` has rows of CPU time
    from (s), to (s) and how many decisions took so long, shape (bins, 3), or is None where nobody measured them.
    `power` has the columns of `power.csv`, or is None where the platform says nothing of power; `downtime` is None
    where no node is switched.
    """

    schedule: Schedule
    platform: Platform
    metrics: dict[str, float | str | None]
    by: list[dict[str, str]]
    profile: dict[str, StepFunction]
    run: dict[str, Any]
    decisions: NDArray[np.float64] | None
    power: dict[str, NDArray[np.float64]] | None = None
    downtime: Downtime | None = None


def read_run(folder: Path) -> RunFiles:
    """Read jobs.csv, run.json, metrics.json, metrics_by.csv, profile.csv and, if there, the other files of a run.

    Raises InputError naming the file that is missing or not as it should be.
    """
    run, platform = _parsed(folder / "run.json", _run_and_platform)
    schedule = read_jobs(folder / "jobs.csv")
    if len(schedule.nodes) and not 0 <= schedule.nodes.min() <= schedule.nodes.max() < platform.node_count:
        raise InputError(folder / "jobs.csv", "names a node that run.json does not know", "the files of one run")
    return RunFiles(
        schedule=schedule,
        platform=platform,
        metrics=_parsed(folder / "metrics.json", _json_object),
        by=_parsed(folder / "metrics_by.csv", lambda text: list(csv.DictReader(text.splitlines()))),
        profile=_parsed(folder / "profile.csv", _profile),
        run=run,
        decisions=_parsed(folder / "decisions.csv", _decisions) if (folder / "decisions.csv").exists() else None,
        power=_parsed(folder / "power.csv", _power) if (folder / "power.csv").exists() else None,
        downtime=read_downtime(folder / DOWNTIME_FILE) if (folder / DOWNTIME_FILE).exists() else None,
    )


def _parsed(path: Path, parse: Callable[[str], T]) -> T:
    """What `parse` makes of a file's text."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(path, error.strerror or "can't be read", "the folder of a run") from None
    except (ValueError, KeyError) as error:
        raise InputError(path, f"is damaged ({error})", "the file that a run wrote") from None


def _json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("no JSON object")
    return data


def _run_and_platform(text: str) -> tuple[dict[str, Any], Platform]:
    """What was run, and the machine described in it."""
    run = _json_object(text)
    return run, platform_from_dict(run["platform"])


def _profile(text: str) -> dict[str, StepFunction]:
    """The columns of `profile.csv`; before its first row nothing is known and the first values stand."""
    header, *lines = text.splitlines()
    names = header.split(",")
    table = np.loadtxt(lines, delimiter=",", dtype=np.int64, ndmin=2) if lines else np.zeros((0, len(names)), np.int64)
    if table.shape[1] != len(names) or names[0] != "time_s":
        raise ValueError("no table of time_s and amounts")
    first = StepFunction.from_steps(0, []).times
    times = np.concatenate([first, table[:, 0]])
    return {
        name: StepFunction(
            times, np.concatenate([table[:1, column] if lines else [0], table[:, column]]).astype(np.int64)
        )
        for column, name in enumerate(names[1:], start=1)
    }


def _power(text: str) -> dict[str, NDArray[np.float64]]:
    """The columns of `power.csv`."""
    header, *lines = text.splitlines()
    table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if tuple(header.split(",")) != COLUMNS or table.shape[1] != len(COLUMNS):
        raise ValueError("no table of power over time")
    return dict(zip(COLUMNS, table.T, strict=True))


def _decisions(text: str) -> NDArray[np.float64]:
    """The histogram of decision times."""
    header, *lines = text.splitlines()
    if header != "cpu_s_from,cpu_s_to,decisions":
        raise ValueError("no histogram of decision times")
    return np.loadtxt(lines, delimiter=",", ndmin=2) if lines else np.zeros((0, 3))
