"""Reads CINECA's Eurora trace in the PA-HPC-SIM form, with usage per node. Rules: docs/formats.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dardis.model.files import by_name, csv_table
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.resources import CORES, MEMORY
from dardis.workload.csv_trace import processors
from dardis.workload.slurm_texts import utc_seconds
from dardis.workload.trace import LARGEST, OUT_OF_RANGE, UNKNOWN, Skipped, Trace, build_trace

ALLOCATION = "alloc(node:cores:gpus:mics:mem_kb)"
COLUMNS = ("job_id", "queue", "submit", "start", "end", "req_nodes", "req_walltime_s", "predicted_power_w", ALLOCATION)
_KINDS = (CORES, "gpu", "mic", MEMORY)


class _EuroraRow(NamedTuple):
    number: int
    submit: int
    wait: int
    runtime: int
    walltime: int
    units: int
    shares: tuple[int, ...]
    """Cores, GPUs, MICs and memory (MiB) of the largest share."""
    power: int
    queue: str


def parse_eurora(path: Path, text: str, *, strict: bool) -> Trace:
    """Read a trace; `path`: for messages. Invalid rows are skipped."""
    header, table = csv_table(path, text, COLUMNS)
    lines: list[int] = []
    rows: list[_EuroraRow] = []
    problems: list[Skipped] = []
    for line_number, fields in table:
        try:
            rows.append(_row(by_name(header, fields)))
        except (ValueError, OverflowError) as error:
            problems.append(Skipped(line_number, f"not a job of this format ({error})", malformed=True))
        else:
            lines.append(line_number)
    return build_trace(path, lines, _columns(rows), problems, strict=strict)


def _columns(rows: list[_EuroraRow]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: np.array([getattr(row, name) for row in rows], dtype=np.int64)
        for name in ("number", "submit", "wait", "runtime", "walltime", "units")
    }
    request = {kind: np.array([row.shares[place] for row in rows], dtype=np.int64) for place, kind in enumerate(_KINDS)}
    request["power"] = np.array([row.power for row in rows], dtype=np.int64)
    columns |= {"request": request, "procs": processors(columns["units"], request)}
    return columns | {"queue": np.array([row.queue for row in rows], dtype=object)}


def _row(fields: dict[str, str]) -> _EuroraRow:
    shares = [[*map(whole_number, share.split(":")[1:])] for share in fields[ALLOCATION].split()]
    if not shares or any(len(share) != len(_KINDS) or min(share) < 0 for share in shares):
        raise ValueError(f"{ALLOCATION} {fields[ALLOCATION]!r}")
    largest = [max(amounts) for amounts in zip(*shares, strict=True)]
    largest[-1] = -(-largest[-1] // 1024)
    submit = utc_seconds(fields["submit"])
    start, end = (utc_seconds(fields[name]) if fields[name] else None for name in ("start", "end"))
    tenths = round(decimal_number(fields["predicted_power_w"] or "0") * 10)
    row = _EuroraRow(
        number=whole_number(fields["job_id"]),
        submit=submit,
        wait=UNKNOWN if start is None else max(start - submit, 0),
        runtime=UNKNOWN if start is None or end is None else end - start,
        walltime=whole_number(fields["req_walltime_s"] or "0"),
        units=whole_number(fields["req_nodes"]),
        shares=tuple(largest),
        power=max(-(-tenths // (10 * len(shares))), 0),
        queue=fields["queue"],
    )
    if max(map(abs, (row.number, row.walltime, row.units, row.power, *row.shares))) > LARGEST:
        raise ValueError(OUT_OF_RANGE)
    return row
