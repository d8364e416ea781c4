"""Every order by name: who goes first, and what a machine without the resource kind is told."""

from dataclasses import replace

import pytest

from dardis.dispatch.queue_orders import RULES, rule_of
from dardis.model.errors import InputError
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, NodePower, Platform

MACHINE = Platform(
    "two groups",
    (
        NodeGroup("a", 2, {"cores": 16, "gpu": 2}, NodePower(core_w=5.0)),
        NodeGroup("b", 6, {"cores": 16, "power": 100}, NodePower(core_w=10.0)),
    ),
)


def job(number, *, est=0, lst=None, walltime=10, units=1, cores=4, gpu=0, power=0, groups=0b11):
    return Job(number, 0, est, lst, walltime, units, (cores, gpu, power), groups)


A = job(1, est=5, lst=90, walltime=30, units=2, cores=4, gpu=1, groups=0b01)
B = job(2, est=9, walltime=20, units=1, cores=16, groups=0b10)
C = job(3, est=0, lst=50, walltime=40, units=1, cores=1, power=40)
FIRST_TO_LAST = {
    "fcfs": [C, A, B],
    "df": [C, A, B],
    "wt": [B, A, C],
    "sjbf": [B, A, C],
    "ljf": [C, A, B],
    "narrow": [C, A, B],
    "wide": [B, A, C],
    "small": [C, A, B],
    "large": [B, A, C],
    "profit": [A, B, C],  # a watt earns by 1/5, 1/10 and 1/40 core
    "most:gpu": [A, B, C],
    "most:cores": [B, A, C],
}


def test_every_order_is_tested():
    assert {name for name in FIRST_TO_LAST if not name.startswith("most:")} == {*RULES}


@pytest.mark.parametrize("name", FIRST_TO_LAST)
def test_orders_sort_jobs(name):
    rule = rule_of(name, MACHINE)
    # Python's sort is stable: ties stay in order of submission.
    assert sorted([A, B, C], key=lambda job: rule(job, MACHINE)) == FIRST_TO_LAST[name]


def test_order_by_a_missing_resource_kind_is_refused():
    with pytest.raises(InputError, match=r"order most:mic: .*'mic'.*cores\|gpu"):
        rule_of("most:mic", MACHINE)


def test_income_of_the_queue_counts_in_the_order_by_profit():
    machine, gold = replace(MACHINE, income_per_core_h=0.1, income_by_queue={"gold": 1.0}), replace(B, queue="gold")
    rule = rule_of("profit", machine)
    assert sorted([A, gold, C], key=lambda job: rule(job, machine)) == [gold, A, C]
