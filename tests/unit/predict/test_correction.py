"""How predictions are raised that jobs outlive: by the published steps, and whatever the moment of asking."""

from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.predict.correction import STEPS, corrected

WALLTIMES = st.integers(1, 2_000_000)


def expiries(predicted: int, walltime: int) -> list[int]:
    """After how many seconds of running each of its predictions expires, the walltime last."""
    found = [min(predicted, walltime)]
    while found[-1] < walltime:
        found.append(corrected(predicted, walltime, found[-1]))
    return found


def test_the_steps_are_those_of_the_paper():
    assert [step // 60 for step in STEPS] == [1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000]
    assert expiries(600, 10_000) == [600, 660, 960, 1860, 3660, 7260, 10_000]


@given(WALLTIMES, st.data())
@examples()
def test_a_prediction_only_grows_up_to_the_walltime_and_is_never_past(walltime, data):
    predicted = data.draw(st.integers(1, walltime))
    elapsed = data.draw(st.integers(0, walltime - 1))
    later = data.draw(st.integers(elapsed, walltime - 1))
    duration = corrected(predicted, walltime, elapsed)
    assert max(predicted, elapsed + 1) <= duration <= walltime
    assert corrected(predicted, walltime, later) >= duration
    if elapsed < predicted:
        assert duration == predicted


@given(WALLTIMES, st.data())
@examples()
def test_there_are_few_corrections_and_each_asks_for_the_same(walltime, data):
    """Eleven steps and the walltime; who asks late is told what was true at each expiry."""
    predicted = data.draw(st.integers(1, walltime))
    found = expiries(predicted, walltime)
    assert len(found) <= 1 + len(STEPS) + 1
    assert found == sorted(set(found))
    elapsed = data.draw(st.integers(0, walltime - 1))
    assert corrected(predicted, walltime, elapsed) == min(one for one in found if one > elapsed)
