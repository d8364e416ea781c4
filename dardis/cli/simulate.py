"""`dardis simulate`: a trace replayed under a dispatcher, in this process or over the ranks of `mpirun`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dardis.cli.derived import options_of

if TYPE_CHECKING:
    from dardis.runs.run import Outcome
    from dardis.sim.simulation import Progress


@options_of("dardis.config.run:RunSpec")
def simulate(options: dict[str, Any]) -> None:
    """Replay TRACE on a machine and write jobs.csv, metrics.json, profile.csv, run.json and report.html to DIR."""
    from dardis.config.option import spec_of
    from dardis.config.run import RunSpec
    from dardis.runs.run import run, run_over_ranks
    from dardis.transport.launcher import launched_by_mpi
    from dardis.transport.mpi import world

    request = spec_of(RunSpec, options)
    draw = None if request.no_report else _draw
    if launched_by_mpi():
        comm = world()
        with _progress(shown=comm.rank == 0) as progress:
            outcome = run_over_ranks(comm, request, progress, draw)
        if isinstance(outcome, int):
            raise typer.Exit(outcome)
    else:
        with _progress(shown=True) as progress:
            outcome = run(request, progress, draw)
    _show(outcome)
    if outcome.metrics["jobs"] == outcome.metrics["rejected"]:
        _end_with_nothing(outcome)


def _end_with_nothing(outcome: Outcome) -> None:
    """Say that no job ran, and end with 1."""
    typer.echo(f"dardis: no job ran: all {outcome.metrics['jobs']:,} were rejected, why is said above", err=True)
    raise typer.Exit(1)


def _draw(folder: Path) -> None:
    """Draw the report when the results are there."""
    from dardis.report.page import draw_report

    draw_report(folder)


def _progress(*, shown: bool) -> AbstractContextManager[Progress | None]:
    """A progress bar on a terminal, nothing in a pipe."""
    import sys

    if not shown or not sys.stdout.isatty():
        return nullcontext()
    from dardis.cli.progress import bar

    return bar()


def _show(outcome: Outcome) -> None:
    """The few figures that everybody asks for first."""
    metrics = outcome.metrics
    rows = [
        ("jobs", f"{metrics['jobs']} ({metrics['killed']} killed, {metrics['rejected']} rejected)"),
        ("makespan", _hours(metrics["makespan_s"])),
        ("mean wait", _hours(metrics["mean_wait_s"])),
        *(
            [("cores rounded up", f"{cores:,} more, so that units are equal")]
            if (cores := metrics["rounded_up_cores"])
            else []
        ),
        ("longest wait", _hours(metrics["max_wait_s"])),
        ("mean bounded slowdown", _figure(metrics["mean_bounded_slowdown"], "")),
        ("utilisation", _figure(metrics["utilisation"], "share of cores")),
        *_expected(outcome),
        *([("profit", f"{profit:,.2f}")] if (profit := metrics.get("profit_eur")) is not None else []),
        ("decisions", f"{metrics['decisions']}, {1e3 * (metrics['decision_mean_s'] or 0):.3f} ms CPU each"),
        ("ranks", f"{metrics['ranks']}"),
        ("schedule digest", metrics["schedule_digest"][:16]),
    ]
    for name, value in rows:
        typer.echo(f"  {name:<22} {value}")
    typer.echo(f"  {'results':<22} {outcome.out}")


def _expected(outcome: Outcome) -> list[tuple[str, str]]:
    """How well runtimes were predicted, and by which rules, where they were."""
    metrics, rules = outcome.metrics, outcome.rules
    if not rules:
        return []
    told = "nobody ran"
    if metrics["expected_mae_s"] is not None:
        shares = f"{metrics['expected_under_share']:.1%} ran longer, {metrics['expected_over_share']:.1%} shorter"
        told = f"{_hours(metrics['expected_mae_s'])} off on average, {shares}"
    by = ", ".join(f"{rule}: {jobs}" for rule, jobs in rules.items())
    return [("expected durations", told), ("expected by", by)]


def _hours(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s" if seconds < 3600 else f"{seconds / 3600:.2f} h"


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.3f} {unit}".rstrip()
