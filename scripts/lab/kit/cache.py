"""Keeps runs that have ended, so that an interrupted kit goes on: what is there is whole, and is not done again."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dardis.model.placements import Placements
from scripts.lab.kit.command import DARDIS, ROOT

Arrays = Mapping[str, NDArray[Any]]
K = TypeVar("K")
T = TypeVar("T")


def fingerprint(*parts: object) -> str:
    """What a run's outcome hangs on, in a few letters: arrays by their bytes, all else by its `repr`."""
    told = (part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode() for part in parts)
    return hashlib.sha256(b"".join(told)).hexdigest()[:16]


def kept_arrays(path: Path, make: Callable[[], Arrays]) -> Path:
    """The file of a run's arrays, which are made and put there if it is not there."""
    if not path.is_file():
        arrays = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part.npz")
        np.savez_compressed(draft, allow_pickle=False, **arrays)
        draft.replace(path)
    return path


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


def kept_metrics(folder: Path, *asked: str) -> dict[str, Any]:
    """The metrics of a run of `dardis simulate`, which is done into the folder if none are there."""
    path = folder / "metrics.json"
    if not path.exists():
        command = (*DARDIS, "simulate", *asked, "--out", str(folder), "--no-report", "--force")
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    metrics: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return metrics


def in_processes(
    work: Callable[..., T], asked: Mapping[K, tuple[Any, ...]], names: Callable[[K], str], processes: int
) -> Iterator[tuple[K, T]]:
    """Do all that is asked (arguments of `work`), so many at once; what ends first comes first, and is told by name.

    Work that comes to None was not done, and is not told.
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
