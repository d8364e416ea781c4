"""The folder of a day's plan: its tables, target.json, summary.json and report.html, from a `DayPlan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dardis.config.target import write_target
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.series import Floats, Ints
from dardis.model.target import Target
from dardis.power.nodes import MachinePower, full_watts, watts_for_cores
from dardis.report.chart import TimeAxis
from dardis.report.over_time import envelope
from dardis.report.plan_charts import PlannedDay
from dardis.report.plan_page import draw_plan
from offline.day import DayPlan
from offline.folder.plan import Figure, PlanFolder, write_plan
from offline.folder.tables import JobKind, OnOffTable, ProfileTable, ScheduleTable
from offline.planner.legal import schedule_of
from offline.planner.use import cores_used, node_spans
from offline.site import Site

TARGET_FILE, REPORT_FILE = "target.json", "report.html"


def write_day(
    out: Path, site: Site, day: DayPlan, settings: dict[str, Any], *, report: bool = True
) -> dict[str, Figure]:
    """Write all files of a plan to a folder that exists; return its summary. Raises OSError."""
    nodes_on = nodes_on_of(day)
    profile = profile_of(day, nodes_on)
    summary = summary_of(site, day)
    boot_s = MachinePower.of_platform(site.platform).boot_s
    folder = PlanFolder(
        site.platform,
        site.calendar.offset,
        profile,
        OnOffTable.of(day.downtime, boot_s),
        table_of(day),
        summary,
        settings,
    )
    write_plan(out, folder)
    source = {
        "day": day.day,
        "switching": str(settings["switching"]),
        "rules": dict(day.wishes.rules),
        "notes": list(day.notes),
    }
    write_target(out / TARGET_FILE, Target(None, day.wishes.switching, site.calendar.offset, source), site.platform)
    if report:
        _draw(out / REPORT_FILE, site, day, profile, nodes_on, summary)
    return summary


def nodes_on_of(day: DayPlan) -> StepFunction:
    """Nodes that are up over time, in the plan."""
    down = day.downtime
    count = day.problem.platform.node_count
    off = StepFunction.from_spans(down.down, down.up, np.ones(len(down.node), dtype=np.int64))
    return StepFunction(off.times, count - off.values)


def profile_of(day: DayPlan, nodes_on: StepFunction) -> ProfileTable:
    """profile.csv: one row a segment of the day."""
    told, conditions, platform = day.account, day.problem.conditions, day.problem.platform
    edges = conditions.edges
    most_on = envelope(nodes_on, edges)[1]
    used = envelope(cores_used(day.problem, day.plan.start), edges)[1]
    powered = envelope(_powered(day, nodes_on), edges)[1]
    target = day.wishes.cores.at(edges[:-1])
    # The cap leaves room for the target on the nodes that are on, and for the plan; a limit on power goes first.
    reach = np.maximum(np.minimum(target, powered), used).astype(np.int64)
    wished_w, allowed_w = watts_for_cores(platform, reach, most_on), _allowed_it_w(day)
    cap = np.minimum(wished_w, allowed_w)
    idle_w = watts_for_cores(platform, np.zeros_like(reach), most_on)
    share = np.maximum(cap - idle_w, 0) / np.maximum(wished_w - idle_w, 1e-9)
    target = np.where(allowed_w < wished_w, np.minimum(target, np.floor(share * reach)), target).astype(np.int64)
    on = np.array([nodes_on.integral(a, b) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)])
    on = on / np.diff(edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        pue = np.where(told.it_w > 0, 1 + told.cooling_w / told.it_w, np.nan)
    return ProfileTable(
        edges, target, cap, told.it_w, told.cooling_w, pue, conditions.price_per_kwh, conditions.gco2_per_kwh,
        conditions.temp_c, on,
    )  # fmt: skip


def _allowed_it_w(day: DayPlan) -> Floats:
    """The IT power (W) that keeps IT and cooling within the contract and the grid's wishes, for each segment."""
    problem, conditions = day.problem, day.problem.conditions
    most_kw = np.full(len(conditions.edges) - 1, np.inf)
    if problem.tariff.contracted_kw is not None:
        most_kw = np.minimum(most_kw, problem.tariff.contracted_kw)
    for limit in problem.tariff.limits:
        inside = (conditions.edges[:-1] < limit.end) & (conditions.edges[1:] > limit.start)
        most_kw[inside] = np.minimum(most_kw[inside], limit.most_kw)
    whole = min(full_watts(problem.platform), getattr(problem.cooling, "most_it_w", np.inf))
    low, high = np.zeros(len(most_kw)), np.full(len(most_kw), whole)
    for _ in range(50):
        middle = (low + high) / 2
        fits = middle + problem.cooling.watts(conditions.temp_c, middle) <= 1000 * most_kw
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.where(np.isinf(most_kw), np.inf, low)


def table_of(day: DayPlan) -> ScheduleTable:
    """schedule.csv: every planned job, and those that run already at their true starts."""
    schedule = schedule_of(day.problem, day.plan)
    kind_of = dict(zip(day.problem.jobs.number.tolist(), day.kinds, strict=True))
    return ScheduleTable(
        schedule.number, schedule.submit, schedule.start, schedule.finish, schedule.units,
        schedule.request[:, schedule.kinds.index(CORES)],
        tuple(kind_of.get(number, JobKind.RUNNING) for number in schedule.number.tolist()), schedule.offsets,
        np.asarray(schedule.nodes, dtype=np.int64), np.asarray(schedule.node_units, dtype=np.int64),
    )  # fmt: skip


def summary_of(site: Site, day: DayPlan) -> dict[str, Figure]:
    """The figures of summary.json, flat."""
    told, down = day.account, day.downtime
    start, end = day.problem.conditions.start, day.problem.conditions.end
    boot_s = MachinePower.of_platform(site.platform).boot_s[down.node]
    switches = int(((down.down >= start) & (down.down < end)).sum() + (down.up - boot_s < end).sum())
    count = {kind: day.kinds.count(kind) for kind in JobKind}
    return {
        "date_utc": site.calendar.text(start)[:10],
        "jobs": len(day.problem.jobs.number) + len(day.problem.running.number),
        "jobs_running": len(day.problem.running.number),
        "jobs_queued": count[JobKind.QUEUED],
        "jobs_forecast": count[JobKind.FORECAST],
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
        "co2_kg": told.co2_kg,
        "peak_kw": told.peak_kw,
        "pue": told.pue,
        "node_switches": switches,
        "mean_nodes_on": nodes_on_of(day).integral(start, end) / (end - start),
        "forecast_method": day.forecast.method,
        "plan_cpu_s": day.cpu_s,
        "stopped_by": str(day.plan.stopped_by),
        "currency": site.platform.currency,
        "notes": "; ".join((*site.notes, *day.notes)),
    }


def _draw(
    path: Path, site: Site, day: DayPlan, profile: ProfileTable, nodes_on: StepFunction, summary: dict[str, Figure]
) -> None:
    platform, told = site.platform, day.account
    edges = profile.edges
    spans = node_spans(day.problem, day.plan)
    busy = StepFunction.from_spans(spans.start, spans.end, np.ones(len(spans.node), dtype=np.int64))
    columns = {
        "cores_target": profile.cores_target.astype(float), "power_cap_w": profile.power_cap_w, "it_w": profile.it_w,
        "cooling_w": profile.cooling_w, "pue": profile.pue, "price_eur_per_kwh": profile.price_per_kwh,
        "gco2_per_kwh": profile.gco2_per_kwh, "temp_c": profile.temp_c,
    }  # fmt: skip
    money: dict[str, Floats] = {"income": told.income, "energy": told.energy_cost, "cooling": told.cooling_cost}
    picture = PlannedDay(
        TimeAxis(int(edges[0]), int(edges[-1]), site.calendar.offset), edges, columns, money,
        cores_used(day.problem, day.plan.start), _powered(day, nodes_on), nodes_on, busy, platform.cores,
        platform.node_count, platform.currency,
    )  # fmt: skip
    currency = platform.currency
    headlines = [
        ("profit expected", f"{told.profit:,.2f} {currency}"),
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
    shown = [(key, _words(value)) for key, value in summary.items() if key != "notes"]
    draw_plan(
        path, title=f"Plan of {summary['date_utc']} for {platform.name}", lead=platform.describe(),
        notes=[*site.notes, *day.notes], headlines=headlines, day=picture, profits=profits, bound=day.plan.bound,
        rules=day.wishes.rules, trees=day.wishes.trees, figures=shown,
    )  # fmt: skip


def _powered(day: DayPlan, nodes_on: StepFunction) -> StepFunction:
    """Cores of the nodes that are up."""
    platform, down = day.problem.platform, day.downtime
    cores: Ints = platform.capacity[down.node, platform.kinds.index(CORES)]
    off = StepFunction.from_spans(down.down, down.up, cores)
    return StepFunction(nodes_on.times, platform.cores - off.at(nodes_on.times))


def _words(value: Figure) -> str:
    return "–" if value is None else f"{value:,.2f}" if isinstance(value, float) else str(value)
