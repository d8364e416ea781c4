import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.job import NO_TIME
from dardis.model.profile import ZERO, Extremes, StepFunction, breakpoints, sum_of_columns

UNTIL = 30
times, values = st.integers(0, UNTIL), st.integers(-9, 9)
steps = st.lists(st.tuples(times, values), max_size=6)


def second_by_second(before: int, changes: list[tuple[int, int]]) -> list[int]:
    table = dict(changes)
    found = []
    for second in range(UNTIL + 5):
        before = table.get(second, before)
        found.append(before)
    return found


@given(values, steps)
def test_steps_hold_until_the_next(before, changes):
    function = StepFunction.from_steps(before, changes)
    assert function.at(np.arange(UNTIL + 5)).tolist() == second_by_second(before, changes)
    assert function.at(-1) == before
    assert function.at(10**9) == second_by_second(before, changes)[-1]
    assert function.times[0] == NO_TIME
    assert (np.diff(function.times) > 0).all()


functions = st.tuples(values, steps).map(lambda told: StepFunction.from_steps(*told))
spans = st.lists(st.tuples(st.integers(-5, UNTIL), st.integers(1, UNTIL)), max_size=9)


@given(st.lists(functions, max_size=4))
def test_a_sum_is_that_of_every_second(some):
    total = StepFunction.sum_of(some)
    seconds = np.arange(-1, UNTIL + 5)
    assert total.at(seconds).tolist() == sum((f.at(seconds) for f in some), ZERO.at(seconds)).tolist()
    assert total.times.tolist() == sorted({NO_TIME} | {time for f in some for time in f.times.tolist()})


@given(st.lists(st.tuples(functions, functions), min_size=1, max_size=4))
def test_a_sum_of_columns_is_that_of_each(some):
    parts = []
    for pair in some:
        shared = breakpoints(pair)
        parts.append((shared, np.stack([f.at(shared) for f in pair], axis=1)))
    found, values = sum_of_columns(parts)
    for column in range(2):
        total = StepFunction.sum_of([pair[column] for pair in some])
        assert values[:, column].tolist() == total.at(found).tolist()
        assert set(total.times.tolist()) <= set(found.tolist())


def test_a_sum_of_columns_begins_with_the_first_values():
    late = (np.array([5, 9]), np.array([[1], [2]]))
    early = (np.array([0]), np.array([[10]]))
    found, values = sum_of_columns([late, early])
    assert (found.tolist(), values.tolist()) == ([0, 5, 9], [[11], [11], [12]])


@given(functions, functions)
def test_functions_are_combined_in_every_second(f, g):
    seconds = np.arange(-1, UNTIL + 5)
    most = StepFunction.combined(np.maximum, f, g)
    assert most.at(seconds).tolist() == np.maximum(f.at(seconds), g.at(seconds)).tolist()
    assert most.times.tolist() == breakpoints([f, g]).tolist()


@given(functions, spans)
def test_extremes_over_spans_are_those_of_their_seconds(f, spans):
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    ends = starts + np.array([length for _, length in spans], dtype=np.int64)
    inside = [f.at(np.arange(start, end)) for start, end in zip(starts, ends, strict=True)]
    assert f.max_over(starts, ends).tolist() == [int(some.max()) for some in inside]
    assert Extremes(f, np.minimum).over(starts, ends).tolist() == [int(some.min()) for some in inside]


@given(functions, st.integers(0, UNTIL))
def test_the_largest_value_ahead_is_that_of_the_seconds_to_come(f, seconds):
    ahead = f.max_ahead(seconds)
    expected = [int(f.at(np.arange(now, now + seconds + 1)).max()) for now in range(-UNTIL - 2, UNTIL + 5)]
    assert ahead.at(np.arange(-UNTIL - 2, UNTIL + 5)).tolist() == expected


@given(functions, times, times)
def test_breaks_within_a_span(f, start, end):
    assert f.breaks_in(start, end).tolist() == [time for time in f.times.tolist() if start < time < end]


@given(st.lists(st.tuples(times, times), max_size=6))
def test_spans_are_counted(spans):
    starts, lengths = (np.array([span[place] for span in spans], dtype=np.int64) for place in (0, 1))
    expected = [sum(s <= second < s + n for s, n in spans) for second in range(2 * UNTIL + 1)]
    assert StepFunction.from_spans(starts, starts + lengths).at(np.arange(2 * UNTIL + 1)).tolist() == expected


@given(st.lists(st.tuples(times, times, values), max_size=6))
def test_spans_add_up(spans):
    starts, lengths, amounts = (np.array(column, dtype=np.int64) for column in zip(*spans, strict=True)) if spans else (
        np.zeros(0, np.int64),) * 3  # fmt: skip
    function = StepFunction.from_spans(starts, starts + lengths, amounts)
    expected = [sum(a for s, n, a in spans if s <= second < s + n) for second in range(2 * UNTIL + 1)]
    assert function.at(np.arange(2 * UNTIL + 1)).tolist() == expected
    assert function.at(-5) == 0


@given(values, steps, times, times)
def test_integrals_count_seconds(before, changes, start, end):
    function = StepFunction.from_steps(before, changes)
    assert function.integral(start, end) == sum(second_by_second(before, changes)[start:end])


def test_integrals_of_large_amounts_are_exact():
    memory = StepFunction.from_steps(2**40 + 1, [])
    assert memory.integral(0, 2**22 + 1) == (2**40 + 1) * (2**22 + 1)
