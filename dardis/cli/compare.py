"""`dardis compare`: dispatchers × traces × seeds, side by side in processes, as one table and one report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dardis.cli.simulate import trim_of
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.config.comparison import Comparison


def compare(
    what: Annotated[list[Path], typer.Argument(metavar="SPEC.toml|TRACE…", help="A file that says all, or traces.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for runs, tables and the report.")],
    platform: Annotated[Path | None, typer.Option(metavar="P.toml", help="The machine of all traces.")] = None,
    dispatchers: Annotated[str | None, typer.Option(metavar="A,B", help="See `dardis dispatchers`.")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="1,2,3", help="Each run once with each seed (1).")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Only the first N jobs.")] = None,
    start: Annotated[
        int | None, typer.Option("--from", metavar="S", help="Only jobs submitted from this time.")
    ] = None,
    end: Annotated[int | None, typer.Option("--to", metavar="S", help="Only jobs submitted before this time.")] = None,
    profile: Annotated[Path | None, typer.Option(metavar="F", help="Desired profile (CSV).")] = None,
    deadlines: Annotated[str | None, typer.Option(metavar="RULE", help="As in `dardis simulate`.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of all dispatchers; repeatable.")
    ] = None,
    task_managers: Annotated[
        int | None, typer.Option(min=1, max=4096, help="Task managers that share the jobs.")
    ] = None,
    trim: Annotated[
        str | None, typer.Option(metavar="WARMUP_S,COOLDOWN_S", help="Count only the jobs between, for steady state.")
    ] = None,
    think_times: Annotated[
        bool, typer.Option("--think-times", help="Submit a job after the one it follows (SWF fields 17, 18).")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a trace with a malformed line.")] = False,
    gantt: Annotated[
        str | None, typer.Option(metavar="A,B", help="The two to draw over time (default: first and last).")
    ] = None,
    processes: Annotated[int | None, typer.Option(min=1, max=4096, help="Runs at once (default: one a core).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Redo the runs in DIR of which another was asked.")] = False,
) -> None:
    """Replay traces under dispatchers, each pair with each seed; what DIR holds of just that already is kept."""
    from dardis.config.comparison import Comparison, Contender, Workload, default_name, load_comparison

    if len(what) == 1 and what[0].suffix == ".toml":
        stated = {
            "--platform": platform, "--dispatchers": dispatchers, "--seeds": seeds, "--jobs": jobs, "--from": start,
            "--to": end, "--profile": profile, "--deadlines": deadlines, "--set": settings, "--trim": trim,
            "--task-managers": task_managers, "--think-times": think_times, "--strict": strict,
        }  # fmt: skip
        for option, value in stated.items():
            if value is not None and value is not False and value != []:
                raise InputError(option, f"is for traces, and {what[0]} says all itself", "it in that file")
        comparison = load_comparison(what[0])
    else:
        if platform is None or dispatchers is None:
            missing = "--platform P.toml" if platform is None else "--dispatchers A,B"
            raise InputError("dardis compare", f"traces without {missing}", "both, or one SPEC.toml that says all")
        workloads = tuple(
            Workload(
                default_name(trace), trace, platform, jobs, start, end, profile, deadlines, trim_of(trim),
                task_managers or 1, think_times, strict,
            )
            for trace in what
        )  # fmt: skip
        contenders = tuple(
            Contender(name, name, tuple(settings or ())) for name in _names("--dispatchers", dispatchers)
        )
        comparison = Comparison("dardis compare", workloads, contenders, _seeds(seeds or "1"))
    failed = _compare(comparison, out, _pair(comparison, gantt), processes, force=force)
    if failed:
        raise typer.Exit(1)


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(option, repr(text), "names with commas between")
    return names


def _seeds(text: str) -> tuple[int, ...]:
    from dardis.config.comparison import LARGEST_SEED

    parts = _names("--seeds", text)
    if not all(part.isascii() and part.isdigit() and int(part) <= LARGEST_SEED for part in parts):
        raise InputError("--seeds", repr(text), f"whole numbers from 0 to {LARGEST_SEED} with commas between")
    return tuple(int(part) for part in parts)


def _pair(comparison: Comparison, text: str | None) -> tuple[str, str]:
    """Labels of the two that are drawn over time."""
    labels = [contender.label for contender in comparison.contenders]
    if text is None:
        return labels[0], labels[-1]
    pair = _names("--gantt", text)
    for name in pair:
        if name not in labels:
            raise InputError("--gantt", f"no dispatcher {name!r} here", "two of " + ", ".join(labels))
    if len(pair) != 2:
        raise InputError("--gantt", repr(text), "two dispatchers, A,B")
    return pair[0], pair[1]


def _compare(comparison: Comparison, out: Path, pair: tuple[str, str], processes: int | None, *, force: bool) -> int:
    """Do what is not done yet and write tables and report; return how many runs failed."""
    import os

    from dardis.cli.board import board
    from dardis.report.compare_page import write_comparison
    from dardis.sim.compare import run_all
    from dardis.sim.compare_plan import State, check, plan
    from dardis.transport.mpi import launched_by_mpi

    if launched_by_mpi():
        raise InputError("dardis compare", "started by an MPI launcher", "to start its processes itself")
    state = State(out)
    runs = plan(comparison, out)
    todo = [run for run in runs if not state.is_done(run, force=force)]
    for warning in check(comparison, todo):
        _tell(f"warning: {warning}")
    state.begin()
    with board(len(todo)) as watch:
        run_all(todo, state, processes or len(os.sched_getaffinity(0)), watch)
    results = [state.result(run) for run in runs]
    failed = [result for result in results if result.metrics is None]
    for result in failed:
        _tell(f"{result.trace}/{result.label}/{result.seed} failed: {result.error}")
    write_comparison(out, results, pair)
    typer.echo(f"  {len(runs)} runs: {len(todo)} now, {len(runs) - len(todo)} kept, {len(failed)} failed")
    typer.echo(f"  tables   {out / 'table.md'} (also .csv, .tex; each run in compare.csv, classes in who_pays.csv)")
    typer.echo(f"  report   {out / 'report.html'}")
    return len(failed)


def _tell(line: str) -> None:
    print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (what goes wrong goes to standard error)
