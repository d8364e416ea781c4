"""Puts faults into copies of the code, and prints a table of which of them the tests notice."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scripts.lab.mutate.mutation import MUTATIONS, Mutation, MutationError
from scripts.lab.mutate.trial import Outcome, Verdict, cpu_s, try_all

ROOT = Path(__file__).resolve().parents[3]
GATE = ("--hypothesis-profile=gate-unshrunk",)
"""Options of pytest for the tests of the gate: to make what fails small takes minutes."""
SLOW = ("-m", "", "--hypothesis-profile=unshrunk")
"""The same for all tests."""


def table(outcomes: Sequence[Outcome]) -> str:
    """Write the outcomes as a Markdown table, and below it those that no test noticed."""
    lines = ["| file | mutation | outcome | by | s |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {o.mutation.file} | {o.mutation.name} | {o.verdict} | {o.by or '–'} | {o.seconds:.0f} |" for o in outcomes
    ]
    counts = Counter(o.verdict for o in outcomes)
    lines += ["", f"{len(outcomes)} mutations: {', '.join(f'{counts[verdict]} {verdict}' for verdict in Verdict)}"]
    apart = [o for verdict in list(Verdict)[1:] for o in outcomes if o.verdict is verdict]
    return "\n".join(lines + [f"{o.verdict}: {o.mutation.file}: {o.mutation.name}" for o in apart])


def chosen(names: Sequence[str]) -> list[Mutation]:
    """The mutations in whose file or name one of the texts stands; all without any. Raises MutationError for none."""
    for name in names:
        if not any(name in f"{mutation.file}: {mutation.name}" for mutation in MUTATIONS):
            raise MutationError(f"no mutation is called {name!r}; --list names them")
    return [m for m in MUTATIONS if not names or any(name in f"{m.file}: {m.name}" for name in names)]


def run(tree: Path, mutations: Sequence[Mutation], jobs: int, slow: Sequence[str] | None) -> list[Outcome]:
    """Try the mutations and show on standard error how far that is: a bar on a terminal, else a line for each."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory(prefix="dardis-mutations-") as folder,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("tests without any mutation first", total=len(mutations))

        def tell(outcome: Outcome) -> None:
            line = f"{outcome.verdict:11} {outcome.seconds:4.0f} s  {outcome.mutation.file}: {outcome.mutation.name}"
            if outcome.verdict is Verdict.UNKNOWN:
                line += f": {outcome.by}\n{outcome.output}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
            bar.update(task, advance=1, description="mutations")

        return try_all(tree, mutations, Path(folder).resolve(), jobs, tell, GATE, slow)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 when a mutation survived, 2 when of one or all nothing can be said."""
    parser = argparse.ArgumentParser(prog="scripts/lab/run mutate", description="See whether tests notice faults.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trials at a time (as many as cores)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="those with a text in file or name")
    parser.add_argument("--gate", action="store_true", help="don't try what survives the gate with slow tests")
    parser.add_argument("--list", action="store_true", help="name the mutations and try none")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends it ends its trials
    try:
        mutations = chosen(options.only)
        if options.list:
            sys.stdout.writelines(f"{mutation.file}: {mutation.name}\n" for mutation in mutations)
            return 0
        outcomes = run(ROOT, mutations, min(options.jobs, len(mutations)), None if options.gate else SLOW)
    except MutationError as error:
        sys.stderr.write(f"mutate: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(f"{table(outcomes)}\n{time.monotonic() - began:.0f} s, {cpu_s():.0f} s of CPU time\n")
    verdicts = {outcome.verdict for outcome in outcomes}
    return 2 if Verdict.UNKNOWN in verdicts else int(Verdict.SURVIVED in verdicts)
