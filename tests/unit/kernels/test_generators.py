"""How often each start is drawn, over many keys; and how many starts come of a quota."""

import numpy as np
import pytest
from kit.asks import ask_for, nothing_held

from dardis.model.codes import EXPONENTIAL, UNIFORM
from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import DesiredProfile
from dardis.node_manager.state import PoolState

MACHINE = Platform("m", (NodeGroup("n", 1, {"cores": 4}),))


def offered(state: PoolState, **ask) -> list[int]:
    rows, _ = state.offers(ask_for(**ask), nothing_held(), 1, 0)
    return [instant for _, low, high, *_ in rows.tolist() for instant in range(low, high)]


@pytest.mark.parametrize("grain", [1, 5])
@pytest.mark.parametrize("kind", [UNIFORM, EXPONENTIAL])
def test_starts_are_drawn_by_index(kind, grain):
    """Wishes of 4, 2, 1, 3 cores over four quarters of a window: a job of one core, one second."""
    window = 20 * grain
    steps = [(window // 4 * quarter, binding) for quarter, binding in enumerate((4, 2, 1, 3))]
    state = PoolState(MACHINE, 0, 1, DesiredProfile(MACHINE, {0: StepFunction.from_steps(4, steps)}))
    drawn = [
        offered(state, job=job, last=window - 1, quota=1, generator=kind, grain=grain, desired_binds=True)
        for job in range(8000)
    ]
    counts = np.bincount(np.array(drawn).ravel(), minlength=20)
    weights = np.repeat([4.0, 2.0, 1.0, 3.0], 5)
    if kind == EXPONENTIAL:
        weights *= np.exp(-np.arange(20) / 20)
    means = 8000 * weights / weights.sum()
    assert ((counts - means) ** 2 / means).sum() < 51  # chi-square, 19 degrees of freedom: one in 10,000


def test_draws_depend_on_job_attempt_and_node_but_not_on_how_the_machine_is_split():
    two = Platform("m", (NodeGroup("n", 2, {"cores": 4}),))
    whole, second = PoolState(two, 0, 2, None), PoolState(two, 1, 2, None)
    ask = {"last": 10**6, "quota": 3, "generator": UNIFORM}

    def rows(state, **more):
        return state.offers(ask_for(**ask, **more), nothing_held(), 1, 0)[0].tolist()

    both = rows(whole)
    mine = [row for row in both if row[0] == 1]
    assert rows(second) == mine
    assert [row[1:] for row in both if row[0] == 0] != [row[1:] for row in mine]
    assert rows(second, job=2) != mine
    assert rows(second, attempt=2) != mine
