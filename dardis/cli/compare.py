"""`dardis compare`: dispatchers × traces × seeds, side by side in processes, as one table and one report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dardis.cli.derived import options_of

if TYPE_CHECKING:
    from dardis.comparison.whole import Done, Shown


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
    from dardis.api.comparison import compared

    (done, _), out = compared(what, options, _shown()), options["out"]
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
    """What the terminal is told meanwhile."""
    from dardis.cli.progress import bar, shown
    from dardis.comparison.whole import Shown

    return Shown(
        _tell, lambda line: _tell(f"warning: {line}"), shown, lambda trace: bar(f"clairvoyant, {trace}", "tries")
    )


def _tell(line: str) -> None:
    print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (what goes wrong goes to standard error)
