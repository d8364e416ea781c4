"""Keeps what has been done, so that an interrupted experiment goes on: what is there is whole, and is not done again.

A result is used again only if what it was made from and the code that makes it are the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dardis.model.placements import Placements
from scripts.lab.kit.command import DARDIS, ROOT

Arrays = Mapping[str, NDArray[Any]]
Metrics = Mapping[str, Any]
"""What a run's metrics.json holds."""
K = TypeVar("K")
T = TypeVar("T")
_OUTSIDE: Final = ("cli", "comparison", "live", "report", "scale")
"""Packages of `dardis` that no schedule and no figure goes through."""


def fingerprint(*parts: object) -> str:
    """What a run's outcome hangs on, in a few letters: arrays by their bytes, all else by its `repr`."""
    told = (part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode() for part in parts)
    return hashlib.sha256(b"".join(told)).hexdigest()[:16]


@cache
def code_version() -> str:
    """Digest of the code that makes schedules, plans and their figures."""
    digest = hashlib.sha256()
    for package in ("dardis", "offline"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.relative_to(ROOT / package).parts[0] not in _OUTSIDE:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cached_file(path: Path, write: Callable[[Path], object]) -> Path:
    """A file, which is written if it is not there; what is interrupted leaves none."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".part{path.suffix}")
        write(draft)
        draft.replace(path)
    return path


def cached_arrays(path: Path, make: Callable[[], Arrays]) -> Path:
    """The file of a run's arrays, which are made if it is not there; its name says what they hang on."""
    return cached_file(path, lambda draft: np.savez_compressed(draft, allow_pickle=False, **make()))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file, by name."""
    with np.load(path, allow_pickle=False) as kept:
        return dict(kept)


def arrays_of(placed: Placements) -> dict[str, NDArray[Any]]:
    """Placements as arrays to keep."""
    return {"offsets": placed.offsets, "nodes": placed.nodes, "node_units": placed.units}


def placements_of(arrays: Arrays) -> Placements:
    """The placements among arrays that were kept."""
    return Placements(arrays["offsets"], arrays["nodes"], arrays["node_units"])


@dataclass(frozen=True, slots=True)
class Run:
    """A run of `dardis simulate`: `asked` is a dispatcher with its settings, `options` are further ones."""

    dispatcher: tuple[str, ...]
    trace: Path
    platform: Path
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What no other run is called."""
        told = fingerprint(self.trace.name, self.platform.read_text(encoding="utf-8"), self.dispatcher, *self.options)
        return f"{self.trace.stem}-{self.dispatcher[0]}-{told}"

    def folder(self, out: Path) -> Path:
        """Where it writes."""
        return out / "runs" / self.name

    def metrics(self, out: Path, until: float = math.inf) -> Metrics | None:
        """Its metrics, for which it is done if need be; None if it fails or would begin after `until`, s of the clock.

        It is done unless it is there with the same jobs, machine and code.
        """
        folder, told = self.folder(out), fingerprint(self.trace.read_bytes(), self.name, code_version())
        path, record = folder / "metrics.json", folder.with_name(f"{folder.name}.inputs")
        if not (path.is_file() and record.is_file() and record.read_text(encoding="utf-8") == told):
            if time.time() > until:
                return None
            folder.parent.mkdir(parents=True, exist_ok=True)
            record.unlink(missing_ok=True)
            files = (str(self.trace), "--platform", str(self.platform), "--out", str(folder), "--no-report", "--force")
            settings = (option for setting in self.dispatcher[1:] for option in ("--set", setting))
            command = (*DARDIS, "simulate", *files, "--dispatcher", self.dispatcher[0], *settings, *self.options)
            if subprocess.run(command, check=False, cwd=ROOT, stdout=subprocess.DEVNULL).returncode:
                return None  # it has said why; the others go on
            record.write_text(told, encoding="utf-8")
        metrics: Metrics = json.loads(path.read_text(encoding="utf-8"))
        return metrics


def run_missing(
    runs: Iterable[Run], out: Path, processes: int | None, limit: float | None = None
) -> dict[Run, Metrics]:
    """The metrics of runs, but for those that fail, or for which there is no time: none begins after `limit` s."""
    until = math.inf if limit is None else time.time() + limit
    asked = {one: (one, out, until) for one in runs}
    every = in_processes(Run.metrics, asked, lambda one: one.name, processes)
    return {one: metrics for one, metrics in every if metrics is not None}


def report_missing(missing: int) -> int:
    """Say how many runs are missing; the exit status."""
    if missing:
        sys.stderr.write(f"{missing} runs are missing: the same command goes on\n")
    return int(missing > 0)


def in_processes(
    work: Callable[..., T], asked: Mapping[K, tuple[Any, ...]], names: Callable[[K], str], processes: int | None
) -> Iterator[tuple[K, T]]:
    """Do all that is asked (arguments of `work`), so many at once; what ends first comes first, and is told by name.

    With `processes` None as many as there are cores. Work that comes to None was not done, and is not told.
    """
    count = 0
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        tasks = {pool.submit(work, *arguments): key for key, arguments in asked.items()}
        for task in as_completed(tasks):
            outcome = task.result()
            yield tasks[task], outcome
            if outcome is None:
                continue
            count += 1
            sys.stderr.write(f"{count} of {len(tasks)}: {names(tasks[task])}\n")
