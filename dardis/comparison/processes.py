"""Parallel runs of a comparison."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from dardis.comparison.comparison_folder import ComparisonState
from dardis.comparison.planned_runs import PlannedRun
from dardis.comparison.task_pool import Task, TaskPool
from dardis.config.run_spec import RunSpec
from dardis.model.errors import DardisError, failure_line
from dardis.model.files import InputFiles
from dardis.model.out_folder import PART_PREFIX, RUN_FOLDER
from dardis.registry import dispatcher_origin, is_local
from dardis.runs import progress_file

TICK_S: Final = 0.1


@dataclass(frozen=True)
class RunInProgress:
    """Run in progress."""

    run: PlannedRun
    task: Task
    progress: Path

    @property
    def has_begun(self) -> bool:
        """Whether it runs."""
        return self.progress.exists()

    @property
    def job_counts(self) -> tuple[int, int] | None:
        """Settled and total jobs, or None."""
        return progress_file.read_progress(self.progress)


ProgressWatcher = Callable[[Sequence[RunInProgress], PlannedRun | None, str], None]
"""Called often, and once per finished run with its error."""


def run_all(runs: Sequence[PlannedRun], state: ComparisonState, pool: TaskPool, watch: ProgressWatcher) -> None:
    """Do the runs, settle each in `state`, and close the pool.

    Runs of local dispatchers come first, in this process. Runs of external dispatchers have their own processes.
    Interrupts end all workers.
    """
    waiting = deque(run for run in runs if not is_local(run.contender.dispatcher))
    under_way: list[RunInProgress] = []
    shared = tempfile.TemporaryDirectory(prefix=PART_PREFIX, dir=state.out)  # workers elsewhere write there, too
    with _written(state), shared as folder, _raise_on_signals(), closing(pool):

        def begin(run: PlannedRun) -> None:
            waiting.remove(run)
            progress = Path(folder) / str(len(waiting))
            state.begin(run)
            alone = bool(dispatcher_origin(run.contender.dispatcher))
            under_way.append(RunInProgress(run, pool.submit(do_run, run.request(), progress, alone=alone), progress))

        for run in runs:
            if is_local(run.contender.dispatcher):
                state.begin(run)
                watch((), run, state.settle(run, _run_in_process(run, state.files)))
        while waiting or under_way:
            while waiting and (pool.size is None or len(under_way) < pool.size):
                begin(waiting[0])
            pool.wait(TICK_S)
            for one in [one for one in under_way if one.task.failure is not None]:
                under_way.remove(one)
                one.progress.unlink(missing_ok=True)
                error = state.settle(one.run, one.task.failure or "")
                if waiting:
                    begin(_next_run(waiting, one.run))
                watch(under_way, one.run, error)
            watch(under_way, None, "")
            state.write(now=False)


@contextmanager
def _written(state: ComparisonState) -> Iterator[None]:
    try:
        yield
    finally:
        state.write()


def do_run(request: RunSpec, progress: Path) -> None:
    """Do a run, with a progress file."""
    from dardis.runs.run import run

    progress.touch()
    run(request, progress_file.progress_writer(progress))


def _run_in_process(run: PlannedRun, files: InputFiles) -> str:
    from dardis.runs.run import simulate_in_process, write
    from dardis.runs.run_objects import NO_OBJECTS

    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), RUN_FOLDER.lock(run.out, force=True):
            write(simulate_in_process(run.request(), files, NO_OBJECTS, lambda _: None), run.out, None)
    except (DardisError, OSError, MemoryError) as error:
        return failure_line(error)
    except Exception as error:  # noqa: BLE001 (one that fails does not take the others with it)
        return f"{type(error).__name__}: {error}"
    return ""


def _next_run(waiting: Sequence[PlannedRun], last: PlannedRun) -> PlannedRun:
    alike = (run for run in waiting if run.contender.dispatcher == last.contender.dispatcher)
    return next(alike, waiting[0])


@contextmanager
def _raise_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into interrupts in the main thread, unless ignored."""
    kept = (signal.SIG_IGN, None)
    in_main = threading.current_thread() is threading.main_thread()
    ends = [which for which in (signal.SIGTERM, signal.SIGHUP) if in_main and signal.getsignal(which) not in kept]
    before = {which: signal.signal(which, signal.default_int_handler) for which in ends}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
