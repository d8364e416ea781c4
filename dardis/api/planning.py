"""`dardis.plan`, `dardis.hybrid` and `dardis.export`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dardis.api.keyword_options import stated_options, with_keywords_of
from dardis.api.plain import copy_file, setting_texts, settings_of, unchanged_file, within
from dardis.api.platforms import Platform, as_platform
from dardis.api.traces import Trace, as_trace
from dardis.config.option import path_of, spec_of
from dardis.config.target_file import target_content
from dardis.metrics.jobs_csv import job_frame
from dardis.runs.run_objects import Objects
from dardis.workload import trace as model
from offline.day.figures import main_figures
from offline.day.plan_run import PlanResult, run_plan
from offline.day.plan_spec import PlanSpec
from offline.export.export_spec import ExportSpec
from offline.export.formats import load_plan
from offline.folder.tables import ONOFF, PROFILE, SCHEDULE, onoff_columns, profile_columns, schedule_columns
from offline.loop.export_plan import PlanExport, export_plan
from offline.loop.hybrid_run import figures_for_people as loop_figures
from offline.loop.hybrid_run import run_hybrid
from offline.loop.hybrid_spec import HybridSpec
from offline.loop.loop import Loop
from offline.loop.loop_files import LoopTables
from offline.site.site_spec import SiteSpec

if TYPE_CHECKING:
    from pandas import DataFrame, Series

History = Trace | str | PathLike[str]
Spec = TypeVar("Spec", bound=SiteSpec)
_OF_SITES: Final = frozenset({"history", "platform", "settings"})
_OF_EXPORTS: Final = frozenset({"plan_dir"})


class Plan:
    """A plan of one UTC day. A temporary folder is removed with this object.

    Times are s on the history's clock, power kW, energy kWh, money the platform's currency.
    """

    def __init__(self, folder: Path, planned: PlanResult, history: model.Trace | None) -> None:
        self.folder = folder
        """Files of `dardis plan`. `folder / "target.json"` can be `profile=` of `simulate`."""
        self.notes: tuple[str, ...] = planned.notes
        """Notes for users."""
        self._planned, self._history = planned, history

    @property
    def summary(self) -> Series[Any]:
        """Figures of summary.json by name (docs/planning.md); None if unknown."""
        from pandas import Series

        return Series(self._planned.plan.summary, dtype=object)

    @property
    def profile(self) -> DataFrame:
        """profile.csv: planned use over time."""
        return PROFILE.frame(profile_columns(self._planned.plan.profile, self._planned.plan.offset).values())

    @property
    def switching(self) -> DataFrame:
        """onoff.csv: when nodes are down."""
        plan = self._planned.plan
        return ONOFF.frame(onoff_columns(plan.onoff, plan.platform, plan.offset).values())

    @property
    def schedule(self) -> DataFrame:
        """schedule.csv: planned starts of known and forecast jobs."""
        return SCHEDULE.frame(schedule_columns(self._planned.plan.schedule).values())

    @property
    def target(self) -> dict[str, Any]:
        """Content of target.json: the goal of the online dispatcher."""
        return target_content(self._planned.target, self._planned.plan.platform)

    def report(self, path: str | PathLike[str]) -> Path:
        """Copy the report (self-contained HTML) to `path`."""
        return copy_file(self.folder / "report.html", path)

    def __repr__(self) -> str:
        return "\n".join(f"  {name:<22} {value}" for name, value in main_figures(self._planned.plan.summary))


class Hybrid:
    """Days planned in turn, then simulated. A temporary folder is removed with this object.

    Units are those of `Plan`.
    """

    def __init__(self, folder: Path, workload: str, loop: Loop, tables: LoopTables) -> None:
        self.folder = folder
        """Files of `dardis hybrid`."""
        self._workload, self._loop, self._tables = workload, loop, tables

    def __repr__(self) -> str:
        return "\n".join(f"  {name:<22} {value}" for name, value in loop_figures(self._tables.summary))

    @property
    def summary(self) -> Series[Any]:
        """Figures of summary.json by name (docs/planning.md); None if unknown."""
        from pandas import Series

        return Series(self._tables.summary, dtype=object)

    @property
    def days(self) -> DataFrame:
        """days.csv: one row per day."""
        return self._tables.days_table.frame()

    @property
    def beside(self) -> DataFrame:
        """beside.csv: the same days under other switching rules."""
        return self._tables.beside_table.frame()

    @property
    def jobs(self) -> DataFrame:
        """jobs.csv: the jobs under the plans' switching."""
        return job_frame(self._loop.switched.schedule, self._workload)

    @property
    def always_on_jobs(self) -> DataFrame:
        """always_on_jobs.csv: the same jobs with all nodes on."""
        return job_frame(self._loop.always_on.schedule, self._workload)

    def report(self, path: str | PathLike[str]) -> Path:
        """Copy the report (self-contained HTML) to `path`."""
        return copy_file(self.folder / "report.html", path)


@with_keywords_of(PlanSpec, omit=_OF_SITES)
def plan(
    history: History | DataFrame,
    platform: Platform | str | PathLike[str],
    *,
    day: int | None = None,
    date: str | dt.date | None = None,
    out: str | PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401 (each its own kind)
) -> Plan:
    """Plan a UTC day from the jobs before it, as `dardis plan` does.

    - `history`: trace of past jobs.
    - `platform`: machine, with power figures.
    - `day`: number from 0 on the history's clock, or a date.
    - `out`: plan folder (default: temporary).

    Raises `InputError`.
    """
    stated, have = _request_options(PlanSpec, history, platform, options | {"day": day, "date": date})
    return within(
        out, lambda folder: Plan(folder, run_plan(spec_of(PlanSpec, stated | {"out": folder}), None, have), have.trace)
    )


@with_keywords_of(HybridSpec, omit=_OF_SITES)
def hybrid(
    history: History | DataFrame,
    platform: Platform | str | PathLike[str],
    days: str | tuple[int, int],
    *,
    settings: Mapping[str, object] | None = None,
    out: str | PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401 (each its own kind)
) -> Hybrid:
    """Plan days in turn and simulate each with its real jobs, as `dardis hybrid` does.

    - `days`: first and last UTC day from 0 on the history's clock: `"8-14"` or `(8, 14)`.
    - `settings`: dispatcher settings.
    - `out`: results folder (default: temporary).

    Raises `InputError`.
    """
    span = "-".join(map(str, days)) if isinstance(days, tuple | list) else str(days)
    stated, have = _request_options(HybridSpec, history, platform, options | {"days": span})
    stated["settings"] = setting_texts(settings_of(settings))

    def of_folder(folder: Path) -> Hybrid:
        loop, tables = run_hybrid(spec_of(HybridSpec, stated | {"out": folder}), None, have)
        return Hybrid(folder, str(stated["history"]), loop, tables)

    return within(out, of_folder)


def _request_options(
    model: type[Spec], history: History | DataFrame, platform: Platform | str | PathLike[str],
    options: Mapping[str, object],
) -> tuple[dict[str, Any], Objects]:  # fmt: skip
    stated = stated_options((model,), options, _OF_SITES)
    trace = None if isinstance(history, str | PathLike) else as_trace(history, strict=stated.get("strict", False))
    machine = None if isinstance(platform, str | PathLike) else as_platform(platform)
    stated["history"] = path_of("history", history) if trace is None else trace.place
    stated["platform"] = path_of("platform", platform) if machine is None else machine.place
    if trace is not None and trace.file is not None:
        unchanged_file(trace.file, trace.digest)  # plans read unfinished jobs, too
    return stated, Objects(None if trace is None else trace.history, None if machine is None else machine.machine)


@with_keywords_of(ExportSpec, omit=_OF_EXPORTS)
def export(
    plan: Plan | str | PathLike[str],
    format: str | None = None,  # noqa: A002 (the option has that name)
    **options: Any,  # noqa: ANN401 (each its own kind)
) -> PlanExport:
    """Export a plan as a Slurm program, Redfish requests, OpenMetrics, CSV or JSON, as `dardis export` does.

    `plan` is a `Plan`, its folder, or its JSON export. `history` may be a `Trace`. The result has the `text` (`out`
    also writes a file), `notes` for users, and with `check=True` the outcome `check`.

    Raises `InputError`, and `LossError` if the mode would have lost on earlier days.
    """
    trace, history = options.get("history"), None
    if isinstance(trace, Trace):
        options["history"] = trace.place if trace.file is None else unchanged_file(trace.file, trace.digest)
        history = trace.history
    stated = stated_options((ExportSpec,), options | {"format": format}, _OF_EXPORTS)
    if not isinstance(plan, Plan):
        spec = spec_of(ExportSpec, stated | {"plan_dir": path_of("plan", plan)})
        return export_plan(spec, load_plan, history=history)
    if trace is None:
        history = plan._history  # noqa: SLF001 (of this module)
    spec = spec_of(ExportSpec, stated | {"plan_dir": plan.folder})
    return export_plan(spec, lambda _: plan._planned.plan, history=history)  # noqa: SLF001 (of this module)
