"""A local pool that gives all waiting jobs their turns does what publishing and claims by messages would bring."""

from dataclasses import replace
from unittest.mock import PropertyMock, patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples
from kit.late_runs import LateRun
from kit.machine import busy_hours
from kit.site_events import stopped_crowds, stories
from properties.test_late_binding import LATE, Case, cases, crowds, setups, where

from dardis.kernels import job_table, placer
from dardis.model.choices import EventOrder, NodeChoice, ProfileRule
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool, late_binding
from dardis.registry import Cluster


def local_and_message_turns(case: Case) -> tuple[LateRun, LateRun]:
    return case.run(local=True), case.run()


def assert_alike(called: LateRun, told: LateRun) -> None:
    """The same starts on the same nodes, for the same reasons none, and as many messages and second thoughts."""
    assert called.schedule.digest() == told.schedule.digest()
    assert called.schedule.attempts.tolist() == told.schedule.attempts.tolist()
    assert called.reasons == told.reasons
    assert called.renegotiations == told.renegotiations
    assert called.messages == told.messages


@given(cases(event_order=EventOrder.BATCHED))
@examples(6)
def test_local_turns_give_the_results_of_messages(case):
    called, told = local_and_message_turns(case)
    event("wished" if case.desired else "free")
    assert_alike(called, told)
    assert where(case, called) == where(case, told)


@given(busy_hours(), setups(event_order=EventOrder.BATCHED), st.booleans())
@examples(1)
def test_local_turns_give_the_results_of_messages_in_busy_hours(hours, setup, wished):
    platform, queue, desired = hours
    assert_alike(*local_and_message_turns(Case(platform, queue, setup, desired if wished else None)))


@given(busy_hours(), setups(event_order=EventOrder.BATCHED, profile=ProfileRule.OFF))
@examples(0.3)
def test_local_turns_give_the_results_of_messages_beside_an_unused_profile(hours, setup):
    assert_alike(*local_and_message_turns(Case(*hours[:2], setup, hours[2])))


@given(stories() | stopped_crowds())
@examples(1)
def test_local_turns_give_the_results_of_messages_with_site_events(case):
    case.order = EventOrder.BATCHED
    called = case.play("dardis-late")
    with patch.object(Cluster, "direct_pool", new_callable=PropertyMock, return_value=None):
        told = case.play("dardis-late")
    assert called.schedule.digest() == told.schedule.digest()
    assert called.recorder.reasons == told.recorder.reasons
    assert called.figures == told.figures


def queue_of(count: int) -> list:
    return [
        actual(number, number, number, None, 500 + 7 * (number % 11), 1 + number % 5, (1 + number % 7,), 1,
               runtime=(500, 20, 300)[number % 3])
        for number in range(1, count)
    ]  # fmt: skip


TWO = Platform("two", (NodeGroup("n", 4, {"cores": 8}),))


@pytest.mark.parametrize("choice", NodeChoice)
def test_pool_reserves_unless_nodes_are_drawn_at_random(choice):
    case = Case(TWO, queue_of(60), replace(LATE, node_choice=choice), None)
    called, told = local_and_message_turns(case)
    assert_alike(called, told)
    with patch.object(NodePool, "_offer", side_effect=AssertionError("asked")):
        if choice is NodeChoice.RANDOM:
            with pytest.raises(AssertionError, match="asked"):
                case.run(local=True)
        else:
            case.run(local=True)


@given(st.data(), st.integers(1, 3))
@examples(1)
def test_local_turns_are_independent_of_initial_buffer_sizes(data, slots):
    case = data.draw(crowds() | cases(event_order=EventOrder.BATCHED))
    expected = case.run(local=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job_table, "FIRST_SLOTS", slots)
        patched.setattr(late_binding, "FIRST_JOBS", 1)
        patched.setattr(placer, "FIRST_LONGEST", 1)
        make_room = placer.make_pass_buffers
        patched.setattr(
            placer, "make_pass_buffers", lambda kinds, scratch, _, count: make_room(kinds, scratch, 1, count)
        )
        narrow = case.run(local=True)
    assert_alike(narrow, expected)


def test_profiles_and_lists_grow_beyond_their_initial_buffers():
    assert_alike(*local_and_message_turns(Case(TWO, queue_of(400), LATE, None)))
