"""The hours before the day that is planned, as they are to be expected."""

import numpy as np
from kit.actual import actual

from dardis.model.platform import NodeGroup, Platform
from offline.day.gap import live_on
from offline.planner.midnight import state_at
from offline.planner.problem import Expected
from offline.site.history import predictor_of, replayed


def test_what_is_made_up_earns_by_its_own_queue_and_not_by_a_later_job_s_of_its_number():
    """Made-up jobs are numbered from what is known on, as those are that really come."""
    platform = Platform("two", (NodeGroup("n", 2, {"cores": 1}),), income_by_queue={"gold": 9.0, "lead": 1.0})
    past = actual(1, 0, 0, None, 900, 1, (1,), 1, "gold", runtime=900)
    later = actual(2, 500, 500, None, 900, 1, (1,), 1, "gold", runtime=900)
    made = Expected(actual(2, 200, 200, None, 900, 1, (1,), 1, "lead", runtime=900).asked, 900)
    asked = [past.asked, later.asked]
    schedule = replayed([past, later], platform)
    state = state_at(schedule, asked, platform, 100, predictor_of(schedule))
    ahead = live_on(state, asked, [made], platform, 600)
    order = np.argsort(ahead.state.running.number)
    assert ahead.state.running.number[order].tolist() == [1, 2]
    assert ahead.state.running.income[order].tolist() == [9.0, 1.0]
