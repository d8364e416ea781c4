"""Which columns `jobs.csv` has, and how sets of nodes are written in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from dardis.model.numbers import whole_number
from dardis.model.placements import Placements, joined_by_job
from dardis.model.ragged import offsets_of
from dardis.model.schedule import Schedule

REQUEST_PREFIX: Final = "req_"
ALLOCATED: Final = "allocated_resources"
BATSIM: Final = (
    "job_id", "workload_name", "submission_time", "requested_number_of_resources", "requested_time", "success",
    "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time", "stretch",
    ALLOCATED,
)  # fmt: skip
"""What Batsim writes and evalys reads, in their order."""

PARTS: Final = "parts"
"""Of a job of several parts, units and what one asks for: `2:cores=4,memory=1024 1:cores=1,gpu=2`."""
UNITS_BY_PART: Final = "units_by_part"
"""Where the units of its parts are, part after part: `0:1 1:1;0:1`."""
ALTERNATIVE: Final = "alternative"
"""Which of several requests was run, from 1."""

_UNITS_BY_NODE: Final = re.compile(r"\s*(?:-?\d{1,9}:-?\d{1,9}(?:\s+|\Z))*+", re.ASCII)


def header(schedule: Schedule) -> tuple[str, ...]:
    """All columns of the `jobs.csv` of a schedule, in the order they are written."""
    requests = (REQUEST_PREFIX + kind for kind in schedule.kinds)
    more = (*(() if schedule.parts is None else (PARTS, UNITS_BY_PART)),
            *(() if schedule.taken is None else (ALTERNATIVE,)))  # fmt: skip
    return (*BATSIM, "units", "units_by_node", *requests, "earliest_start", "latest_start", "attempts", "status",
            "queue", "user", *more)  # fmt: skip


def interval_sets(schedule: Schedule, first: int, last: int) -> list[str]:
    """Nodes of the jobs `[first, last)` as interval sets (`0-3 7`), empty for a job that did not run."""
    edges, lows, highs = schedule.placed.blocks(first, last)
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in zip(lows.tolist(), highs.tolist(), strict=True)]
    return joined_by_job(texts, edges)


def canonical_interval_set(text: str) -> str:
    """An interval set as we write it: ascending, neighbours joined, each number once. Raises ValueError for none."""
    joined: list[list[int]] = []
    for low, high in sorted(_interval(part) for part in text.split()):
        if joined and low <= joined[-1][1] + 1:
            joined[-1][1] = max(high, joined[-1][1])
        else:
            joined.append([low, high])
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in joined)


def _interval(text: str) -> tuple[int, int]:
    """First and last number of `3` or `0-3`."""
    low, dash, high = text.partition("-")
    return whole_number(low), whole_number(high if dash else low)


def checked_units_by_node(text: str) -> str:
    """The text, which is written like `0:1 7:2`. Raises ValueError when it is not, or names 10^9 and more."""
    if _UNITS_BY_NODE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not written like 0:1 7:2")
    return text


def units_by_node(texts: Sequence[str]) -> Placements:
    """What some checked texts say, one a job; ascending by node, then units, whatever their order."""
    counts = np.array([text.count(":") for text in texts], dtype=np.int64)
    numbers = np.fromstring(" ".join(texts).replace(":", " ").strip(), dtype=np.int64, sep=" ")
    placed = Placements(offsets_of(counts), *np.ascontiguousarray(numbers.reshape(-1, 2).T))
    nodes, units, job = placed.nodes, placed.units, placed.job_of
    if ((np.diff(job) == 0) & (np.diff(nodes) <= 0)).any():
        order = np.lexsort((units, nodes, job))
        return Placements(placed.offsets, nodes[order], units[order])
    return placed


def parse_units_by_node(text: str) -> list[tuple[int, int]]:
    """(node, units) pairs of `0:1 7:2`, ascending by node. Raises ValueError when it is not written so."""
    return units_by_node([checked_units_by_node(text)]).pairs(0)
