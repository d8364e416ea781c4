"""`dardis.compare` and its results."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from dardis.api.keyword_options import stated_options, with_keywords_of
from dardis.api.plain import copy_file, setting_texts, settings_of, within
from dardis.api.platforms import Platform, as_platform
from dardis.api.traces import Trace, as_trace
from dardis.comparison.comparison_run import ComparisonCallbacks, ComparisonOutcome
from dardis.comparison.comparison_run import compare as compare_all
from dardis.comparison.planned_runs import comparison_of, pair_of
from dardis.comparison.task_pool import TaskPool
from dardis.comparison.worker_kinds import shared_parent, with_task_pool
from dardis.config.comparison_spec import CompareSpec
from dardis.config.run_spec import ReplaySpec
from dardis.metrics.comparison_rows import result_rows
from dardis.metrics.comparison_tables import tables_of
from dardis.metrics.job_classes import ClassRows, classes_table
from dardis.metrics.jobs_csv import job_frame, read_jobs
from dardis.model.choices import PROCESSES
from dardis.model.errors import DardisWarning, InputError
from dardis.registry import local_dispatchers, local_name

if TYPE_CHECKING:
    from pandas import DataFrame

    from dardis.report.compare_page import ComparisonCharts

_DISPATCHERS = "names, or classes"
_PARAMETERS: Final = frozenset({"trace", "platform", "settings"})
_TRACES = "one or several: paths, dardis.Trace or DataFrames"
_Traces = Trace | str | PathLike[str]


class Comparison:
    """Comparison's results. A temporary folder is removed with this object."""

    def __init__(self, folder: Path, done: ComparisonOutcome, classes: ClassRows) -> None:
        self.folder = folder
        """Tables, report.html, and the runs under `runs`."""
        self.failed: tuple[str, ...] = tuple(one.failure for one in done.failed)
        """Name and error of each failed run."""
        self.notes: tuple[str, ...] = done.compared.notes
        """Notes for users, such as recorded starts that do not pass the audit."""
        self._done, self._classes = done, classes

    @property
    def table(self) -> DataFrame:
        """table.csv: mean and deviation of each figure by trace and dispatcher."""
        return self._table("table.csv")

    @property
    def runs(self) -> DataFrame:
        """compare.csv: all figures of each run. Times are in s."""
        return self._table("compare.csv")

    @property
    def classes(self) -> DataFrame:
        """who_pays.csv: waits and slowdowns by width and walltime."""
        return classes_table(self._classes).frame()

    @property
    def differences(self) -> DataFrame:
        """differences.csv: differences from the first dispatcher, with intervals. Needs `replicates`."""
        return self._table("differences.csv")

    @property
    def sweep(self) -> DataFrame:
        """sweep.csv: each figure over the settings of a `grid`."""
        return self._table("sweep.csv")

    def jobs(self, trace: str, dispatcher: str, seed: int = 1, draw: int | None = None) -> DataFrame:
        """Run's jobs.csv.

        Arguments are values in `runs`; `dispatcher` may also be the name passed to `compare`. Raises `InputError` for
        an unknown run.
        """
        label = str(dispatcher).replace(":", " ")
        ended = [run for run in self._done.compared.results if run.metrics]
        for run in ended:
            asked = run.is_recorded or (run.seed, run.draw) == (seed, draw or 0)
            if (run.trace, run.label) == (trace, label) and asked:
                return job_frame(read_jobs(run.folder / "jobs.csv"), trace)
        number = f"{seed}" if draw is None else f"{seed}, draw {draw}"
        runs = [f"{run.trace}, {run.label}" + ("" if run.is_recorded else f", {run.drawn_by}") for run in ended]
        raise InputError(f"{trace}, {dispatcher}, seed {number}", "is no run that ended", f"one of: {'; '.join(runs)}")

    def report(self, path: str | PathLike[str]) -> Path:
        """Copy the report (self-contained HTML) to `path`."""
        return copy_file(self.folder / "report.html", path)

    def __repr__(self) -> str:
        from dardis.report.compare_table import brief_table
        from dardis.report.compare_table import plain as as_text

        return as_text(brief_table(result_rows(self._done.compared.results)))

    def _table(self, name: str) -> DataFrame:
        for one in tables_of(self._done.compared):
            if one.table.name == name:
                return one.frame()
        raise self._missing(name)

    def _missing(self, name: str) -> InputError:
        return InputError(name, f"is not in {self.folder}", "a requested part of this comparison that did not fail")


@with_keywords_of(ReplaySpec, CompareSpec, omit=_PARAMETERS)
def compare(
    traces: _Traces | DataFrame | Sequence[_Traces],
    platform: Platform | str | PathLike[str] | None = None,
    dispatchers: str | type | Sequence[str | type] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    settings: Mapping[str, object] | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    **options: Any,  # noqa: ANN401 (each its own kind)
) -> Comparison:
    """Replay traces under dispatchers with several seeds, in parallel, as `dardis compare` does.

    - `traces`: objects or paths, or a SPEC.toml with the full comparison. Objects need distinct names:
      `Trace(…, name="june")`.
    - `platform`: machine of all traces without their own.
    - `dispatchers`: classes, or names with settings: `["easy", "easy:order=sjbf", "mymodule:Mine:depth=3"]`.
    - `settings`: settings for all dispatchers.
    - `out`: results folder (default: temporary). Finished runs of the same request are kept.

    Runs of classes from a notebook, script or function are sequential and always repeated, with a `DardisWarning`.

    Raises `InputError`; for a failed run see `Comparison.failed`.
    """
    several = trace_list(traces)
    for option, other in (("set", "settings={…}"), ("help", "help(dardis.compare)"), ("version", "dardis_version")):
        if option in options:
            raise InputError(option, "is no keyword", other)
    more = dict(options) | {"seeds": seeds, "force": force}
    if isinstance(dispatchers, str | type):
        dispatchers = [dispatchers]
    elif dispatchers is not None and not isinstance(dispatchers, Iterable):
        raise InputError("--dispatchers", f"is a {type(dispatchers).__name__}", _DISPATCHERS)
    asked = None if dispatchers is None else [*dispatchers]
    if asked is not None:
        more["dispatchers"] = ",".join(map(_dispatcher_text, asked))
    stated = stated_options((ReplaySpec, CompareSpec), more, _PARAMETERS)
    if texts := setting_texts(settings_of(settings)):
        stated["settings"] = texts
    local = [kind for kind in asked or () if isinstance(kind, type) and _is_local(kind)]
    if local:
        names = ", ".join(dict.fromkeys(map(local_name, local)))
        told = f"{names}: other processes can't import classes of a notebook, script or function"
        warnings.warn(f"{told}; this process runs them one after another", DardisWarning, stacklevel=2)
    parent = shared_parent(stated.get("workers", PROCESSES))
    with TemporaryDirectory(prefix="dardis-", dir=parent) as made:
        if platform is not None:
            stated["platform"] = as_file(platform, Path(made))
        strict = stated.get("strict", False)
        files = [_trace_file(one, Path(made) / str(place), strict=strict) for place, one in enumerate(several)]

        lines: list[str] = []
        shown = ComparisonCallbacks(
            lambda _: None, lines.append, lambda _: nullcontext(lambda *_: None), lambda _: nullcontext()
        )

        def of_folder(folder: Path) -> Comparison:
            return Comparison(folder, *run_comparison(files, stated | {"out": folder}, shown))

        try:
            with local_dispatchers(local) if local else nullcontext():
                return within(out, of_folder, parent)
        finally:
            for line in lines:
                warnings.warn(line, DardisWarning, stacklevel=2)


def run_comparison(
    what: Sequence[Path], options: Mapping[str, Any], shown: ComparisonCallbacks
) -> tuple[ComparisonOutcome, ClassRows]:
    """Run and draw a comparison. Raises InputError."""
    from dardis.report.compare_page import write_comparison
    from dardis.report.paper_folder import check_paper, write_paper

    comparison, spec = comparison_of(what, options)
    pair = pair_of(comparison, spec.gantt)
    if spec.paper is not None:
        check_paper(spec.paper, comparison, spec.out)

    def compare_in(pool: TaskPool) -> tuple[ComparisonOutcome, ClassRows]:
        pages: list[ComparisonCharts] = []
        done = compare_all(
            comparison, spec.out, pair, lambda *of: pages.append(write_comparison(*of)), shown, pool,
            clairvoyant=spec.clairvoyant, force=spec.force,
        )  # fmt: skip
        if spec.paper is not None and done.failed:
            shown.warn(f"--paper {spec.paper}: not written, since {len(done.failed)} of {done.runs} runs failed")
        elif spec.paper is not None:
            write_paper(comparison, spec, done.compared, pages[-1].charts)
        return done, pages[-1].classes

    return with_task_pool(comparison.options.workers, spec.processes, spec.out, compare_in)


def trace_list(traces: object) -> list[Any]:
    """Traces of an argument. Raises InputError."""
    if isinstance(traces, Trace | str | PathLike) or hasattr(traces, "columns"):
        return [traces]
    found = [*traces] if isinstance(traces, Iterable) else []
    if not found:
        raise InputError("traces", "none" if isinstance(traces, Iterable) else f"is a {type(traces).__name__}", _TRACES)
    objects = [one for one in found if not isinstance(one, str | PathLike)]
    names = [one.place.name if isinstance(one, Trace) else "trace" for one in objects]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError("traces", f"two have the name {twice[0]!r}", 'unique names, as in Trace(…, name="june")')
    return found


def as_file(platform: Platform | str | PathLike[str], folder: Path) -> Path:
    """Platform's file, written to `folder` if missing. Raises InputError."""
    return Path(platform) if isinstance(platform, str | PathLike) else as_platform(platform).write(folder)


def _trace_file(trace: object, folder: Path, *, strict: bool) -> Path:
    if isinstance(trace, str | PathLike):
        return Path(trace)
    folder.mkdir()
    return as_trace(trace, strict=strict).write(folder)


def _dispatcher_text(dispatcher: str | type) -> str:
    if isinstance(dispatcher, str):
        return dispatcher
    if not isinstance(dispatcher, type):
        raise InputError("--dispatchers", f"has a {type(dispatcher).__name__}", _DISPATCHERS)
    return local_name(dispatcher) if _is_local(dispatcher) else f"{dispatcher.__module__}:{dispatcher.__qualname__}"


def _is_local(kind: type) -> bool:
    found: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return kind.__module__ == "__main__" or found is not kind
