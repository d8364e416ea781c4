import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.job import NO_TIME
from dardis.model.profile import StepFunction

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
