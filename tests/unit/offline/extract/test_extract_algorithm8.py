from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from offline.extract.algorithm8 import desired_cores, switching

DAY, HOUR = 86_400, 3_600
HOURS = DAY + HOUR * np.arange(24)


def used(share: float) -> StepFunction:
    """The day before, on 1,000 cores."""
    return StepFunction.from_steps(0, [(0, round(1000 * share)), (DAY, 0)])


@pytest.mark.parametrize(("offset", "wished"), [(1.0, 1000), (0.7, 820), (0.5, 700), (0.0, 400)])
def test_a_share_of_the_unused_is_wished_for(offset: float, wished: int) -> None:
    found = desired_cores(used(0.4), 1000, DAY, offset)
    assert found.at(HOURS).tolist() == [wished] * 24
    assert found.at(np.array([DAY - 1, 2 * DAY])).tolist() == [1000, 1000]


@pytest.mark.parametrize(("share", "wished"), [(0.84, 952), (0.841, 1000)])
def test_above_84_percent_all_is_wished_for(share: float, wished: int) -> None:
    assert desired_cores(used(share), 1000, DAY, 0.7).at(HOURS).tolist() == [wished] * 24


def test_a_full_day_before_fills_the_whole_day_whatever_is_planned() -> None:
    idle = StepFunction.from_steps(0, [])
    assert desired_cores(used(0.9), 1000, DAY, 0.5, idle).at(HOURS).tolist() == [1000] * 24


def test_hours_that_have_passed_count_as_planned() -> None:
    planned = StepFunction.from_steps(0, [(DAY, 1000)])
    found = desired_cores(used(0.4), 1000, DAY, 0.5, planned).at(HOURS)
    means = [0.4 + 0.6 * hour / 24 for hour in range(24)]
    assert found.tolist() == [1000 if m > 0.84 else np.ceil(1000 * (m + 1) / 2 - 1e-6) for m in means]
    assert (found[:18] < 1000).all()
    assert (found[18:] == 1000).all()  # 0.4 + 0.6 · 18 / 24 = 0.85


@given(st.lists(st.integers(0, 1000), min_size=24, max_size=24), st.floats(0, 1))
def test_the_wish_lies_between_use_and_all_and_grows_with_the_offset(by_hour: list[int], offset: float) -> None:
    past = StepFunction.from_steps(0, [*((HOUR * h, n) for h, n in enumerate(by_hour)), (DAY, 0)])
    found = desired_cores(past, 1000, DAY, offset).at(HOURS)
    assert (found >= sum(by_hour) / 24 - 1e-6).all()
    assert (found <= 1000).all()
    assert (found <= desired_cores(past, 1000, DAY, 1.0).at(HOURS)).all()
    assert (found >= desired_cores(past, 1000, DAY, 0.0).at(HOURS)).all()


def test_nodes_stay_on_in_proportion_and_those_always_on_have_no_floor() -> None:
    groups = (
        NodeGroup("a", 10, {"cores": 60}), NodeGroup("b", 5, {"cores": 60}),
        NodeGroup("c", 5, {"cores": 20}, always_on=True),
    )  # fmt: skip
    platform = Platform("two", groups)
    cores = desired_cores(used(0.4), 1000, DAY, 0.7)
    floors = switching(cores, platform, idle_s=337).floors
    assert {group: int(floor.at(DAY)) for group, floor in floors.items()} == {0: 9, 1: 5}
