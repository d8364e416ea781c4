"""`dardis hybrid`: days in turn, each planned from what was known and then lived through as it really was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from offline.loop.figures import figures_for_people
    from offline.loop.spec import HybridSpec

    request = spec_of(HybridSpec, options)
    with shown_progress() as progress:
        _, found = run_hybrid(request, progress)
    for note in filter(None, str(found.summary["notes"]).split("; ")):
        typer.echo(f"dardis: note: {note}", err=True)
    for name, value in (*figures_for_people(found.summary), ("results", request.out)):
        typer.echo(f"  {name:<22} {value}")
    _show_beside(found.beside)


def _show_beside(rows: Sequence[Mapping[str, Figure]]) -> None:
    """The same days under other rules, a line each."""
    typer.echo(f"  {'the same days with':<28} {'profit':>12} {'wait for boots':>15} {'delayed':>8} {'cycles':>7}")
    for row in rows:
        profit, delay, share, cycles = (
            row[key] for key in ("profit_eur", "mean_boot_delay_s", "delayed_share", "cycles_per_node_day")
        )
        waits = f"{delay or 0:>13.1f} s {100 * float(share or 0):>6.1f} %"
        typer.echo(f"    {row['switching']:<26} {profit:>12.2f} {waits} {cycles:>7.2f}")
