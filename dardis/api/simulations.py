"""`dardis.simulate`: a trace replayed under a dispatcher in this process, and what came of it as tables of pandas."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dardis.api.keyword_options import NOWHERE, requested, with_keywords_of
from dardis.api.plain import copied, settings_of
from dardis.api.platforms import Platform
from dardis.api.traces import Trace
from dardis.config.run_spec import RunSpec
from dardis.metrics.job_rules import Violation
from dardis.metrics.jobs_csv import job_frame
from dardis.metrics.system import profile_table, profile_values
from dardis.model.errors import DardisWarning
from dardis.model.files import InputFiles
from dardis.model.out_folder import RUN_FOLDER
from dardis.registry import Dispatcher
from dardis.runs.results import Results
from dardis.runs.run import simulated, write
from dardis.runs.run_objects import Objects

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class Run:
    """What came of a run: tables and figures in memory; files only where somebody asks for them.

    Times are s on the trace's clock, spans s, memory is MiB; docs/metrics.md says what each figure means, and
    docs/formats.md each column.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    @cached_property
    def jobs(self) -> DataFrame:
        """The columns of jobs.csv, a row for each job in the order of submission.

        Shape (jobs, columns). Who was rejected has NaN for when it started (`starting_time`) and all that follows.
        """
        return job_frame(self._results.schedule, self._results.request.trace.name)

    @cached_property
    def metrics(self) -> Series[Any]:
        """The figures of metrics.json by name; None for one that has no meaning, and a text for `schedule_digest`."""
        from pandas import Series

        return Series(self._results.metrics, dtype=object, name=self._results.request.dispatcher)

    @cached_property
    def profile(self) -> DataFrame:
        """What was used over time, and what was wished: the columns of profile.csv, from each `time_s` to the next."""
        results = self._results
        values = profile_values(results.schedule, results.platform, results.inputs.target.desired)
        return profile_table(results.platform).frame(values)

    @property
    def rejected(self) -> Series[Any]:
        """Why jobs were rejected, by their number; empty where none was."""
        from pandas import Series

        return Series(dict(self._results.rejected), dtype=object, name="reason")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What there was to be warned of, as the command says it; each was a `DardisWarning` too."""
        return tuple(self._results.warnings)

    @property
    def digest(self) -> str:
        """What two runs share that have the same schedule."""
        return str(self._results.metrics["schedule_digest"])

    @property
    def record(self) -> dict[str, Any]:
        """All that is needed to run it again, as in run.json."""
        return self._results.record()

    def audit(self) -> list[Violation]:
        """What is wrong with the schedule, judged from the schedule alone; empty when it is legal.

        A violation has `job`, `node` and `time` (s), each None where it has none, and `text`; `str` makes it a line.
        """
        return self._results.audited()

    def report(self, path: str | PathLike[str]) -> Path:
        """Draw the report as one HTML file that needs no other, replace what is there, and return its path."""
        with tempfile.TemporaryDirectory(prefix="dardis-") as folder:
            self._results.write(Path(folder))
            return copied(_draw(Path(folder)), path)

    def save(self, out: str | PathLike[str], *, force: bool = False, no_report: bool = False) -> Path:
        """Write the whole folder of a run, as `dardis simulate --out` does, and return it.

        Raises `InputError` where it holds anything; with `force` another run may be replaced.
        """
        out = Path(out)
        with RUN_FOLDER.held(out, force=force):
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
    """Replay a trace on a machine under a dispatcher, as `dardis simulate` does, with the same schedule.

    Trace and platform are objects or the paths of files; a trace may be a DataFrame as well. The dispatcher is a name
    (`dardis dispatchers` lists them), `"package.module:Class"`, or a class at hand, such as a `Rule`. Settings of the
    dispatcher are keywords, as in `simulate(trace, platform, "easy", order="sjbf")`. Those that have the name of an
    option (`profile`) go into the mapping `settings`. True is `on`, False `off`.

    Nothing is written, unless `out` names a folder for all files of a run. Moments are seconds on the trace's clock,
    dates of UTC, or texts such as `"+2d"`; `trim` is a pair of them.

    Raises `InputError` with the line that the command would end with, `DardisError` where the code of a dispatcher
    fails. Warns (`DardisWarning`) of what the command warns of.
    """
    request, objects = requested(trace, platform, dispatcher, settings_of(settings), more)
    if request.out is NOWHERE:
        return Run(_simulated(request, objects))
    with RUN_FOLDER.held(request.out, force=request.force):
        results = _simulated(request, objects)
        write(results, request.out, None if request.no_report else _draw)
    return Run(results)


def _simulated(request: RunSpec, objects: Objects) -> Results:
    """Run, and warn as the command does."""
    results = simulated(request, InputFiles(), objects, lambda line: warnings.warn(line, DardisWarning, stacklevel=6))
    for line in results.later_warnings:
        warnings.warn(line, DardisWarning, stacklevel=3)
    return results


def _draw(folder: Path) -> Path:
    """Draw the report of a folder."""
    from dardis.report.run_page import draw_report

    return draw_report(folder)
