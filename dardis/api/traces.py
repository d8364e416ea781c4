"""Traces as Python objects."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dardis.api.plain import is_no_unicode, plain_value, unchanged_file
from dardis.config.option import path_of
from dardis.model.errors import InputError
from dardis.model.files import InputFiles, write_text
from dardis.model.job import NO_TIME
from dardis.workload import trace as model
from dardis.workload.csv_trace import parse_table, table_of
from dardis.workload.swf import keeps_names, parse_swf, write_swf
from dardis.workload.trace_reader import drop_unended_jobs
from dardis.workload.trace_reader import read_trace as read

if TYPE_CHECKING:
    from pandas import DataFrame

_PROCS: Final = "procs"
_NAME: Final = re.compile(r"(?!\.{1,2}$)[^/\0]+", re.DOTALL)
_SWF: Final = (
    "job_id", "submit_s", "wait_s", "runtime_s", _PROCS, "", "", _PROCS, "walltime_s", "memory_kb", "", "user", "group",
    "name", "queue", "partition", "after", "think_s",
)  # fmt: skip
_TEXTS: Final = ("user", "group", "name", "queue", "partition")
_HEADER: Final = "header"
_COLUMNS: Final = {
    "job_id": "number", "submit_s": "submit", "wait_s": "wait", "runtime_s": "runtime", "walltime_s": "stated_walltime",
    _PROCS: "procs", "memory_kb": "memory_kb", "units": "units", "est_s": "est", "lst_s": "lst", "user": "user",
    "group": "group", "name": "name", "queue": "queue", "partition": "partition", "after": "after", "think_s": "think",
}  # fmt: skip


class Trace:
    """Jobs with their requests and runtimes. Immutable.

    `jobs` is a job table (docs/formats.md): a DataFrame, or a mapping from names to sequences of equal length.

    - Required: `job_id`, `submit_s`, `runtime_s`, `units` and at least one `req_KIND`, the request of one unit:
      `req_cores`, `req_memory` (MiB, or `"2GiB"`), or another kind.
    - Optional: `walltime_s`, `est_s`, `lst_s`, `wait_s`, `queue`, `user`, `group`, `name`, `partition`, `after`,
      `think_s`.
    - With `procs` instead of `units`, jobs request processors as in SWF, and `memory_kb` is KiB per processor.

    Times are whole seconds on the trace's clock. NaN, None and "" mean unknown. `name` replaces the file name.

    Raises `InputError` with a row number: 1 for column names, 2 for the first job.
    """

    def __init__(
        self, jobs: DataFrame | Mapping[str, Iterable[Any]], *, name: str = "trace", strict: bool = True
    ) -> None:
        if not isinstance(name, str) or is_no_unicode(name) or not _NAME.fullmatch(name) or len(name.encode()) > 200:
            raise InputError("name", repr(name), "a file name of up to 200 characters, without /")
        columns = {key: [*map(_cell, values)] for key, values in _columns(jobs).items()}
        for key, values in columns.items():
            for row, value in enumerate(values, 2):
                if isinstance(value, str) and not value.isprintable() and is_no_unicode(value):
                    raise InputError(f"{name}:{row}", f"{key}: {value!r}", "a text in UTF-8")
        if len({*map(len, columns.values())}) > 1:
            lengths = ", ".join(f"{key} {len(values)}" for key, values in columns.items())
            raise InputError(name, f"columns of different lengths ({lengths})", "equal lengths")
        swf = _PROCS in columns and "units" not in columns
        place = Path(name)
        self._table = "" if swf else table_of(columns).text(zip(*columns.values(), strict=True))
        found = _of_processors(name, columns, strict=strict) if swf else parse_table(place, self._table, strict=strict)
        header = tuple(map(str, getattr(jobs, "attrs", {}).get(_HEADER, ())))
        self.history = replace(found, comments=header or found.comments)
        self.jobs = drop_unended_jobs(place, self.history)
        self.place, self.file = place, None
        self.digest = None

    @classmethod
    def read(cls, path: str | PathLike[str], *, strict: bool = False) -> Trace:
        """Read SWF, a job table, sacct output, the Eurora CSV or Alibaba pods, plain or gzipped.

        Lines without a job are counted. Raises `InputError` if the file has no job; with `strict`, also for the first
        malformed line.
        """
        file = path_of("trace", path)
        found = cls.__new__(cls)
        files = InputFiles()
        found.jobs, found.place, found.file, found.history = files.once(read, file, strict=strict), file, file, None
        found.digest = files.digest(file)
        return found

    jobs: model.Trace
    """Jobs for dispatchers."""
    history: model.Trace | None
    """Jobs including unfinished jobs; None: read the file."""
    place: Path
    """Name in messages."""
    file: Path | None
    """Source file, or None."""
    digest: str | None
    """SHA-256 of `file` when read."""

    def __len__(self) -> int:
        return len(self.jobs)

    def __repr__(self) -> str:
        first, last = int(self.jobs.submit.min()), int(self.jobs.submit.max())
        return f"<Trace {self.place.name}: {len(self):,} jobs, submitted from {first:,} to {last:,} s>"

    @property
    def frame(self) -> DataFrame:
        """Jobs as a DataFrame, one row each, by submission and number, without empty columns.

        `Trace(trace.frame[rows])` is a part of the trace. Only the first of a job's parts, exact nodes or alternatives
        is given. `attrs` holds the header lines, such as the clock's start, as long as pandas keeps them.
        """
        from pandas import DataFrame

        jobs = self.jobs
        columns: dict[str, Any] = {name: getattr(jobs, field) for name, field in _COLUMNS.items()}
        del columns["units" if jobs.counts_processors else _PROCS]
        del columns["memory_kb"]
        if jobs.counts_processors:
            columns["memory_kb"] = jobs.memory_kb
        columns |= {f"req_{kind}": amounts for kind, amounts in jobs.request.items()}
        if (jobs.est == jobs.submit).all():
            del columns["est_s"]
        stated = {name: values for name, values in columns.items() if _has_values(values)}
        frame = DataFrame({name: _with_gaps(name, values) for name, values in stated.items()})
        if jobs.comments:
            frame.attrs[_HEADER] = list(jobs.comments)
        return frame

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the trace for users."""
        return self.jobs.notes

    def write(self, folder: str | PathLike[str]) -> Path:
        """Trace's file, written to `folder` if missing.

        Raises `InputError` if SWF cannot hold the jobs, or if the file has changed since it was read.
        """
        if self.file is not None:
            return unchanged_file(self.file, self.digest)
        file = path_of("folder", folder) / f"{self.place.name}{'.swf' if self.jobs.counts_processors else '.csv'}"
        if self._table:
            write_text(file, self._table)
        elif keeps_names(self.jobs):
            write_swf(self.jobs, file)
        else:
            found = "jobs in processors with texts for user, group, name, queue or partition, which SWF can't hold"
            raise InputError(self.place, found, "numbers, units instead of processors, or the original file")
        return file


def read_trace(path: str | PathLike[str], *, strict: bool = False) -> Trace:
    """Read a trace file; see `Trace.read`."""
    return Trace.read(path, strict=strict)


def _columns(jobs: Any) -> dict[str, list[object]]:  # noqa: ANN401 (whatever somebody hands in)
    expected = "a DataFrame, or a mapping from names to sequences of equal length (dardis.read_trace reads files)"
    if not isinstance(jobs, Mapping) and not hasattr(jobs, "columns"):
        raise InputError("trace", f"is a {type(jobs).__name__}", expected)
    columns: dict[str, list[object]] = {}
    for key in jobs:
        values = jobs[key]
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InputError("trace", f"{key} is a {type(values).__name__}", expected)
        columns[str(key)] = [*values]
    return columns


def _cell(value: object) -> object:
    value = plain_value(value)
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in {"<NA>", "NaT"}:
        return ""
    if isinstance(value, bool):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _of_processors(name: str, columns: Mapping[str, list[object]], *, strict: bool) -> model.Trace:
    trace = parse_swf(Path(name), _swf_text(name, columns), strict=strict)
    rows = np.asarray(trace.line) - 2
    texts = {text: np.array([*map(_name_text, columns[text])], dtype=object) for text in _TEXTS if text in columns}
    return replace(trace, line=None, **{text: values[rows] for text, values in texts.items()})


def _name_text(cell: object) -> str:
    return "" if str(cell) == "-1" else str(cell)


def _swf_text(name: str, columns: Mapping[str, list[object]]) -> str:
    known = [column for column in dict.fromkeys(_SWF) if column]
    for column in columns:
        if column not in known:
            raise InputError(f"{name}:1", f"unknown column {column!r}", f"columns among {', '.join(known)}")
    if missing := [column for column in ("job_id", "submit_s", "runtime_s") if column not in columns]:
        raise InputError(f"{name}:1", f"no column {', '.join(missing)}", f"columns among {', '.join(known)}")
    nothing = [-1] * len(columns["job_id"])
    numbers = {column: cells for column, cells in columns.items() if column not in _TEXTS}
    cells = [[-1 if cell == "" else cell for cell in numbers.get(column, nothing)] for column in _SWF]
    # The comment counts as line 1, so line numbers match a job table.
    return "; Version: 2.2\n" + "".join(" ".join(map(str, row)) + "\n" for row in zip(*cells, strict=True))


def _has_values(values: np.ndarray[Any, Any]) -> bool:
    if values.dtype == object:
        return bool((values != "").any())
    return bool(((values != model.UNKNOWN) & (values != NO_TIME)).any())


def _with_gaps(name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if values.dtype == object or name.startswith("req_"):
        return values
    unknown = (values == model.UNKNOWN) | (values == NO_TIME)
    return np.where(unknown, np.nan, values) if unknown.any() else values


def as_trace(what: Trace | DataFrame | str | PathLike[str], *, strict: bool) -> Trace:
    """Trace from an object, columns or file. Raises InputError."""
    if isinstance(what, Trace):
        for skip in what.jobs.skipped if strict else ():
            if skip.malformed:
                raise InputError(f"{what.place}:{skip.line}", skip.reason, "a valid job, or strict=False")
        return what
    if isinstance(what, str | PathLike):
        return Trace.read(what, strict=strict)
    if hasattr(what, "columns"):
        return Trace(what, strict=strict)
    raise InputError("trace", f"is a {type(what).__name__}", "a path, a dardis.Trace or a DataFrame of its columns")
