"""Claims, drawn workloads and excess by node of scripts/lab/run thesis_5."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile
from dardis.workload.transform import offered_load
from scripts.lab.kit.claims import Finding, Judge
from scripts.lab.thesis_5 import page
from scripts.lab.thesis_5.drawn_days import draw_days, narrow
from scripts.lab.thesis_5.excess import excess_by_node
from tests.kit.past_jobs import DAY, trace_of
from tests.kit.schedules import INSTANCES, use_by_second


def test_the_thesis_tables_agree_with_its_text_where_they_do():
    found = list(page.judged(page.printed(), page.RULES).values())
    assert {finding.verdict for finding in found} == {"holds"}
    assert [found[place].shown for place in (0, -2, -1)] == ["41 % less", "all of it", "223 times"]


@pytest.mark.parametrize(
    ("own", "shown", "verdict"),
    [(59.0, "41 % less", "holds"), (90.0, "10 % less", "holds in direction"), (110.0, "10 % more", "does not hold")],
)
def test_a_saving_is_judged_by_the_least(own, shown, verdict):
    figures = {name: {"makespan": 100.0} for name in page.RULES} | {"dardis-throughput": {"makespan": own}}
    judge = Judge(figures, page.SET_UPS, page.RULES)
    assert judge(["saves", "dardis-throughput", "makespan", 0.41]) == Finding(shown, verdict)


@given(st.integers(0, 2**32))
def test_drawn_days_keep_hours_of_jobs_and_have_the_load(seed):
    rng = np.random.default_rng(seed)
    trace = trace_of(rng.integers(0, 9 * DAY, 300), rng.integers(60, 7200, 300), rng.integers(1, 900, 300))
    drawn = draw_days(trace, 200, 5, seed)
    assert len(drawn) == 200
    assert np.ptp(drawn.submit // DAY) < 5
    jobs = [[*zip(some.submit % DAY, some.runtime, some.procs, strict=True)] for some in (trace, drawn)]
    assert {*jobs[1]} <= {*jobs[0]}
    machine = Platform("p", (NodeGroup("n", 30, {"cores": 32}),))
    assert offered_load(narrow(drawn, machine, 0.1), machine) == pytest.approx(0.1, rel=0.05)


@given(INSTANCES, st.integers(0, 99))
def test_excess_by_node_is_that_of_every_second(case, cores):
    platform, schedule = case
    desired = DesiredProfile(platform, {0: StepFunction.from_steps(cores, [])})
    own = np.array([desired.of_node(node, 0).values[-1] for node in range(platform.node_count)])
    used = use_by_second(platform, schedule)[:, 0]
    assert excess_by_node(schedule, desired) == np.maximum(used - own[:, None], 0).sum()
