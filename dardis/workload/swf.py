"""Reads and writes SWF; unchanged jobs keep their lines byte for byte.

Processors: requested, else allocated. Walltime: requested time, else runtime. Memory: requested. Decimals are cut off.
"""

from __future__ import annotations

import re
import warnings
from array import array
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError, one_line
from dardis.model.files import read_bytes, read_text, write_bytes, write_text
from dardis.model.job import NO_TIME
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.resources import CORES, MEMORY
from dardis.workload.trace import LARGEST, OUT_OF_RANGE, UNKNOWN, Skipped, Texts, Trace, build_trace

FIELDS = 18
METACENTRUM_FIELDS = 21
_CPU_TIME = 5
"""Only decimal field; checked, not used."""
_STATUS, _CANCELLED = 9, 5
"""Column in the table of numbers; cancelled jobs without runtime are not pending."""
_PLAIN = np.dtype(
    [("before", np.int64, _CPU_TIME), ("cpu_time", np.float64), ("after", np.int64, FIELDS - 1 - _CPU_TIME)]
)
_MOST_NODES = 1 << 20
_STALE = ("; Queue:", "; Partition:", "; MaxJobs:", "; MaxRecords:")


class _Extra(NamedTuple):
    queue: str
    nodes: int


def read_swf(path: Path, *, strict: bool = False) -> Trace:
    """Read an SWF trace; invalid lines are skipped, or raise InputError with `strict`."""
    return parse_swf(path, read_text(path), strict=strict)


def parse_swf(path: Path, text: str, *, strict: bool) -> Trace:
    """Like `read_swf`, from text; `path`: for messages."""
    comments: list[str] = []
    lines: list[int] = []
    rows: list[str] = []
    for line_number, line in enumerate(map(str.strip, text.split("\n")), 1):
        if line.startswith(";"):
            comments.append(line)
        elif line:
            lines.append(line_number)
            rows.append(line)
    problems: list[Skipped] = []
    extras: list[_Extra] = []
    table = _read_plain(rows)
    if table is None:
        table, lines, extras, problems = _read_each(rows, lines)
    columns = _columns(table)
    columns |= _metacentrum(columns, extras) if extras else {"line": np.array(lines, dtype=np.int64)}
    never_ran = table.T[_STATUS] == _CANCELLED
    return build_trace(path, lines, columns, problems, strict=strict, comments=tuple(comments), never_ran=never_ran)


def _read_plain(rows: list[str]) -> Ints | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns about a whole number written as a decimal
            table = np.loadtxt(rows, dtype=_PLAIN, comments=None, ndmin=1)
    except (ValueError, Warning):
        return None
    if not np.isfinite(table["cpu_time"]).all():
        return None
    return np.column_stack((table["before"], table["after"]))


def _read_each(rows: list[str], lines: list[int]) -> tuple[Ints, list[int], list[_Extra], list[Skipped]]:
    numbers = array("q")
    read: list[int] = []
    extras: list[_Extra] = []
    problems: list[Skipped] = []
    width = 0
    for line_number, row in zip(lines, rows, strict=True):
        fields = row.split()
        width = width or (METACENTRUM_FIELDS if len(fields) == METACENTRUM_FIELDS else FIELDS)
        try:
            found = _numbers(fields, width)
            extra = _Extra(fields[-2], _nodes_of(fields[-1])) if width == METACENTRUM_FIELDS else None
            numbers.fromlist(found)
        except ValueError as error:
            problems.append(Skipped(line_number, str(error), malformed=True))
            continue
        except OverflowError:
            problems.append(Skipped(line_number, OUT_OF_RANGE, malformed=True))
            continue
        read.append(line_number)
        if extra is not None:
            extras.append(extra)
    return np.array(numbers, dtype=np.int64).reshape(-1, FIELDS - 1), read, extras, problems


def _numbers(fields: list[str], width: int) -> list[int]:
    if len(fields) != width:
        raise ValueError(f"{len(fields)} fields instead of {width}")
    texts = fields[:FIELDS]
    together = "".join(texts)
    cpu_time = texts.pop(_CPU_TIME)
    if together.isascii() and "_" not in together:  # for such texts, Python's fast parser accepts no more than ours
        try:
            if isfinite(float(cpu_time)):
                return list(map(int, texts))
        except ValueError:
            pass
    decimal_number(cpu_time)
    return list(map(_whole, texts))


def _whole(text: str) -> int:
    with suppress(ValueError):
        return whole_number(text)
    return int(decimal_number(text))


def _columns(table: Ints) -> dict[str, Any]:
    number, submit, wait, runtime, allocated, _, requested, time, memory = table.T[:9]
    user, group, name, queue, partition, after, think = table.T[10:]
    return {
        "number": number,
        "submit": submit,
        "wait": np.maximum(wait, UNKNOWN),
        "runtime": runtime,
        "procs": np.where(requested > 0, requested, allocated),
        "walltime": time,
        "memory_kb": np.maximum(memory, UNKNOWN),
        "user": _names(user),
        "group": _names(group),
        "name": _names(name),
        "queue": _names(queue),
        "partition": _names(partition),
        "after": np.where(after > 0, after, UNKNOWN),
        "think": np.maximum(think, UNKNOWN),
    }


def _names(numbers: Ints) -> Texts:
    values, place = np.unique(numbers, return_inverse=True)
    return np.array([str(v) if v >= 0 else "" for v in values.tolist()], dtype=object)[place]


def _metacentrum(columns: dict[str, Any], extras: list[_Extra]) -> dict[str, Any]:
    """Queue names, and KiB per processor from bytes per node, as data show."""
    nodes = np.array([extra.nodes for extra in extras], dtype=np.int64)
    stated = columns["memory_kb"]
    kib_a_node = np.minimum(-(-stated // 1024), LARGEST + 1)
    a_processor = -(-kib_a_node * nodes // np.maximum(columns["procs"], 1))
    queue = np.array([extra.queue for extra in extras], dtype=object)
    return {"queue": queue, "memory_kb": np.where(stated >= 0, a_processor, UNKNOWN)}


def _nodes_of(specification: str) -> int:
    """Nodes of a PBS specification: `1:ppn=1+3:ppn=2` is 4. Raises ValueError."""
    counts = [chunk.partition(":")[0] for chunk in specification.split("+")]
    return min(sum(whole_number(count) if count.isdecimal() else 1 for count in counts), _MOST_NODES)


def write_swf(trace: Trace, path: Path) -> list[str]:
    """Write SWF; return the data lost.

    Units become processors, and memory KiB per processor, rounded up. Names without a number are numbered by
    appearance; the header lists queues and partitions.
    """
    header = [line for line in trace.comments if not line.startswith(_STALE)] or ["; Version: 2.2"]
    columns: dict[str, Ints] = {}
    for name in ("user", "group", "name", "queue", "partition"):
        columns[name], legend = _numbered(getattr(trace, name))
        if name in ("queue", "partition"):
            known = [line for line in trace.comments if line.startswith(f"; {name.title()}:")]
            header += [f"; {name.title()}: {number} {text}" for text, number in legend.items()] or known
    unknown = np.full(len(trace), UNKNOWN, dtype=np.int64)
    memory = trace.memory_kb
    if MEMORY in trace.request:
        memory = -(-trace.request[MEMORY] * 1024 // np.maximum(trace.procs // trace.units, 1))
    table = np.column_stack(
        (
            *(trace.number, trace.submit, trace.wait, trace.runtime, trace.procs, unknown, unknown, trace.procs),
            *(trace.stated_walltime, memory, unknown, columns["user"], columns["group"], columns["name"]),
            *(columns["queue"], columns["partition"], trace.after, trace.think),
        )
    )
    body = [" ".join(map(str, row)) for row in table.tolist()]
    write_text(path, "\n".join([*header, *body]) + "\n")
    return _lost_data(trace)


def keeps_names(trace: Trace) -> bool:
    """Whether SWF preserves all names."""
    return not any(_numbered(getattr(trace, name))[1] for name in ("user", "group", "name", "queue", "partition"))


def _numbered(texts: Texts) -> tuple[Ints, dict[str, int]]:
    seen = dict.fromkeys(text for text in texts.tolist() if text)
    legend: dict[str, int] = {}
    try:
        numbers = {text: whole_number(text, 0, LARGEST) for text in seen}
    except ValueError:
        numbers = {}
    if [*map(str, numbers.values())] != [*seen]:
        numbers = legend = {text: number for number, text in enumerate(seen, 1)}
    return np.array([numbers.get(text, UNKNOWN) for text in texts.tolist()], dtype=np.int64), legend


def _lost_data(trace: Trace) -> list[str]:
    lost = [f"{kind}: SWF has no column for it" for kind in trace.request if kind not in (CORES, MEMORY)]
    if (trace.est != trace.submit).any() or (trace.lst != NO_TIME).any():
        lost.append("est_s, lst_s: SWF has no columns for them")
    if shaped := sum(number in trace.requests for number in trace.number.tolist()):
        lost.append(f"parts, nodes, contiguous and alternatives of {shaped} jobs: SWF has no columns for them")
    if _numbered(trace.name)[1]:
        lost.append("name: SWF has only numbers for it, without a legend")
    if (trace.procs <= 0).any():
        lost.append(f"{int((trace.procs <= 0).sum())} jobs without cores are not valid SWF jobs")
    return lost


_SUBMIT = re.compile(r"(\s*\S+\s+)(\S+)")
_LONGEST_NOTE = 1000


def is_of_lines(trace: Trace, source: Path) -> bool:
    """Whether the trace comes from a re-readable SWF file (no pipe)."""
    return trace.line is not None and source.is_file()


def write_lines(trace: Trace, source: Path, path: Path, cut: str) -> None:
    """Write the jobs' lines of `source`, and all comments.

    `cut` notes the changes; empty: only omitted lines are noted. Raises InputError for a changed source.
    """
    assert trace.line is not None
    lines = read_bytes(source).decode(errors="surrogateescape").removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    submit_of = dict(zip((trace.line - 1).tolist(), trace.submit.tolist(), strict=True))
    if max(submit_of) >= len(lines):
        raise InputError(source, "has changed since it was read", "a file that no program writes")
    jobs = {place for place, line in enumerate(lines) if line.strip() and not line.strip().startswith(";")}
    kept = [
        _moved(line, submit_of[place]) if place in submit_of else line
        for place, line in enumerate(lines)
        if place in submit_of or place not in jobs
    ]
    if cut or len(submit_of) < len(jobs):
        note = f"; Note: dardis trace convert{cut and ' ' + cut}: {len(submit_of)} of {len(jobs)} lines"
        note = one_line(note, _LONGEST_NOTE) + ("\r" if lines[0].endswith("\r") else "")
        kept.insert(min(jobs), note)
    write_bytes(path, "".join(line + "\n" for line in kept).encode(errors="surrogateescape"))


def _moved(line: str, submit: int) -> str:
    found = _SUBMIT.match(line)
    assert found is not None
    if int(float(found[2])) == submit:
        return line
    return f"{found[1]}{submit}{line[found.end() :]}"
