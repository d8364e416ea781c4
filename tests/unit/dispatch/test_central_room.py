"""A central dispatcher takes more jobs and more nodes than it has room for at first."""

import pytest
from kit.actual import actual
from kit.central import dispatch, setup_of

from dardis.kernels.job_table import FIRST_SLOTS
from dardis.model.platform import NodeGroup, Platform

EIGHT = Platform("eight", (NodeGroup("n", 8, {"cores": 1}),))
MANY = FIRST_SLOTS + FIRST_SLOTS // 2


def wide(number, submit):
    return actual(number, submit, submit, None, 10, 8, (1,), 1, runtime=10)


@pytest.mark.parametrize("name", ["rules-fcfs", "easy", "conservative"])
def test_more_jobs_wait_than_there_are_slots(name):
    run = dispatch(EIGHT, [wide(number, 0) for number in range(MANY)], setup_of(name))
    assert run.schedule.start.tolist() == [10 * place for place in range(MANY)]


@pytest.mark.parametrize("node_choice", ["first-fit", "best-fit"])
def test_slots_and_nodes_of_jobs_that_have_ended_are_used_again(node_choice):
    run = dispatch(EIGHT, [wide(number, 7 * number) for number in range(2 * MANY)],
                   setup_of("easy", f"node_choice={node_choice}"))  # fmt: skip
    assert run.schedule.start.tolist() == [10 * place for place in range(2 * MANY)]
    assert run.schedule.placed.nodes.tolist() == list(range(8)) * 2 * MANY
