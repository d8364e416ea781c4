"""Tries mutations: each in a copy of the tree of its own, against the tests of its part.

Promises that the tree itself is never changed, that what is tried is the copy, and that nothing is compiled anew:
copies keep times of modification and compiled kernels.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from scripts.mutations.mutation import Mutation, MutationError

LIMIT_S = 300.0
"""A trial that takes longer is ended: the fault keeps the program from ever coming to an end, which is noticed."""
LEFT_OUT = shutil.ignore_patterns(".*", "out", "build", "dist", "*.egg-info")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+)", re.MULTILINE)
"""A test that failed, in pytest's short summary; a module that can't even be imported has no `::`."""
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`noticed` is the test that failed, or why it was ended; empty for a mutation that survived."""

    mutation: Mutation
    noticed: str
    seconds: float


def try_all(
    tree: Path, mutations: Sequence[Mutation], folder: Path, jobs: int, tell: Callable[[Outcome], None],
    options: Sequence[str] = (),
) -> list[Outcome]:  # fmt: skip
    """Try mutations of the tree, `jobs` at a time, in copies in `folder`; outcomes are in the order of the mutations.

    `options` are pytest's. Raises MutationError for a mutation that does not apply or whose tests do not run, and when
    tests fail without any.
    """
    for mutation in mutations:
        mutation.source(tree)
    first, trials = copied(tree, folder / "copy0"), _Trials(options)
    _check_import(first)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            trials.check_without(first, sorted({path for mutation in mutations for path in mutation.tests}))
            for number in range(1, jobs):
                trials.copies.put(copied(first, folder / f"copy{number}"))
            trials.copies.put(first)
            running = [pool.submit(trials.tried, mutation) for mutation in mutations]
            for future in as_completed(running):
                tell(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            trials.end()
            raise
    return [future.result() for future in running]


def copied(tree: Path, copy: Path) -> Path:
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

    def __init__(self, options: Sequence[str]) -> None:
        self._options = options
        self.copies: SimpleQueue[Path] = SimpleQueue()
        self._running: set[subprocess.Popen[str]] = set()
        self._over = False

    def end(self) -> None:
        """End what runs, and what is about to."""
        self._over = True
        for process in tuple(self._running):
            _end(process)

    def check_without(self, copy: Path, paths: Sequence[str]) -> None:
        """See that all tests pass without a mutation. Raises MutationError."""
        status, output = self._run(copy, paths, "", limit_s=None, writes_bytecode=True)
        if status != 0:
            raise MutationError(f"the tests fail without any mutation:\n{output[-4000:]}")

    def tried(self, mutation: Mutation) -> Outcome:
        """Try a mutation in a copy that is free. Raises MutationError when its tests do not run."""
        copy, began = self.copies.get(), time.monotonic()
        path = copy / mutation.file
        text, kept = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutation.source(copy), encoding="utf-8")
        try:
            status, output = self._run(copy, mutation.tests, mutation.only, limit_s=LIMIT_S)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # so that what was compiled of it is good again
            self.copies.put(copy)
        seconds, failed = time.monotonic() - began, FAILED.search(output)
        if status == 0:
            return Outcome(mutation, "", seconds)
        if status == 1 and failed is not None:
            return Outcome(mutation, failed[1], seconds)
        if status < 0:
            return Outcome(mutation, f"ended by {signal.Signals(-status).name}", seconds)
        raise MutationError(f"{mutation.name}: its tests did not run (pytest's status {status}):\n{output[-4000:]}")

    def _run(
        self, copy: Path, paths: Sequence[str], only: str, *, limit_s: float | None, writes_bytecode: bool = False
    ) -> tuple[int, str]:
        """Run tests up to the first that fails; return pytest's status (of a signal: less than 0) and its output."""
        environment = _environment(copy)
        if not writes_bytecode:  # a file may change twice within a second: what is compiled must not be mixed up
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        process = subprocess.Popen(
            [*PYTEST, *self._options, *(["-k", only] if only else []), *paths], cwd=copy, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip
        self._running.add(process)
        try:
            if self._over:
                _end(process)
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            _end(process)
            output, _ = process.communicate()
        except BaseException:
            _end(process)
            raise
        finally:
            self._running.discard(process)
        return process.returncode, output


def _end(process: subprocess.Popen[str]) -> None:
    """End a run of tests with all that these have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy)}
