"""A progress bar for long work on a terminal; it draws a few times a second, whatever it is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dardis.engine.clock import monotonic_s

if TYPE_CHECKING:
    from dardis.sim.simulation import Progress

PERIOD_S = 0.2


@contextmanager
def bar(doing: str = "scheduling", what: str = "jobs") -> Iterator[Progress | None]:
    """Yield a function to tell progress to: how many are done, and how many there are in all; None in a pipe."""
    if not sys.stdout.isatty():  # what draws takes longer to load than a small run to decide
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
