"""`dardis.simulate` and its results."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dardis.api.keyword_options import NOWHERE, run_request, with_keywords_of
from dardis.api.plain import copy_file, settings_of
from dardis.api.platforms import Platform
from dardis.api.traces import Trace
from dardis.config.option import path_of
from dardis.config.run_spec import RunSpec
from dardis.metrics.job_rules import Violation
from dardis.metrics.jobs_csv import job_frame
from dardis.metrics.system import profile_table, profile_values
from dardis.model.errors import DardisWarning
from dardis.model.files import InputFiles
from dardis.model.out_folder import RUN_FOLDER
from dardis.registry import Dispatcher
from dardis.runs.results import Results
from dardis.runs.run import simulate_in_process, write
from dardis.runs.run_objects import Objects

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class Run:
    """Run's results, in memory.

    Times are s on the trace's clock, memory MiB. Figures: docs/metrics.md; columns: docs/formats.md.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    @cached_property
    def jobs(self) -> DataFrame:
        """Columns of jobs.csv, one row per job in submission order.

        A rejected job has NaN in `starting_time` and all later columns.
        """
        return job_frame(self._results.schedule, self._results.request.trace.name)

    @cached_property
    def metrics(self) -> Series[Any]:
        """Figures of metrics.json by name; None if undefined. `schedule_digest` is a text."""
        from pandas import Series

        return Series(self._results.metrics, dtype=object, name=self._results.request.dispatcher)

    @cached_property
    def profile(self) -> DataFrame:
        """profile.csv: used and desired amounts from each `time_s` to the next."""
        results = self._results
        values = profile_values(results.schedule, results.platform, results.inputs.target.desired)
        return profile_table(results.platform).frame(values)

    @property
    def rejected(self) -> Series[Any]:
        """Reason by number of each rejected job."""
        from pandas import Series

        return Series(dict(self._results.rejected), dtype=object, name="reason")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Command's warnings, also issued as `DardisWarning`."""
        return tuple(self._results.warnings)

    @property
    def digest(self) -> str:
        """Schedule's digest, the same for equal schedules."""
        return str(self._results.metrics["schedule_digest"])

    @property
    def record(self) -> dict[str, Any]:
        """Content of run.json, enough to repeat the run."""
        return self._results.record()

    def audit(self) -> list[Violation]:
        """Rule violations in the schedule; empty if legal.

        A violation has `text`, and `job`, `node`, `time` (s) or None. `str` gives one line.
        """
        return self._results.violations()

    def report(self, path: str | PathLike[str]) -> Path:
        """Draw the report (self-contained HTML), replacing any file at `path`."""
        with tempfile.TemporaryDirectory(prefix="dardis-") as folder:
            self._results.write(Path(folder))
            return copy_file(_draw(Path(folder)), path)

    def save(self, out: str | PathLike[str], *, force: bool = False, no_report: bool = False) -> Path:
        """Write the run's folder as `dardis simulate --out` does; return the folder.

        Raises `InputError` if the folder is not empty. `force` replaces another run.
        """
        out = path_of("--out", out)
        with RUN_FOLDER.lock(out, force=force):
            write(self._results, out, None if no_report else _draw)
        return out

    def __repr__(self) -> str:
        figures, request = self._results.metrics, self._results.request
        shown = [f"{figures['jobs']:,} jobs"]
        shown += [f"{figures['rejected']:,} rejected"] if figures["rejected"] else []
        if figures["mean_wait_s"] is not None:
            shown += [f"mean wait {figures['mean_wait_s']:,.0f} s", f"utilisation {figures['utilisation']:.1%}"]
        return f"<Run of {request.dispatcher} on {self._results.platform.name}: {', '.join(shown)}>"


@with_keywords_of(RunSpec)
def simulate(
    trace: Trace | DataFrame | str | PathLike[str],
    platform: Platform | str | PathLike[str],
    dispatcher: str | type | Dispatcher,
    *,
    settings: Mapping[str, object] | None = None,
    **more: Any,  # noqa: ANN401 (each its own kind)
) -> Run:
    """Replay a trace on a machine under a dispatcher, as `dardis simulate` does.

    - `trace`: object, path or DataFrame.
    - `platform`: object or path.
    - `dispatcher`: a name from `dardis dispatchers`, `"package.module:Class"`, or a class such as a `Rule`.
    - `settings`: dispatcher settings, also possible as keywords (`order="sjbf"`), except `profile`, an option's name.
      True is `on`, False `off`.
    - `out`: run folder (default: none).

    Times are seconds on the trace's clock, UTC dates, or texts such as `"+2d"`. `trim` is a pair of times.

    Raises `InputError`, and `DardisError` if the dispatcher's code fails. Issues warnings as `DardisWarning`.
    """
    request, objects = run_request(trace, platform, dispatcher, settings_of(settings), more)
    if request.out is NOWHERE:
        return Run(_simulation_results(request, objects))
    with RUN_FOLDER.lock(request.out, force=request.force):
        results = _simulation_results(request, objects)
        write(results, request.out, None if request.no_report else _draw)
    return Run(results)


def _simulation_results(request: RunSpec, objects: Objects) -> Results:
    results = simulate_in_process(
        request, InputFiles(), objects, lambda line: warnings.warn(line, DardisWarning, stacklevel=6)
    )
    for line in results.later_warnings:
        warnings.warn(line, DardisWarning, stacklevel=3)
    return results


def _draw(folder: Path) -> Path:
    from dardis.report.run_page import draw_report

    return draw_report(folder)
