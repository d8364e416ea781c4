"""A progress bar for long work on a terminal; it draws a few times a second, whatever it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dardis.engine.clock import monotonic_s

if TYPE_CHECKING:
    from dardis.sim.world import Progress

PERIOD_S = 0.2


@contextmanager
def bar() -> Iterator[Progress | None]:
    """Yield a function to tell progress to: jobs settled, jobs in all."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console()
    if console.is_dumb_terminal:
        yield None
        return
    columns = (TextColumn("scheduling"), BarColumn(), MofNCompleteColumn(), TextColumn("jobs"), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task("jobs", total=None)
        shown = monotonic_s()

        def tell(settled: int, total: int) -> None:
            nonlocal shown
            now = monotonic_s()
            if now - shown > PERIOD_S or settled == total:
                shown = now
                bars.update(task, completed=settled, total=total)

        yield tell
