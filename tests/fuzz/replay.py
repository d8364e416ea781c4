"""Judges one mutation of one file: a reader gives a result, or one InputError that fits on a line. Seeds replay."""

from __future__ import annotations

import resource
import signal
import traceback
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz.mutation import mutated
from fuzz.reader_list import Reader

from dardis.model.errors import InputError

LONGEST_CPU_S = 20
"""Far beyond what any small file takes: who reads on is in a loop."""
MOST_MEMORY_KIB = 500_000
MOST_SAID = 1_400


class TookTooLong(BaseException):
    """Nothing that a reader catches."""


def mutation(reader: Reader, seed: int) -> bytes:
    """The file that a seed makes."""
    draw = Random(f"{reader.name} {seed}")  # noqa: S311 (a seed is to say it all)
    return mutated(draw.choice(reader.texts).encode(), draw)


@dataclass(frozen=True)
class Verdict:
    """Whether a file was read, or else refused; `wrong` says what went wrong with that, nothing if nothing."""

    read: bool
    wrong: str = ""


def judge(reader: Reader, path: Path) -> Verdict:
    """See how a reader takes the file at `path`."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with _bounded():
            reader.read(path)
    except InputError as error:
        return Verdict(False, _wrong_with(str(error).replace(str(path.parent), "")))
    except (Exception, TookTooLong):  # noqa: BLE001 (whatever goes wrong, the seed is what has to be told)
        return Verdict(False, traceback.format_exc())
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > MOST_MEMORY_KIB:
        return Verdict(True, f"took more than {MOST_MEMORY_KIB} KiB of memory")
    return Verdict(True)


def check(reader: Reader, seeds: Iterable[int], folder: Path) -> int:
    """Judge many seeds, in a folder of their own; the first bad one is kept and says how to see it again.

    Returns how many files were read without complaint.
    """
    reader.prepare(folder)
    path, read = folder / reader.file, 0
    for seed in seeds:
        data = mutation(reader, seed)
        path.write_bytes(data)
        verdict = judge(reader, path)
        read += verdict.read
        assert not verdict.wrong, (
            f"{reader.name!r}, seed {seed}: the file is kept as {path}\n"
            f"  replay: scripts/lab/run replay mutation {reader.name!r} {seed}\n{verdict.wrong}"
        )
    return read


def _wrong_with(said: str) -> str:
    if not said.isprintable():
        return f"its message is not one line: {said!r}"
    return f"its message has {len(said)} characters: {said}" if len(said) > MOST_SAID else ""


@contextmanager
def _bounded():
    def stop(*_):
        raise TookTooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
