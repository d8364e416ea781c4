"""Progress of jobs that `dardis wait` waits for, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Protocol

from dardis.model.errors import DardisError

if TYPE_CHECKING:
    from dardis.live.client import Client

PERIOD_S: Final = 1.0
UNFINISHED: Final = ("held", "waiting", "running")
FAILED: Final = ("failed", "timeout", "cancelled", "unknown")


class EndedJob(Protocol):
    """Called for each job that has ended."""

    def __call__(self, *, failed: bool) -> None:
        """Count a job."""


@contextmanager
def wait_progress(service: Client, numbers: Sequence[int]) -> Iterator[EndedJob]:
    """Show how many of the jobs are done, run and have failed, their rate, and the time left.

    Shows nothing for a single job, and for numbers with gaps, because the service counts jobs from one to another.
    """
    has_gaps = any(later != number + 1 for number, later in pairwise(numbers))
    if len(numbers) < 2 or has_gaps or not sys.stderr.isatty():
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if console.is_dumb_terminal:
        yield _ignore
        return
    columns = (
        TextColumn("jobs"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[running]} running, {task.fields[failed]} failed, {task.fields[rate]}/s"),
        TimeRemainingColumn(),
    )  # fmt: skip
    failures, over = 0, Event()
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("jobs", total=len(numbers), running=0, failed=0, rate="-")

        def poll() -> None:
            failed = 0
            while not over.is_set():
                try:
                    counts = service.get("/counts", first=numbers[0], last=numbers[-1])
                except DardisError:
                    counts = {}
                if counts:
                    failed = max(failed, failures, sum(counts[state] for state in FAILED))
                    left = sum(counts[state] for state in UNFINISHED)
                    speed = bars.tasks[0].finished_speed or bars.tasks[0].speed
                    bars.update(
                        task, completed=len(numbers) - left, running=counts["running"], failed=failed,
                        rate="-" if speed is None else f"{speed:.1f}",
                    )  # fmt: skip
                over.wait(PERIOD_S)

        def ended(*, failed: bool) -> None:
            nonlocal failures
            failures += failed

        thread = Thread(target=poll, daemon=True)
        thread.start()
        try:
            yield ended
        finally:
            over.set()
            thread.join(2 * PERIOD_S)


def _ignore(*, failed: bool) -> None:  # noqa: ARG001 (the interface)
    return
