"""Columns of jobs.csv."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable
from dardis.model.numbers import whole_number
from dardis.model.placements import Placements, joined_by_job, offsets_of
from dardis.model.resources import MEMORY
from dardis.model.schedule import PartsOfJobs, Schedule

REQUEST_PREFIX: Final = "req_"
ALLOCATED: Final = "allocated_resources"
PARTS: Final = "parts"
UNITS_BY_PART: Final = "units_by_part"
ALTERNATIVE: Final = "alternative"
_UNITS_BY_NODE: Final = re.compile(r"\s*(?:-?\d{1,9}:-?\d{1,9}(?:\s+|\Z))*+", re.ASCII)


_BATSIM: Final = (
    Column("job_id", WHOLE, "number of the job"),
    Column("workload_name", TEXT, "name of the trace"),
    Column("submission_time", WHOLE, "submission", "s"),
    Column("requested_number_of_resources", WHOLE, "cores of all units together", "", "",
           "evalys mixes them with the nodes of `allocated_resources` in some plots; with `--resources cores` both are "
           "cores"),
    Column("requested_time", WHOLE, "walltime", "s"),
    Column("success", WHOLE, "1 completed, 0 killed or rejected"),
    Column("starting_time", WHOLE, "start; empty for a rejected job, as are all columns derived from it", "s"),
    Column("execution_time", WHOLE, "runtime", "s"),
    Column("finish_time", WHOLE, "end", "s"),
    Column("waiting_time", WHOLE, "start less submission", "s"),
    Column("turnaround_time", WHOLE, "end less submission", "s"),
    Column("stretch", REAL, "turnaround time over runtime"),
    Column(ALLOCATED, WORD, "nodes as an interval set, `0-3 7`", detail="with `--resources cores` of core numbers"),
)  # fmt: skip
"""Columns of Batsim and evalys, in order."""
_UNITS: Final = (
    Column("units", WHOLE, "job units"), Column("units_by_node", WORD, "units on each node, `0:1 1:1 7:2`"),
)  # fmt: skip
_OURS: Final = (
    Column("earliest_start", WHOLE, "earliest start", "s"),
    Column("latest_start", WHOLE, "latest start, where there is a deadline", "s"),
    Column(
        "attempts",
        WHOLE,
        "windows of start times tried before the first reservation",
        detail="1, up to 5 with a deadline (thesis 5.3.6)",
    ),
    Column(
        "status",
        WORD,
        "`completed`, `killed` or `rejected`",
        detail="killed: at its walltime, or when a node failed; rejected: never started, and `run.json` says why",
    ),
    Column("queue", TEXT, "queue, as in the trace"),
    Column("user", TEXT, "user, as in the trace"),
)
_OF_PARTS: Final = (
    Column(PARTS, WORD, "units and request of each part, `2:cores=4,memory=1024 1:cores=1,gpu=2`",
           detail="exists if any job has several parts; empty for jobs of one part. `units` and `units_by_node` "
           "count all parts, `req_<kind>` the first"),
    Column(UNITS_BY_PART, WORD, "units on each node by part, `0:1 1:1;0:1`"),
)  # fmt: skip
_OF_ALTERNATIVES: Final = (
    Column(ALTERNATIVE, WHOLE, "number of the alternative that ran, from 1",
           detail="exists if any job has alternatives; `units`, `requested_time` and `req_<kind>` are those of this "
           "alternative (of a rejected job: the first)"),
)  # fmt: skip
JOBS_FILE: Final = "jobs.csv"


def _table(kinds: Iterable[str], *more: Column) -> CsvTable:
    requests = (
        Column(REQUEST_PREFIX + kind, WHOLE, "request of one unit", "MiB" if kind == MEMORY else "") for kind in kinds
    )
    return CsvTable(JOBS_FILE, *_BATSIM, *_UNITS, *requests, *_OURS, *more)


JOBS: Final = _table(["<kind>"], *_OF_PARTS, *_OF_ALTERNATIVES)
"""All possible columns, for the docs."""


def jobs_table(schedule: Schedule) -> CsvTable:
    """Columns of a schedule's `jobs.csv`."""
    parts = () if schedule.parts is None else _OF_PARTS
    return _table(schedule.kinds, *parts, *(() if schedule.taken is None else _OF_ALTERNATIVES))


def interval_sets(schedule: Schedule, first: int, last: int) -> list[str]:
    """Nodes of jobs `[first, last)` as interval sets (`0-3 7`)."""
    edges, lows, highs = schedule.placed.blocks(first, last)
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in zip(lows.tolist(), highs.tolist(), strict=True)]
    return joined_by_job(texts, edges)


def canonical_interval_set(text: str) -> str:
    """Sorted interval set without duplicates, neighbours joined. Raises ValueError."""
    joined: list[list[int]] = []
    for low, high in sorted(_interval(part) for part in text.split()):
        if joined and low <= joined[-1][1] + 1:
            joined[-1][1] = max(high, joined[-1][1])
        else:
            joined.append([low, high])
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in joined)


def _interval(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    return whole_number(low), whole_number(high if dash else low)


def checked_units_by_node(text: str) -> str:
    """Check the form `0:1 7:2` with numbers below 10^9. Raises ValueError."""
    if _UNITS_BY_NODE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not written like 0:1 7:2")
    return text


def units_by_node(texts: Sequence[str]) -> Placements:
    """Placements from checked texts; sorted by node, then units."""
    counts = np.array([text.count(":") for text in texts], dtype=np.int64)
    numbers = np.fromstring(" ".join(texts).replace(":", " ").strip(), dtype=np.int64, sep=" ")
    placed = Placements(offsets_of(counts), *np.ascontiguousarray(numbers.reshape(-1, 2).T))
    nodes, units, job = placed.nodes, placed.units, placed.job_of
    if ((np.diff(job) == 0) & (np.diff(nodes) <= 0)).any():
        order = np.lexsort((units, nodes, job))
        return Placements(placed.offsets, nodes[order], units[order])
    return placed


def parse_units_by_node(text: str) -> list[tuple[int, int]]:
    """(node, units) pairs of `0:1 7:2`, ascending. Raises ValueError."""
    return units_by_node([checked_units_by_node(text)]).pairs(0)


_AMOUNT: Final = r"[a-z][a-z0-9_]*=\d{1,10}"
_PART: Final = rf"\d{{1,10}}:{_AMOUNT}(?:,{_AMOUNT})*+"
_PARTS: Final = re.compile(rf"(?:{_PART}(?: {_PART})*+)?", re.ASCII)
_LIMIT: Final = 1 << 31
"""Products below fit 64 bits."""


class WrongPartsError(ValueError):
    """Parts inconsistent with their row, at index `place`."""

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place = place


def texts(schedule: Schedule, parts: PartsOfJobs, first: int, last: int) -> dict[str, list[str]]:
    """Both part columns of jobs `[first, last)`."""
    asked, where = [], []
    for job in range(first, last):
        mine = range(int(parts.offsets[job]), int(parts.offsets[job + 1]))
        several = len(mine) > 1
        asked.append(" ".join(_part(schedule.kinds, parts, part) for part in mine) if several else "")
        ran = several and bool(schedule.ran[job])
        where.append(";".join(parts.placed.texts(mine.start, mine.stop)) if ran else "")
    return {PARTS: asked, UNITS_BY_PART: where}


def _part(kinds: tuple[str, ...], parts: PartsOfJobs, part: int) -> str:
    amounts = zip(kinds, parts.request[part].tolist(), strict=True)
    return f"{parts.units[part]}:" + ",".join(f"{kind}={amount}" for kind, amount in amounts if amount)


def checked_parts(text: str) -> str:
    """Check the form `2:cores=4 1:cores=1,gpu=2`, or empty. Raises ValueError."""
    if _PARTS.fullmatch(text) is None:
        raise ValueError(text)
    return text


def checked_units(text: str) -> str:
    """Check parts of the form `0:1 7:2`. Raises ValueError."""
    for part in text.split(";"):
        checked_units_by_node(part)
    return text


def parts_of(schedule: Schedule, asked: Sequence[str], where: Sequence[str]) -> PartsOfJobs:
    """Parts of all jobs from both columns. Raises WrongPartsError."""
    counts, units, request, placed = [], [], [], []
    whole = schedule.placed.texts(0, len(schedule.number))
    for job, (parts, there) in enumerate(zip(asked, where, strict=True)):
        specs = parts.split()
        counts.append(max(len(specs), 1))
        if not specs:
            if there:
                raise WrongPartsError(job, "units_by_part is given, but parts is empty")
            units.append(int(schedule.units[job]))
            request.append(schedule.request[job].tolist())
            placed.append(whole[job])
            continue
        if len(specs) == 1:
            raise WrongPartsError(job, "parts has one part, where it must be empty")
        pieces = there.split(";") if there else [""] * len(specs)
        if len(pieces) != len(specs):
            raise WrongPartsError(job, f"units_by_part has {len(pieces)} parts, parts has {len(specs)}")
        for spec in specs:
            count, amounts = _read(job, schedule.kinds, spec)
            units.append(count)
            request.append(amounts)
        placed += pieces
    return PartsOfJobs(
        offsets_of(np.array(counts, dtype=np.int64)),
        np.array(units, dtype=np.int64),
        np.array(request, dtype=np.int64).reshape(-1, len(schedule.kinds)),
        units_by_node(placed),
    )


def _read(job: int, kinds: tuple[str, ...], spec: str) -> tuple[int, list[int]]:
    count, _, rest = spec.partition(":")
    found: dict[str, int] = {}
    for amount in rest.split(","):
        kind, _, number = amount.partition("=")
        if kind not in kinds or kind in found:
            why = "occurs twice" if kind in found else "has no column"
            raise WrongPartsError(job, f"{kind} in parts {why}")
        found[kind] = int(number)
    amounts = dict.fromkeys(kinds, 0) | found
    if max(int(count), *amounts.values()) >= _LIMIT:
        raise WrongPartsError(job, f"parts has {spec!r}, which is too large")
    return int(count), [*amounts.values()]


def joined(parts: Sequence[PartsOfJobs]) -> PartsOfJobs | None:
    """Concatenated parts, or None."""
    if not parts:
        return None
    return PartsOfJobs(
        offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        np.concatenate([part.units for part in parts]),
        np.concatenate([part.request for part in parts]),
        Placements.of_parts([part.placed for part in parts]),
    )
