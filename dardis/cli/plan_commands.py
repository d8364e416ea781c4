"""`dardis plan`, `hybrid`, `review` and `export`: day-ahead plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dardis.cli.derived_options import options_of

if TYPE_CHECKING:
    from offline.export.slurm_export import Mode
    from offline.folder.plan_folder import Figure
    from offline.loop.export_check import Check
    from offline.planner.budget import SearchProgress


@options_of("offline.day.plan_spec:PlanSpec")
def plan(options: dict[str, Any]) -> None:
    """Plan a UTC day from the jobs before it; write profile.csv, target.json, onoff.csv, schedule.csv and a report."""
    from dardis.config.option import spec_of
    from offline.day.figures import main_figures
    from offline.day.plan_run import run_plan
    from offline.day.plan_spec import PlanSpec

    request = spec_of(PlanSpec, options)
    with show_progress() as progress:
        planned = run_plan(request, progress)
    for note in planned.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    for name, value in (*main_figures(planned.plan.summary), ("plan", request.out)):
        typer.echo(f"  {name:<22} {value}")


@contextmanager
def show_progress() -> Iterator[SearchProgress | None]:
    """Show step, best profit and bound on a terminal."""
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


@options_of("offline.loop.hybrid_spec:HybridSpec")
def hybrid(options: dict[str, Any]) -> None:
    """Forecast, plan, extract and switch day by day, and simulate each day online with the real jobs."""
    from dardis.config.option import spec_of
    from offline.loop.hybrid_run import figures_for_people, run_hybrid
    from offline.loop.hybrid_spec import HybridSpec

    request = spec_of(HybridSpec, options)
    with show_progress() as progress:
        _, found = run_hybrid(request, progress)
    for note in filter(None, str(found.summary["notes"]).split("; ")):
        typer.echo(f"dardis: note: {note}", err=True)
    for name, value in (*figures_for_people(found.summary), ("results", request.out)):
        typer.echo(f"  {name:<22} {value}")
    _print_rule_comparison(found.beside)


def _print_rule_comparison(rows: Sequence[Mapping[str, Figure]]) -> None:
    typer.echo(f"  {'the same days with':<28} {'profit':>12} {'wait for boots':>15} {'delayed':>8} {'cycles':>7}")
    for row in rows:
        profit, delay, share, cycles = (
            row[key] for key in ("profit_eur", "mean_boot_delay_s", "delayed_share", "cycles_per_node_day")
        )
        waits = f"{delay or 0:>13.1f} s {100 * float(share or 0):>6.1f} %"
        typer.echo(f"    {row['switching']:<26} {profit:>12.2f} {waits} {cycles:>7.2f}")


def review(
    plan_dir: Annotated[Path, typer.Argument(metavar="PLAN_DIR", help="The folder of dardis plan.")],
    run: Annotated[Path, typer.Option(metavar="DIR", help="A run that followed the plan (--profile target.json).")],
    beside: Annotated[Path, typer.Option(metavar="DIR", help="A run of the same jobs without the plan.")],
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="File for the page.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.html.")] = False,
) -> None:
    """Judge a plan's day: compare two runs under its weather and prices, in two lines and a page."""
    from dardis.cli.derived_options import check_absent
    from offline.day.review import draw
    from offline.day.review import review as judge

    check_absent(out, force)
    told = judge(plan_dir, run, beside)
    draw(out, told)
    for line in told.lines:
        typer.echo(line)
    typer.echo(f"Page: {out.absolute()}")


@options_of("offline.export.export_spec:ExportSpec")
def export(options: dict[str, Any]) -> None:
    """Write a plan as a Slurm program, Redfish requests, OpenMetrics, CSV or JSON; or check its expected effect."""
    from dardis.cli.plan_commands import show_progress
    from dardis.config.option import spec_of
    from offline.export.export_spec import ExportSpec
    from offline.export.formats import load_plan
    from offline.loop.export_plan import export_plan

    spec = spec_of(ExportSpec, options)

    checks: list[tuple[Check, Mode]] = []
    try:
        with show_progress() as progress:
            tell = (lambda doing: progress(doing, None, None)) if progress else None
            made = export_plan(spec, load_plan, tell, lambda check, mode: checks.append((check, mode)))
    finally:  # show the check also if its mode is rejected
        for check, mode in checks:
            _show(check, mode, to_stdout=spec.out is not None or spec.format is None)
    for note in made.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    if spec.out is None:
        typer.echo(made.text, nl=False)


def _show(check: Check, mode: Mode, *, to_stdout: bool) -> None:
    for note in check.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    for line in (*check.table, check.choice(mode)):
        typer.echo(line, err=not to_stdout)
