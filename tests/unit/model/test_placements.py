import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.placements import Placements
from dardis.model.ragged import indexes_of, offsets_of

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


def test_jobs_without_nodes():
    assert rows_of(Placements.none(3)) == [{}, {}, {}]
    assert Placements.none(2).texts(0, 2) == ["", ""]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5))))
def test_indexes_are_those_of_the_rows(rows):
    first, counts = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    expected = [index for begin, count in rows for index in range(begin, begin + count)]
    assert indexes_of(first, counts).tolist() == expected
