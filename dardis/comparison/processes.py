"""Runs of a comparison side by side, in processes that do one after the other.

One that fails does not take the others with it: who dies in a run is followed by another process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import IO, Final

from dardis.comparison.nursery import Forked, Nursery, ended_by, same_modules
from dardis.comparison.planned_runs import PlannedRun
from dardis.comparison.state import State
from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError, failure_line
from dardis.model.folders import RUN_FOLDER
from dardis.model.input_files import InputFiles
from dardis.registry import dispatcher_origin, is_local
from dardis.runs import progress_file

TICK_S: Final = 0.1
GRACES_S: Final = (10.0, 5.0)
"""What a process that is asked to end may take to put its files in order, before it is asked afresh, then killed."""


@dataclass
class Child:
    """A process that does runs, and the one that is under way in it."""

    process: Forked
    commands: int
    """Where it reads what to do: the end of a pipe …"""
    answers: int
    """… as is this, where it says how that ended."""
    said: IO[bytes]
    progress: Path
    run: PlannedRun
    _heard: int = 0
    """Bytes of what it said before this run."""

    @classmethod
    def start(cls, nursery: Nursery, run: PlannedRun, progress: Path) -> Child:
        """Start the process, with this run. Raises OSError, and DardisError where no process can be had."""
        (told, commands), (answers, telling) = os.pipe(), os.pipe()
        said = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        try:
            process = nursery.start(progress, (told, telling, said.fileno()))
        except BaseException:
            said.close()
            raise
        finally:
            os.close(told)
            os.close(telling)
        child = cls(process, commands, answers, said, progress, run)
        child.go_on_with(run)  # who is dead already will be seen to be
        return child

    def go_on_with(self, run: PlannedRun) -> bool:
        """Let it do another run; False where it is dead, or as good as dead: killed with its nursery in a moment."""
        if self.process.poll() is not None:
            return False
        try:
            os.write(self.commands, json.dumps(run.arguments()).encode() + b"\n")
        except BrokenPipeError:
            return False
        self.run = run
        return True

    @property
    def done(self) -> tuple[int, int] | None:
        """Jobs settled and jobs in all; None before the first is."""
        return progress_file.read(self.progress)

    def ended(self) -> str | None:
        """Why its run failed, in one line, empty where it ended well; None while it is under way."""
        if select.select([self.answers], [], [], 0)[0]:
            told = os.read(self.answers, 1 << 10)
        elif self.process.poll() is None:
            return None
        else:
            told = b""
        status = int(told) if told else self.process.wait()
        self.progress.unlink(missing_ok=True)
        self.said.seek(self._heard)
        lines = self.said.read().decode("utf-8", errors="replace").strip().splitlines()
        self._heard = self.said.tell()
        if told and status == 0:
            return ""
        return lines[-1].removeprefix("dardis: ") if lines and status >= 0 else ended_by(status)

    def close(self) -> None:
        """Let it end that has nothing more to do, or is dead."""
        os.close(self.commands)
        os.close(self.answers)
        self.said.close()


Onlooker = Callable[[Sequence[Child], PlannedRun | None, str], None]
"""Told a few times a second which runs are under way, and once of each that has ended, with its error (empty: none)."""


def run_all(runs: Sequence[PlannedRun], state: State, processes: int, watch: Onlooker) -> None:
    """Do the runs, at most `processes` at once, and settle each in `state` as it ends.

    Runs of local dispatchers come first, one after another, in this process.

    An interrupt (or SIGTERM, SIGHUP) ends all processes and is raised; what has been settled stays so.
    """
    local = [run for run in runs if is_local(run.contender.dispatcher)]
    waiting = deque(run for run in runs if not is_local(run.contender.dispatcher))
    children: list[Child] = []
    nursery: Nursery | None = None
    with tempfile.TemporaryDirectory(prefix="dardis-") as folder, _stopped_by_signals(), ExitStack() as nurseries:
        try:
            for run in local:
                state.begin(run)
                watch((), run, state.settle(run, _run_here(run, state.files)))
            while waiting or children:
                while waiting and len(children) < processes:
                    progress = Path(folder) / str(len(waiting))
                    run = waiting.popleft()
                    state.begin(run)
                    if nursery is None or nursery.is_gone:
                        nursery = nurseries.enter_context(closing(Nursery(same_modules())))
                    children.append(Child.start(nursery, run, progress))
                for child, failure in [(child, child.ended()) for child in children]:
                    if failure is None:
                        continue
                    ended = child.run
                    error = state.settle(ended, failure)
                    following = _next(waiting, ended)
                    if following is not None and child.go_on_with(following):
                        waiting.remove(following)
                        state.begin(following)
                    else:
                        children.remove(child)
                        _end([child])
                    watch(children, ended, error)
                watch(children, None, "")
                time.sleep(TICK_S)
        finally:
            _end(children)


def _run_here(run: PlannedRun, files: InputFiles) -> str:
    """Do a run in this process; why it failed, in one line, or an empty text.

    What its dispatcher prints is dropped, as in other processes.
    """
    from dardis.runs.given import NOTHING
    from dardis.runs.run import simulated, write

    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), RUN_FOLDER.held(run.out, force=True):
            write(simulated(run.request(), files, NOTHING, lambda _: None), run.out, None)
    except (DardisError, OSError, MemoryError) as error:
        return failure_line(error)
    except Exception as error:  # noqa: BLE001 (one that fails does not take the others with it)
        return f"{type(error).__name__}: {error}"
    return ""


def _next(waiting: deque[PlannedRun], last: PlannedRun) -> PlannedRun | None:
    """A run for a process that did this one: of the same dispatcher if there is any, as its kernels are loaded.

    Nothing where one of them is under a dispatcher of somebody else's, of which something may stay from run to run.
    """
    if dispatcher_origin(last.contender.dispatcher):
        return None
    ours = [run for run in waiting if not dispatcher_origin(run.contender.dispatcher)]
    alike = (run for run in ours if run.contender.dispatcher == last.contender.dispatcher)
    return next(alike, ours[0] if ours else None)


def _end(children: Sequence[Child]) -> None:
    """Interrupt the processes that are left, and wait until all are gone.

    One that stays is asked afresh: an interrupt within a callback from C, as when kernels are loaded, is lost.
    """
    left = [child for child in children if child.process.poll() is None]
    for grace_s in GRACES_S:
        for child in left:
            child.process.send_signal(signal.SIGINT)
        deadline = monotonic_s() + grace_s
        left = [child for child in left if not child.process.ends(deadline)]
    for child in left:
        child.process.send_signal(signal.SIGKILL)
        child.process.wait()
    for child in children:
        child.close()


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """What would end this process at once interrupts it, so that its children end with it; what is ignored stays so.

    Only the main thread can say so; and what C code has set, Python can't set again.
    """
    kept = (signal.SIG_IGN, None)
    in_main = threading.current_thread() is threading.main_thread()
    ends = [which for which in (signal.SIGTERM, signal.SIGHUP) if in_main and signal.getsignal(which) not in kept]
    before = {which: signal.signal(which, signal.default_int_handler) for which in ends}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
