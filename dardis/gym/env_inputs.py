"""Inputs and options of environments."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dardis.api.keyword_options import run_request
from dardis.api.platforms import Platform
from dardis.api.traces import Trace
from dardis.model.arrays import Ints
from dardis.model.choices import Expecting
from dardis.model.errors import DardisWarning, InputError
from dardis.model.files import InputFiles
from dardis.model.job import ActualJob
from dardis.predict import new_predictor
from dardis.runs.inputs import Inputs, check_inputs
from dardis.runs.run_objects import read_sources

if TYPE_CHECKING:
    from pandas import DataFrame

Value = TypeVar("Value")
TraceLike = Trace | str | PathLike[str]
PlatformLike = Platform | str | PathLike[str]
SEED = 1


def read_inputs(
    trace: TraceLike | DataFrame, platform: PlatformLike, dispatcher: str, settings: Mapping[str, object]
) -> Inputs:
    """Jobs and machine, as `dardis.simulate` reads them. Raises InputError."""
    request, objects = run_request(trace, platform, dispatcher, settings, {})
    inputs = check_inputs(request, read_sources(request, InputFiles(), objects))
    for line in inputs.warnings:
        warnings.warn(line, DardisWarning, stacklevel=2)
    return inputs


def check_choice(option: str, value: object, known: Mapping[object, Value]) -> Value:
    """Meaning of an option's value. Raises InputError."""
    if value is not None and not isinstance(value, str):
        raise InputError(option, f"is a {type(value).__name__}", f"one of {', '.join(map(repr, known))}")
    if value not in known:
        raise InputError(option, repr(value), f"one of {', '.join(map(repr, known))}")
    return known[value]


def check_count(option: str, value: object, most: int | None = None, what: str = "") -> int:
    """Whole number of at least 1. Raises InputError."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(option, repr(value), "a whole number of at least 1")
    if most is not None and value > most:
        raise InputError(option, repr(value), f"at most {most}, {what}")
    return int(value)


def choose_start(options: Mapping[str, object] | None, count: int, draw: np.random.Generator) -> int:
    """First place of an episode among `count`: the option `first`, or drawn. Raises InputError."""
    first = (options or {}).get("first")
    if first is None:
        return int(draw.integers(count))
    if not isinstance(first, int | np.integer) or not 0 <= first < count:
        raise InputError("options['first']", repr(first), f"a whole number from 0 to {count - 1}")
    return int(first)


def expected_runtimes(jobs: Sequence[ActualJob], waits: Sequence[int], expecting: Expecting) -> Ints:
    """Runtimes, s, predicted at submission from the jobs that had ended by then after their recorded `waits`."""
    predictor = new_predictor(expecting, {job.number: job.duration for job in jobs}, SEED)
    found = np.zeros(len(jobs), dtype=np.int64)
    running: list[tuple[int, int]] = []
    for place, job in enumerate(jobs):
        while running and running[0][0] <= job.submit:
            end, other = heapq.heappop(running)
            predictor.observe(jobs[other].job, jobs[other].duration, end)
        found[place] = predictor.predict(job.job, job.submit).duration
        heapq.heappush(running, (job.submit + max(waits[place], 0) + job.duration, place))
    return found
