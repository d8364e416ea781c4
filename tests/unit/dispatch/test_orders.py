"""Orders of queues, and central set-ups by name."""

from dataclasses import replace

import pytest
from kit.central import setup_of

from dardis.dispatch.orders import order_name, rule_of
from dardis.dispatch.setups import Ordering, ProfileCheck
from dardis.model.choices import EventOrder, OnOff, ProfileRule, UnitsPerNode
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


@pytest.mark.parametrize("name", FIRST_TO_LAST)
def test_who_goes_first(name):
    rule = rule_of(name, MACHINE)
    # Python's sort is stable: ties stay in order of submission.
    assert sorted([A, B, C], key=lambda job: rule(job, MACHINE)) == FIRST_TO_LAST[name]


def test_profit_takes_the_mean_of_the_nodes_that_may_run_the_job():
    rule = rule_of("profit", MACHINE)
    mixed = (2 * 5.0 + 6 * 10.0) / 8
    assert rule(job(1), MACHINE) == pytest.approx(-0.013 / mixed)
    free = Platform("free", (NodeGroup("a", 1, {"cores": 4}, NodePower(core_w=0.0)),))
    costly = Job(1, 0, 0, None, 9, 1, (1,), 1)
    assert rule(costly, free) < rule(job(1), MACHINE)  # what costs nothing goes first


@pytest.mark.parametrize("name", ["", "lifo", "most", "most:", "Fcfs"])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match=f"^{name}$"):
        order_name(name)


def test_most_of_a_kind_that_the_machine_has_not():
    with pytest.raises(InputError, match=r"order most:mic: .*'mic'.*cores\|gpu"):
        rule_of("most:mic", MACHINE)


def test_rules_are_the_thesis_algorithm_4_by_default():
    setup = setup_of("rules-df")
    assert (setup.ordering, setup.backfill) == (Ordering.STRICT, OnOff.OFF)
    assert (setup.profile, setup.profile_check) == (ProfileRule.HARD, ProfileCheck.INSTANT)
    assert (setup.units_per_node, setup.event_order) == (UnitsPerNode.PACK, EventOrder.BATCHED)


def test_pbs_looks_at_so_many_jobs():
    """Thesis 4.5; in all else they are `easy`."""
    fifo, walltime = setup_of("pbs-fifo"), setup_of("pbs-walltime")
    assert (fifo.rule, fifo.backfill_window, walltime.rule, walltime.backfill_window) == ("fcfs", 10, "wt", 400)
    assert replace(setup_of("easy", "backfill_window=10"), about=fifo.about) == fifo
    assert replace(setup_of("easy", "rule=wt", "backfill_window=400"), about=walltime.about) == walltime
    assert setup_of("pbs-fifo", "backfill_window=unlimited").backfill_window == setup_of("easy").backfill_window == 0


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_skipping_and_reserving_do_not_go_together(name):
    with pytest.raises(InputError, match=r"ordering=relaxed.*backfill=off"):
        setup_of(name, "ordering=relaxed")


def test_without_backfilling_an_order_is_the_whole_queue_s():
    assert setup_of("rules-fcfs", "order=sjbf").rule == "sjbf"
    assert setup_of("rules-fcfs", "order=sjbf", "backfill=on").rule == "fcfs"


def test_what_was_checked_may_be_set_again():
    """As a run's record has it: with the order of the backfilled part spelt out."""
    assert setup_of("rules-wt").checked() == setup_of("rules-wt") == setup_of("rules-wt", "order=wt")


def test_orders_need_what_they_go_by():
    machine = Platform("p", (NodeGroup("n", 1, {"cores": 4, "gpu": 1}),))
    setup_of("easy", "rule=most:gpu").check_platform(machine)
    with pytest.raises(InputError, match="most:mic"):
        setup_of("easy", "order=most:mic").check_platform(machine)
