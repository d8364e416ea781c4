"""The figures of a plan that a terminal shows."""

from __future__ import annotations

from collections.abc import Mapping

from offline.folder.plan import Figure


def figures_for_people(summary: Mapping[str, Figure]) -> list[tuple[str, Figure]]:
    """The few figures of summary.json that are asked for first, each with its name."""
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
    """What switching is to bring, and how sure that is."""
    if summary["gain_eur"] is None:
        return "none, or nobody can say"
    gain, low, high, over = (
        f"{summary[key]:.2f}" for key in ("gain_eur", "gain_p10_eur", "gain_p90_eur", "gain_over_suspend_eur")
    )
    waits = f"jobs wait {summary['boot_delay_s']:.0f} s for boots, there {summary['suspend_boot_delay_s']:.0f} s"
    return f"{gain} {summary['currency']} ({low} to {high}) over all nodes on, {over} over SuspendTime; {waits}"
