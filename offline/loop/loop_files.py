"""Writes the folder of `dardis hybrid`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dardis.config.target_file import write_target
from dardis.metrics.catalogue import columns_of
from dardis.metrics.jobs_csv import write_jobs
from dardis.metrics.system import desired_total, overutilisation, used_profile, write_downtime
from dardis.model.arrays import Floats
from dardis.model.csv_table import REAL, WHOLE, WORD, Column, CsvTable, FilledTable
from dardis.model.files import write_json
from dardis.model.platform import platform_to_dict
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.power.account import Account
from offline.day.day import DayPlan
from offline.day.plan_spec import wait_cost
from offline.folder.plan_folder import Figure
from offline.loop.loop import Loop, SimulatedDays
from offline.loop.loop_report import ALL_ON, CLAIRVOYANT, PROMISED, draw
from offline.onoff.spans import nodes_up
from offline.site.calendar import DAY_S

DAYS: Final = CsvTable(
    "days.csv",
    Column("day", WHOLE, "number of the day"),
    Column("date_utc", WORD, "date of the day"),
    Column("jobs", WHOLE, "jobs submitted on the day"),
    Column("jobs_forecast", WHOLE, "forecast number of these jobs"),
    Column("profit_eur", REAL, "profit, without charges for peaks and limits"),
    Column("always_on_profit_eur", REAL, "profit with all nodes on"),
    Column("clairvoyant_profit_eur", REAL, "profit of clairvoyant switching"),
    Column("share_of_bound", REAL, "gain over the gain of clairvoyant switching", "share"),
    *columns_of(["mean_boot_delay_s", "delayed_share", "mean_wait_s"]),
    Column("always_on_mean_wait_s", REAL, "mean wait with all nodes on"),
    *columns_of(["node_switches"]),
    Column("mean_nodes_on", REAL, "mean number of nodes that are on", "nodes"),
    Column("planned_profit_eur", REAL, "expected profit of the plan"),
    Column("switching_gain_eur", REAL, "achieved gain by switching"),
    *(
        Column(name, REAL, f"{what} of the gain that the plan expected; empty if none")
        for name, what in zip(PROMISED, ("mean", "10 % quantile", "90 % quantile"), strict=True)
    ),
    Column("stopped_by", WORD, "limit that ended the search for the plan"),
)
BESIDE: Final = CsvTable(
    "beside.csv",
    Column("switching", WORD, "rule that switches nodes"),
    *columns_of(["profit_eur"]),
    Column("gain_eur", REAL, "gain over all nodes on"),
    *columns_of(["mean_boot_delay_s", "delayed_share", "cycles_per_node_day", "mean_wait_s"]),
    Column("mean_nodes_on", REAL, "mean number of nodes that are on", "nodes"),
)


class LoopTables(NamedTuple):
    """Figures of summary.json, rows of days.csv and beside.csv."""

    summary: dict[str, Figure]
    days: list[dict[str, Figure]]
    beside: list[dict[str, Figure]]

    @property
    def days_table(self) -> FilledTable:
        """days.csv."""
        return FilledTable(DAYS, [[row[name] for name in DAYS.names] for row in self.days])

    @property
    def beside_table(self) -> FilledTable:
        """beside.csv."""
        return FilledTable(BESIDE, [[row[name] for name in BESIDE.names] for row in self.beside])


def write_loop(out: Path, loop: Loop, settings: dict[str, Any], *, report: bool = True) -> LoopTables:
    """Write all files and return the content. Raises OSError."""
    rows, beside = day_rows(loop), _beside_rows(loop)
    summary = summary_of(loop, rows)
    found = LoopTables(summary, rows, beside)
    for table in (found.days_table, found.beside_table):
        table.write(out)
    write_json(out / "summary.json", summary)
    write_jobs(loop.switched.schedule, out / "jobs.csv", str(settings["history"]))
    write_jobs(loop.always_on.schedule, out / "always_on_jobs.csv", str(settings["history"]))
    write_downtime(out / "switching.csv", loop.switched.downtime)
    write_target(out / "target.json", loop.target, loop.site.platform)
    known = {"unix_start": loop.site.calendar.offset, "platform": platform_to_dict(loop.site.platform)}
    write_json(out / "run.json", settings | known)
    if report:
        draw(out / "report.html", loop, summary, notes_of(loop), (DAYS.names, rows), (BESIDE.names, beside))
    return found


def _beside_rows(loop: Loop) -> list[dict[str, Figure]]:
    ours = {} if loop.options.reactive in loop.reactive_runs else {loop.options.switching: loop.switched}
    rivals = {str(rule): lived for rule, lived in loop.reactive_runs.items()}
    some = {ALL_ON: loop.always_on} | rivals | (ours if loop.target.switching is not None else {})
    return [_rule_row(loop, name, lived) for name, lived in (some | {CLAIRVOYANT: loop.clairvoyant}).items()]


def _rule_row(loop: Loop, name: str, lived: SimulatedDays) -> dict[str, Figure]:
    start, end = loop.conditions.start, loop.conditions.end
    counted = loop.counted(lived)
    delay = lived.boot_delay[counted]
    on = nodes_up(lived.downtime, loop.site.platform.node_count)
    return {
        "switching": name,
        "profit_eur": lived.account.profit,
        "gain_eur": lived.account.profit - loop.always_on.account.profit,
        "mean_boot_delay_s": float(delay.mean()) if len(delay) else None,
        "delayed_share": float((delay > 0).mean()) if len(delay) else None,
        "cycles_per_node_day": switches(loop, lived) / loop.site.platform.node_count / ((end - start) / DAY_S),
        "mean_wait_s": mean_wait(lived, counted),
        "mean_nodes_on": on.integral(start, end) / (end - start),
    }


def summary_of(loop: Loop, rows: Sequence[dict[str, Figure]]) -> dict[str, Figure]:
    """Flat figures of summary.json."""
    told, base, most = loop.switched.account, loop.always_on.account, loop.clairvoyant.account
    counted, before = loop.counted(loop.switched), loop.counted(loop.always_on)
    ours = _rule_row(loop, loop.options.switching, loop.switched)
    gained, price = told.profit - base.profit, loop.options.day.wait_price
    states_co2 = loop.site.around.carbon is not None
    return {
        "days": f"{loop.options.days[0]}-{loop.options.days[1]}",
        "dispatcher": loop.options.dispatcher,
        "switching": loop.options.switching,
        "cap": str(loop.options.cap),
        "jobs": int(counted.sum()),
        "profit_eur": told.profit,
        "always_on_profit_eur": base.profit,
        "clairvoyant_profit_eur": most.profit,
        "gain_eur": gained,
        "switching_gain_eur": told.profit
        - loop.all_on_account.profit
        - wait_cost(price, loop.switched.boot_delay[counted].sum()),
        "gain_percent": 100 * gained / abs(base.profit) if base.profit else None,
        "clairvoyant_percent": 100 * (most.profit - base.profit) / abs(base.profit) if base.profit else None,
        "share_of_bound": loop.share_of_bound,
        **{f"gain_{name}_eur": value for name, value in asdict(loop.gain).items()},
        **{key: ours[key] for key in ("mean_boot_delay_s", "delayed_share", "cycles_per_node_day", "mean_wait_s")},
        "always_on_mean_wait_s": mean_wait(loop.always_on, before),
        "wait_price_eur": price,
        "wait_cost_eur": wait_cost(price, _total_wait(loop.switched, counted)),
        "always_on_wait_cost_eur": wait_cost(price, _total_wait(loop.always_on, before)),
        "most_wait_s": longest_wait(loop.switched, counted),
        "always_on_most_wait_s": longest_wait(loop.always_on, before),
        "overutilisation_core_s": _excess_over_cap(loop),
        "makespan_s": makespan(loop, loop.switched, counted),
        "always_on_makespan_s": makespan(loop, loop.always_on, before),
        "income_eur": told.income_eur,
        "energy_eur": told.energy_eur,
        "cooling_eur": told.cooling_eur,
        "energy_kwh": told.energy_kwh,
        "cooling_kwh": told.cooling_kwh,
        "pue": told.pue,
        "co2_kg": told.co2_kg if states_co2 else None,
        "always_on_co2_kg": base.co2_kg if states_co2 else None,
        "peak_kw": told.peak_kw,
        "always_on_peak_kw": base.peak_kw,
        "mean_nodes_on": ours["mean_nodes_on"],
        **_promise_summary(rows),
        **_work_at_bounds(loop),
        "plan_cpu_s": sum(plan.cpu_s for plan in loop.plans),
        "currency": loop.site.platform.currency,
        "notes": "; ".join(notes_of(loop)),
    }


def _promise_summary(rows: Sequence[dict[str, Figure]]) -> dict[str, Figure]:
    keys = ("switching_gain_eur", *PROMISED)
    told = [[float(row[key] or 0) for key in keys] for row in rows if row[PROMISED[0]] is not None]
    gained, means, low, high = np.array(told).reshape(-1, len(keys)).T
    return {
        "promised_gain_eur": float(means.sum()) if told else None,
        "days_promised": len(told),
        "days_within_promise": int(((low <= gained) & (gained <= high)).sum()),
    }


def _work_at_bounds(loop: Loop) -> dict[str, Figure]:
    start, end = loop.conditions.start, loop.conditions.end
    moments = (("begin", loop.switched, start), ("end", loop.switched, end), ("always_on_end", loop.always_on, end))
    return {
        f"{name}_{what}_core_h": value
        for name, lived, moment in moments
        for what, value in zip(("running", "waiting"), _work_at(lived.schedule, moment), strict=True)
    }


def _work_at(schedule: Schedule, moment: int) -> tuple[float, float]:
    cores = schedule.units * schedule.request[:, schedule.kinds.index(CORES)]
    came = schedule.ran & (schedule.submit < moment)
    runs, waits = came & (schedule.start < moment), came & (schedule.start >= moment)
    left = np.maximum(schedule.finish - np.maximum(schedule.start, moment), 0) * cores / 3600
    return float(left[runs].sum()), float(left[waits].sum())


def notes_of(loop: Loop) -> list[str]:
    """Notes, without repetitions that differ only in figures."""
    over = loop.switched.account.over_limit_kwh
    broken = [f"hard limits on power were exceeded by {over:.1f} kWh"] if over > 0 else []
    of_days: dict[str, str] = {}
    for note in (note for plan in loop.plans for note in (*plan.history, *plan.notes)):
        of_days.setdefault(re.sub(r"\d+", "#", note), note)
    return list(dict.fromkeys([*broken, *loop.notes, *loop.site.notes, *of_days.values()]))


def switches(loop: Loop, lived: SimulatedDays) -> int:
    """Number of shutdowns in the days."""
    down = lived.downtime.down
    return int(((down >= loop.conditions.start) & (down < loop.conditions.end)).sum())


def mean_wait(lived: SimulatedDays, counted: np.ndarray) -> float | None:
    """Mean wait of the counted jobs, s."""
    waits = (lived.schedule.start - lived.schedule.submit)[counted]
    return float(waits.mean()) if len(waits) else None


def _total_wait(lived: SimulatedDays, counted: np.ndarray) -> float:
    return float((lived.schedule.start - lived.schedule.submit)[counted].sum())


def longest_wait(lived: SimulatedDays, counted: np.ndarray) -> int | None:
    """Longest wait of the counted jobs, s."""
    return int((lived.schedule.start - lived.schedule.submit)[counted].max()) if counted.any() else None


def _excess_over_cap(loop: Loop) -> int | None:
    desired = loop.target.desired
    if desired is None:
        return None
    wished = desired_total(loop.site.platform, desired, CORES)
    window = (loop.conditions.start, loop.conditions.end)
    return overutilisation(used_profile(loop.switched.schedule, CORES), wished, window)


def makespan(loop: Loop, lived: SimulatedDays, counted: np.ndarray) -> int | None:
    """Time from the beginning to the last end, s."""
    finish = lived.schedule.finish[counted]
    return int(finish.max()) - loop.conditions.start if len(finish) else None


def day_rows(loop: Loop) -> list[dict[str, Figure]]:
    """Rows of days.csv."""
    edges = loop.conditions.edges
    profits = {name: _by_segment(getattr(loop, name).account) for name in ("switched", "always_on", "clairvoyant")}
    left_on = _by_segment(loop.all_on_account)
    on = loop.nodes_on
    rows: list[dict[str, Figure]] = []
    for plan in loop.plans:
        start, end = loop.site.calendar.day(plan.day)
        inside = (edges[:-1] >= start) & (edges[:-1] < end)
        profit = {name: float(values[inside].sum()) for name, values in profits.items()}
        now, before = (_of_day(loop, lived, start, end) for lived in (loop.switched, loop.always_on))
        delay = loop.switched.boot_delay[now]
        down = loop.switched.downtime.down
        rows.append(
            {
                "day": plan.day,
                "date_utc": loop.site.calendar.text(start)[:10],
                "jobs": int(now.sum()),
                "jobs_forecast": plan.jobs_forecast,
                "profit_eur": profit["switched"],
                "always_on_profit_eur": profit["always_on"],
                "clairvoyant_profit_eur": profit["clairvoyant"],
                "share_of_bound": loop.share(**profit),
                "mean_boot_delay_s": float(delay.mean()) if len(delay) else None,
                "delayed_share": float((delay > 0).mean()) if len(delay) else None,
                "mean_wait_s": mean_wait(loop.switched, now),
                "always_on_mean_wait_s": mean_wait(loop.always_on, before),
                "node_switches": int(((down >= start) & (down < end)).sum()),
                "mean_nodes_on": on.integral(start, end) / DAY_S,
                "planned_profit_eur": plan.account.profit,
                "switching_gain_eur": profit["switched"]
                - float(left_on[inside].sum())
                - wait_cost(loop.options.day.wait_price, delay.sum()),
                **dict(zip(PROMISED, _promise_of(plan), strict=True)),
                "stopped_by": str(plan.plan.stopped_by),
            }
        )
    return rows


def _promise_of(plan: DayPlan) -> tuple[float | None, float | None, float | None]:
    if plan.promise is None:
        return None, None, None
    gain = plan.promise.gain
    return gain.mean, gain.low, gain.high


def _by_segment(told: Account) -> Floats:
    return np.asarray(told.income - told.energy_cost - told.cooling_cost - told.co2_cost)


def _of_day(loop: Loop, lived: SimulatedDays, start: int, end: int) -> np.ndarray:
    submit = lived.schedule.submit
    return np.asarray(loop.counted(lived) & (submit >= start) & (submit < end))
