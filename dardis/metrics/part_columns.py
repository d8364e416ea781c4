"""The parts of jobs in a `jobs.csv`: two columns, of which those are empty whose jobs have one part only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from dardis.metrics import columns
from dardis.model.placements import Placements
from dardis.model.ragged import offsets_of
from dardis.model.schedule import PartsOfJobs, Schedule

_AMOUNT: Final = r"[a-z][a-z0-9_]*=\d{1,10}"
_PART: Final = rf"\d{{1,10}}:{_AMOUNT}(?:,{_AMOUNT})*+"
_PARTS: Final = re.compile(rf"(?:{_PART}(?: {_PART})*+)?", re.ASCII)
_LIMIT: Final = 1 << 31
"""Amounts below this can be multiplied in 64 bits."""


class WrongPartsError(ValueError):
    """Parts that don't go with the rest of their row, which is at `place`."""

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place = place


def texts(schedule: Schedule, parts: PartsOfJobs, first: int, last: int) -> dict[str, list[str]]:
    """The two columns of the jobs `[first, last)`."""
    asked, where = [], []
    for job in range(first, last):
        mine = range(int(parts.offsets[job]), int(parts.offsets[job + 1]))
        several = len(mine) > 1
        asked.append(" ".join(_part(schedule.kinds, parts, part) for part in mine) if several else "")
        ran = several and bool(schedule.ran[job])
        where.append(";".join(parts.placed.texts(mine.start, mine.stop)) if ran else "")
    return {columns.PARTS: asked, columns.UNITS_BY_PART: where}


def _part(kinds: tuple[str, ...], parts: PartsOfJobs, part: int) -> str:
    amounts = zip(kinds, parts.request[part].tolist(), strict=True)
    return f"{parts.units[part]}:" + ",".join(f"{kind}={amount}" for kind, amount in amounts if amount)


def checked_parts(text: str) -> str:
    """The text, if it is written like `2:cores=4 1:cores=1,gpu=2`, or empty; else ValueError."""
    if _PARTS.fullmatch(text) is None:
        raise ValueError(text)
    return text


def checked_units(text: str) -> str:
    """The text, if each part's is written like `0:1 7:2`; else ValueError."""
    for part in text.split(";"):
        columns.checked_units_by_node(part)
    return text


def parts_of(schedule: Schedule, asked: Sequence[str], where: Sequence[str]) -> PartsOfJobs:
    """The parts of all jobs of a schedule, from the two columns. Raises WrongPartsError."""
    counts, units, request, placed = [], [], [], []
    whole = schedule.placed.texts(0, len(schedule.number))
    for job, (parts, there) in enumerate(zip(asked, where, strict=True)):
        specs = parts.split()
        counts.append(max(len(specs), 1))
        if not specs:
            if there:
                raise WrongPartsError(job, "units_by_part has parts, parts has none")
            units.append(int(schedule.units[job]))
            request.append(schedule.request[job].tolist())
            placed.append(whole[job])
            continue
        if len(specs) == 1:
            raise WrongPartsError(job, "parts has one, for which it is empty")
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
        columns.units_by_node(placed),
    )


def _read(job: int, kinds: tuple[str, ...], spec: str) -> tuple[int, list[int]]:
    """Units of a part, and what one asks for."""
    count, _, rest = spec.partition(":")
    told: dict[str, int] = {}
    for amount in rest.split(","):
        kind, _, number = amount.partition("=")
        if kind not in kinds or kind in told:
            why = "twice" if kind in told else "which has no column"
            raise WrongPartsError(job, f"parts asks for {kind}, {why}")
        told[kind] = int(number)
    amounts = dict.fromkeys(kinds, 0) | told
    if max(int(count), *amounts.values()) >= _LIMIT:
        raise WrongPartsError(job, f"parts has {spec!r}, which is too much")
    return int(count), [*amounts.values()]


def joined(parts: Sequence[PartsOfJobs]) -> PartsOfJobs | None:
    """All parts, block after block; None: there are none."""
    if not parts:
        return None
    return PartsOfJobs(
        offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        np.concatenate([part.units for part in parts]),
        np.concatenate([part.request for part in parts]),
        Placements.of_parts([part.placed for part in parts]),
    )
