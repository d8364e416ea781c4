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
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from scripts.mutations.mutation import Mutation, MutationError

LIMIT_S = 300.0
"""A trial that takes longer is ended: the fault keeps the program from ever coming to an end, which is noticed."""
LEFT_OUT = shutil.ignore_patterns(".*", "out", "build", "dist", "*.egg-info")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+)", re.MULTILINE)
"""A test that failed, in pytest's short summary; a module that can't even be imported has no `::`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`noticed` is the test that failed, or why it was ended; empty for a mutation that survived."""

    mutation: Mutation
    noticed: str
    seconds: float


def try_all(
    tree: Path, mutations: Sequence[Mutation], folder: Path, jobs: int, tell: Callable[[Outcome], None],
) -> list[Outcome]:  # fmt: skip
    """Try mutations of the tree, `jobs` at a time, in copies in `folder`; outcomes are in the order of the mutations.

    Raises MutationError for one that does not apply or whose tests do not run, and when tests fail without any.
    """
    for mutation in mutations:
        mutation.source(tree)
    copies: SimpleQueue[Path] = SimpleQueue()
    first = copied(tree, folder / "copy0")
    _check_without(first, sorted({path for mutation in mutations for path in mutation.tests}))
    for number in range(1, jobs):
        copies.put(copied(first, folder / f"copy{number}"))
    copies.put(first)

    def tried(mutation: Mutation) -> Outcome:
        copy = copies.get()
        try:
            return _tried(copy, mutation)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(tried, mutation): place for place, mutation in enumerate(mutations)}
        try:
            for future in as_completed(running):
                tell(future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
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


def _check_without(copy: Path, paths: list[str]) -> None:
    """See that the copy is what is imported, and that all tests pass without a mutation."""
    packages = [name for name in ("dardis", "offline") if (copy / name).is_dir()]
    where = f"import {', '.join(['sys', *packages])}; print(*(sys.modules[p].__file__ for p in sys.argv[1:]))"
    found = subprocess.run(
        [sys.executable, "-c", where, *packages], cwd=copy, env=_environment(copy), capture_output=True, text=True,
        check=True,
    ).stdout.split()  # fmt: skip
    if any(not Path(file).is_relative_to(copy) for file in found):
        raise MutationError(f"not the copy is imported but {', '.join(found)}")
    status, output = _run_tests(copy, paths, "", limit_s=None, writes_bytecode=True)
    if status != 0:
        raise MutationError(f"the tests fail without any mutation:\n{output[-4000:]}")


def _tried(copy: Path, mutation: Mutation) -> Outcome:
    path, began = copy / mutation.file, time.monotonic()
    text, kept = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(mutation.source(copy), encoding="utf-8")
    try:
        status, output = _run_tests(copy, mutation.tests, mutation.only, limit_s=LIMIT_S)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # so that what was compiled of it is good again
    seconds = time.monotonic() - began
    failed = FAILED.search(output)
    if status == 0:
        return Outcome(mutation, "", seconds)
    if status == 1 and failed is not None:
        return Outcome(mutation, failed[1], seconds)
    if status < 0:
        return Outcome(mutation, f"ended by {signal.Signals(-status).name}", seconds)
    raise MutationError(f"{mutation.name}: its tests did not run (pytest's status {status}):\n{output[-4000:]}")


def _run_tests(
    copy: Path, paths: Sequence[str], only: str, *, limit_s: float | None, writes_bytecode: bool = False
) -> tuple[int, str]:
    """Run tests in a copy up to the first that fails; return pytest's status (-9: took too long) and its output."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short"]
    environment = _environment(copy)
    if not writes_bytecode:  # a file is changed twice within a second: what is compiled of it must not be mixed up
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    process = subprocess.Popen(
        [*command, *(["-k", only] if only else []), *paths], cwd=copy, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=limit_s)
    except BaseException as reason:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise
    return process.returncode, output


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy)}
