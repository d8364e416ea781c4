"""Who is run on a batch, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.platform_file import load_platform
from dardis.metrics.audit import audit
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.arrays import Ints
from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import Batch
from scripts.lab.kit.command import EURORA_PLATFORM

Asked = tuple[str, ...]
"""A dispatcher, and what is set."""
_AIMS: Final = {"MKS": "makespan", "NL": "late", "WT": "tardiness"}
BY_QUEUE: Final = "rules, by queue"
"""Stands for PBS: who can't start is passed over; the order is that of arrival plus the queue's mean wait."""
RULES: Final[dict[str, Asked]] = {
    BY_QUEUE: ("rules-df", "ordering=relaxed"),
    "rules, first come": ("rules-fcfs", "ordering=relaxed"),
    "rules, shortest first": ("rules-wt", "ordering=relaxed"),
    "EASY": ("easy",),
}
DELTAS: Final = (1.5, 4.0)
"""Tried beside 1; the thesis prints none."""


def label_of(model: str, delta: float = 1.0) -> str:
    """What tables call a model with this bound."""
    return model if delta == 1 else f"{model}, δ {delta:g}"


def _model(model: str, most_places: int, delta: float = 1.0) -> Asked:
    """A model of the thesis by its name there; a composite names after a blank what it bounds."""
    aim, _, bounded = model.partition(" ")
    settings = [f"objective={_AIMS[aim]}", f"composite={'on' if bounded else 'off'}", f"most_places={most_places}"]
    return ("pcp14", *settings, *([f"delta_0={delta:g}", f"delta_1={delta:g}"] if bounded else []))


def contenders(batch: str, most_places: int) -> dict[str, Asked]:
    """Who is run on a batch, by label: all six models on the thesis's first, its best on the others."""
    models = paper.MODELS if batch == next(iter(paper.TABLE_3_6)) else (paper.BEST,)
    asked = {label: _model(label, most_places) for label in models}
    asked |= {label_of(paper.BEST, delta): _model(paper.BEST, most_places, delta) for delta in DELTAS}
    return asked | RULES


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


def load(batch: Batch, folder: Path, metrics: Mapping[str, Any]) -> Done:
    """Read a run and judge it."""
    schedule = read_jobs(folder / "jobs.csv")
    numbers = batch.trace.number
    found = audit(schedule, load_platform(EURORA_PLATFORM), expected=numbers.tolist())
    order = np.argsort(schedule.number)
    place = order[np.searchsorted(schedule.number[order], numbers)]
    return Done(schedule.start[place], schedule.finish[place], metrics, [str(one) for one in found])
