"""CSV job table: units, resource kinds, deadlines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.csv_table import TEXT, WHOLE, Column, CsvTable, from_cell
from dardis.model.errors import InputError
from dardis.model.files import by_name, csv_rows, read_text, write_text
from dardis.model.job import NO_TIME
from dardis.model.numbers import whole_number
from dardis.model.resources import CORES, KIND_NAME, parse_amount
from dardis.workload import shape_rows
from dardis.workload.trace import LARGEST, UNKNOWN, Skipped, StatedRequest, Trace, build_trace

REQUEST = "req_"
_RUNTIME = "runtime_s"
_REQUIRED = {"job_id": "number", "submit_s": "submit", _RUNTIME: "runtime", "units": "units"}
_OPTIONAL = {"walltime_s": "walltime", "wait_s": "wait", "after": "after", "think_s": "think"}
_TIMES = {"est_s": "est", "lst_s": "lst"}
_TEXTS = {"queue": "queue", "user": "user", "group": "group", "name": "name", "partition": "partition"}
_ARRAY = "array"
LARGEST_ARRAY = 100_000
JOB_TABLE: Final = CsvTable(
    "jobs.csv",
    Column("job_id", WHOLE, "whole number from 0", detail="required; a later line with the same number is "
           "malformed and skipped"),
    Column("submit_s", WHOLE, "submit time", detail="required"),
    Column(_RUNTIME, WHOLE, "real runtime; empty if the job has not ended", detail="required"),
    Column("walltime_s", WHOLE, "requested limit; not stated if 0 or less", detail="default: the runtime"),
    Column("units", WHOLE, "equal parts that start together", detail="required"),
    Column("req_<kind>", WHOLE, "request of **one unit**", detail="at least one column; an empty cell is 0: "
           "`req_cores`, `req_memory` (MiB), `req_gpu`, `req_power` (W) …; a kind is lower-case letters, digits, `_`"),
    Column("est_s", WHOLE, "earliest start", detail="default: the submit time"),
    Column("lst_s", WHOLE, "latest start", detail="default: no deadline"),
    Column("wait_s", WHOLE, "wait in the recorded system", detail="default: unknown"),
    Column("queue", TEXT, "name of the queue"),
    Column("user", TEXT, "name of the user"),
    Column("group", TEXT, "name of the user's group"),
    Column("name", TEXT, "name of the job or its application"),
    Column("partition", TEXT, "name of the partition"),
    Column("after", WHOLE, "preceding job, as in SWF"),
    Column("think_s", WHOLE, "think time after it, as in SWF"),
    Column(_ARRAY, WHOLE, "number of equal independent jobs in the row, 1 to 100,000", detail="default: 1; numbers "
           "begin at `job_id`. A later line with one of these numbers is a repetition, and an error for jobs with "
           "parts, `nodes` or the like. Parts and alternatives hold for each job"),
    *shape_rows.COLUMNS,
)  # fmt: skip


def table_of(names: Iterable[str]) -> CsvTable:
    """Job table with these columns."""
    known = dict(zip(JOB_TABLE.names, JOB_TABLE.columns, strict=True))
    return CsvTable(JOB_TABLE.name, *(known.get(name) or Column(name, TEXT, "") for name in names))


def read_table(path: Path, *, strict: bool = False) -> Trace:
    """Read a job table; invalid rows are skipped, or raise InputError with `strict`."""
    return parse_table(path, read_text(path), strict=strict)


def parse_table(path: Path, text: str, *, strict: bool) -> Trace:
    """Like `read_table`, from text; `path`: for messages."""
    table = csv_rows(path, text)
    _, header = next(table, (1, []))
    _check_header(path, header)
    converters = [_converter(name) for name in header]
    lines: list[int] = []
    rows: list[list[Any]] = []
    problems: list[Skipped] = []
    may_go_on = not {*shape_rows.NAMES}.isdisjoint(header)
    asked = shape_rows.ShapeRows(path)
    for line_number, fields in table:
        if may_go_on and shape_rows.is_further(header, fields):
            asked.add_row(line_number, _further_cells(path, line_number, header, converters, fields))
            continue
        try:
            rows.append(_values(header, converters, fields))
        except shape_rows.WrongShapeError as error:
            raise InputError(f"{path}:{line_number}", str(error), error.expected) from None
        except ValueError as error:
            problems.append(Skipped(line_number, str(error), malformed=True))
            asked.skip_job()
        else:
            lines.append(line_number)
            if may_go_on:
                asked.begin(line_number, dict(zip(header, rows[-1], strict=True)))
    asked.end()
    columns = {name: [row[place] for row in rows] for place, name in enumerate(header) if name not in shape_rows.NAMES}
    sizes = np.array(columns.pop(_ARRAY, [1] * len(rows)), dtype=np.int64)
    each = _with_requests(expand_arrays(_columns(columns), sizes), asked.requests)
    return build_trace(path, np.repeat(lines, sizes), each, problems, strict=strict)


def _further_cells(
    path: Path, line: int, header: list[str], converters: list[Callable[[str], Any]], fields: list[str]
) -> shape_rows.Cells:
    says = [name for name, cell in zip(header, fields, strict=False) if cell]
    try:
        values = _values(
            header,
            [convert if name in says else _check_empty for name, convert in zip(header, converters, strict=True)],
            fields,
        )  # fmt: skip
    except shape_rows.WrongShapeError as error:
        raise InputError(f"{path}:{line}", str(error), error.expected) from None
    except ValueError as error:
        raise InputError(f"{path}:{line}", str(error), "a further part or alternative of a job") from None
    return dict(zip(header, values, strict=True))


def _check_empty(cell: str) -> None:
    """Convert an empty cell."""


def _with_requests(columns: dict[str, Any], requests: dict[int, tuple[StatedRequest, ...]]) -> dict[str, Any]:
    if not requests:
        return columns
    units, procs = columns["units"].copy(), columns["procs"].copy()
    walltime = columns.get("walltime", np.full(len(units), UNKNOWN, dtype=np.int64)).copy()
    for place, number in enumerate(columns["number"].tolist()):
        if number in requests:
            first = requests[number][0]
            units[place], procs[place] = min(first.units, LARGEST + 1), min(first.cores, LARGEST + 1)
            walltime[place] = first.walltime
    return columns | {"units": units, "procs": procs, "walltime": walltime, "requests": requests}


def expand_arrays(columns: dict[str, Any], sizes: Ints) -> dict[str, Any]:
    """Expand arrays to a row per job, numbered consecutively."""
    request = {kind: np.repeat(amounts, sizes) for kind, amounts in columns["request"].items()}
    each = {name: np.repeat(values, sizes) for name, values in columns.items() if name != "request"}
    place = np.arange(len(each["number"])) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return each | {"number": each["number"] + place, "request": request}


def _check_header(path: Path, header: list[str]) -> None:
    place, known = f"{path}:1", ", ".join(JOB_TABLE.names)
    for name in header:
        is_request = name.startswith(REQUEST) and KIND_NAME.fullmatch(name.removeprefix(REQUEST)) is not None
        if not is_request and name not in JOB_TABLE.names:
            raise InputError(place, f"unknown column {name!r}", f"columns among {known}")
        if header.count(name) > 1:
            raise InputError(place, f"column {name!r} occurs twice")
    missing = [name for name in _REQUIRED if name not in header]
    if not any(name.startswith(REQUEST) for name in header):
        missing.append("req_<kind>")
    if missing:
        raise InputError(place, f"no column {', '.join(missing)}", f"columns among {known}")


def _converter(name: str) -> Callable[[str], Any]:
    if name in _TEXTS:
        return from_cell
    if name == _RUNTIME:
        return lambda text: _whole(text) if text else UNKNOWN
    if name in _REQUIRED:
        return _whole
    if name in _TIMES:
        return lambda text: _whole(text) if text else NO_TIME
    if name in _OPTIONAL:
        return lambda text: max(_whole(text), UNKNOWN) if text else UNKNOWN
    if name in shape_rows.NAMES:
        return shape_rows.converter(name)
    if name == _ARRAY:
        return lambda text: whole_number(text, 1, LARGEST_ARRAY) if text else 1
    kind = name.removeprefix(REQUEST)
    return lambda text: min(parse_amount(kind, text, round_up=True), LARGEST + 1) if text else 0


def _whole(text: str) -> int:
    return whole_number(text, -LARGEST, LARGEST)


def _values(header: list[str], converters: list[Callable[[str], Any]], fields: list[str]) -> list[Any]:
    values = []
    for convert, (name, cell) in zip(converters, by_name(header, fields).items(), strict=True):
        try:
            values.append(convert(cell))
        except ValueError as error:
            if name in shape_rows.NAMES:
                raise shape_rows.WrongShapeError(name, error) from None
            raise ValueError(f"{name}: {error}") from None
    return values


def _columns(columns: dict[str, list[Any]]) -> dict[str, Any]:
    names = _REQUIRED | _OPTIONAL | _TIMES
    numbers = {names[name]: np.array(cells, dtype=np.int64) for name, cells in columns.items() if name in names}
    texts = {_TEXTS[name]: np.array(cells, dtype=object) for name, cells in columns.items() if name in _TEXTS}
    request = {
        name.removeprefix(REQUEST): np.array(cells, dtype=np.int64)
        for name, cells in columns.items()
        if name.startswith(REQUEST)
    }
    if "est" in numbers:
        numbers["est"] = np.where(numbers["est"] == NO_TIME, numbers["submit"], numbers["est"])
    return numbers | texts | {"request": request, "procs": processors(numbers["units"], request)}


def processors(units: Ints, request: dict[str, Ints]) -> Ints:
    """Cores of whole jobs; values out of range stay so."""
    cores = request.get(CORES, np.zeros_like(units))
    return np.where(cores.astype(float) * units > LARGEST, LARGEST + 1, cores * np.maximum(units, 0))


def write_table(trace: Trace, path: Path) -> None:
    """Write a trace in units (see `in_units`), without empty columns."""
    columns: dict[str, list[Any]] = {
        "job_id": trace.number.tolist(),
        "submit_s": trace.submit.tolist(),
        _RUNTIME: ["" if runtime == UNKNOWN else runtime for runtime in trace.runtime.tolist()],
        "walltime_s": [],  # filled below; keeps the column order
        "units": trace.units.tolist(),
    }
    columns |= {REQUEST + kind: amounts.tolist() for kind, amounts in trace.request.items()}
    optional = {
        "walltime_s": trace.stated_walltime,
        "est_s": np.where(trace.est == trace.submit, NO_TIME, trace.est),
        "lst_s": trace.lst,
        "wait_s": trace.wait,
        "after": trace.after,
        "think_s": trace.think,
    }
    for name, values in optional.items():
        columns[name] = ["" if value in (NO_TIME, UNKNOWN) else value for value in values.tolist()]
    columns |= {name: getattr(trace, field).tolist() for name, field in _TEXTS.items()}
    stated = [name for name in columns if name not in {*optional, *_TEXTS} or any(v != "" for v in columns[name])]
    rows = [dict(zip(stated, row, strict=True)) for row in zip(*(columns[name] for name in stated), strict=True)]
    if any(number in trace.requests for number in columns["job_id"]):
        rows = [written for row in rows for written in shape_rows.job_rows(row, trace.requests.get(row["job_id"], ()))]
        stated += [name for name in ("partition", *shape_rows.NAMES) if name not in stated]
    write_text(path, table_of(stated).text([row.get(name, "") for name in stated] for row in rows))
