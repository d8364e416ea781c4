"""Schedules, placements, times down, and streams of random numbers."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from dardis.model import schedule
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements, offsets_of
from dardis.model.randomness import stream
from dardis.model.schedule import Schedule


def column(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


TWO = Schedule(
    kinds=("cores",), number=column(10, 9, 8), submit=column(0, 0, 0), earliest=column(0, 0, 0),
    latest=column(NO_TIME, NO_TIME, NO_TIME), walltime=column(5, 5, 5), units=column(3, 1, 9),
    request=column(1, 1, 1).reshape(3, 1), status=np.array([Status.COMPLETED, Status.KILLED, Status.REJECTED], np.int8),
    start=column(0, 5, NO_TIME), finish=column(4, 10, NO_TIME), attempts=column(1, 1, 5),
    placed=Placements(column(0, 2, 3, 3), column(0, 7, 1), column(1, 2, 1)), queue=["", "", ""], user=["", "", ""],
)  # fmt: skip


@pytest.mark.parametrize("block", [2, 1_000])
def test_the_digest_is_of_the_sorted_lines(monkeypatch, block):
    monkeypatch.setattr(schedule, "_BLOCK", block)
    lines = b"10,0,4,0:1 7:2\n8,,,\n9,5,10,1:1\n"
    assert TWO.digest() == hashlib.sha256(lines).hexdigest()
    assert TWO.ran.tolist() == [True, True, False]


def test_the_digest_forgets_the_order_of_jobs_but_no_start_end_or_node():
    swapped = replace(
        TWO, number=TWO.number[::-1].copy(), status=TWO.status[::-1].copy(), start=TWO.start[::-1].copy(),
        finish=TWO.finish[::-1].copy(),
        placed=Placements(column(0, 0, 1, 3), column(1, 0, 7), column(1, 1, 2)),
    )  # fmt: skip
    assert swapped.digest() == TWO.digest()
    first = column(1, 0, 0)
    for field in ("start", "finish", "number"):
        assert replace(TWO, **{field: getattr(TWO, field) + first}).digest() != TWO.digest()
    for field in ("nodes", "units"):
        moved = replace(TWO.placed, **{field: getattr(TWO.placed, field) + first})
        assert replace(TWO, placed=moved).digest() != TWO.digest()


Rows = list[dict[int, int]]
jobs = st.lists(st.dictionaries(st.integers(0, 99), st.integers(1, 9), max_size=4), max_size=6)


def placements(rows: Rows, dtype: type = np.int64) -> Placements:
    pairs = [(node, row[node]) for row in rows for node in sorted(row)]
    nodes, units = (np.array(column, dtype=dtype) for column in (zip(*pairs, strict=True) if pairs else ((), ())))
    return Placements(offsets_of([len(row) for row in rows]), nodes, units)


def test_streams_are_told_apart_by_seed_and_names_and_repeat():
    keys = [(1, "a", 2), (2, "a", 2), (1, "b", 2), (1, "a", 3), (1, "a")]
    drawn = [tuple(stream(*key).integers(2**60, size=4).tolist()) for key in [*keys, keys[0]]]
    assert len(set(drawn)) == len(keys)
    assert drawn[0] == drawn[-1]
