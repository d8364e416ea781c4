"""Reads pod lists of Alibaba's GPU cluster (cluster-trace-gpu-v2023). Rules: docs/formats.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dardis.model.files import by_name, csv_table
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.resources import CORES, MEMORY
from dardis.workload.csv_trace import processors
from dardis.workload.trace import LARGEST, OUT_OF_RANGE, UNKNOWN, Skipped, Trace, build_trace

CPU_MILLI = "cpu_milli"
COLUMNS = (
    "name", CPU_MILLI, "memory_mib", "num_gpu", "gpu_spec", "qos", "creation_time", "deletion_time", "scheduled_time",
)  # fmt: skip
KINDS = (CORES, "gpu", MEMORY)


class _Pod(NamedTuple):
    number: int
    """Position in the list."""
    submit: int
    wait: int
    runtime: int
    cores: int
    gpus: int
    memory: int
    name: str
    queue: str
    partition: str
    never_ran: bool


def parse_pods(path: Path, text: str, *, strict: bool) -> Trace:
    """Read a pod list. Pods that never ran are skipped.

    A pod without deletion time still runs, or waits if not scheduled.
    """
    header, table = csv_table(path, text, COLUMNS)
    lines: list[int] = []
    pods: list[_Pod] = []
    problems: list[Skipped] = []
    for number, (line_number, fields) in enumerate(table):
        try:
            pods.append(_pod(number, by_name(header, fields)))
        except ValueError as error:
            problems.append(Skipped(line_number, f"not a pod of this format ({error})", malformed=True))
        else:
            lines.append(line_number)
    never_ran = np.array([pod.never_ran for pod in pods], dtype=bool)
    return build_trace(path, lines, _columns(pods), problems, strict=strict, never_ran=never_ran)


def _columns(pods: list[_Pod]) -> dict[str, Any]:
    numbers = {
        name: np.array([getattr(pod, name) for pod in pods], dtype=np.int64)
        for name in ("number", "submit", "wait", "runtime", "cores", "gpus", "memory")
    }
    request = dict(zip(KINDS, (numbers.pop(name) for name in ("cores", "gpus", "memory")), strict=True))
    units = np.ones(len(pods), dtype=np.int64)
    columns: dict[str, Any] = {"units": units, "request": request, "procs": processors(units, request)}
    texts = {name: np.array([getattr(pod, name) for pod in pods], dtype=object) for name in _TEXTS}
    return numbers | columns | texts


_TEXTS = ("name", "queue", "partition")


def _pod(number: int, fields: dict[str, str]) -> _Pod:
    cores, gpus, memory = (whole_number(fields[name], 0, LARGEST) for name in (CPU_MILLI, "num_gpu", "memory_mib"))
    created = _seconds(fields["creation_time"])
    start, end = (_seconds(fields[name]) if fields[name] else None for name in ("scheduled_time", "deletion_time"))
    return _Pod(
        number=number,
        submit=created,
        wait=UNKNOWN if start is None else max(start - created, 0),
        runtime=UNKNOWN if start is None or end is None else end - start,
        cores=-(-cores // 1000),
        gpus=gpus,
        memory=memory,
        name=fields["name"],
        queue=fields["qos"],
        partition=fields["gpu_spec"],
        never_ran=start is None and end is not None,
    )


def _seconds(text: str) -> int:
    number = int(decimal_number(text))
    if abs(number) > LARGEST:
        raise ValueError(OUT_OF_RANGE)
    return number
