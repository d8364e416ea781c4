"""Files of caps: a profile with UTC times, a plan's profile.csv, or a target."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any, Final

from dardis.config.target_file import load_target, read_profile, switching_table
from dardis.model.csv_table import CsvCells
from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.platform import Platform
from dardis.model.resources import CORES, MOST_WATTS, POWER
from dardis.model.step_function import StepFunction
from dardis.model.target import Split
from offline.folder.tables import profile_of

_OF_PLAN: Final = "power_cap_w"
_EXPECTED: Final = "rows of the machine (*) of one kind, power or cores"


def read_cap(path: Path, platform: Platform) -> tuple[str, list[list[int]]]:
    """Read a file: its kind, power or cores, and steps in Unix s. Raises InputError."""
    if _OF_PLAN in read_text(path).partition("\n")[0].split(","):
        return POWER, _steps_of_plan(path)
    target = read_profile(path, platform, Split.SHARED, is_utc=True)
    desired, begin = target.desired, target.unix_start or 0
    if target.source and target.unix_start is None:
        raise InputError(path, "no unix_start", "a plan with dates")
    if desired is None:
        raise InputError(path, "no profile", "a target of dardis plan --cap")
    cores = platform.kinds.index(CORES)
    functions = dict(desired.machine)
    if desired.watts is not None and not functions:
        return POWER, _steps(desired.watts, begin)
    if desired.watts is not None or [*functions] != [cores]:
        raise InputError(path, "other kinds, or both", _EXPECTED)
    return CORES, _steps(functions[cores], begin)


def read_switching(path: Path, platform: Platform) -> dict[str, Any]:
    """Read the switching of a target, with times in Unix s, as a table of target.json. Raises InputError."""
    target = load_target(path, platform)
    if target.switching is None:
        raise InputError(path, "no switching", "a target of dardis plan that switches nodes")
    if target.unix_start is None:
        raise InputError(path, "no unix_start", "a plan with dates")
    table = switching_table(target.switching, platform)
    for group in table["groups"].values():
        for name, steps in group.items():
            group[name] = [[time + target.unix_start, value] for time, value in steps]
    return table


def _steps(function: StepFunction, begin: int) -> list[list[int]]:
    times, values = function.times.tolist(), function.values.tolist()
    return [[time + begin, value] for time, value in zip(times[1:], values[1:], strict=True)]


def _steps_of_plan(path: Path) -> list[list[int]]:
    profile, offset = profile_of(CsvCells.of_csv(path))
    if all(map(isnan, profile.power_cap_w.tolist())):
        raise InputError(path, f"no {_OF_PLAN}", "a plan with --cap")
    return [
        [time + offset, MOST_WATTS if isnan(watts) else int(watts)]
        for time, watts in zip(profile.edges[:-1].tolist(), profile.power_cap_w.tolist(), strict=True)
    ]
