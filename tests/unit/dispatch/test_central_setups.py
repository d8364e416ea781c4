"""Central set-ups: what the names stand for, and which settings do not go together."""

from dataclasses import replace

import pytest
from kit.central_runs import setup_of

from dardis.dispatch.setups import Ordering, ProfileCheck
from dardis.model.choices import EventOrder, OnOff, ProfileRule, UnitsPerNode
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform


def test_rules_are_the_thesis_algorithm_4_by_default():
    setup = setup_of("rules-df")
    assert (setup.ordering, setup.backfill) == (Ordering.STRICT, OnOff.OFF)
    assert (setup.profile, setup.profile_check) == (ProfileRule.HARD, ProfileCheck.INSTANT)
    assert (setup.units_per_node, setup.event_order) == (UnitsPerNode.PACK, EventOrder.BATCHED)


def test_pbs_setup_limits_the_examined_jobs():
    fifo, walltime = setup_of("pbs-fifo"), setup_of("pbs-walltime")
    assert (fifo.rule, fifo.backfill_window, walltime.rule, walltime.backfill_window) == ("fcfs", 10, "wt", 400)
    assert replace(setup_of("easy", "backfill_window=10"), about=fifo.about) == fifo
    assert replace(setup_of("easy", "rule=wt", "backfill_window=400"), about=walltime.about) == walltime
    assert setup_of("pbs-fifo", "backfill_window=unlimited").backfill_window == setup_of("easy").backfill_window == 0


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_skipping_and_reserving_do_not_go_together(name):
    with pytest.raises(InputError, match=r"ordering=relaxed.*backfill=off"):
        setup_of(name, "ordering=relaxed")


def test_orders_require_their_inputs():
    machine = Platform("p", (NodeGroup("n", 1, {"cores": 4, "gpu": 1}),))
    setup_of("easy", "rule=most:gpu").check_platform(machine)
    with pytest.raises(InputError, match="most:mic"):
        setup_of("easy", "order=most:mic").check_platform(machine)
