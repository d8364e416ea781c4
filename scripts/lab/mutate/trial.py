"""Tries mutations: each in a copy of the tree of its own, against the tests of its part.

Promises that the tree itself is never changed, that what is tried is the copy, and that nothing is compiled anew:
copies keep times of modification and compiled kernels.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue

from scripts.lab.mutate.mutation import Mutation, MutationError

LIMIT, LEAST_S = 3, 60
"""Each process of a trial may take so many times the CPU time of all tests without any mutation, and at least so much:
with more the fault keeps the program from ever coming to an end, which is noticed. How busy the machine is tells
nothing."""
NO_TEST = 5
"""Pytest's status when no test was chosen."""
GUARD_S = 1800.0
"""A trial that takes longer by the clock is ended, and nothing is known of it."""
LEFT_OUT = shutil.ignore_patterns(".*", "out", "build", "dist", "*.egg-info")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+)", re.MULTILINE)
"""A test that failed, in pytest's short summary; a module that can't even be imported has no `::`."""
LIMITED = ("bash", "-c", 'ulimit -c 0 && ulimit -St "$0" && exec "$@"')
"""Runs a command whose processes are each ended by SIGXCPU after so many seconds of CPU time."""
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short")


class Verdict(StrEnum):
    """What a trial tells of a mutation."""

    NOTICED = "noticed"
    LATER = "noticed by slow tests"
    """The gate alone does not notice it."""
    ENDLESS = "did not end"
    """Its tests took far more CPU time than without it: it is noticed, by nobody in particular."""
    SURVIVED = "SURVIVED"
    UNKNOWN = "NOT KNOWN"
    """Its tests did not run, or something else ended them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`by` is the test that failed, or why nothing is known; `output` is the last that pytest wrote then."""

    mutation: Mutation
    verdict: Verdict
    seconds: float
    by: str = ""
    output: str = ""


def try_all(
    tree: Path, mutations: Sequence[Mutation], folder: Path, jobs: int, tell: Callable[[Outcome], None],
    gate: Sequence[str] = (), slow: Sequence[str] | None = None,
) -> list[Outcome]:  # fmt: skip
    """Try mutations of the tree, `jobs` at a time, in copies in `folder`; outcomes are in the order of the mutations.

    `gate` are pytest's options. What survives these is tried again with the options `slow`, unless that is None. Raises
    MutationError for a mutation that does not apply, and when tests fail without any.
    """
    for mutation in mutations:
        mutation.source(tree)
    first, trials = copy_tree(tree, folder / "copy0"), _Trials(gate, slow)
    _check_import(first)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            trials.check_without(first, sorted({path for mutation in mutations for path in mutation.tests}))
            for number in range(1, jobs):
                trials.copies.put(copy_tree(first, folder / f"copy{number}"))
            trials.copies.put(first)
            running = [pool.submit(trials.try_mutation, mutation) for mutation in mutations]
            for future in as_completed(running):
                tell(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            trials.end()
            raise
    return [future.result() for future in running]


def copy_tree(tree: Path, copy: Path) -> Path:
    """Copy what tests need of a tree, and let its compiled kernels be known as the copy's."""
    shutil.copytree(tree, copy, ignore=LEFT_OUT)
    kernels = Path("dardis", "kernels")
    for cache in (copy / kernels / "__pycache__").glob("kernels-*"):
        compiled = cache / _numba_folder(tree / kernels)
        if compiled.is_dir():
            compiled.rename(cache / _numba_folder(copy / kernels))
    return copy


def _numba_folder(sources: Path) -> str:
    """Where below its cache Numba looks for machine code of a folder; if that ever changes, it compiles anew."""
    return f"{sources.name}_{hashlib.sha1(str(sources).encode(), usedforsecurity=False).hexdigest()}"


def _check_import(copy: Path) -> None:
    packages = [name for name in ("dardis", "offline") if (copy / name).is_dir()]
    where = (
        f"import {', '.join(['sys', *packages])}; print(*(sys.modules[p].__file__ for p in sys.argv[1:]), sep='\\n')"
    )
    found = subprocess.run(
        [sys.executable, "-c", where, *packages], cwd=copy, env=_environment(copy), capture_output=True, text=True,
        check=True,
    ).stdout.splitlines()  # fmt: skip
    if any(file and not Path(file).is_relative_to(copy) for file in found):
        raise MutationError(f"not the copy is imported but {', '.join(found)}")


class _Trials:
    """Runs tests in copies, each of which one thread has at a time. Another thread may end them."""

    def __init__(self, gate: Sequence[str], slow: Sequence[str] | None) -> None:
        self._gate, self._slow = gate, slow
        self.copies: SimpleQueue[Path] = SimpleQueue()
        self._running: set[subprocess.Popen[str]] = set()
        self._limit_s = 0
        self._over = False

    def end(self) -> None:
        """End what runs, and what is about to."""
        self._over = True
        for process in tuple(self._running):
            _end(process)

    def check_without(self, copy: Path, paths: Sequence[str]) -> None:
        """See that all tests pass without a mutation, before any trial; so long they take. Raises MutationError."""
        before = cpu_s()
        status, output = self._run((*PYTEST, *self._gate, *paths), copy, guard_s=None, writes_bytecode=True)
        if status != 0:
            raise MutationError(f"the tests fail without any mutation:\n{output[-4000:]}")
        self._limit_s = max(LEAST_S, math.ceil(LIMIT * (cpu_s() - before)))

    def try_mutation(self, mutation: Mutation) -> Outcome:
        """Try a mutation in a copy that is free: with the gate's tests, and if it survives with the slow ones."""
        copy, began = self.copies.get(), time.monotonic()
        chosen = ("-k", mutation.only) if mutation.only else ()
        try:
            status, output = self._run_with(mutation, copy, (*self._gate, *chosen), self._limit_s)
            if status not in {0, NO_TEST} or self._slow is None:
                return _outcome(mutation, time.monotonic() - began, status, output)
            options = (*self._slow, *chosen)
            before_s = cpu_s()
            status, output = self._run((*PYTEST, *options, *mutation.tests), copy, guard_s=GUARD_S)
            limit_s = max(self._limit_s, math.ceil(LIMIT * (cpu_s() - before_s)))  # more, where other trials end
            if status not in {0, NO_TEST}:
                cause = f"its slow tests fail without it: {output[-4000:]}"
                return Outcome(mutation, Verdict.UNKNOWN, time.monotonic() - began, cause)
            status, output = self._run_with(mutation, copy, options, limit_s)
            outcome = _outcome(mutation, time.monotonic() - began, status, output)
            return replace(outcome, verdict=Verdict.LATER) if outcome.verdict is Verdict.NOTICED else outcome
        finally:
            self.copies.put(copy)

    def _run_with(self, mutation: Mutation, copy: Path, options: Sequence[str], limit_s: int) -> tuple[int, str]:
        """Run the mutation's tests with its fault in the copy, and take it out again; each process has `limit_s`."""
        path = copy / mutation.file
        text, kept = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutation.source(copy), encoding="utf-8")
        # What was compiled of it goes by size and second: it must not be good still.
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns + 2_000_000_000))
        command = (*LIMITED, str(limit_s), *PYTEST, *options, *mutation.tests)
        try:
            return self._run(command, copy, guard_s=GUARD_S)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # so that what was compiled of it is good again

    def _run(
        self, command: Sequence[str], copy: Path, *, guard_s: float | None, writes_bytecode: bool = False
    ) -> tuple[int, str]:
        """Run tests up to the first that fails; return pytest's status (of a signal: less than 0) and its output."""
        environment = _environment(copy)
        if not writes_bytecode:  # a file may change twice within a second: what is compiled must not be mixed up
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        process = subprocess.Popen(
            command, cwd=copy, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        self._running.add(process)
        try:
            if self._over:
                _end(process)
            output, _ = process.communicate(timeout=guard_s)
        except subprocess.TimeoutExpired:
            _end(process)
            output, _ = process.communicate()
        except BaseException:
            _end(process)
            raise
        finally:
            self._running.discard(process)
        return process.returncode, output


def _outcome(mutation: Mutation, seconds: float, status: int, output: str) -> Outcome:
    """What the status and the output of its tests tell of a mutation."""
    if status == 0:
        return Outcome(mutation, Verdict.SURVIVED, seconds)
    if status == -signal.SIGXCPU:
        return Outcome(mutation, Verdict.ENDLESS, seconds)
    if status == 1 and (failed := FAILED.search(output)) is not None:
        return Outcome(mutation, Verdict.NOTICED, seconds, failed[1])
    ended = f"ended by {signal.Signals(-status).name}" if status < 0 else f"pytest's status {status}"
    return Outcome(mutation, Verdict.UNKNOWN, seconds, f"its tests did not run: {ended}", output[-4000:])


def cpu_s() -> float:
    """CPU time of all processes that have run and ended below this one, in s."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _end(process: subprocess.Popen[str]) -> None:
    """End a run of tests with all that these have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy)}
