"""`dardis hybrid`: days in turn, each planned from what was known and then lived through as it really was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dardis.cli.derived import options_of
from dardis.cli.plan import shown_progress

if TYPE_CHECKING:
    from offline.folder.plan import Figure


@options_of("offline.loop.spec:HybridSpec")
def hybrid(options: dict[str, Any]) -> None:
    """Forecast, plan, extract and switch day by day, and simulate each day online with what really arrived."""
    from dardis.config.option import spec_of
    from offline.loop.command import run_hybrid
    from offline.loop.spec import HybridSpec

    request = spec_of(HybridSpec, options)
    with shown_progress() as progress:
        summary, beside = run_hybrid(request, progress)
    for note in filter(None, str(summary["notes"]).split("; ")):
        typer.echo(f"dardis: note: {note}", err=True)
    _show(summary, request.out)
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
