"""`dardis simulate`: a trace replayed under a dispatcher, in this process or over the ranks of `mpirun`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.cli.options import (
    CalendarStart,
    Events,
    FirstJobs,
    OverrunRule,
    ResourcesRule,
    SubmittedBefore,
    SubmittedFrom,
    TracePath,
    Trimmed,
    WalltimeFactor,
    dispatchers_beginning,
)
from dardis.config.option_texts import MOST_TASK_MANAGERS, whole
from dardis.model.choices import Overrun, Resources

if TYPE_CHECKING:
    from dardis.runs.run import Outcome
    from dardis.sim.simulation import Progress


def simulate(
    trace: TracePath,
    platform: Annotated[Path, typer.Option(metavar="P.toml", help="The machine.")],
    dispatcher: Annotated[
        str, typer.Option(metavar="NAME", help="See `dardis dispatchers`.", autocompletion=dispatchers_beginning)
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")],
    seed: Annotated[
        int, typer.Option(parser=whole("--seed", 0, 2**62), metavar="N", help="Seed of every random choice.")
    ] = 1,
    jobs: FirstJobs = None,
    start: SubmittedFrom = None,
    end: SubmittedBefore = None,
    profile: Annotated[
        Path | None, typer.Option(metavar="F", help="Desired profile (CSV), or a plan's target.json.")
    ] = None,
    deadlines: Annotated[
        str | None,
        typer.Option(
            metavar="RULE", help="none, window:SECONDS, factor:X, mean-wait:queue, mean-wait:partition or a table file."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the dispatcher; repeatable.")
    ] = None,
    task_managers: Annotated[
        int,
        typer.Option(
            parser=whole("--task-managers", 1, MOST_TASK_MANAGERS),
            metavar="N",
            help="Task managers that share the jobs.",
        ),
    ] = 1,
    arity: Annotated[
        str,
        typer.Option(metavar="flat|A", help="Sum offers up a tree of hosts, A children each; the same schedule."),
    ] = "flat",
    sample: Annotated[
        str,
        typer.Option(metavar="all|default|S", help="Ask S nodes for each unit first, and more only if needed."),
    ] = "all",
    trim: Trimmed = None,
    overrun: OverrunRule = None,
    walltime_factor: WalltimeFactor = None,
    think_times: Annotated[
        bool, typer.Option("--think-times", help="Submit a job after the one it follows (SWF fields 17, 18).")
    ] = False,
    calendar_start: CalendarStart = None,
    events: Events = None,
    resources: ResourcesRule = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a trace with a malformed line.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run that DIR holds.")] = False,
    save_instances: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep what constraint models are asked, for `dardis solve`.")
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Draw no report.html (see `dardis report`).")] = False,
) -> None:
    """Replay TRACE on a machine and write jobs.csv, metrics.json, profile.csv, run.json and report.html to DIR."""
    from dardis.config.cuts import cut_of, trim_of
    from dardis.config.reach import reach_value
    from dardis.runs.request import RunRequest
    from dardis.runs.run import run, run_over_ranks
    from dardis.transport.launcher import launched_by_mpi
    from dardis.transport.mpi import world

    request = RunRequest(
        trace=trace, platform=platform, dispatcher=dispatcher, out=out, seed=seed, jobs=jobs,
        start=None if start is None else cut_of("--from", start), end=None if end is None else cut_of("--to", end),
        profile=profile, deadlines=deadlines, settings=tuple(settings or ()), think_times=think_times,
        task_managers=task_managers, trim=None if trim is None else trim_of("--trim", trim), strict=strict, force=force,
        arity=reach_value("arity", arity), sample=reach_value("sample", sample),
        save_instances=save_instances, calendar_start=calendar_start, events=events,
        overrun=overrun or Overrun.KILL, walltime_factor=walltime_factor or 1.0,
        resources=resources or Resources.NODES,
    )  # fmt: skip
    draw = None if no_report else _draw
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
    """Say that no job ran, and end with 1; not where `dardis compare` has started this, who counts runs by figures."""
    import os

    from dardis.runs import progress_file

    typer.echo(f"dardis: no job ran: all {outcome.metrics['jobs']:,} were rejected, why is said above", err=True)
    if progress_file.VARIABLE not in os.environ:
        raise typer.Exit(1)


def _draw(folder: Path) -> None:
    """Draw the report when the results are there."""
    from dardis.report.page import draw_report

    draw_report(folder)


def _progress(*, shown: bool) -> AbstractContextManager[Progress | None]:
    """A progress bar on a terminal, a file for a process that asks for it, nothing in a pipe."""
    import os
    import sys

    from dardis.runs import progress_file

    if shown and (path := os.environ.get(progress_file.VARIABLE)):
        return nullcontext(progress_file.teller(Path(path)))
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
