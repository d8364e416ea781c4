"""Who is run on a batch, each run kept in a folder so that an interrupted whole goes on, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.platform import load_platform
from dardis.metrics.audit import audit
from dardis.metrics.table import read_jobs
from dardis.model.arrays import Ints
from dardis.workload.table import write_table
from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import Batch
from scripts.lab.kit.cache import fingerprint, kept_metrics
from scripts.lab.kit.command import ROOT

PLATFORM: Final = ROOT / "launch" / "platforms" / "eurora-2014.toml"
_AIMS: Final = {"MKS": "makespan", "NL": "late", "WT": "tardiness"}


@dataclass(frozen=True)
class Contender:
    """A dispatcher with its settings, as tables call it."""

    label: str
    dispatcher: str
    settings: tuple[str, ...] = ()


def model(label: str, most_places: int, delta: float = 1.0) -> Contender:
    """A model of the thesis by its name there; a composite names after a blank what it bounds."""
    aim, _, bounded = label.partition(" ")
    settings = [f"objective={_AIMS[aim]}", f"composite={'on' if bounded else 'off'}", f"most_places={most_places}"]
    if bounded:
        settings += [f"delta_0={delta:g}", f"delta_1={delta:g}"]
    return Contender(label if delta == 1 else f"{label}, δ {delta:g}", "pcp14", tuple(settings))


BY_QUEUE: Final = Contender("rules, by queue", "rules-df", ("ordering=relaxed",))
"""Stands for PBS: who can't start is passed over; the order is that of arrival plus the queue's mean wait."""
RULES: Final = (
    BY_QUEUE,
    Contender("rules, first come", "rules-fcfs", ("ordering=relaxed",)),
    Contender("rules, shortest first", "rules-wt", ("ordering=relaxed",)),
    Contender("EASY", "easy"),
)
DELTAS: Final = (1.5, 4.0)
"""Tried beside 1; the thesis prints none."""


def contenders(batch: str, most_places: int) -> Iterator[Contender]:
    """Who is run on a batch: all six models on the thesis's first, its best on the others."""
    first = next(iter(paper.TABLE_3_6))
    for label in paper.MODELS if batch == first else (paper.BEST,):
        yield model(label, most_places)
    for delta in DELTAS:
        yield model(paper.BEST, most_places, delta)
    yield from RULES


@dataclass(frozen=True)
class Done:
    """What came of a batch: `start` and `finish` of its jobs (jobs,), s, in their order; metrics.json; violations."""

    start: Ints
    finish: Ints
    metrics: Mapping[str, Any]
    violations: Sequence[str] = ()


def recorded(batch: Batch) -> Done:
    """What PBS did, as the trace says."""
    return Done(batch.recorded, batch.recorded + batch.trace.runtime, {})


def run(batch: Batch, contender: Contender, out: Path, until: float) -> Done | None:
    """Do a run if it is not there; None if it would begin after `until`, s of the machine's clock."""
    folder = out / "runs" / f"{batch.name}-{fingerprint(_told(batch), contender.dispatcher, contender.settings)}"
    if not (folder / "metrics.json").exists():
        if time.time() > until:
            return None
        table = folder.with_suffix(".csv")
        table.parent.mkdir(parents=True, exist_ok=True)
        write_table(batch.trace, table)
        settings = [part for setting in contender.settings for part in ("--set", setting)]
        kept_metrics(
            folder, str(table), "--platform", str(PLATFORM), "--dispatcher", contender.dispatcher, *settings
        )  # fmt: skip
    return load(batch, folder)


def _told(batch: Batch) -> str:
    trace = batch.trace
    columns = (trace.number, trace.submit, trace.runtime, trace.walltime, trace.units, trace.lst)
    return fingerprint(*columns, *trace.request.values())


def load(batch: Batch, folder: Path) -> Done:
    """Read a run and judge it."""
    schedule = read_jobs(folder / "jobs.csv")
    numbers = batch.trace.number
    found = audit(schedule, load_platform(PLATFORM), expected=numbers.tolist())
    order = np.argsort(schedule.number)
    place = order[np.searchsorted(schedule.number[order], numbers)]
    return Done(schedule.start[place], schedule.finish[place], kept_metrics(folder), [str(one) for one in found])
