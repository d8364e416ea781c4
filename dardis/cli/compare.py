"""`dardis compare`: dispatchers × traces × seeds, side by side in processes, as one table and one report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dardis.cli.derived import options_of
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from dardis.comparison.whole import Done, Shown
    from dardis.config.comparison import CompareSpec, Comparison, Contender


@options_of(
    "dardis.config.run:ReplaySpec", "dardis.config.comparison:CompareSpec",
    omit=frozenset({"trace"}), unstated=True, optional=frozenset({"platform"}),
    helps={"platform": "The machine of all traces that name none."},
)  # fmt: skip
def compare(
    options: dict[str, Any],
    what: Annotated[
        list[Path], typer.Argument(metavar="SPEC.toml|TRACE[@P.toml]…", help="A file that says all, or traces.")
    ],
) -> None:
    """Replay traces under dispatchers, each pair with each seed; what DIR holds of just that already is kept."""
    from dardis.config.comparison import CompareSpec
    from dardis.config.option import spec_of

    spec = spec_of(CompareSpec, {name: one for name, one in options.items() if name in CompareSpec.model_fields})
    replay = {name: one for name, one in options.items() if name not in CompareSpec.model_fields}
    comparison = _of_file(what[0], options) if _is_file(what) else _of_options(what, replay, spec)
    out = spec.out
    from dardis.comparison.whole import compare as compare_all
    from dardis.report.compare_page import write_comparison

    pair = _pair(comparison, spec.gantt)
    done = compare_all(
        comparison, out, pair, write_comparison, _shown(),
        processes=spec.processes, clairvoyant=spec.clairvoyant, force=spec.force,
    )  # fmt: skip
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


_BESIDE_A_FILE: Final = frozenset({"out", "gantt", "clairvoyant", "processes", "force"})
"""Options that have a place beside a file."""


def _of_file(path: Path, options: dict[str, Any]) -> Comparison:
    """The comparison that a file states. Raises InputError for options that have no place beside it."""
    from dardis.config.comparison import CompareSpec, load_comparison
    from dardis.config.option import option_fields
    from dardis.config.run import ReplaySpec

    for one in (*option_fields(ReplaySpec), *option_fields(CompareSpec)):
        if one.name in options and one.name not in _BESIDE_A_FILE:
            raise InputError(one.option, f"is for traces, and {path} says all itself", "it in that file")
    return load_comparison(path)


def _of_options(traces: list[Path], replay: dict[str, Any], spec: CompareSpec) -> Comparison:
    """The comparison that options state."""
    from dardis.config.comparison import (
        Comparison,
        TraceSpec,
        contender_of,
        default_name,
        trace_and_platform,
        with_grids,
    )
    from dardis.config.option import spec_of

    named = [trace_and_platform(trace) for trace in traces]
    common = replay.get("platform")
    for option, example, lacks in (
        ("--platform", "P.toml", common is None and any(platform is None for _, platform in named)),
        ("--dispatchers", "A,B", spec.dispatchers is None),
    ):
        if lacks:
            found = f"traces without {option} {example}"
            raise InputError("dardis compare", found, "both, or one SPEC.toml that says all")
    workloads = tuple(
        spec_of(TraceSpec, replay | {"name": default_name(trace), "trace": trace, "platform": platform or common})
        for trace, platform in named
    )
    listed = [contender_of(text) for text in _names("--dispatchers", spec.dispatchers or "")]
    _see_shared(spec.settings, listed)
    # What one dispatcher is given comes last, so that it holds.
    contenders = [replace(one, settings=(*spec.settings, *one.settings)) for one in listed]
    return Comparison("dardis compare", workloads, with_grids(contenders, spec.grid), spec)


def _see_shared(settings: Sequence[str], contenders: list[Contender]) -> None:
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
