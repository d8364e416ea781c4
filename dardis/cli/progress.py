"""Progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dardis.engine.clock import monotonic_s

if TYPE_CHECKING:
    from rich.progress import TaskID

    from dardis.comparison.planned_runs import PlannedRun
    from dardis.comparison.processes import ProgressWatcher, RunInProgress
    from dardis.sim.simulation import Progress

PERIOD_S = 0.2


@contextmanager
def bar(doing: str = "scheduling", what: str = "jobs") -> Iterator[Progress | None]:
    """Yield a function for progress (done, total); None without a terminal."""
    if not sys.stdout.isatty():  # drawing libraries load slower than a small run takes
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console()
    if console.is_dumb_terminal:
        yield None
        return
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task(doing, total=None)
        shown = monotonic_s()

        def tell(done: int, total: int) -> None:
            nonlocal shown
            now = monotonic_s()
            if now - shown > PERIOD_S or done == total:
                shown = now
                bars.update(task, completed=done, total=total)

        yield tell


@contextmanager
def run_progress(total: int) -> Iterator[ProgressWatcher]:
    """Yield the onlooker of `run_all` for `total` runs."""
    if not sys.stdout.isatty() or not total:
        yield _ignore_progress
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console()
    if console.is_dumb_terminal:
        yield _ignore_progress
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        overall = bars.add_task("[bold]runs", total=total)
        shown: dict[str, TaskID] = {}

        def watch(under_way: Sequence[RunInProgress], ended: PlannedRun | None, error: str) -> None:
            for one in under_way:
                key = one.run.key
                if key not in shown:
                    if not one.has_begun:
                        continue
                    shown[key] = bars.add_task(escape(key), total=None)
                if (counts := one.job_counts) is not None:
                    settled, jobs = counts
                    bars.update(shown[key], completed=settled, total=jobs)
            if ended is not None:
                bars.advance(overall)
                if ended.key in shown:
                    bars.remove_task(shown.pop(ended.key))
                console.print(f"  {escape(ended.key)} " + (f"[red]failed:[/red] {escape(error)}" if error else "done"))

        yield watch


def _ignore_progress(_under_way: Sequence[RunInProgress], _ended: PlannedRun | None, _error: str) -> None:
    """Do nothing."""
