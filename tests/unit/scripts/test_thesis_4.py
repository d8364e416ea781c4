"""The page of thesis chapter 4: the measures in their columns, gains over PBSFifo, phases, and days."""

from __future__ import annotations

import pytest

from scripts.thesis_4 import cases, days, paper
from scripts.thesis_4 import page as pages

JOBS = """job_id,workload_name,submission_time,requested_number_of_resources,requested_time,success,starting_time,\
execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,units,units_by_node,req_cores,\
earliest_start,latest_start,attempts,status,queue,user
1,t,100,2,50000,1,100,43200,43300,0,43200,1.0,0,1,0:1,2,100,,1,completed,debug,
2,t,100,2,90000,1,1900,86400,88300,1800,88200,1.0,1,1,1:1,2,100,,1,completed,debug,
3,t,90000,1,10,1,99000,10,99010,9000,9010,901.0,0,1,0:1,1,90000,,1,completed,parallel,
"""


def metrics(scale):
    found = {key: scale * place for place, key in enumerate(pages.KEYS, 1)}
    return found | dict.fromkeys(paper.PHASES, 0.5 * scale) | {"solver_decisions": 10}


@pytest.fixture
def outcomes():
    """Of each test: FIFO has 100 times its place of each measure, the model 40 and 60 in two seeds."""
    return [
        pages.Outcome(
            test, {(paper.FIFO, 1): metrics(100), (paper.MODEL, 1): metrics(40), (paper.MODEL, 2): metrics(60)}
        )
        for test in cases.TESTS
    ]


def test_the_page_has_theirs_beside_ours_and_phases(outcomes):
    text = pages.page(outcomes, [], {"pbs-fifo": [days.Day(3, 0.5, 12.0)]}, "Title")
    rows = text.splitlines()
    assert next(row for row in rows if row.startswith("| `cp-eurora` | 168.032")).split(" | ")[1:3] == ["168.032", "50"]
    # 25 s in 10 decisions, a sixth of them all.
    assert "| commit the result | 0.33 | 1 | 2500.0 | 17 |" in text
    assert "| 1 | 3 | 0.5 | 12 |" in text


def test_days_are_counted_from_the_first_submission(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    one, two = days.days_of(tmp_path / "jobs.csv")
    assert (one.jobs, one.weighted_wait) == (2, pytest.approx((0 + 1800 / 3600) / 2))
    assert one.cores == pytest.approx((2 * 43_200 + 2 * (86_400 - 1_800)) / 86_400)
    assert (two.jobs, two.weighted_wait) == (1, 9000 / 18_000)
    assert two.cores == pytest.approx((2 * 1_800 + 10) / 86_400)
