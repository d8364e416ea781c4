"""Lines of Slurm's job tables by sacct's columns: sacct's text, and JSON of sacct or squeue."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from dardis.model.errors import InputError
from dardis.model.files import by_name
from dardis.model.slurm_json import inner, is_slurm_json, number_of, slurm_records, words_of
from dardis.workload.slurm_texts import PHASE_OF, JobPhase

REQUIRED: Final = (
    ("JobIDRaw", "JobID"), ("Submit",), ("Start",), ("End", "ElapsedRaw", "Elapsed"), ("State",),
    ("NCPUS", "AllocCPUS", "ReqCPUS", "AllocTRES", "ReqTRES"),
)  # fmt: skip
"""One column of each group is required."""
NODES: Final = ("NNodes", "AllocNodes", "ReqNodes", "AllocTRES", "ReqTRES")
TEXTS: Final = {
    "user": ("User", "UID"), "group": ("Group", "GID", "Account"), "name": ("JobName",), "queue": ("QOS",),
    "partition": ("Partition",),
}  # fmt: skip
"""Sources of a job's texts by precedence."""
COLUMNS: Final = frozenset(
    {*(name for names in (*REQUIRED, *TEXTS.values(), NODES) for name in names)}
    | {"Account", "ConsumedEnergyRaw", "Eligible", "NodeList", "TimelimitRaw", "Timelimit", "TotalCPU"}
)
_WAY = (
    "SLURM_TIME_FORMAT=%s sacct --parsable2 -aX "
    "-o JobIDRaw,JobID,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,ReqTRES,AllocTRES,State"
)
_NO_HEADER = re.compile(r"\d[^\s|,;]*+\|", re.ASCII)
_BETWEEN = re.compile(r"[|,;\s]+")
Cells = Mapping[str, str]
Value = TypeVar("Value")


class SlurmLine(NamedTuple):
    """A line of a job or step. `cells` raises ValueError if it is malformed."""

    line: int
    cells: Callable[[], Cells]


class SlurmLines(NamedTuple):
    """A job table. `has_nodes`: whether it states numbers of nodes."""

    lines: Iterator[SlurmLine]
    has_nodes: bool


def first_cell(cells: Cells, names: Iterable[str]) -> str:
    """First nonempty cell of these columns, or ""."""
    return next((cells[name] for name in names if cells.get(name)), "")


def read_cell(cells: Cells, name: str, read: Callable[[str], Value]) -> Value:
    """Parse a cell. Raises ValueError naming the column."""
    try:
        return read(cells[name])
    except KeyError:
        raise ValueError(f"no {name}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def is_sacct(first_line: str) -> bool:
    """Whether a file with this first line is sacct's text, even if invalid."""
    words = {*_BETWEEN.split(first_line)}
    is_header = len(words & COLUMNS) > 1 and ("|" in first_line or not words.isdisjoint(REQUIRED[0]))
    return is_header or _NO_HEADER.match(first_line.lstrip()) is not None


def is_job_table(text: str) -> bool:
    """Whether a text is Slurm's JSON or sacct's text, even if invalid."""
    lines = map(str.strip, text.split("\n"))
    return is_slurm_json(text) or is_sacct(next((line for line in lines if line and not line.startswith(";")), ""))


def slurm_lines(path: Path, text: str) -> SlurmLines:
    """Lines of either format. Raises InputError, also while reading."""
    if is_slurm_json(text):
        return SlurmLines(_json_lines(path, text), has_nodes=True)
    table = _text_lines(text)
    names = _header(path, *next(table, (1, "")))
    is_closed = names[-1] == ""  # --parsable also ends lines with a bar
    names = names[:-1] if is_closed else names
    lines = (SlurmLine(line, partial(_text_cells, names, content, is_closed)) for line, content in table)
    return SlurmLines(lines, not {*names}.isdisjoint(NODES))


def _text_cells(names: list[str], content: str, is_closed: bool) -> Cells:
    fields = (content.removesuffix("|") if is_closed else content).split("|")
    return by_name(names, [*map(str.strip, fields)])


def _text_lines(text: str) -> Iterator[tuple[int, str]]:
    begun = False
    for number, line in enumerate(text.split("\n"), 1):
        content = line.strip()
        begun |= bool(content) and not content.startswith(";")
        if content and begun:
            yield number, content


def _header(path: Path, line: int, first: str) -> list[str]:
    if _NO_HEADER.match(first):
        raise InputError(f"{path}:{line}", "sacct's jobs without a header", f"a header (no --noheader): {_WAY}")
    if "|" not in first:
        raise InputError(f"{path}:{line}", "sacct's columns without | between them", f"--parsable2: {_WAY}")
    names = [name.strip() for name in first.split("|")]
    for name in names:
        if name in COLUMNS and names.count(name) > 1:
            raise InputError(f"{path}:{line}", f"column {name!r} occurs twice")
    missing = [" or ".join(one) for one in REQUIRED if {*names}.isdisjoint(one)]
    if missing:
        raise InputError(f"{path}:{line}", f"no column {', '.join(missing)}", _WAY)
    return names


def _json_lines(path: Path, text: str) -> Iterator[SlurmLine]:
    for record in slurm_records(path, text):
        if record.kind == "jobs":
            is_accounting = isinstance(record.content.get("time"), Mapping)
            yield SlurmLine(record.line, partial(_sacct_cells if is_accounting else squeue_cells, record.content))
            steps = record.content.get("steps") if is_accounting else None
            for step in steps if isinstance(steps, list) else ():
                yield SlurmLine(record.line, partial(_step_cells, record.content, step))


def squeue_cells(job: Mapping[str, Any]) -> Cells:
    """Cells of a job of squeue or `scontrol show jobs`, whose end is expected unless the job ended."""
    state = _base_state(job.get("job_state"))
    has_ended = PHASE_OF.get(state) is JobPhase.ENDED
    return {
        **_names(job, job.get("array_job_id"), job.get("array_task_id"), job.get("array_task_string")),
        **_job_texts(job, "user_name", "group_name"),
        "State": state,
        "Submit": _time(job.get("submit_time")),
        "Eligible": _time(job.get("eligible_time")),
        "Start": _time(job.get("start_time")),
        "End": _time(job.get("end_time")) if has_ended else "Unknown",
        "TimelimitRaw": _minutes(job.get("time_limit")),
        "NNodes": _count(job.get("node_count")),
        "NCPUS": _count(job.get("cpus")),
        "ReqTRES": _with_devices(job, _text(job.get("tres_req_str"))),
        "AllocTRES": _with_devices(job, _text(job.get("tres_alloc_str"))),
    }


_DEVICE = re.compile(r"(?:gres[:/])?([a-z][\w.-]*)(?::[A-Za-z][\w.-]*)?(?:[:=](\d{1,9}))?", re.ASCII)


def _with_devices(job: Mapping[str, Any], tres: str) -> str:
    """Resources with requested devices, if Slurm does not account for them (AccountingStorageTRES)."""
    if not tres or "gres/" in tres:
        return tres
    counts = {"tres_per_node": job.get("node_count"), "tres_per_job": 1, "tres_per_task": job.get("tasks")}
    amounts: dict[str, int] = {}
    for key, count in counts.items():
        times = number_of(count)
        for part in words_of(job.get(key)):
            found = _DEVICE.fullmatch(part)
            if found and times and times != math.inf:
                amounts[found[1]] = amounts.get(found[1], 0) + int(found[2] or 1) * int(times)
    return ",".join([tres, *(f"gres/{name}={amount}" for name, amount in amounts.items())])


def _sacct_cells(job: Mapping[str, Any]) -> Cells:
    return {
        **_names(job, *(inner(job, "array", key) for key in ("job_id", "task_id", "task"))),
        **_job_texts(job, "user", "group"),
        "State": _base_state(inner(job, "state", "current")),
        "Submit": _time(inner(job, "time", "submission")),
        "Eligible": _time(inner(job, "time", "eligible")),
        "Start": _time(inner(job, "time", "start")),
        "End": _time(inner(job, "time", "end")),
        "ElapsedRaw": _count(inner(job, "time", "elapsed")),
        "TotalCPU": _seconds(inner(job, "time", "total")),
        "TimelimitRaw": _minutes(inner(job, "time", "limit")),
        "NNodes": _count(job.get("allocation_nodes")),
        "ReqCPUS": _count(inner(job, "required", "CPUs")),
        "ReqTRES": _tres(inner(job, "tres", "requested")),
        "AllocTRES": _tres(inner(job, "tres", "allocated")),
    }


def _step_cells(job: Mapping[str, Any], step: object) -> Cells:
    if not isinstance(step, Mapping):
        raise ValueError(f"{step!r} is not a step"[:80])
    called = inner(step, "step", "id")
    if isinstance(called, Mapping):  # before 0.0.39
        called = called.get("step_id", called.get("id"))
    name = str(called)
    number = number_of(job.get("job_id"))
    return {
        "JobID": name if "." in name or number is None else f"{number:.0f}.{name}",
        "State": _base_state(step.get("state")),
        "ConsumedEnergyRaw": _count(inner(step, "statistics", "energy", "consumed")),
        "TotalCPU": _seconds(inner(step, "time", "total")),
    }


def _names(job: Mapping[str, Any], array: object, task: object, tasks: object) -> Cells:
    raw, of_array, index = number_of(job.get("job_id")), number_of(array), number_of(task)
    if raw is None:
        raise ValueError("no job_id")
    name = f"{raw:.0f}"
    part_of = number_of(inner(job, "het", "job_id") if "het" in job else job.get("het_job_id"))
    if part_of:
        offset = inner(job, "het", "job_offset") if "het" in job else job.get("het_job_offset")
        name = f"{part_of:.0f}+{number_of(offset) or 0:.0f}"
    elif of_array and tasks:
        name = f"{of_array:.0f}_[{tasks}]"
    elif of_array and index is not None:
        name = f"{of_array:.0f}_{index:.0f}"
    return {"JobIDRaw": f"{raw:.0f}", "JobID": name}


def _job_texts(job: Mapping[str, Any], user: str, group: str) -> Cells:
    keys = {
        "User": user, "Group": group, "Account": "account", "JobName": "name", "QOS": "qos", "Partition": "partition",
        "NodeList": "nodes",
    }  # fmt: skip
    return {column: _text(job.get(key)) for column, key in keys.items()}


def _base_state(value: object) -> str:
    """State without flags such as COMPLETING, which may come first."""
    words = words_of(value)
    return next((word for word in words if word != "COMPLETING"), "".join(words[:1]))


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text"[:80])
    return value.strip()


def _time(value: object) -> str:
    """Unix seconds; a time that is 0 is not known."""
    number = number_of(value)
    return f"{number:.0f}" if number and number != math.inf else "Unknown"


def _minutes(value: object) -> str:
    number = number_of(value)
    return "" if number is None else "UNLIMITED" if number == math.inf else f"{number:.0f}"


def _count(value: object) -> str:
    number = number_of(value)
    return "" if number is None or number == math.inf else f"{number:.0f}"


def _seconds(value: object) -> str:
    seconds = number_of(inner(value, "seconds")) if isinstance(value, Mapping) else None
    if seconds is None or seconds == math.inf:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{rest:02d}"


def _tres(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError(f"{value!r} is not a list of resources"[:80])
    parts = []
    for one in value:
        kind, name, amount = one.get("type"), one.get("name"), number_of(one.get("count"))
        if amount is not None and amount != math.inf:
            parts.append(f"{kind}{f'/{name}' if name else ''}={amount:.0f}{'M' if kind == 'mem' else ''}")
    return ",".join(parts)
