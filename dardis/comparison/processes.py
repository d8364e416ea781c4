"""Runs of a comparison side by side in processes of their own: one that fails does not take the others with it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from dardis.comparison import end_with_parent
from dardis.comparison.planned_runs import PlannedRun
from dardis.comparison.state import State
from dardis.engine.clock import monotonic_s
from dardis.runs import progress_file

TICK_S: Final = 0.1
GRACES_S: Final = (10.0, 5.0)
"""What a process that is asked to end may take to put its files in order, before it is asked afresh, then killed."""


@dataclass(frozen=True)
class Child:
    """A run that is under way in a process."""

    run: PlannedRun
    process: subprocess.Popen[bytes]
    said: IO[bytes]
    progress: Path

    @classmethod
    def start(cls, run: PlannedRun, progress: Path) -> Child:
        """Start the process: in a session of its own, so that Ctrl-C reaches it through us, and once."""
        said = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        process = subprocess.Popen(
            run.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True,
            env=os.environ | {progress_file.VARIABLE: str(progress), end_with_parent.VARIABLE: str(os.getpid())},
        )  # fmt: skip
        return cls(run, process, said, progress)

    @property
    def done(self) -> tuple[int, int] | None:
        """Jobs settled and jobs in all; None before the first is."""
        return progress_file.read(self.progress)

    def error(self) -> str:
        """Why it failed, in one line; empty when it ended well."""
        status = self.process.returncode
        self.said.seek(0)
        lines = self.said.read().decode("utf-8", errors="replace").strip().splitlines()
        self.said.close()
        if status == 0:
            return ""
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        return lines[-1].removeprefix("dardis: ") if lines else f"ended with exit status {status}"


Onlooker = Callable[[Sequence[Child], PlannedRun | None, str], None]
"""Told a few times a second which runs are under way, and once of each that has ended, with its error (empty: none)."""


def run_all(runs: Sequence[PlannedRun], state: State, processes: int, watch: Onlooker) -> None:
    """Do the runs, at most `processes` at once, and settle each in `state` as it ends.

    An interrupt (or SIGTERM, SIGHUP) ends all processes and is raised; what has been settled stays so.
    """
    waiting = deque(runs)
    children: list[Child] = []
    with tempfile.TemporaryDirectory(prefix="dardis-") as folder, _stopped_by_signals():
        try:
            while waiting or children:
                while waiting and len(children) < processes:
                    progress = Path(folder) / str(len(waiting))
                    run = waiting.popleft()
                    state.begin(run)
                    children.append(Child.start(run, progress))
                for child in [child for child in children if child.process.poll() is not None]:
                    error = state.settle(child.run, child.error())
                    children.remove(child)
                    watch(children, child.run, error)
                watch(children, None, "")
                time.sleep(TICK_S)
        finally:
            _end(children)


def _end(children: Sequence[Child]) -> None:
    """Interrupt the processes that are left, and wait until all are gone.

    One that stays is asked afresh: an interrupt within a callback from C, as when kernels are loaded, is lost.
    """
    left = list(children)
    for grace_s in GRACES_S:
        for child in left:
            child.process.send_signal(signal.SIGINT)
        deadline = monotonic_s() + grace_s
        left = [child for child in left if not _ends(child.process, deadline)]
    for child in left:
        child.process.kill()
        child.process.wait()
    for child in children:
        child.said.close()


def _ends(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Whether the process is over by then, on `monotonic_s`."""
    try:
        process.wait(max(deadline - monotonic_s(), 0.1))
    except subprocess.TimeoutExpired:
        return False
    return True


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """What would end this process at once interrupts it, so that its children end with it; what is ignored stays so."""
    ends = [which for which in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(which) != signal.SIG_IGN]
    before = {which: signal.signal(which, signal.default_int_handler) for which in ends}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
