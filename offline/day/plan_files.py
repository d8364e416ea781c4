"""Writes a `DayPlan` as plan folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dardis.config.target_file import write_target
from dardis.model.arrays import Floats
from dardis.model.resources import CORES
from dardis.model.step_function import StepFunction
from dardis.model.target import Target
from dardis.power.node_power import MachinePower
from dardis.report.chart import TimeAxis
from dardis.report.over_time import envelope
from dardis.report.pictures import write_picture
from dardis.report.plan_charts import PlannedDay
from dardis.report.plan_page import PlanPage, draw_plan
from dardis.report.words import label_and_value
from offline.day.cap_cost import WhatIf
from offline.day.day import DayPlan, desired_profile_of, nodes_on_of, powered_of, profile_of, usable_cores
from offline.day.figures import first_lines
from offline.day.promise import UNKNOWN_PROMISE, Promise
from offline.folder.plan_folder import TARGET_FILE, Figure, PlanFolder, write_plan
from offline.folder.tables import JobKind, OnOffTable, ProfileTable, ScheduleTable
from offline.forecast.forecast import Range
from offline.planner.day_planner import schedule_of
from offline.planner.machine_use import cores_used, node_spans
from offline.site.calendar import HOUR_S
from offline.site.site_inputs import SiteInputs

REPORT_FILE = "report.html"


def write_day(
    out: Path, site: SiteInputs, day: DayPlan, settings: dict[str, Any], *, cap: bool = False, what_if: WhatIf
    | None = None,
    report: bool = True,
) -> tuple[PlanFolder, Target]:  # fmt: skip
    """Write all files to an existing folder; return the content. Raises OSError.

    `cap`: limit dispatchers to the target cores.
    """
    nodes_on = nodes_on_of(day)
    profile = profile_of(day)
    summary = summary_of(site, day, float(settings.get("wait_price", 0.0)))
    if what_if is not None:
        summary |= {
            "what_if": what_if.limit_text, "what_if_profit_eur": what_if.profit, "what_if_cost_eur": what_if.cost,
            "what_if_later_jobs": what_if.later_jobs,
        }  # fmt: skip
    boot_s = MachinePower.of_platform(site.platform).boot_s
    folder = PlanFolder(
        site.platform,
        site.calendar.offset,
        profile,
        OnOffTable.of(day.downtime, boot_s),
        table_of(day),
        summary,
        settings,
        day.targets.switching,
    )
    write_plan(out, folder)
    source = {
        "day": day.day,
        "switching": str(settings["switching"]),
        "rules": dict(day.targets.rules),
        "notes": list(day.notes),
    }
    desired = desired_profile_of(site.platform, [usable_cores(day)]) if cap else None
    target = Target(desired, day.targets.switching, site.calendar.offset, source)
    write_target(out / TARGET_FILE, target, site.platform)
    if report:
        _draw(out / REPORT_FILE, site, day, profile, nodes_on, summary)
    return folder, target


def table_of(day: DayPlan) -> ScheduleTable:
    """schedule.csv: planned and running jobs."""
    schedule = schedule_of(day.problem, day.plan)
    return ScheduleTable(
        schedule.number, schedule.submit, schedule.start, schedule.finish, schedule.units,
        schedule.request[:, schedule.kinds.index(CORES)],
        tuple(day.kinds[number] for number in schedule.number.tolist()), schedule.placed,
    )  # fmt: skip


def summary_of(site: SiteInputs, day: DayPlan, wait_price: float) -> dict[str, Figure]:
    """Flat figures of summary.json."""
    told, down = day.account, day.downtime
    start, end = day.problem.conditions.start, day.problem.conditions.end
    boots = down.up - MachinePower.of_platform(site.platform).boot_s[down.node]
    switches = sum(int(((moment >= start) & (moment < end)).sum()) for moment in (down.down, boots))
    count = Counter(day.kinds.values())
    return {
        "date_utc": site.calendar.text(start)[:10],
        "jobs": len(day.kinds),
        "jobs_running": count[JobKind.RUNNING],
        "jobs_queued": count[JobKind.QUEUED],
        "jobs_forecast": day.jobs_forecast,
        "jobs_forecast_other": count[JobKind.FORECAST] - day.jobs_forecast,
        **_range("jobs", "", day.forecast.jobs),
        **_range("core_h", "", day.forecast.core_h),
        **_promise_figures(day.promise),
        "wait_price_eur": wait_price,
        "profit_eur": told.profit,
        "income_eur": told.income_eur,
        "energy_eur": told.energy_eur,
        "cooling_eur": told.cooling_eur,
        "tariff_eur": told.tariff_eur,
        "all_on_profit_eur": day.all_on.profit,
        "baseline": day.plans.rule.search,
        "baseline_profit_eur": day.plans.rule.profit,
        "multi_search_profit_eur": day.plans.multi_search.profit,
        "search": day.plan.search,
        "bound_eur": day.bound,
        "all_on_bound_eur": day.plan.bound,
        "energy_kwh": told.energy_kwh,
        "cooling_kwh": told.cooling_kwh,
        "co2_kg": None if site.around.carbon is None else told.co2_kg,
        "peak_kw": told.peak_kw,
        "pue": told.pue,
        "node_switches": switches,
        "mean_nodes_on": nodes_on_of(day).integral(start, end) / (end - start),
        "forecast_method": day.forecast.method,
        "plan_cpu_s": day.cpu_s,
        "stopped_by": str(day.plan.stopped_by),
        "currency": site.platform.currency,
        "notes": "; ".join(notes_of(site, day)),
    }


def notes_of(site: SiteInputs, day: DayPlan) -> list[str]:
    """Notes on a plan, most important first."""
    return [*day.history, *day.notes, *site.notes]


def _promise_figures(promise: Promise | None) -> dict[str, Figure]:
    told = promise or UNKNOWN_PROMISE
    found: dict[str, Figure] = {
        "gain_eur": told.gain.mean,
        **_range("gain", "_eur", told.gain),
        "gain_over_suspend_eur": told.over_suspend.mean,
        **_range("gain_over_suspend", "_eur", told.over_suspend),
        **_range("peak", "_kw", told.peak_kw),
        "boot_delay_s": told.waits.mean_s,
        "delayed_share": told.waits.delayed_share,
        "boot_wait_cost_eur": told.waits.cost,
        "suspend_boot_delay_s": told.suspend_waits.mean_s,
        "suspend_delayed_share": told.suspend_waits.delayed_share,
        "suspend_boot_wait_cost_eur": told.suspend_waits.cost,
    }
    return (found if promise else dict.fromkeys(found)) | {"gain_days": told.days}


def _range(name: str, unit: str, of: Range) -> dict[str, Figure]:
    return {f"{name}_p10{unit}": of.low, f"{name}_p90{unit}": of.high}


def _expected(day: DayPlan) -> tuple[Floats, Floats]:
    edges, problem = day.problem.conditions.edges, day.problem
    made_up = np.array([day.kinds[number] is JobKind.FORECAST for number in problem.jobs.number.tolist()], dtype=bool)
    known = cores_used(problem, np.where(made_up, problem.horizon, day.plan.start))
    used = envelope(known, edges)[2]
    hours = np.clip((edges[:-1] - day.forecast.edges[0]) // HOUR_S, 0, len(day.forecast.edges) - 2)
    band = day.forecast.demand.in_use
    return used + band.low[hours], used + band.high[hours]


def _draw(
    path: Path,
    site: SiteInputs,
    day: DayPlan,
    profile: ProfileTable,
    nodes_on: StepFunction,
    summary: dict[str, Figure],
) -> None:
    platform, told = site.platform, day.account
    edges = profile.edges
    spans = node_spans(day.problem, day.plan)
    busy = StepFunction.from_spans(spans.start, spans.end)
    columns = {
        "cores_target": profile.cores_target.astype(float), "power_cap_w": profile.power_cap_w, "it_w": profile.it_w,
        "cooling_w": profile.cooling_w, "pue": profile.pue, "price_eur_per_kwh": profile.price_per_kwh,
        "gco2_per_kwh": profile.gco2_per_kwh, "temp_c": profile.temp_c,
    }  # fmt: skip
    money: dict[str, Floats] = {
        "income": told.income, "energy": told.energy_cost, "cooling": told.cooling_cost, "co2": told.co2_cost,
    }  # fmt: skip
    picture = PlannedDay(
        TimeAxis(int(edges[0]), int(edges[-1]), site.calendar.offset), edges, columns, money,
        cores_used(day.problem, day.plan.start), powered_of(platform, day.downtime), nodes_on, busy, platform.cores,
        platform.node_count, platform.currency, _expected(day),
    )  # fmt: skip
    currency = platform.currency
    gain = day.promise.gain if day.promise else None
    headlines = [
        ("gain expected", "–" if gain is None else f"{gain.mean:,.2f} {currency}"),
        ("range on eight of ten days", "–" if gain is None else f"{gain.low:,.2f} to {gain.high:,.2f}"),
        ("profit as planned", f"{told.profit:,.2f} {currency}"),
        ("income", f"{told.income_eur:,.2f} {currency}"),
        ("IT energy", f"{told.energy_eur:,.2f} {currency}"),
        ("cooling", f"{told.cooling_eur:,.2f} {currency}"),
        ("peak", f"{told.peak_kw:,.1f} kW"),
        ("nodes on, mean", f"{summary['mean_nodes_on']:,.1f} of {platform.node_count}"),
    ]
    profits = [
        (f"best rule ({day.plans.rule.search})", day.plans.rule.profit),
        (day.plans.multi_search.search, day.plans.multi_search.profit),
        (f"ours ({day.plan.search})" if day.plan.search != "ours" else "ours", day.plan.profit),
    ]
    shown = [
        label_and_value(key, value, currency) for key, value in summary.items() if key not in {"notes", "currency"}
    ]
    page = PlanPage(
        title=f"Plan of {summary['date_utc']} for {platform.name}", lead=platform.describe(),
        first=first_lines(site, day, nodes_on), notes=notes_of(site, day), headlines=headlines, day=picture,
        profits=profits, bound=day.plan.bound, rules=day.targets.rules, trees=day.targets.trees, figures=shown,
    )  # fmt: skip
    write_picture(path.parent, vars(page))
    draw_plan(path, page)
