"""`dardis.simulate_many`."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from dardis.api.comparison import trace_list
from dardis.api.keyword_options import run_request
from dardis.api.platforms import Platform
from dardis.api.traces import Trace
from dardis.comparison.task_pool import Task, TaskPool
from dardis.comparison.worker_kinds import shared_parent, with_task_pool
from dardis.metrics.job_metrics import Number
from dardis.model.choices import worker_choice
from dardis.model.errors import DardisError, DardisWarning, InputError
from dardis.model.files import InputFiles
from dardis.runs.inputs import check_inputs
from dardis.runs.queue_runs import BACKFILLS, Order, QueueRun, QueueRuns, run_metrics
from dardis.runs.run_objects import read_sources

if TYPE_CHECKING:
    from pandas import DataFrame

_Traces = Trace | str | PathLike[str]
_CHUNKS = 4
"""Tasks per worker and trace."""
_MOST_TASKS = 16
"""Tasks at once if the workers state no number: each may be a job of a cluster."""
_POLL_S = 0.5
_ORDERS = "names, arrays or functions"


def simulate_many(
    traces: _Traces | DataFrame | Sequence[_Traces],
    orders: Order | Sequence[Order] | Mapping[str, Order],
    platform: Platform | str | PathLike[str],
    *,
    backfill: str | None = "easy",
    seed: int = 1,
    workers: str = "processes",
    processes: int | None = None,
    **options: Any,  # noqa: ANN401 (each its own kind)
) -> DataFrame:
    """Replay each trace in each order of its queue by a compiled loop; return figures of all runs.

    - `traces`, `platform`: as in `dardis.compare`.
    - `orders`: dispatchers (`"easy"`, `"conservative:rule=f1"`, `"rules-wt"`), arrays of keys (jobs,) or
      (orders, jobs), or functions of the jobs' arrays (`submit`, `walltime`, `expected`, `units`, `cores`, `user`;
      docs/extend.md) that return keys. The lowest key goes first. Jobs are in order of submission and number. A
      mapping gives names.
    - `backfill`: with keys: `"easy"`, `"conservative"` or None: the first job that cannot start stops the others.
    - `seed`: of random node choices.
    - `workers`, `processes`: where, and how many runs at once; 1 process: this one. Others than processes need a
      current folder that all of them see.
    - `options`: `jobs`, `from_`, `to`, `overrun`, `walltime_factor`, `strict`, as in `dardis.simulate`.

    The table has a row for each trace and order, named as in metrics.json. Raises `InputError`, also for machines and
    jobs that need more than a queue (closings, shapes, think times), and `DardisError` if runs fail.
    """
    from pandas import DataFrame

    if backfill not in BACKFILLS:
        raise InputError("backfill", repr(backfill), "'easy', 'conservative' or None")
    if processes is not None and (not isinstance(processes, int) or processes < 1):
        raise InputError("processes", repr(processes), "a number from 1 on")
    try:
        where = worker_choice(workers)
    except ValueError as error:
        raise InputError("workers", str(error)) from None
    named = [*_named_orders(orders)]
    if unknown := {*options} - {"jobs", "from_", "to", "overrun", "walltime_factor", "strict"}:
        raise InputError(min(unknown), "is no keyword", "jobs, from_, to, overrun, walltime_factor or strict")
    groups = []
    for trace in trace_list(traces):
        name, queue = _queue_runs(trace, platform, options)
        base = BACKFILLS[backfill]
        groups.append((name, [queue.run_of(label, order, base, seed) for label, order in named]))

    def run_in(pool: TaskPool) -> list[dict[str, Number]]:
        return _run_all(pool, [runs for _, runs in groups])

    if workers == "processes" and processes == 1:
        figures = [run_metrics(run) for _, runs in groups for run in runs]
    else:
        with TemporaryDirectory(prefix="dardis-", dir=shared_parent(where)) as shared:
            figures = with_task_pool(where, processes, Path(shared), run_in)
    labels = [{"trace": name, "order": label} for name, _ in groups for label, _ in named]
    return DataFrame([label | row for label, row in zip(labels, figures, strict=True)])


def _named_orders(orders: object) -> Iterator[tuple[str, Order]]:
    if isinstance(orders, Mapping):
        named = [(str(name), order) for name, order in orders.items()]
    else:
        is_one = isinstance(orders, str) or callable(orders)
        listed = [orders] if is_one else list(orders) if isinstance(orders, Iterable) else []
        if listed and all(isinstance(one, int | float | np.number) for one in listed):
            listed = [np.array(listed)]
        named = [(_label(one, place), one) for place, one in enumerate(listed)]
    known = Counter(label for label, _ in named)
    if not named:
        raise InputError("orders", "none" if isinstance(orders, Iterable) else f"is a {type(orders).__name__}", _ORDERS)
    for place, (label, order) in enumerate(named):
        if order is None or isinstance(order, type):
            raise InputError("orders", f"{label} is a {type(order).__name__}", _ORDERS)
        unique = f"{label} {place}" if known[label] > 1 else label
        yield unique, order if isinstance(order, str) or callable(order) else np.asarray(order)


def _label(order: object, place: int) -> str:
    return order if isinstance(order, str) else getattr(order, "__name__", f"order {place}")


def _queue_runs(
    trace: object, platform: Platform | str | PathLike[str], options: Mapping[str, Any]
) -> tuple[str, QueueRuns]:
    request, objects = run_request(trace, platform, "easy", {}, options)
    inputs = check_inputs(request, read_sources(request, InputFiles(), objects))
    for line in inputs.warnings:
        warnings.warn(line, DardisWarning, stacklevel=4)
    return request.trace.name, QueueRuns(str(request.trace), inputs.jobs, inputs.platform)


def _chunk(runs: Sequence[QueueRun]) -> list[dict[str, Number]]:
    return [run_metrics(run) for run in runs]


def _run_all(pool: TaskPool, groups: Sequence[Sequence[QueueRun]]) -> list[dict[str, Number]]:
    most = pool.size or _MOST_TASKS
    chunks = []
    for runs in groups:
        size = -(-len(runs) // (_CHUNKS * most))
        chunks += [runs[low : low + size] for low in range(0, len(runs), size)]
    tasks: list[Task] = []
    while len(tasks) < len(chunks) or any(task.failure is None for task in tasks):
        under_way = sum(task.failure is None for task in tasks)
        tasks += [pool.submit(_chunk, chunk) for chunk in chunks[len(tasks) : len(tasks) + most - under_way]]
        pool.wait(_POLL_S)
        if failure := next((task.failure for task in tasks if task.failure), ""):
            raise DardisError(f"simulate_many: {failure}")
    return [figures for task in tasks for figures in task.result]
