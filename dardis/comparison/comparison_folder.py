"""Finished runs and draws in a comparison's folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from dardis import __version__
from dardis.comparison.planned_runs import Draws, PlannedRun
from dardis.config.comparison_spec import ComparisonRequest, TraceSpec
from dardis.config.json_records import RunRecord, read_metrics
from dardis.config.toml_file import read_json
from dardis.engine.clock import monotonic_s
from dardis.metrics.comparison_rows import RunResult
from dardis.model.choices import WEEKS, Resampling, ResamplingMethod
from dardis.model.errors import InputError
from dardis.model.files import InputFiles, write_json
from dardis.registry import is_local
from dardis.runs.inputs import Inputs, load_inputs
from dardis.runs.outputs import RUN_FILE
from dardis.runs.run_objects import record_of
from dardis.workload.csv_trace import write_table
from dardis.workload.swf import keeps_names, write_swf
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import in_units
from dardis.workload.transform import resampled, whole_weeks

_FEW: Final = 100
_WRITE_PERIOD_S: Final = 1.0
STATE_FILE: Final = "compare.json"
"""Marks a folder as a comparison."""
BEGUN, DONE, FAILED = "begun", "done", "failed"
METRICS: Final = "metrics.json"
UNREADABLE: Final = f"left no readable {METRICS} and {RUN_FILE}"
_NEEDED: Final = ("jobs.csv", METRICS, "metrics_by.csv", "profile.csv", RUN_FILE)
_WORDS: Final = {
    "platform_files": "file that the platform names",
    "dardis_version": "version of dardis", "dispatcher_of": "package or file of its dispatcher",
}  # fmt: skip


class ComparisonState:
    """Comparison's runs, in STATE_FILE (written atomically)."""

    def __init__(self, out: Path, files: InputFiles) -> None:
        """Read the state in `out`, without invalid entries. Raises InputError for a damaged file."""
        self.out = out
        self._path = out / STATE_FILE
        self._runs: dict[str, dict[str, str]] = {}
        self._is_written, self._next_write_s = True, 0.0
        self.files = files
        try:
            if self._path.exists():
                known = json.loads(self._path.read_text(encoding="utf-8"))["runs"].items()
                self._runs = {key: entry for key, entry in known if _is_entry(entry)}
        except OSError as error:
            raise InputError(self._path, error.strerror or "cannot be read", "a file that can be read") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            expected = "a file of a comparison; choose another --out, or remove this file and runs/ to restart"
            raise InputError(self._path, f"is damaged ({error})", expected) from None

    @property
    def is_new(self) -> bool:
        """Whether no run has begun."""
        return not self._runs

    def is_done(self, run: PlannedRun, *, force: bool) -> bool:
        """Whether the folder holds this run, complete; False for local dispatchers.

        Raises InputError for another request, unless `force`.
        """
        found = _read_stored_run(run.out)
        if found is None:
            return False
        changed = found.changed(record_of(run.request(), self.files))
        if changed and not force:
            holds = f"holds a run {run.key} with another {', '.join(changed)}"
            raise InputError(f"--out {self.out}", holds, "the same request, another folder, or --force to redo it")
        if not changed:  # despite later changes to the request
            self._runs[run.key] = {"status": DONE, "error": ""}
        return not changed and not is_local(run.contender.dispatcher)

    def count_other_runs(self, runs: Sequence[PlannedRun]) -> int:
        """Number of other finished runs."""
        asked = {run.key for run in runs}
        return sum(entry["status"] == DONE and key not in asked for key, entry in self._runs.items())

    def begin(self, *runs: PlannedRun) -> None:
        """Record runs before they begin; without runs, mark the folder."""
        self._runs |= {run.key: {"status": BEGUN, "error": ""} for run in runs}
        self._is_written = False
        self.write(now=False)

    def settle(self, run: PlannedRun, error: str = "") -> str:
        """Record a run's end; return its error, if any."""
        error = error or self._failure_reason(run)
        self._runs[run.key] = {"status": FAILED if error else DONE, "error": error}
        self._is_written = False
        self.write(now=False)
        return error

    def _failure_reason(self, run: PlannedRun) -> str:
        found = _read_stored_run(run.out)
        if found is None:
            return UNREADABLE
        try:
            changed = found.changed(record_of(run.request(), self.files))
        except InputError as error:  # an input file has become unreadable
            return str(error)
        return f"ran with another {', '.join(changed)} than requested" if changed else ""

    def result(self, run: PlannedRun) -> RunResult:
        """Result of a finished run."""
        known, contender, asked = self._runs[run.key], run.contender, run.request()
        found = None if known["status"] == FAILED else _read_stored_run(run.out)
        metrics, deadlines, error = None, "", known["error"] or UNREADABLE
        if found is not None:
            metrics, deadlines, error = found.metrics, found.deadlines, ""
        return RunResult(
            run.workload.name, contender.label, contender.dispatcher, contender.settings, run.seed, run.out, metrics,
            error, deadlines, not run.asks_nodes, asked.arity, asked.sample, run.draw, run.seeded, contender.family,
            contender.grid, run.weeks,
        )  # fmt: skip

    def write(self, *, now: bool = True) -> None:
        """Write the file, or, if large and not `now`, once a second."""
        if self._is_written or not (now or len(self._runs) <= _FEW or monotonic_s() >= self._next_write_s):
            return
        write_json(self._path, {"dardis_version": __version__, "runs": self._runs})
        self._is_written, self._next_write_s = True, monotonic_s() + _WRITE_PERIOD_S


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    return entry.get("status") in (BEGUN, DONE, FAILED) and isinstance(entry.get("error"), str)


@dataclass(frozen=True)
class _StoredRun:
    metrics: dict[str, Any]
    deadlines: str
    record: dict[str, Any]

    def changed(self, asked: dict[str, Any]) -> list[str]:
        if not self.record:
            return ["version of dardis"]
        names = [name for name in asked | self.record if asked.get(name) != self.record.get(name)]
        return sorted(_WORDS.get(name, name.replace("_", " ")) for name in names)


def _read_stored_run(folder: Path) -> _StoredRun | None:
    try:
        if not all((folder / name).exists() for name in _NEEDED):
            return None
        metrics = read_metrics(folder / METRICS)
        run = read_json(folder / RUN_FILE, RunRecord)
    except (InputError, OSError):
        return None
    return None if run.deadlines is None else _StoredRun(metrics, run.deadlines, run.request)


FOLDER: Final = "draws"


class _DrawSource(NamedTuple):
    workload: TraceSpec
    inputs: Inputs
    trace: Trace
    weeks: int
    resampling: Resampling


def write_draws(
    comparison: ComparisonRequest, out: Path, files: InputFiles, begin: Callable[[], None], *, force: bool
) -> dict[str, Draws]:  # fmt: skip
    """Draw each trace's replayed part with the first seed into `out/draws/TRACE`.

    Calls `begin` before writing. Raises InputError if other draws exist, unless `force`.
    """
    if not comparison.options.replicates:
        return {}
    parts = [_draw_source(comparison, workload, files) for workload in comparison.workloads]
    begin()
    return {part.workload.name: _draw_trace(comparison, part, out, force=force) for part in parts}


def _draw_source(comparison: ComparisonRequest, workload: TraceSpec, files: InputFiles) -> _DrawSource:
    request = PlannedRun(workload, comparison.contenders[0], comparison.options.seeds[0], Path()).request()
    inputs = load_inputs(request, files)
    # Walltime options apply when the draw is run.
    trace = inputs.selection.as_stated().select_from(inputs.sources.trace)
    by = comparison.options.resample or WEEKS
    return _DrawSource(workload, inputs, trace, whole_weeks(trace) if by.method is ResamplingMethod.WEEKS else 0, by)


def _draw_trace(comparison: ComparisonRequest, part: _DrawSource, out: Path, *, force: bool) -> Draws:
    folder = out / FOLDER / part.workload.name
    folder.mkdir(parents=True, exist_ok=True)
    workload, made = part.workload, []
    for draw in range(1, (comparison.options.replicates or 0) + 1):
        drawn = resampled(part.trace, part.resampling, comparison.options.seeds[0], workload.name, draw)
        new = _write_trace(drawn, part.inputs, folder / f"new-{draw}")
        trace = new.with_name(new.name.removeprefix("new-"))
        if trace.exists() and not force and trace.read_bytes() != new.read_bytes():
            new.unlink()
            found = f"holds other draws of {workload.name}"
            raise InputError(f"--out {out}", found, "the same request, another folder, or --force to redo it")
        new.replace(trace)
        start = part.inputs.unix_start  # known only if the trace's is; the clock stays
        made.append(workload.for_trace(trace, None if start is None else start + int(drawn.submit.min())))
    return Draws(made, part.weeks)


def _write_trace(drawn: Trace, inputs: Inputs, path: Path) -> Path:
    if drawn.counts_processors and keeps_names(drawn):
        path = path.with_name(path.name + ".swf")
        write_swf(drawn, path)
    else:
        path = path.with_name(path.name + ".csv")
        write_table(in_units(drawn, inputs.platform), path)
    return path
