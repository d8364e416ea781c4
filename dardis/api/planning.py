"""`dardis.plan`, `dardis.hybrid` and `dardis.export`: days planned ahead, and what is in their plans as tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dardis.api.keyword_options import stated_options, with_keywords_of
from dardis.api.plain import copied, setting_texts, settings_of, within
from dardis.api.platforms import Platform, as_platform
from dardis.api.traces import Trace, as_trace
from dardis.config.option import path_of, spec_of
from dardis.config.target_file import target_content
from dardis.metrics.jobs_csv import job_frame
from dardis.runs.run_objects import Objects
from offline.day.figures import figures_for_people
from offline.day.plan_run import Planned, run_plan
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
"""Options that `plan` and `hybrid` take in a form of their own."""
_OF_EXPORTS: Final = frozenset({"plan_dir"})


class Plan:
    """A plan of one UTC day; its folder lives as long as this object, or stays where `out` named one.

    Times are s on the history's clock, power is kW, energy kWh, money in the platform's currency.
    """

    def __init__(self, folder: Path, planned: Planned) -> None:
        self.folder = folder
        """The files of `dardis plan`. `folder / "target.json"` is a `profile=` for `simulate`."""
        self.notes: tuple[str, ...] = planned.notes
        """Notes for people."""
        self._planned = planned

    @property
    def summary(self) -> Series[Any]:
        """The figures of summary.json by name (docs/planning.md); None for one that is not known."""
        from pandas import Series

        return Series(self._planned.plan.summary, dtype=object)

    @property
    def profile(self) -> DataFrame:
        """profile.csv: what the plan uses of the machine, hour by hour or where it changes."""
        return PROFILE.frame(profile_columns(self._planned.plan.profile, self._planned.plan.offset).values())

    @property
    def switching(self) -> DataFrame:
        """onoff.csv: which nodes are down, and when."""
        plan = self._planned.plan
        return ONOFF.frame(onoff_columns(plan.onoff, plan.platform, plan.offset).values())

    @property
    def schedule(self) -> DataFrame:
        """schedule.csv: when the jobs that are known or forecast are to start."""
        return SCHEDULE.frame(schedule_columns(self._planned.plan.schedule).values())

    @property
    def target(self) -> dict[str, Any]:
        """What the online half is told to aim at, as target.json has it."""
        return target_content(self._planned.target, self._planned.plan.platform)

    def report(self, path: str | PathLike[str]) -> Path:
        """Copy the report there: one HTML file that needs no other."""
        return copied(self.folder / "report.html", path)

    def __repr__(self) -> str:
        return "\n".join(f"  {name:<22} {value}" for name, value in figures_for_people(self._planned.plan.summary))


class Hybrid:
    """Days that were planned and then lived; its folder lives as long as this object, or stays where `out` named one.

    Times are s on the history's clock, energy is kWh, money in the platform's currency.
    """

    def __init__(self, folder: Path, workload: str, loop: Loop, tables: LoopTables) -> None:
        self.folder = folder
        """The files of `dardis hybrid`."""
        self._workload, self._loop, self._tables = workload, loop, tables

    def __repr__(self) -> str:
        return "\n".join(f"  {name:<22} {value}" for name, value in loop_figures(self._tables.summary))

    @property
    def summary(self) -> Series[Any]:
        """The figures of summary.json by name (docs/planning.md); None for one that is not known."""
        from pandas import Series

        return Series(self._tables.summary, dtype=object)

    @property
    def days(self) -> DataFrame:
        """days.csv: a row for each day."""
        return self._tables.days_table.frame()

    @property
    def beside(self) -> DataFrame:
        """beside.csv: the same days under other rules of switching."""
        return self._tables.beside_table.frame()

    @property
    def jobs(self) -> DataFrame:
        """jobs.csv: the jobs as they ran with the plans' switching."""
        return job_frame(self._loop.switched.schedule, self._workload)

    @property
    def always_on_jobs(self) -> DataFrame:
        """always_on_jobs.csv: the same jobs with all nodes on."""
        return job_frame(self._loop.always_on.schedule, self._workload)

    def report(self, path: str | PathLike[str]) -> Path:
        """Copy the report there: one HTML file that needs no other."""
        return copied(self.folder / "report.html", path)


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

    `history` is what has run, `platform` the machine, with power figures; the day is a number from 0 on the history's
    clock, or a date. Without `out` all is in a temporary folder.

    Raises `InputError` with the command's own line.
    """
    stated, have = _stated(PlanSpec, history, platform, options | {"day": day, "date": date})
    return within(out, lambda folder: Plan(folder, run_plan(spec_of(PlanSpec, stated | {"out": folder}), None, have)))


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
    """Plan days in turn and live through each as it really was, as `dardis hybrid` does.

    `days` are the first and the last UTC day on the history's clock, from 0: `"8-14"` or `(8, 14)`. `settings` are
    those of the dispatcher. Without `out` all is in a temporary folder.

    Raises `InputError` with the command's own line.
    """
    span = "-".join(map(str, days)) if isinstance(days, tuple | list) else str(days)
    stated, have = _stated(HybridSpec, history, platform, options | {"days": span})
    stated["settings"] = setting_texts(settings_of(settings))

    def of_folder(folder: Path) -> Hybrid:
        loop, tables = run_hybrid(spec_of(HybridSpec, stated | {"out": folder}), None, have)
        return Hybrid(folder, str(stated["history"]), loop, tables)

    return within(out, of_folder)


def _stated(
    model: type[Spec], history: History | DataFrame, platform: Platform | str | PathLike[str],
    options: Mapping[str, object],
) -> tuple[dict[str, Any], Objects]:  # fmt: skip
    """The values of the options by field, and the objects that stand for files. Raises InputError."""
    stated = stated_options((model,), options, _OF_SITES)
    trace = None if isinstance(history, str | PathLike) else as_trace(history, strict=stated.get("strict", False))
    machine = None if isinstance(platform, str | PathLike) else as_platform(platform)
    stated["history"] = path_of("history", history) if trace is None else trace.place
    stated["platform"] = path_of("platform", platform) if machine is None else machine.place
    return stated, Objects(None if trace is None else trace.history, None if machine is None else machine.machine)


@with_keywords_of(ExportSpec, omit=_OF_EXPORTS)
def export(
    plan: Plan | str | PathLike[str],
    format: str | None = None,  # noqa: A002 (the option has that name)
    **options: Any,  # noqa: ANN401 (each its own kind)
) -> PlanExport:
    """Export a plan as a Slurm program, Redfish requests, OpenMetrics, CSV or JSON, as `dardis export` does.

    `plan` is a `Plan`, the folder of one, or its JSON export. The text is in `text`, lines for people in `notes`; with
    `out` it is written to a file, too. With `check=True` the outcome of the check is in `check`.

    Raises `InputError` with the command's own line, `LossError` for a mode that would have lost on the days before.
    """
    stated = stated_options((ExportSpec,), options | {"format": format}, _OF_EXPORTS)
    folder = plan.folder if isinstance(plan, Plan) else path_of("plan", plan)
    planned = plan._planned.plan if isinstance(plan, Plan) else None  # noqa: SLF001 (of this module)
    return export_plan(
        spec_of(ExportSpec, stated | {"plan_dir": folder}), load_plan if planned is None else lambda _: planned
    )
