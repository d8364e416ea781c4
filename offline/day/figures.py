"""Plan's main figures, and a summary."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dardis.model.step_function import StepFunction
from offline.day.day import DayPlan
from offline.day.idle_reserve import break_even_seconds
from offline.folder.plan_folder import Figure
from offline.site.site_inputs import SiteInputs


def main_figures(summary: Mapping[str, Figure]) -> list[tuple[str, Figure]]:
    """Main figures of summary.json, with names."""
    currency = summary["currency"]
    rows: list[tuple[str, Figure]] = [
        ("day", summary["date_utc"]),
        ("jobs", f"{summary['jobs']} ({summary['jobs_running']} running, {summary['jobs_forecast']} forecast)"),
        ("gain expected", _gain(summary)),
        ("profit as planned", f"{summary['profit_eur']:.2f} {currency}"),
        ("  all nodes on", f"{summary['all_on_profit_eur']:.2f} {currency}"),
        ("  multi-search", f"{summary['multi_search_profit_eur']:.2f} {currency}, all nodes on"),
        ("  best rule", f"{summary['baseline_profit_eur']:.2f} {currency}, all nodes on ({summary['baseline']})"),
        ("  bound", "none" if summary["bound_eur"] is None else f"{summary['bound_eur']:.2f} {currency}"),
        ("mean nodes on", f"{summary['mean_nodes_on']:.1f}"),
        ("node switches", summary["node_switches"]),
        ("peak", f"{summary['peak_kw']:.1f} kW"),
        ("stopped by", summary["stopped_by"]),
    ]
    if "what_if" in summary:
        cost = f"{summary['what_if_profit_eur']:.2f} {currency}, costs {summary['what_if_cost_eur']:.2f}"
        rows.append((f"what if {summary['what_if']}", f"{cost}; {summary['what_if_later_jobs']} jobs start later"))
    return rows


def _gain(summary: Mapping[str, Figure]) -> str:
    if summary["gain_eur"] is None:
        return "none or unknown"
    gain, low, high, over = (
        f"{summary[key]:.2f}" for key in ("gain_eur", "gain_p10_eur", "gain_p90_eur", "gain_over_suspend_eur")
    )
    waits = f"jobs wait {summary['boot_delay_s']:.0f} s for boots, there {summary['suspend_boot_delay_s']:.0f} s"
    return f"{gain} {summary['currency']} ({low} to {high}) over all nodes on, {over} over SuspendTime; {waits}"


def first_lines(site: SiteInputs, day: DayPlan, nodes_on: StepFunction) -> list[str]:
    """Summary in three sentences: action, savings, risks."""
    return [_action_line(site, day, nodes_on), _savings_line(site, day), _risk_line(site, day)]


def _action_line(site: SiteInputs, day: DayPlan, nodes_on: StepFunction) -> str:
    start, end, nodes = day.problem.conditions.start, day.problem.conditions.end, site.platform.node_count
    moments = np.unique([start, *nodes_on.breaks_in(start, end).tolist()])
    on = nodes_on.at(moments)
    switching = day.targets.switching
    if switching is None:
        return "Leave all nodes on, since switching does not pay."
    told = f"none of {nodes} nodes can be off, if the forecast is right"
    off = np.flatnonzero(on < nodes)
    if len(off):
        until = int(moments[off[-1] + 1]) if off[-1] + 1 < len(moments) else end
        till = "24:00" if until == end else site.calendar.text(until)[11:16]
        times = f"between {site.calendar.text(int(moments[off[0]]))[11:16]} and {till} UTC"
        told = f"up to {nodes - int(on.min())} of {nodes} nodes can be off, {times}, if the forecast is right"
    if not switching.spares:
        return told[0].upper() + told[1:] + "."
    kept = StepFunction.sum_of(switching.spares.values()).at(np.arange(start, end, 3600))
    low, high = int(kept.min()), int(kept.max())
    spares = f"{low}" if low == high else f"{low} to {high}"
    return f"Keep {spares} idle nodes on as spares and switch off other idle nodes: {told}."


def _savings_line(site: SiteInputs, day: DayPlan) -> str:
    promise, currency = day.promise, site.platform.currency
    if day.targets.switching is None:
        return f"Switching saves nothing; the profit of the plan is {day.account.profit:,.2f} {currency}."
    if promise is None:
        more = day.account.profit - day.all_on.profit
        return f"The expected gain over all nodes on is {more:,.2f} {currency}; too few days show its range."
    gain, over = promise.gain, promise.over_suspend.mean
    slurm = f"switching off all nodes after {break_even_seconds(site.platform)} idle s, as in Slurm, gains "
    slurm += f"{abs(over):,.2f} {currency} {'less' if over > 0 else 'more'}, and jobs wait "
    slurm += f"{promise.suspend_waits.mean_s:.0f} s for boots instead of {promise.waits.mean_s:.0f} s"
    paid = ""
    if promise.waits.cost or promise.suspend_waits.cost:
        paid = f" Waits cost {promise.waits.cost:,.2f} of it, in Slurm {promise.suspend_waits.cost:,.2f}."
    return (
        f"Expect {gain.mean:,.2f} {currency} more than with all nodes on; on eight of ten days between {gain.low:,.2f} "
        f"and {gain.high:,.2f}, by the last {promise.days} days. {slurm[0].upper()}{slurm[1:]}.{paid}"
    )


def _risk_line(site: SiteInputs, day: DayPlan) -> str:
    jobs, forecast = day.forecast.jobs, day.jobs_forecast
    told = f"{jobs.low:,.0f} to {jobs.high:,.0f} jobs may arrive ({forecast:,} forecast)"
    if day.promise is None:
        return f"{told[0].upper()}{told[1:]}."
    peak = day.promise.peak_kw
    boots = max((group.power.boot_s for group in site.platform.groups if group.power), default=0)
    return (
        f"{told}, and the peak may be {peak.low:,.0f} to {peak.high:,.0f} kW. A wrong forecast delays jobs by a boot "
        f"({boots} s): {100 * day.promise.waits.delayed_share:.0f} % of them wait."
    )
