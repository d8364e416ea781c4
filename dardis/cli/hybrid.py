"""`dardis hybrid`: days in turn, each planned from what was known and then lived through as it really was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.cli import plan as options
from dardis.cli.options import CalendarStart
from dardis.cli.texts import days_of
from dardis.config.option_texts import decimal

if TYPE_CHECKING:
    from offline.folder.plan import Figure

DISPATCHER = "dardis-throughput"
SETTINGS = ("backfill_scope=all-nodes",)
"""Of that dispatcher, unless `--set` says otherwise: with the thesis's same-nodes more jobs wait for boots."""


def hybrid(
    history: options.History,
    platform: options.Machine,
    days: Annotated[str, typer.Option(metavar="A-B", help="UTC days, from 0, both included.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")],
    weather: options.Weather = None,
    prices: options.Prices = None,
    carbon: options.Carbon = None,
    calendar_start: CalendarStart = None,
    dispatcher: Annotated[
        str,
        typer.Option(metavar="NAME", help=f"One that switches nodes ({DISPATCHER} has {', '.join(SETTINGS)} here)."),
    ] = DISPATCHER,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the dispatcher; repeatable.")
    ] = None,
    switching: Annotated[
        str, typer.Option(metavar="RULE", help="spare, algorithm8, off, or reactive:SECONDS[,SPARES].")
    ] = "spare",
    offset: options.Offset = 70,
    wait_price: options.WaitPrice = 0.0,
    cap: Annotated[
        str, typer.Option(metavar="soft|hard|off", help="What the cores to aim at mean to the dispatcher.")
    ] = "off",
    deadlines: Annotated[
        str | None, typer.Option(metavar="RULE", help="Latest starts of jobs, as in dardis simulate.")
    ] = None,
    cooling: options.CoolingPlant = None,
    forecast_method: options.Method = None,
    shift_hours: Annotated[
        float,
        typer.Option(
            parser=decimal("--shift-hours", 0, 48),
            metavar="N",
            help="Hold jobs for so many hours at most until energy is cheap.",
        ),
    ] = 0.0,
    plan_at: Annotated[
        str, typer.Option(metavar="HH:MM", help="UTC time at which a day is planned; not midnight: on the day before.")
    ] = "00:00",
    time_limit: Annotated[
        float,
        typer.Option(
            parser=decimal("--time-limit", 0), metavar="S", help="Limit on the wall clock of a day's plan, s."
        ),
    ] = 120.0,
    seed: options.Seed = 1,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a trace with a malformed line.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what DIR holds.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Draw no report.html.")] = False,
) -> None:
    """Forecast, plan, extract and switch day by day, and simulate each day online with what really arrived."""
    from offline.day.options import DayOptions, loop_switching
    from offline.loop.command import LoopRequest, run_hybrid
    from offline.loop.loop import LoopOptions, cap_rule, lead_of
    from offline.site.site import SiteRequest

    site = SiteRequest(history, platform, weather, prices, carbon, calendar_start, cooling, strict)
    planned, reactive = loop_switching(switching)
    method = forecast_method or DayOptions().method
    day = DayOptions(planned, offset, method=method, time_limit=time_limit, seed=seed, wait_price=wait_price)
    chosen = (*(SETTINGS if dispatcher == DISPATCHER else ()), *(settings or ()))
    lead_s = lead_of(plan_at)
    cap_means = cap_rule(cap)
    loop = LoopOptions(days_of(days), day, dispatcher, chosen, shift_hours, cap_means, deadlines, lead_s, reactive)
    with options.shown_progress() as progress:
        summary, beside = run_hybrid(LoopRequest(site, out, loop, force=force, report=not no_report), progress)
    for note in filter(None, str(summary["notes"]).split("; ")):
        typer.echo(f"dardis: note: {note}", err=True)
    _show(summary, out)
    _show_beside(beside)


def _show_beside(rows: Sequence[Mapping[str, Figure]]) -> None:
    """The same days under other rules, a line each."""
    typer.echo(f"  {'the same days with':<28} {'profit':>12} {'wait for boots':>15} {'delayed':>8} {'cycles':>7}")
    for row in rows:
        profit, delay, share, cycles = (
            row[key] for key in ("profit_eur", "mean_boot_delay_s", "delayed_share", "cycles_per_node_day")
        )
        waits = f"{delay or 0:>13.1f} s {100 * float(share or 0):>6.1f} %"
        typer.echo(f"    {row['switching']:<26} {profit:>12.2f} {waits} {cycles:>7.2f}")


def _show(summary: dict[str, Figure], out: Path) -> None:
    """The few figures that everybody asks for first."""
    currency = summary["currency"]

    def told(key: str, form: str, unit: str = "") -> str:
        value = summary[key]
        return "-" if value is None else f"{value:{form}} {unit}".rstrip()

    rows = [
        ("days", summary["days"]),
        ("jobs", summary["jobs"]),
        ("profit", told("profit_eur", ".2f", str(currency))),
        ("  all nodes on", told("always_on_profit_eur", ".2f", str(currency))),
        ("  clairvoyant", told("clairvoyant_profit_eur", ".2f", str(currency))),
        ("gain", f"{told('gain_percent', '.2f', '%')} (clairvoyant: {told('clairvoyant_percent', '.2f', '%')})"),
        ("share of that gain", told("share_of_bound", ".3f")),
        ("mean wait for boots", told("mean_boot_delay_s", ".1f", "s")),
        ("jobs delayed", told("delayed_share", ".3f")),
        ("cycles a node a day", told("cycles_per_node_day", ".2f")),
        ("above the cap", told("overutilisation_core_s", ",d", "core-seconds")),
        ("mean wait", f"{told('mean_wait_s', '.0f')} s ({told('always_on_mean_wait_s', '.0f')} s all nodes on)"),
        ("results", out),
    ]
    for name, value in rows:
        typer.echo(f"  {name:<22} {value}")
