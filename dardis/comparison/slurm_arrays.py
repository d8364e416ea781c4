"""Slurm job arrays."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dardis.comparison.remote_call import Outcome, RemoteCall
from dardis.comparison.task_pool import Task, end_task
from dardis.comparison.workers import call_function, module_environment
from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError, InputError, one_line
from dardis.model.out_folder import PART_PREFIX

if TYPE_CHECKING:
    from submitit import Executor, Job

_LARGEST_ARRAY: Final = 1000  # Slurm's default of MaxArraySize allows one more
_POLL_S: Final = 0.5
_QUEUE_POLL_S: Final = 10.0


class JobQueue:
    """This user's jobs."""

    def unfinished(self) -> set[str] | None:
        """Ids of pending and running jobs, or None."""
        done = _run_program("squeue", "--noheader", "--array", "--format=%i", f"--user={os.getuid()}")
        return set(done.stdout.split()) if done.returncode == 0 else None

    def cancel(self, ids: Iterable[str]) -> None:
        """Kill jobs."""
        arrays = sorted({one.partition("_")[0] for one in ids})
        for how in ([], ["--signal=KILL"]):  # without a signal, running jobs end half a minute later
            _run_program("scancel", *how, *arrays)


def _run_program(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


class SlurmArrays:
    """One array for all tasks between two waits, `parallel` at once."""

    size = None

    def __init__(self, shared: Path, parallel: int | None, queue: JobQueue, cluster: str = "slurm") -> None:
        self._shared, self._parallel, self._queue, self._cluster = shared, parallel, queue, cluster
        self._folder: Path | None = None
        self._new: list[tuple[Task, RemoteCall]] = []
        self._jobs: dict[str, tuple[Task, Job[Outcome]]] = {}
        self._missing: set[str] = set()
        self._next_poll_s = self._next_queue_poll_s = 0.0

    def submit(self, function: Callable[..., object], *arguments: object, alone: bool = False) -> Task:
        """Submit at the next wait."""
        task = Task()
        self._new.append((task, RemoteCall.of(function, arguments, alone=alone)))
        return task

    def wait(self, timeout_s: float) -> None:
        """Wait. Raises DardisError if Slurm refuses an array."""
        while self._new:
            part, self._new = self._new[:_LARGEST_ARRAY], self._new[_LARGEST_ARRAY:]
            self._submit_array(part)
        now = monotonic_s()
        if now < self._next_poll_s:
            time.sleep(min(timeout_s, self._next_poll_s - now))
            return
        self._next_poll_s = now + _POLL_S
        asked = now >= self._next_queue_poll_s
        known = self._queue.unfinished() if asked else None  # before the results, which are written first
        written = {path.name for path in self._folder.iterdir()} if self._folder else set()
        for name, (task, job) in list(self._jobs.items()):
            if job.paths.result_pickle.name in written:
                end_task(task, job.result)
                del self._jobs[name]
        if known is not None:
            self._next_queue_poll_s = now + _QUEUE_POLL_S
            self._end_missing(self._jobs.keys() - known)

    def _submit_array(self, part: list[tuple[Task, RemoteCall]]) -> None:
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        said = StringIO()
        try:
            with redirect_stderr(said):
                jobs = self._executor.map_array(_call_alone, [call for _, call in part])
        except (FailedJobError, FailedSubmissionError) as error:
            raise DardisError(one_line((str(error).splitlines() or ["sbatch failed"])[-1])) from None
        self._jobs |= {job.job_id: (task, job) for (task, _), job in zip(part, jobs, strict=True)}

    @property
    def _executor(self) -> Executor:
        from submitit import AutoExecutor

        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix=PART_PREFIX, dir=self._shared)).absolute()
        executor = AutoExecutor(self._folder, cluster=self._cluster)
        lines = [f"export {name}={shlex.quote(value)}" for name, value in module_environment().items()]
        executor.update_parameters(
            name="dardis", slurm_time=None, slurm_use_srun=False, slurm_setup=lines,
            slurm_array_parallelism=self._parallel or _LARGEST_ARRAY,
        )  # fmt: skip
        return executor

    def _end_missing(self, missing: set[str]) -> None:
        for name in missing & self._missing:  # missing twice, as results may take seconds to be visible
            task, job = self._jobs.pop(name)
            said = (job.stderr() or "").strip().splitlines()
            task.is_lost = True
            task.failure = one_line(said[-1] if said else f"Slurm job {name} left no result")
        self._missing = missing

    def close(self) -> None:
        """End tasks."""
        self._new.clear()
        if self._jobs:
            self._queue.cancel(self._jobs)
            self._jobs.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def open_slurm(place: str, shared: Path, parallel: int | None) -> SlurmArrays:
    """Check programs and library. Raises InputError."""
    if shutil.which("sbatch") is None or shutil.which("srun") is None:
        raise InputError(place, "no program sbatch", "a login node of a Slurm cluster")
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise InputError(place, "the package submitit is not installed", 'pip install "dardis[slurm]"') from None
    logging.getLogger("submitit").setLevel(logging.ERROR)
    return SlurmArrays(shared, parallel, JobQueue())


def _call_alone(call: RemoteCall) -> Outcome:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # submitit ignores it
    try:
        pickled, failure = call_function(call.make, ())
    except SystemExit as end:
        pickled, failure = b"", str(end.code).removeprefix("dardis: ")
    return pickled if isinstance(pickled, bytes) else b"", failure, False
