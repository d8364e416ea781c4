"""Schedules, placements, times down, and streams of random numbers."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model import schedule
from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.ragged import indexes_of, offsets_of
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
    """However many jobs are made text at a time."""
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


def rows_of(placed: Placements) -> Rows:
    count = len(placed.offsets) - 1
    return [dict(placed.pairs(job)) for job in range(count)]


@given(jobs)
def test_each_job_has_its_nodes(rows):
    placed = placements(rows)
    assert rows_of(placed) == rows
    assert placed.counts.tolist() == [len(row) for row in rows]
    assert placed.units_of_jobs.tolist() == [sum(row.values()) for row in rows]
    assert placed.job_of.tolist() == [job for job, row in enumerate(rows) for _ in row]


@given(jobs, st.data())
def test_jobs_are_taken_in_any_order_and_more_than_once(rows, data):
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    taken = placements(rows, np.int32).take(np.array(chosen, dtype=np.int64))
    assert rows_of(taken) == [rows[job] for job in chosen]
    assert {taken.offsets.dtype, taken.nodes.dtype, taken.units.dtype} == {np.dtype(np.int64)}


@given(st.lists(jobs, min_size=1, max_size=3))
def test_parts_lie_one_after_the_other(parts):
    assert rows_of(Placements.of_parts([placements(part) for part in parts])) == [row for part in parts for row in part]


@given(jobs, st.data())
def test_in_writing(rows, data):
    last = data.draw(st.integers(0, len(rows)))
    first = data.draw(st.integers(0, last))
    expected = [" ".join(f"{node}:{row[node]}" for node in sorted(row)) for row in rows[first:last]]
    assert placements(rows, np.int32).texts(first, last) == expected


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5))))
def test_indexes_are_those_of_the_rows(rows):
    first, counts = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    expected = [index for begin, count in rows for index in range(begin, begin + count)]
    assert indexes_of(first, counts).tolist() == expected


def test_streams_are_told_apart_by_seed_and_names_and_repeat():
    keys = [(1, "a", 2), (2, "a", 2), (1, "b", 2), (1, "a", 3), (1, "a")]
    drawn = [tuple(stream(*key).integers(2**60, size=4).tolist()) for key in [*keys, keys[0]]]
    assert len(set(drawn)) == len(keys)
    assert drawn[0] == drawn[-1]
