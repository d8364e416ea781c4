"""`dardis plan`: tomorrow's power-cap profile, node switching and expected profit, from what is known today."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.cli.options import CalendarStart, NodeNames
from dardis.config.option_texts import decimal, whole
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from offline.folder.plan import Figure
    from offline.planner.budget import SearchProgress

History = Annotated[Path, typer.Option(metavar="TRACE", help="What has run: SWF, job table, sacct or Eurora CSV.")]
Machine = Annotated[Path, typer.Option(metavar="P.toml", help="The machine.")]
Weather = Annotated[Path | None, typer.Option(metavar="W.csv", help="Outdoor temperature (default: the platform's).")]
Prices = Annotated[Path | None, typer.Option(metavar="PR.csv", help="Price of energy (default: the platform's).")]
Carbon = Annotated[Path | None, typer.Option(metavar="C.csv", help="CO2 intensity (default: the platform's, or none).")]
Switching = Annotated[str, typer.Option(metavar="RULE", help="spare, algorithm8 or off.")]
WaitPrice = Annotated[
    float,
    typer.Option(
        parser=decimal("--wait-price", 0), metavar="EUR", help="What an hour costs that a job waits (default 0)."
    ),
]
Offset = Annotated[
    int,
    typer.Option(
        parser=whole("--offset", 0, 100), metavar="PERCENT", help="algorithm8: share of the unused nodes that stays on."
    ),
]
CoolingPlant = Annotated[
    str | None, typer.Option(metavar="air|hybrid|TABLE.csv", help="Cooling plant (default: the platform's).")
]
Method = Annotated[str | None, typer.Option(metavar="NAME", help="Forecast method (see dardis forecast).")]
Seed = Annotated[int, typer.Option(parser=whole("--seed", 0, 2**62), metavar="N", help="Seed of every random choice.")]


def plan(
    history: History,
    platform: Machine,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the plan.")],
    day: Annotated[
        int | None, typer.Option(parser=whole("--day", 0), metavar="N", help="UTC day to plan, from 0.")
    ] = None,
    on: Annotated[str | None, typer.Option("--date", metavar="DATE", help="Or its date, as 2023-07-15.")] = None,
    weather: Weather = None,
    prices: Prices = None,
    carbon: Carbon = None,
    calendar_start: CalendarStart = None,
    now: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="UTC; what comes later is forecast (default: the history's last event)."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="How nodes stand now: scontrol show node -o, or a CSV.")
    ] = None,
    names: NodeNames = None,
    after: Annotated[
        Path | None, typer.Option(metavar="PLAN_DIR", help="The day before's plan: who it leaves off is off at first.")
    ] = None,
    switching: Switching = "spare",
    offset: Offset = 70,
    wait_price: WaitPrice = 0.0,
    cap: Annotated[bool, typer.Option("--cap", help="Write the cores to aim at into target.json, too.")] = False,
    cooling: CoolingPlant = None,
    hours: Annotated[int, typer.Option(metavar="24|48", help="How far the forecast reaches.")] = 24,
    forecast_method: Method = None,
    time_limit: Annotated[
        float, typer.Option(parser=decimal("--time-limit", 0), metavar="S", help="Limit on the wall clock, s.")
    ] = 120.0,
    seed: Seed = 1,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a trace with a malformed line.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the plan in DIR; accept a stale history.")] = False,
    accept_stale: Annotated[
        bool, typer.Option("--accept-stale", help="Plan though the history seems to have ended before its time.")
    ] = False,
    what_if: Annotated[
        str | None, typer.Option(metavar="LIMIT", help="Say what a limit on power would cost, as 80kW 17-19 (UTC).")
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Draw no report.html.")] = False,
) -> None:
    """Plan a UTC day from the jobs before it; write profile.csv, target.json, onoff.csv, schedule.csv and a report."""
    from offline.day.command import PlanRequest, run_plan
    from offline.day.options import DayOptions, switching_rule
    from offline.site.site import SiteRequest

    site = SiteRequest(history, platform, weather, prices, carbon, calendar_start, cooling, strict)
    options = DayOptions(
        switching_rule(switching), offset, day_hours(hours), forecast_method or DayOptions().method, time_limit, seed,
        wait_price,
    )  # fmt: skip
    request = PlanRequest(
        site,
        _day_asked(day, on),
        out,
        options,
        cap=cap,
        force=force,
        report=not no_report,
        now=now,
        accept_stale=accept_stale,
        state=state,
        after=after,
        names=names,
        what_if=what_if,
    )
    with shown_progress() as progress:
        summary, notes = run_plan(request, progress)
    for note in notes:
        typer.echo(f"dardis: note: {note}", err=True)
    _show(summary, out)


def _day_asked(day: int | None, text: str | None) -> int | date:
    """What `--day` or `--date` says. Raises InputError."""
    if day is not None and text is not None:
        raise InputError("--date", f"beside --day {day}", "one of the two")
    if day is not None:
        return day
    if text is None:
        raise InputError("dardis plan", "neither --day nor --date", "one of the two")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError("--date", repr(text), "a UTC day as 2023-07-15") from None


def day_hours(hours: int) -> int:
    """What `--hours` says. Raises InputError."""
    if hours not in {24, 48}:
        raise InputError("--hours", f"{hours}", "24 or 48")
    return hours


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
