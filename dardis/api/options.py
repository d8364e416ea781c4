"""What the keywords of a run ask for: the request that the command line would make of its options, and objects.

Mistakes are told with the options' names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dardis.api.plain import path_of, plain, setting_text, switch_of
from dardis.api.platforms import Platform, as_platform
from dardis.api.traces import Trace, as_trace
from dardis.config.cuts import MOST_WALLTIME_FACTOR, Cut, Trim, cut_of, trim_of
from dardis.config.option_texts import LARGEST_SEED, MOST_TASK_MANAGERS, decimal, one_of, whole
from dardis.config.reach import reach_value
from dardis.config.settings import known_settings
from dardis.model.choices import Overrun, ProfileRule, Resources
from dardis.model.errors import InputError
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64
from dardis.registry import Dispatcher, at_hand, find_dispatcher
from dardis.runs.given import Objects
from dardis.runs.request import RunRequest

if TYPE_CHECKING:
    from pandas import DataFrame

NOWHERE: Final = Path(os.devnull)
"""The folder of a run that writes none."""


def requested(
    trace: Trace | DataFrame | str | PathLike[str], platform: Platform | str | PathLike[str],
    dispatcher: str | type | Dispatcher, settings: Mapping[str, object], *, strict: bool, **options: Any,  # noqa: ANN401 (each its own kind)
) -> tuple[RunRequest, Objects]:  # fmt: skip
    """What is asked, and the objects that stand for what the request names. Raises InputError."""
    said = tuple(f"{key}={setting_text(value)}" for key, value in settings.items())
    strict = switch_of("--strict", strict)
    who = None if isinstance(dispatcher, str) else at_hand(dispatcher)
    _see_keywords(who or find_dispatcher(str(dispatcher)), settings, options)
    jobs = Path(trace) if isinstance(trace, str | PathLike) else as_trace(trace, strict=strict)
    machine = Path(platform) if isinstance(platform, str | PathLike) else as_platform(platform)
    request = RunRequest(
        trace=jobs if isinstance(jobs, Path) else jobs.place,
        platform=machine if isinstance(machine, Path) else machine.place,
        dispatcher=who.name if who else str(dispatcher), settings=said, strict=strict, **_read(options),
    )  # fmt: skip
    digests = {name: one.digest for name, one in (("trace", jobs), ("platform", machine)) if not isinstance(one, Path)}
    objects = Objects(
        None if isinstance(jobs, Path) else jobs.jobs,
        None if isinstance(machine, Path) else machine.machine,
        None if who is None else who.with_settings(said),
        digests,
    )
    return request, objects


def _see_keywords(dispatcher: Dispatcher, settings: Mapping[str, object], options: Mapping[str, object]) -> None:
    """See that no setting is an option that is spelled in another way. Raises InputError."""
    known = known_settings(type(dispatcher.setup))
    for key, value in settings.items():
        near = get_close_matches(key, [*options, "strict", "no_report"], 1, 0.8) if key not in known else []
        if near and not get_close_matches(key, known, 1, 0.8):
            choices = ", ".join(f"{name}={values}" for name, values in known.items())
            said = f"--set {key}={setting_text(value)}"
            raise InputError(said, "unknown setting", f"the option {near[0]}, or one of {choices}")


def _read(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as fields of a request, each checked as the command line checks it."""
    out, trim, deadlines, start = (options[name] for name in ("out", "trim", "deadlines", "calendar_start"))
    return {
        "out": NOWHERE if out is None else path_of("--out", out),
        "force": switch_of("--force", options["force"]),
        "seed": _whole("--seed", options["seed"], 0, LARGEST_SEED),
        "jobs": None if options["jobs"] is None else _whole("--jobs", options["jobs"], 1),
        "start": _cut("--from", options["from_"]),
        "end": _cut("--to", options["to"]),
        "deadlines": None if deadlines is None else str(path_of("--deadlines", deadlines)),
        "think_times": switch_of("--think-times", options["think_times"]),
        "task_managers": _whole("--task-managers", options["task_managers"], 1, MOST_TASK_MANAGERS),
        "trim": None if trim is None else _pair(trim),
        "overrun": one_of("--overrun", Overrun)(str(options["overrun"])),
        "walltime_factor": decimal("--walltime-factor", 1, MOST_WALLTIME_FACTOR)(
            str(plain(options["walltime_factor"]))
        ),
        "arity": reach_value("arity", str(plain(options["arity"]))),
        "sample": reach_value("sample", str(plain(options["sample"]))),
        "resources": one_of("--resources", Resources)(str(options["resources"])),
        "calendar_start": None if start is None else str(start),
        "profile": _profile(options["profile"]),
        "events": _path("--events", options["events"]),
        "save_instances": _path("--save-instances", options["save_instances"]),
    }


def _path(option: str, value: object) -> Path | None:
    return None if value is None else path_of(option, value)


def _profile(value: object) -> Path | None:
    """The file of a desired profile. Raises InputError for a word of the setting that is called so, too."""
    if isinstance(value, str) and value in [*ProfileRule] and not Path(value).exists():
        raise InputError("--profile", f"no file {value!r}", f'a file, or settings={{"profile": "{value}"}}')
    return _path("--profile", value)


def _whole(option: str, value: object, least: int = LEAST_INT64, most: int = LARGEST_INT64) -> int:
    """The whole number that an option has. Raises InputError."""
    return whole(option, least, most)(str(plain(value)))


def _cut(option: str, value: object) -> Cut | None:
    return None if value is None else cut_of(option, _text(value))


def _pair(trim: object) -> Trim:
    """Warm-up and cool-down. Raises InputError."""
    if isinstance(trim, str):
        return trim_of("--trim", trim)
    found = trim if isinstance(trim, list | tuple) else plain(trim)
    return trim_of("--trim", ",".join(map(_text, found)) if isinstance(found, list | tuple) else str(found))


def _text(value: object) -> str:
    """A number, text or date as the command line has it."""
    return value.isoformat() if isinstance(value, date) else str(plain(value))
