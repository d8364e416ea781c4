"""`dardis plan`: tomorrow's power-cap profile, node switching and expected profit, from what is known today."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dardis.cli.derived import options_of

if TYPE_CHECKING:
    from offline.folder.plan import Figure
    from offline.planner.budget import SearchProgress


@options_of("offline.day.options:PlanSpec")
def plan(options: dict[str, Any]) -> None:
    """Plan a UTC day from the jobs before it; write profile.csv, target.json, onoff.csv, schedule.csv and a report."""
    from dardis.config.option import spec_of
    from offline.day.command import run_plan
    from offline.day.options import PlanSpec

    request = spec_of(PlanSpec, options)
    with shown_progress() as progress:
        summary, notes = run_plan(request, progress)
    for note in notes:
        typer.echo(f"dardis: note: {note}", err=True)
    _show(summary, request.out)


@contextmanager
def shown_progress() -> Iterator[SearchProgress | None]:
    """What is being done, the best profit and the bound, on a terminal; nothing in a pipe."""
    import sys

    if not sys.stdout.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:

        def tell(doing: str, best: float | None, bound: float | None) -> None:
            shown = [doing, *([f"best {best:,.2f}"] if best is not None else [])]
            status.update("  ".join([*shown, *([f"bound {bound:,.2f}"] if bound is not None else [])]))

        yield tell


def _show(summary: dict[str, Figure], out: Path) -> None:
    """The few figures that everybody asks for first."""
    currency = summary["currency"]
    rows = [
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
        ("plan", out),
    ]
    if "what_if" in summary:
        cost = f"{summary['what_if_profit_eur']:.2f} {currency}, costs {summary['what_if_cost_eur']:.2f}"
        rows.insert(-1, (f"what if {summary['what_if']}", f"{cost}; {summary['what_if_later_jobs']} jobs start later"))
    for name, value in rows:
        typer.echo(f"  {name:<22} {value}")


def _gain(summary: dict[str, Figure]) -> str:
    """What switching is to bring, and how sure that is."""
    if summary["gain_eur"] is None:
        return "none, or nobody can say"
    gain, low, high, over = (
        f"{summary[key]:.2f}" for key in ("gain_eur", "gain_p10_eur", "gain_p90_eur", "gain_over_suspend_eur")
    )
    waits = f"jobs wait {summary['boot_delay_s']:.0f} s for boots, there {summary['suspend_boot_delay_s']:.0f} s"
    return f"{gain} {summary['currency']} ({low} to {high}) over all nodes on, {over} over SuspendTime; {waits}"
