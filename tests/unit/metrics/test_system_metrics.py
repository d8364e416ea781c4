"""The machine's figures against brute force, one value a second."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kit.schedules import INSTANCES, schedule_of, use_by_second

from dardis.metrics.system import dissimilarity, schedule_metrics, trimmed, used_profile
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile

SECONDS = np.arange(160)
STEPS = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 9)), max_size=6)


@given(data=st.data())
@settings(deadline=None)
def test_use_and_excess_are_those_of_every_second(data: st.DataObject) -> None:
    platform, schedule = data.draw(INSTANCES)
    steps = data.draw(STEPS)
    desired = DesiredProfile(platform, {0: StepFunction.from_steps(2, steps)})
    held = use_by_second(platform, schedule).sum(axis=0)
    for kind, name in enumerate(platform.kinds):
        assert used_profile(schedule, name).at(SECONDS).tolist() == held[kind].tolist()
    figures = schedule_metrics(schedule, platform, desired)
    excess = np.maximum(held[0] - desired.total(0).at(SECONDS), 0)
    assert figures["overutilisation_core_s"] == excess.sum()
    assert figures["overutilisation_memory_s"] == 0
    if schedule.ran.any():
        first, last = schedule.submit[schedule.ran].min(), schedule.finish[schedule.ran].max()
        assert figures["utilisation"] == held[0].sum() / ((last - first) * platform.cores)
        assert figures["theoretical_runtime_s"] == held[0].sum() / platform.cores
    else:
        assert figures["utilisation"] is None


def by_second(f: list[int], g: list[int]) -> float:
    """The thesis's dissimilarity, written down as it is defined."""
    psi = min((Fraction(b, a) for a, b in zip(f, g, strict=True) if a > 0), default=Fraction(1))
    r_gg = sum(b * b for b in g)
    r_gf = sum(b * psi * a for a, b in zip(f, g, strict=True))
    return float((r_gg - r_gf) / Fraction(r_gg))


@given(f=STEPS, g=STEPS, start=st.integers(-3, 60), length=st.integers(1, 60))
@example(f=[(0, 3), (10, 7)], g=[(0, 3), (10, 7)], start=0, length=20)
def test_dissimilarity_is_that_of_every_second(
    f: list[tuple[int, int]], g: list[tuple[int, int]], start: int, length: int
) -> None:
    used, desired = StepFunction.from_steps(0, f), StepFunction.from_steps(1, g)
    seconds = np.arange(start, start + length)
    measured = dissimilarity(used, desired, start, start + length)
    if not desired.at(seconds).any():
        assert measured is None
    else:
        assert measured == by_second(used.at(seconds).tolist(), desired.at(seconds).tolist())


def test_trimming_counts_jobs_by_submission_and_use_by_window() -> None:
    platform = Platform("p", (NodeGroup("n", 2, {"cores": 2}),))
    rows = [{"submit": submit, "start": submit, "finish": submit + 10, "placed": {0: 1}} for submit in (0, 5, 20, 40)]
    schedule = schedule_of(("cores",), rows)
    counted, window = trimmed(schedule, (5, 10))
    assert (counted.tolist(), window) == ([1, 2], (5, 30))
    figures = schedule_metrics(schedule, platform, None, (5, 10))
    assert figures["jobs"] == 2
    assert figures["utilisation"] == (5 + 10 + 10) / (25 * 4)
    assert figures["theoretical_runtime_s"] == (10 + 10) / 4  # of the jobs that count
    for wrong in ((21, 20), (-1, 0)):
        with pytest.raises(InputError, match="--trim"):
            trimmed(schedule, wrong)
    assert trimmed(schedule, None)[1] is None
