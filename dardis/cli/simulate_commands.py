"""`dardis simulate` and `dardis compare`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dardis.cli.derived_options import options_of
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.comparison.comparison_run import ComparisonCallbacks, ComparisonOutcome
    from dardis.runs.run import FinishedRun
    from dardis.sim.simulation import Progress


@options_of("dardis.config.run_spec:RunSpec", optional=frozenset({"dispatcher"}))
def simulate(options: dict[str, Any]) -> None:
    """Replay TRACE on a machine and write jobs.csv, metrics.json, profile.csv, run.json and report.html to DIR."""
    from dardis.config.option import spec_of
    from dardis.config.run_spec import RunSpec
    from dardis.runs.run import run, run_over_ranks
    from dardis.transport.launcher import launched_by_mpi
    from dardis.transport.mpi_transport import world

    request = spec_of(RunSpec, _with_dispatcher(options))
    draw = None if request.no_report else _draw
    if launched_by_mpi():
        comm = world()
        with _progress(shown=comm.rank == 0) as progress:
            outcome = run_over_ranks(comm, request, progress, draw)
        if isinstance(outcome, int):
            raise typer.Exit(outcome)
    else:
        with _progress(shown=True, waits=request.batsim is not None) as progress:
            outcome = run(request, progress, draw)
    _show(outcome)
    if outcome.metrics["jobs"] == outcome.metrics["rejected"]:
        _exit_without_jobs(outcome)


def _with_dispatcher(options: dict[str, Any]) -> dict[str, Any]:
    from dardis.registry.batsim_dispatcher import BATSIM
    from dardis.transport.launcher import is_first_rank

    if ("dispatcher" in options) == ("batsim" in options):
        found = "stated with --batsim" if "batsim" in options else "missing"
        raise InputError("--dispatcher", found, "a name of `dardis dispatchers`, or --batsim tcp://HOST:PORT")
    if "batsim" not in options:
        return options
    if sys.stderr.isatty() and is_first_rank():
        typer.echo(f"dardis: waits for a scheduler at {options['batsim']}", err=True)
    return options | {"dispatcher": BATSIM}


def _exit_without_jobs(outcome: FinishedRun) -> None:
    typer.echo(f"dardis: no job ran: all {outcome.metrics['jobs']:,} were rejected for the reasons above", err=True)
    raise typer.Exit(1)


def _draw(folder: Path) -> None:
    from dardis.report.run_page import draw_report

    draw_report(folder)


def _progress(*, shown: bool, waits: bool = False) -> AbstractContextManager[Progress | None]:
    if not shown or not sys.stdout.isatty():
        return nullcontext()
    from dardis.cli.progress import bar

    return _later_bar() if waits else bar()


@contextmanager
def _later_bar() -> Iterator[Progress]:
    from dardis.cli.progress import bar

    with ExitStack() as stack:
        bars: list[Progress | None] = []

        def progress(settled: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(bar()))
            if bars[0] is not None:
                bars[0](settled, total)

        yield progress


def _show(outcome: FinishedRun) -> None:
    metrics = outcome.metrics
    rows = [
        ("jobs", f"{metrics['jobs']} ({metrics['killed']} killed, {metrics['rejected']} rejected)"),
        ("makespan", _hours(metrics["makespan_s"])),
        ("mean wait", _hours(metrics["mean_wait_s"])),
        *([("cores rounded up", f"{cores:,} more, for equal units")] if (cores := metrics["rounded_up_cores"]) else []),
        ("longest wait", _hours(metrics["max_wait_s"])),
        ("mean bounded slowdown", _figure(metrics["mean_bounded_slowdown"], "")),
        ("utilisation", _figure(metrics["utilisation"], "share of cores")),
        *_expectation_rows(outcome),
        *([("profit", f"{profit:,.2f}")] if (profit := metrics.get("profit_eur")) is not None else []),
        ("decisions", f"{metrics['decisions']}, {1e3 * (metrics['decision_mean_s'] or 0):.3f} ms CPU each"),
        ("ranks", f"{metrics['ranks']}"),
        ("schedule digest", metrics["schedule_digest"][:16]),
    ]
    for name, value in rows:
        typer.echo(f"  {name:<22} {value}")
    typer.echo(f"  {'results':<22} {outcome.out}")


def _expectation_rows(outcome: FinishedRun) -> list[tuple[str, str]]:
    metrics, rules = outcome.metrics, outcome.rules
    if not rules:
        return []
    told = "no job ran"
    if metrics["expected_mae_s"] is not None:
        shares = f"{metrics['expected_under_share']:.1%} ran longer, {metrics['expected_over_share']:.1%} shorter"
        told = f"{_hours(metrics['expected_mae_s'])} off on average, {shares}"
    by = ", ".join(f"{rule}: {jobs}" for rule, jobs in rules.items())
    return [("expected durations", told), ("expected by", by)]


def _hours(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s" if seconds < 3600 else f"{seconds / 3600:.2f} h"


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.3f} {unit}".rstrip()


@options_of(
    "dardis.config.run_spec:ReplaySpec", "dardis.config.comparison_spec:CompareSpec",
    omit=frozenset({"trace"}), unstated=True, optional=frozenset({"platform"}),
    helps={"platform": "Platform of traces without their own."},
)  # fmt: skip
def compare(
    options: dict[str, Any],
    what: Annotated[
        list[Path], typer.Argument(metavar="SPEC.toml|TRACE[@P.toml]…", help="Comparison file, or traces.")
    ],
) -> None:
    """Replay traces under dispatchers, each pair with each seed. Finished runs of the same request in DIR are kept."""
    from dardis.api.comparison import run_comparison
    from dardis.transport.launcher import is_first_rank

    (done, _), out = run_comparison(what, options, _console_output()), options["out"]
    if not is_first_rank():
        return
    _print_comparison(done, out)
    if (paper := options.get("paper")) is not None and not done.failed:
        typer.echo(f"  paper    {paper / 'README.md'} ({paper / 'reproduce'} repeats it)")
    if _print_traces_without_runs(done) or done.failed:
        raise typer.Exit(1)


def _print_traces_without_runs(done: ComparisonOutcome) -> bool:
    from dardis.metrics.comparison_rows import by_trace, result_rows

    found = False
    for trace, group in by_trace(result_rows(done.compared.results)).items():
        metrics = [run.metrics or {} for line in group for run in line.done if not run.is_recorded]
        if metrics and all(one["jobs"] == one["rejected"] for one in metrics):
            _print_message(
                f"{trace}: no job ran: all {metrics[0]['jobs']:,} were rejected for the reasons in their run.json"
            )
            found = True
    return found


def _print_comparison(done: ComparisonOutcome, out: Path) -> None:
    from dardis.comparison.planned_runs import RUNS
    from dardis.metrics.comparison_rows import result_rows
    from dardis.report.compare_table import brief_table, plain

    typer.echo(plain(brief_table(result_rows(done.compared.results))) + "\n")
    for note in (*(one.summary for one in done.compared.known if one.summary), *done.compared.notes):
        typer.echo(f"  {note}")
    counts = [f"{done.new_runs} now", f"{done.runs - done.new_runs} kept", f"{len(done.failed)} failed"]
    if done.other_runs:
        counts.append(f"{done.other_runs} of earlier requests (kept in {RUNS}/, but not in the tables)")
    typer.echo(f"  {done.runs} runs: {', '.join(counts)}")
    typer.echo(f"  tables   {out / 'table.md'} (also .csv, .tex; each run in compare.csv, classes in who_pays.csv)")
    typer.echo(f"  report   {out / 'report.html'}")


def _console_output() -> ComparisonCallbacks:
    from dardis.cli.progress import bar, run_progress
    from dardis.comparison.comparison_run import ComparisonCallbacks

    return ComparisonCallbacks(
        _print_message,
        lambda line: _print_message(f"warning: {line}"),
        run_progress,
        lambda trace: bar(f"clairvoyant, {trace}", "tries"),
    )


def _print_message(line: str) -> None:
    print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (what goes wrong goes to standard error)
