"""`dardis compare`: dispatchers × traces × seeds, side by side in processes, as one table and one report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dardis.cli.options import (
    CalendarStart,
    Events,
    FirstJobs,
    OverrunRule,
    ResourcesRule,
    SubmittedBefore,
    SubmittedFrom,
    Trimmed,
    WalltimeFactor,
    dispatchers_beginning,
)
from dardis.config.option_texts import LARGEST_SEED, MOST_REPLICATES, MOST_TASK_MANAGERS, whole, whole_of
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.comparison.whole import Done, Shown
    from dardis.config.comparison import Comparison, Contender
    from dardis.config.cuts import Cut
    from dardis.model.resampling import Resampling


def compare(
    what: Annotated[
        list[Path], typer.Argument(metavar="SPEC.toml|TRACE[@P.toml]…", help="A file that says all, or traces.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for runs, tables and the report.")],
    platform: Annotated[
        Path | None, typer.Option(metavar="P.toml", help="The machine of all traces that name none.")
    ] = None,
    dispatchers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B:KEY=VALUE",
            help="As in easy,easy:order=sjbf (see `dardis dispatchers`).",
            autocompletion=dispatchers_beginning,
        ),
    ] = None,
    seeds: Annotated[str | None, typer.Option(metavar="1,2,3", help="Each run once with each seed (1).")] = None,
    jobs: FirstJobs = None,
    start: SubmittedFrom = None,
    end: SubmittedBefore = None,
    profile: Annotated[Path | None, typer.Option(metavar="F", help="Desired profile (CSV).")] = None,
    deadlines: Annotated[str | None, typer.Option(metavar="RULE", help="As in `dardis simulate`.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of all dispatchers; repeatable.")
    ] = None,
    task_managers: Annotated[
        int | None,
        typer.Option(
            parser=whole("--task-managers", 1, MOST_TASK_MANAGERS),
            metavar="N",
            help="Task managers that share the jobs.",
        ),
    ] = None,
    arity: Annotated[
        str | None, typer.Option(metavar="flat|A", help="As in `dardis simulate`; A:arity=8 for one dispatcher.")
    ] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="all|default|S", help="The same; A:sample=4 for one dispatcher.")
    ] = None,
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
    gantt: Annotated[
        str | None, typer.Option(metavar="A,B", help="The two to draw over time (default: first and last).")
    ] = None,
    clairvoyant: Annotated[
        bool, typer.Option("--clairvoyant", help="Say how far all are from what could be done with all jobs known.")
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option(parser=whole("--processes", 1, 4096), metavar="N", help="Runs at once (default: one a core)."),
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option(
            parser=whole("--replicates", 2, MOST_REPLICATES),
            metavar="N",
            help="Replay N draws of each trace: paired differences.",
        ),
    ] = None,
    resample: Annotated[
        str | None, typer.Option(metavar="weeks|shake[:WIDTH_S]", help="What --replicates draws (weeks).")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="A.KEY=1,2,3", help="A dispatcher with each value of a setting; two make a grid."),
    ] = None,
    no_recorded: Annotated[
        bool, typer.Option("--no-recorded", help="No row of the starts that traces say they had.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Redo the runs in DIR of which another was asked.")] = False,
) -> None:
    """Replay traces under dispatchers, each pair with each seed; what DIR holds of just that already is kept."""
    options: dict[str, Any] = {
        "--platform": platform, "--dispatchers": dispatchers, "--seeds": seeds, "--jobs": jobs, "--from": start,
        "--to": end, "--profile": profile, "--deadlines": deadlines, "--set": settings, "--trim": trim,
        "--task-managers": task_managers, "--arity": arity, "--sample": sample, "--think-times": think_times,
        "--strict": strict, "--calendar-start": calendar_start, "--events": events,
        "--overrun": overrun, "--walltime-factor": walltime_factor, "--resources": resources,
        "--replicates": replicates, "--resample": resample, "--grid": grid, "--no-recorded": no_recorded,
    }  # fmt: skip
    comparison = _of_file(what[0], options) if _is_file(what) else _of_options(what, options)
    from dardis.comparison.whole import compare as compare_all
    from dardis.report.compare_page import write_comparison

    pair = _pair(comparison, gantt)
    done = compare_all(
        comparison, out, pair, write_comparison, _shown(), processes=processes, clairvoyant=clairvoyant, force=force
    )
    _tell_outcome(done, out)
    if _say_what_never_ran(done) or done.failed:
        raise typer.Exit(1)


def _say_what_never_ran(done: Done) -> bool:
    """Say of which traces no run that ended well ran a job; whether there are any."""
    from dardis.metrics.comparison import by_trace, lines_of

    found = False
    for trace, group in by_trace(lines_of(done.compared.results)).items():
        metrics = [run.metrics or {} for line in group for run in line.done if not run.recorded]
        if metrics and all(one["jobs"] == one["rejected"] for one in metrics):
            _tell(f"{trace}: no job ran: all {metrics[0]['jobs']:,} were rejected, the run.json of each run says why")
            found = True
    return found


def _is_file(what: list[Path]) -> bool:
    from dardis.config.comparison import trace_and_platform

    return len(what) == 1 and what[0].suffix == ".toml" and trace_and_platform(what[0])[1] is None


def _of_file(path: Path, options: dict[str, Any]) -> Comparison:
    """What a file says; the options of traces have no place beside it."""
    from dardis.config.comparison_file import load_comparison

    for option, value in options.items():
        if value is not None and value is not False and value != []:
            raise InputError(option, f"is for traces, and {path} says all itself", "it in that file")
    return load_comparison(path)


def _of_options(traces: list[Path], said: dict[str, Any]) -> Comparison:
    """What the options say of traces."""
    from dardis.config.comparison import (
        Comparison,
        Workload,
        contender_of,
        default_name,
        trace_and_platform,
        with_grids,
    )
    from dardis.config.cuts import trim_of
    from dardis.config.reach import reach_value
    from dardis.model.choices import Overrun, Resources

    named = [trace_and_platform(trace) for trace in traces]
    needed = {"--platform": "P.toml", "--dispatchers": "A,B"}
    if all(platform is not None for _, platform in named):
        del needed["--platform"]
    for option, example in needed.items():
        if said[option] is None:
            found = f"traces without {option} {example}"
            raise InputError("dardis compare", found, "both, or one SPEC.toml that says all")
    workloads = tuple(
        Workload(
            name=default_name(trace), trace=trace, platform=platform or said["--platform"], jobs=said["--jobs"],
            start=_cut("--from", said), end=_cut("--to", said),
            profile=said["--profile"], deadlines=said["--deadlines"],
            trim=None if said["--trim"] is None else trim_of("--trim", said["--trim"]),
            task_managers=said["--task-managers"] or 1,
            think_times=said["--think-times"], strict=said["--strict"],
            calendar_start=said["--calendar-start"], events=said["--events"],
            resources=said["--resources"] or Resources.NODES,
            arity=reach_value("arity", said["--arity"] or "flat"),
            sample=reach_value("sample", said["--sample"] or "all"),
            overrun=said["--overrun"] or Overrun.KILL, walltime_factor=said["--walltime-factor"] or 1.0,
        )
        for trace, platform in named
    )  # fmt: skip
    listed = [contender_of(text) for text in _names("--dispatchers", said["--dispatchers"])]
    _see_shared(said["--set"] or [], listed)
    # What one dispatcher is given comes last, so that it holds.
    contenders = [replace(one, settings=(*(said["--set"] or ()), *one.settings)) for one in listed]
    return Comparison(
        "dardis compare", workloads, with_grids(contenders, said["--grid"] or ()), _seeds(said["--seeds"] or "1"),
        said["--replicates"] or 0, _resampling(said["--resample"]), not said["--no-recorded"],
    )  # fmt: skip


def _resampling(text: str | None) -> Resampling | None:
    from dardis.model.resampling import resampling_of

    if text is None:
        return None
    try:
        return resampling_of(text)
    except ValueError as error:
        found, _, expected = str(error).partition("; expected ")
        raise InputError("--resample", found, expected) from None


def _cut(option: str, said: dict[str, Any]) -> Cut | None:
    """What `--from` or `--to` says. Raises InputError."""
    from dardis.config.cuts import cut_of

    return None if said[option] is None else cut_of(option, said[option])


def _see_shared(settings: list[str], contenders: list[Contender]) -> None:
    """See that all know the settings that all are given. Raises InputError, which says how to give it to some."""
    from dardis.config.settings import known_settings
    from dardis.registry import find_dispatcher

    known = {one.dispatcher: known_settings(type(find_dispatcher(one.dispatcher).setup)) for one in contenders}
    for text in settings:
        key = text.partition("=")[0]
        have = [name for name, keys in known.items() if key in keys]
        lack = [name for name, keys in known.items() if key not in keys]
        if have and lack:
            told = ",".join(f"{name}:{text}" for name in have)
            found = f"{', '.join(lack)} {'has' if len(lack) == 1 else 'have'} no such setting"
            raise InputError(f"--set {text}", found, f"it where it is known, --dispatchers {told},…")


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(option, repr(text), "names with commas between")
    return names


def _seeds(text: str) -> tuple[int, ...]:
    expected = f"whole numbers from 0 to {LARGEST_SEED} with commas between"
    return tuple(whole_of("--seeds", part, 0, LARGEST_SEED, expected, text) for part in _names("--seeds", text))


def _pair(comparison: Comparison, text: str | None) -> tuple[str, str]:
    """Labels of the two that are drawn over time."""
    labels = [contender.label for contender in comparison.contenders]
    if text is None:
        return labels[0], labels[-1]
    # A label may hold commas, so every one of them may be the one between the two.
    parts = text.split(",")
    for cut in range(1, len(parts)):
        first, second = ",".join(parts[:cut]).strip(), ",".join(parts[cut:]).strip()
        if first in labels and second in labels:
            return first, second
    raise InputError("--gantt", f"{text!r} is not two dispatchers of these", "A,B of " + " | ".join(labels))


def _tell_outcome(done: Done, out: Path) -> None:
    """Print the few figures that everybody asks for first, and where the rest is."""
    from dardis.comparison.planned_runs import RUNS
    from dardis.metrics.comparison import lines_of
    from dardis.report.compare_table import brief, plain

    typer.echo(plain(brief(lines_of(done.compared.results))) + "\n")
    for note in (*(one.told for one in done.compared.known if one.told), *done.compared.notes):
        typer.echo(f"  {note}")
    counts = [f"{done.now} now", f"{done.runs - done.now} kept", f"{len(done.failed)} failed"]
    if done.others:
        counts.append(f"{done.others} not asked for now (they stay in {RUNS}/, and out of the tables)")
    typer.echo(f"  {done.runs} runs: {', '.join(counts)}")
    typer.echo(f"  tables   {out / 'table.md'} (also .csv, .tex; each run in compare.csv, classes in who_pays.csv)")
    typer.echo(f"  report   {out / 'report.html'}")


def _shown() -> Shown:
    """Who is told what happens meanwhile: the terminal."""
    from dardis.cli.comparison_progress import shown
    from dardis.cli.progress import bar
    from dardis.comparison.whole import Shown

    return Shown(_tell, shown, lambda trace: bar(f"clairvoyant, {trace}", "tries"))


def _tell(line: str) -> None:
    print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (what goes wrong goes to standard error)
