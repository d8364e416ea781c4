"""What is asked for a job in texts, each with the place where it was said: on a command line or in a script."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from dardis.live import asked
from dardis.live.asked import JobAsked
from dardis.live.client import here
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number

VALUES: Final = (
    "array", "time", "cpus", "gpus", "mem", "nodes", "after", "export", "chdir", "output", "error", "name", "grace",
)  # fmt: skip
"""Options with a value, by name."""
FLAGS: Final = ("requeue", "hold", "wait")
"""Options without one; NO takes back what was said elsewhere."""
YES, NO = "yes", "no"
_OWN: Final = frozenset({"DARDIS_JOB_ID", "DARDIS_ARRAY_INDEX", "DARDIS_ARRAY_JOB_ID", "DARDIS_HOSTFILE", "DARDIS_RUN"})
"""What a job's own service tells it, and no job that it hands in."""


class Said(NamedTuple):
    """The text of an option, and where it stands."""

    text: str
    place: str


class Asked(NamedTuple):
    """A job as it was asked for, its environment, and what its asker should know."""

    job: JobAsked
    environment: dict[str, str]
    warnings: list[str]


def asked_of(said: Mapping[str, Said], argv: Sequence[str], name: str, environment: Mapping[str, str]) -> Asked:
    """The job that these options ask for, with this name unless they say another; `chdir` is made absolute.

    Raises InputError, at the place of the option.
    """
    export, values = asked.read_export(*said.get("export", Said(asked.ALL, "--export")))
    handed_on, warnings = _environment(export, values, environment)
    chdir = said.get("chdir")
    array, after, memory = said.get("array"), said.get("after"), said.get("mem")
    time, grace = said.get("time"), said.get("grace")
    for option in ("output", "error"):
        if option in said:
            asked.check_pattern(said[option].place, said[option].text)
    job = JobAsked(
        argv=tuple(argv),
        name=said["name"].text if "name" in said else name,
        array=asked.read_array(*array) if array else None,
        walltime_s=asked.read_time(*time) if time else asked.USUAL_WALLTIME_S,
        nodes=_whole(said, "nodes", 1, asked.MOST_NODES) or 1,
        cpus=_whole(said, "cpus", 1, asked.MOST_CPUS) or 1,
        memory_mib=asked.read_memory(*memory) if memory else None,
        gpus=_whole(said, "gpus", 0, asked.MOST_GPUS) or 0,
        after=asked.read_after(*after) if after else (),
        export=export,
        chdir=_folder(chdir) if chdir else here(),
        output=said["output"].text if "output" in said else "",
        error=said["error"].text if "error" in said else "",
        requeue=is_set(said, "requeue"),
        hold=is_set(said, "hold"),
        grace_s=_grace(grace) if grace else None,
    )
    return Asked(job, handed_on, warnings)


def is_set(said: Mapping[str, Said], flag: str) -> bool:
    """Whether a flag was said, and not taken back."""
    return flag in said and said[flag].text == YES


def whole_of(said: Said, least: int, most: int) -> int:
    """The whole number that an option says. Raises InputError."""
    try:
        return whole_number(said.text, least, most)
    except ValueError:
        raise InputError(said.place, repr(said.text), f"a whole number from {least} to {most}") from None


def _whole(said: Mapping[str, Said], option: str, least: int, most: int) -> int | None:
    return whole_of(said[option], least, most) if option in said else None


def _grace(said: Said) -> int:
    """Seconds, which a number alone means; or a time with its unit."""
    return int(said.text) if said.text.isdecimal() and len(said.text) < 10 else asked.read_time(*said)


def _folder(said: Said) -> str:
    folder = Path(os.path.normpath(here() / PurePath(said.text)))
    if "\0" in said.text or not folder.is_dir():
        raise InputError(said.place, f"{said.text!r} is no folder", "one that exists")
    return str(folder)


def _environment(
    export: Sequence[str] | str, given: Mapping[str, str], present: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What of the environment is handed on, and what is said of what can't be."""
    names = list(present) if export == asked.ALL else [] if export == asked.NONE else list(export)
    folder = present.get("DARDIS_FOLDER") if "DARDIS_RUN" in present else None
    within = f"{folder}/" if folder else "\0"
    found: dict[str, str] = {}
    warnings = []
    for name in names:
        own = name in _OWN or present.get(name, "").startswith(within)  # its nodes' files, for its MPI
        if name in given or (own and export == asked.ALL):
            continue
        if name not in present:
            warnings.append(f"--export: {name} is not set here, and the job will not have it")
        elif not asked.is_utf8(name + present[name]):
            warnings.append(f"--export: {name!a} is no UTF-8, and the job will not have it")
        else:
            found[name] = present[name]
    for name, value in given.items():
        if not asked.is_utf8(value):
            raise InputError("--export", ascii(f"{name}={value}"), "UTF-8")
        found[name] = value
    return found, warnings
