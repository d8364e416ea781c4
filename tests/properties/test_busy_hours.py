"""Hours of a busy machine under a profile of many steps: nothing is overbooked or forgotten, a hard profile holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.central import dispatch
from kit.effort import examples
from kit.late import run_late
from kit.machine import busy_hours
from kit.replay import never_above

from dardis.dispatch import CENTRAL_SETUPS
from dardis.dispatch.setups import ProfileCheck
from dardis.model.choices import EventOrder, NodeChoice, ProfileRule, UnitsPerNode
from dardis.task_manager import LateSetUp

CHOICES = {
    "profile": ProfileRule,
    "node_choice": NodeChoice,
    "units_per_node": UnitsPerNode,
    "event_order": EventOrder,
}


def drawn(data: st.DataObject, **more: Sequence[object]) -> dict[str, object]:
    """A value for each setting."""
    return {key: data.draw(st.sampled_from(values)) for key, values in {**CHOICES, **more}.items()}


@pytest.mark.parametrize("name", CENTRAL_SETUPS)
@given(busy_hours(), st.data())
@examples(1)
def test_central_dispatchers_overbook_nothing_and_forget_nobody(name, hours, data):
    """The audit, and that all have ended or been rejected, is in `dispatch`."""
    platform, jobs, desired = hours
    setup = replace(CENTRAL_SETUPS[name], **drawn(data, profile_check=ProfileCheck)).checked()
    run = dispatch(platform, jobs, setup, desired=desired)
    if setup.profile is ProfileRule.HARD and setup.profile_check is ProfileCheck.SPAN:
        assert never_above(run.schedule, platform, desired)


@given(busy_hours(), st.data())
@examples(0.5)
def test_late_binding_overbooks_nothing_and_forgets_nobody(hours, data):
    """As above; on two hosts where there are two nodes."""
    platform, jobs, desired = hours
    setup = LateSetUp(**drawn(data, aged_after_s=(1, 100, 3000)))
    run = run_late(platform, jobs, setup, desired=desired, cuts=[1][: platform.node_count - 1], managers=2)
    if setup.profile is ProfileRule.HARD:
        assert never_above(run.schedule, platform, desired)
