"""Thesis tables 3.2 and 3.3: five jobs that wait at once on Eurora's 64 nodes."""

import pytest
from kit.actual import actual
from kit.eurora import EURORA, TABLE
from kit.run import simulate

from dardis.config.settings import with_settings
from dardis.metrics.audit import audit
from dardis.model.choices import NodeChoice
from dardis.task_manager import SETUPS

JOBS = [
    actual(number, 0, 0, None, duration, units, tuple(request), EURORA.all_groups, runtime=duration)
    for number, (units, *request, duration) in enumerate(TABLE)
]
PUBLISHED = [0, 0, 600, 0, 800]


def starts(*settings: str) -> list[int]:
    setup = with_settings(SETUPS["dardis-throughput"], settings)
    schedule = simulate(EURORA, JOBS, setup, cuts=(20, 40)).schedule
    assert audit(schedule, EURORA, expected=range(5)) == []
    return schedule.start.tolist()


@pytest.mark.parametrize("choice", NodeChoice)
def test_no_job_starts_later_than_in_the_published_solution(choice):
    assert all(ours <= theirs for ours, theirs in zip(starts(f"node_choice={choice}"), PUBLISHED, strict=True))


def test_best_fit_starts_four_jobs_at_once():
    assert starts() == [0, 0, 0, 0, 800]


def test_one_unit_a_node_makes_job_1_wait():
    assert starts("units_per_node=distinct") == [0, 14000, 0, 0, 800]
