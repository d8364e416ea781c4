"""Job options in `#DARDIS` and `#SBATCH` lines, and on the command line.

Lines count up to the first command. Unsupported Slurm options cause warnings.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from dardis.live import job_request
from dardis.live.client import current_folder
from dardis.live.job_request import MOST_CPUS, MOST_GPUS, MOST_NODES, JobRequest, read_memory
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number

VALUES: Final = (
    "array", "time", "cpus", "gpus", "mem", "nodes", "after", "export", "chdir", "output", "error", "name", "grace",
)  # fmt: skip
FLAGS: Final = ("requeue", "hold", "wait")
"""Options without a value; NO overrides."""
YES, NO = "yes", "no"
_OWN: Final = frozenset({"DARDIS_JOB_ID", "DARDIS_ARRAY_INDEX", "DARDIS_ARRAY_JOB_ID", "DARDIS_HOSTFILE", "DARDIS_RUN"})
"""Variables of the current job, not passed to submissions."""


class OptionText(NamedTuple):
    """Text and position of an option."""

    text: str
    place: str


class SubmitRequest(NamedTuple):
    """A job request, its environment, and warnings."""

    job: JobRequest
    environment: dict[str, str]
    warnings: list[str]


def submit_request(
    said: Mapping[str, OptionText], argv: Sequence[str], name: str, environment: Mapping[str, str]
) -> SubmitRequest:
    """Job request for options; `name` is a default, `chdir` becomes absolute. Raises InputError."""
    export, values = job_request.read_export(*said.get("export", OptionText(job_request.ALL, "--export")))
    handed_on, warnings = _environment(export, values, environment)
    chdir = said.get("chdir")
    array, after, memory = said.get("array"), said.get("after"), said.get("mem")
    time, grace = said.get("time"), said.get("grace")
    for option in ("output", "error"):
        if option in said:
            job_request.check_pattern(said[option].place, said[option].text)
    job = JobRequest(
        argv=tuple(argv),
        name=said["name"].text if "name" in said else name,
        array=job_request.read_array(*array) if array else None,
        walltime_s=job_request.read_time(*time) if time else job_request.DEFAULT_WALLTIME_S,
        nodes=_integer_option(said, "nodes", 1, job_request.MOST_NODES) or 1,
        cpus=_integer_option(said, "cpus", 1, job_request.MOST_CPUS) or 1,
        memory_mib=job_request.read_memory(*memory) if memory else None,
        gpus=_integer_option(said, "gpus", 0, job_request.MOST_GPUS) or 0,
        after=job_request.read_after(*after) if after else (),
        export=export,
        chdir=_folder(chdir) if chdir else current_folder(),
        output=said["output"].text if "output" in said else "",
        error=said["error"].text if "error" in said else "",
        requeue=is_set(said, "requeue"),
        hold=is_set(said, "hold"),
        grace_s=_grace(grace) if grace else None,
    )
    return SubmitRequest(job, handed_on, warnings)


def is_set(said: Mapping[str, OptionText], flag: str) -> bool:
    """Whether a flag is set."""
    return flag in said and said[flag].text == YES


def integer_value(said: OptionText, least: int, most: int) -> int:
    """Integer value of an option. Raises InputError."""
    try:
        return whole_number(said.text, least, most)
    except ValueError:
        raise InputError(said.place, repr(said.text), f"a whole number from {least} to {most}") from None


def _integer_option(said: Mapping[str, OptionText], option: str, least: int, most: int) -> int | None:
    return integer_value(said[option], least, most) if option in said else None


def _grace(said: OptionText) -> int:
    return int(said.text) if said.text.isdecimal() and len(said.text) < 10 else job_request.read_time(*said)


def _folder(said: OptionText) -> str:
    folder = Path(os.path.normpath(current_folder() / PurePath(said.text)))
    if "\0" in said.text or not folder.is_dir():
        raise InputError(said.place, f"{said.text!r} is no folder", "an existing folder")
    return str(folder)


def _environment(
    export: Sequence[str] | str, given: Mapping[str, str], present: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    names = list(present) if export == job_request.ALL else [] if export == job_request.NONE else list(export)
    folder = present.get("DARDIS_FOLDER") if "DARDIS_RUN" in present else None
    within = f"{folder}/" if folder else "\0"
    found: dict[str, str] = {}
    warnings = []
    for name in names:
        own = name in _OWN or present.get(name, "").startswith(within)  # MPI files of the current job
        if name in given or (own and export == job_request.ALL):
            continue
        if name not in present:
            warnings.append(f"--export: {name} is not set here, so the job will not have it")
        elif not job_request.is_utf8(name + present[name]):
            warnings.append(f"--export: {name!a} is no UTF-8, so the job will not have it")
        else:
            found[name] = present[name]
    for name, value in given.items():
        if not job_request.is_utf8(value):
            raise InputError("--export", ascii(f"{name}={value}"), "UTF-8")
        found[name] = value
    return found, warnings


MOST_BYTES: Final = 4 << 20
STDIN: Final = Path("-")
_DARDIS_OPTIONS: Final = {**dict.fromkeys(VALUES, True), **dict.fromkeys(FLAGS, False)}
_SLURM: Final = {
    "time": "time", "mem": "mem", "nodes": "nodes", "job-name": "name", "output": "output", "error": "error",
    "array": "array", "chdir": "chdir", "export": "export", "dependency": "after", "cpus-per-task": "cpus-per-task",
    "ntasks": "ntasks", "ntasks-per-node": "ntasks-per-node", "mem-per-cpu": "mem-per-cpu", "gpus": "gpus",
    "gpus-per-node": "gpus-per-node", "gres": "gres",
}  # fmt: skip
"""Options of sbatch with a value."""
_SLURM_FLAGS: Final = {
    "requeue": ("requeue", YES), "no-requeue": ("requeue", NO), "hold": ("hold", YES), "wait": ("wait", YES),
}  # fmt: skip
_SLURM_SHORT: Final = {
    "t": "time", "c": "cpus-per-task", "N": "nodes", "J": "job-name", "o": "output", "e": "error", "a": "array",
    "d": "dependency", "D": "chdir", "H": "hold", "G": "gpus", "n": "ntasks", "W": "wait",
}  # fmt: skip
_KINDS: Final = {"afterok": "ok", "afterany": "any", "afternotok": "fail"}


@dataclass(slots=True)
class Directives:
    """DARDIS and Slurm options in a script, and warnings."""

    dardis: dict[str, OptionText] = field(default_factory=dict)
    slurm: dict[str, OptionText] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def merge_options(self, given: Mapping[str, OptionText]) -> dict[str, OptionText]:
        """All options: `given` first, then DARDIS lines, then Slurm lines."""
        better = {**self.dardis, **given}
        said = {**self.slurm, **better}
        said.update({name: one for name, one in self._by_node(said).items() if name not in better})
        return {name: one for name, one in said.items() if name in _DARDIS_OPTIONS}

    def _by_node(self, said: Mapping[str, OptionText]) -> dict[str, OptionText]:
        slurm, found = self.slurm, {}
        nodes = integer_value(said["nodes"], 1, MOST_NODES) if "nodes" in said else 1
        counts = {
            name: integer_value(slurm[name], 1, MOST_CPUS)
            for name in ("cpus-per-task", "ntasks", "ntasks-per-node")
            if name in slurm
        }
        if counts:
            tasks = counts.get("ntasks-per-node") or -(-counts.get("ntasks", 1) // nodes)
            cpus = counts.get("cpus-per-task", 1) * tasks
            found["cpus"] = OptionText(str(cpus), slurm[next(iter(counts))].place)
        if (one := slurm.get("mem-per-cpu")) and "mem" not in slurm:
            cores = said.get("cpus") or found.get("cpus") or OptionText("1", one.place)
            found["mem"] = OptionText(str(read_memory(*one) * integer_value(cores, 1, MOST_CPUS)), one.place)
        if one := slurm.get("gpus"):
            found["gpus"] = one._replace(text=str(-(-integer_value(one, 0, MOST_GPUS) // nodes)))
        if one := slurm.get("gpus-per-node"):
            found["gpus"] = one
        return found


def read_script(path: Path) -> str:
    """Text of a script; `STDIN`: standard input. Raises InputError."""
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1) if path == STDIN else path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(path, f"cannot be read ({why})", "a script; a command comes after --") from None
    if len(data) > MOST_BYTES:
        raise InputError(path, f"more than {MOST_BYTES} bytes", "a smaller script")
    first = data.split(b"\n", 1)[0]
    if not first.startswith(b"#!"):
        raise InputError(path, "does not begin with #!", "a script such as #!/bin/sh; a command comes after --")
    if first.endswith(b"\r"):
        raise InputError(f"{path}:1", "has a DOS line ending", "lines that end with LF (dos2unix)")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(path, "is no UTF-8 text", "a script; a command comes after --") from None
    if "\0" in text:
        raise InputError(path, "has zero bytes", "a script; a command comes after --")
    return text


def read_directives(text: str, path: Path) -> Directives:
    """Read options in a script. Raises InputError for a bad DARDIS line."""
    found = Directives()
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            break
        place = f"{path}:{number}"
        first, _, rest = line.partition(" ") if "\t" not in line else line.replace("\t", " ").partition(" ")
        if first == "#DARDIS":
            for written, name, value in _options(rest, _DARDIS_OPTIONS, {}, place):
                if name is None:
                    options = ", ".join(f"--{one}" for one in _DARDIS_OPTIONS)
                    raise InputError(place, f"unknown option {written}", options)
                said = OptionText(value, f"{place}: {written}")
                if name == "after" and name in found.dardis:
                    said = said._replace(text=f"{found.dardis[name].text},{value}")
                found.dardis[name] = said
        elif first == "#SBATCH":
            known = {**dict.fromkeys(_SLURM, True), **dict.fromkeys(_SLURM_FLAGS, False)}
            for written, name, value in _options(rest, known, _SLURM_SHORT, place):
                if name is None:
                    found.warnings.append(f"{place}: {' '.join(filter(None, (written, value)))} is ignored")
                elif name in _SLURM_FLAGS:
                    ours, answer = _SLURM_FLAGS[name]
                    found.slurm[ours] = OptionText(answer, f"{place}: {written}")
                else:
                    _note_slurm(found, name, OptionText(value, f"{place}: {written}"))
    return found


def _note_slurm(found: Directives, name: str, said: OptionText) -> None:
    ours = _SLURM[name]
    if ours == "after":
        said = said._replace(text=",".join(_after(part, said) for part in said.text.split(",")))
    elif ours == "export" and said.text.upper() == "NIL":
        said = said._replace(text="none")
    elif ours == "gres":
        for one in said.text.split(","):
            kind, _, rest = one.partition(":")
            if kind == "gpu":
                found.slurm["gpus-per-node"] = _gpus(found, OptionText(rest or "1", said.place))
            else:
                found.warnings.append(f"{said.place} {one} is ignored")
        return
    elif ours in {"gpus", "gpus-per-node"}:
        said = _gpus(found, said)
    found.slurm[ours] = said


def _after(part: str, said: OptionText) -> str:
    kind, colon, ids = part.partition(":")
    if kind not in _KINDS or not colon:
        raise InputError(said.place, repr(said.text), "afterok, afterany or afternotok, with :ID")
    return f"{_KINDS[kind]}:{ids}"


def _gpus(found: Directives, said: OptionText) -> OptionText:
    kind, _, number = said.text.rpartition(":")
    if not kind and not number.isdecimal():
        kind, number = number, "1"
    if kind:
        found.warnings.append(f"{said.place} {said.text}: {kind} is ignored, the job may get any GPU")
    return said._replace(text=number)


def _options(
    line: str, known: Mapping[str, bool], short: Mapping[str, str], place: str
) -> Iterator[tuple[str, str | None, str]]:
    """Yield option texts, names (None: unknown) and values. `known` tells whether a value follows."""
    try:
        words = shlex.split(line, comments=True)[::-1]
    except ValueError as error:
        raise InputError(place, f"{line.strip()!r} ({error})", "closed quotes") from None
    while words:
        word = words.pop()
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            written = f"--{name}"
        elif len(word) > 1 and word[0] == "-" and short:
            written, name = word[:2], short.get(word[1], "")
            value = word[2:]
            equals = value and "="
        else:
            raise InputError(place, f"{word!r}", "options such as --time=10")
        if name not in known:
            while words and not words[-1].startswith("-"):
                value = f"{value} {words.pop()}".strip()
            yield written, None, value
        elif not known[name]:
            if equals:
                raise InputError(place, f"{word!r}", f"{written} without a value")
            yield written, name, YES
        elif not equals and not words:
            raise InputError(place, f"{written} without a value", "a value")
        else:
            yield written, name, value if equals else words.pop()
