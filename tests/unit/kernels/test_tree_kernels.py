"""Adding steps up and keeping the best candidates, against plain lists; few rows and many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.choices import take_runs
from kit.effort import examples
from kit.slow_tree import best_candidates, joined_steps

from dardis.kernels import ranking
from dardis.kernels import ranking as sums
from dardis.model import offer_rows

BEFORE = 3
"""Rows of others that lie before those that are joined, and stay as they are."""


def joined(rows: list[tuple[int, ...]], columns: int, join) -> list[tuple[int, ...]]:
    """What a kernel leaves of rows that come after others in an array."""
    array = np.full((BEFORE + len(rows) + 2, columns), -7, dtype=np.int64)
    if rows:
        array[BEFORE : BEFORE + len(rows)] = rows
    end = join(array, BEFORE, BEFORE + len(rows))
    assert (array[:BEFORE] == -7).all()
    assert (array[BEFORE + len(rows) :] == -7).all()
    return list(map(tuple, array[BEFORE:end].tolist()))


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(-3, 4), st.integers(-3, 3)), max_size=40),
    st.integers(1, 9),
    st.booleans(),
)
@examples(3)
def test_steps_are_added_by_instant(steps, units, cut):
    found = joined(steps, 3, lambda array, low, high: sums.add_up(array, low, high, units, cut))
    assert found == joined_steps(steps, units, cut=cut)


@st.composite
def candidates(draw) -> list[tuple[int, int, int, int]]:
    """Rows (key, node, units, incarnation), of different nodes, in any order; now and then very many."""
    if draw(st.integers(0, 3)) == 0:
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        count = int(rng.integers(100, 400))
        nodes = rng.permutation(1000)[:count]
        table = np.stack([rng.integers(0, 9, count), nodes, rng.integers(1, 4, count), rng.integers(0, 3, count)], 1)
        return list(map(tuple, table.tolist()))
    nodes = draw(st.lists(st.integers(0, 30), unique=True, max_size=20))
    return [(draw(st.integers(-2, 2)), node, draw(st.integers(1, 4)), draw(st.integers(0, 2))) for node in nodes]


@given(candidates(), st.sampled_from((1, 2, 5, 17, 60, 400)), st.sampled_from(list(offer_rows.NODE_CHOICES.values())))
@examples(3)
def test_the_best_are_kept_in_order(rows, units, choice):
    found = joined(rows, 4, lambda array, low, high: ranking.best_of(array, low, high, units, choice))
    expected = best_candidates([((key,), node, holds) for key, node, holds, _ in rows], units, choice)
    assert [((key,), node, holds) for key, node, holds, _ in found] == expected
    assert set(found) <= set(rows)


@given(candidates(), st.sampled_from((1, 2, 5, 17, 60)), st.sampled_from(list(offer_rows.NODE_CHOICES.values())))
@examples(2)
def test_nodes_that_hold_the_job_are_taken_in_order(rows, units, choice):
    best = best_candidates([((key,), node, holds) for key, node, holds, _ in rows], units, choice)
    if len(best) > 40 or sum(holds for _, _, holds in best) < units:
        return
    expected, left = {}, units
    for _, node, holds in best:
        if left > 0:
            expected[node] = min(holds, left)
            left -= expected[node]
    if choice == offer_rows.CONTIGUOUS:
        expected = take_runs({node: holds for _, node, holds in best}, units)
    table = np.array([(*key, node, holds, 0) for key, node, holds in best], dtype=np.int64)
    nodes, node_units = np.empty(units, dtype=np.int64), np.empty(units, dtype=np.int64)
    count = ranking.take_best(table, units, choice, nodes, node_units)
    assert list(zip(nodes[:count].tolist(), node_units[:count].tolist(), strict=True)) == sorted(expected.items())
