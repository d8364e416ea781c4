"""The compiled simulation of a queue gives what the simulation by events gives."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples
from kit.machine import jobs, platforms, with_queues
from kit.replay import rejected_that_could_run
from properties.test_central import setups

from dardis.dispatch import CentralSetUp
from dardis.kernels import queue_simulation
from dardis.kernels.node_search import NOTHING
from dardis.metrics.audit import audit
from dardis.model.choices import EventOrder, Expecting, UnitsPerNode
from dardis.model.errors import ProtocolError
from dardis.model.job import ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.registry.builders import CENTRAL
from dardis.registry.dispatcher import Dispatcher
from dardis.runs.play import play
from dardis.sim import compiled_simulation
from dardis.sim.recorder import Recorder


@st.composite
def plain_queues(draw) -> tuple[Platform, list[ActualJob], CentralSetUp]:
    """Jobs that start at once or wait, under any set-up, on nodes that are mostly open."""
    platform = draw(platforms())
    platform, listed = draw(with_queues(platform, draw(jobs(platform, following=False, most=20))))
    if draw(st.integers(0, 9)):
        platform = replace(platform, maintenance=(), prime=None)
    listed = [replace(job, job=replace(job.job, earliest=job.submit)) for job in listed]
    return platform, listed, draw(setups(event_order=EventOrder.BATCHED, expected=Expecting.WALLTIME))


def test_pass_that_finds_no_nodes_is_an_error():
    platform, listed = (
        Platform("one", (NodeGroup("n", 1, {"cores": 1}),)),
        [actual(1, 0, 0, None, 5, 1, (1,), 1, runtime=5)],
    )
    with (
        patch.object(queue_simulation, "_simulate", return_value=NOTHING),
        pytest.raises(ProtocolError, match=f"a queue pass ends with {NOTHING}"),
    ):
        play(platform, listed, find_dispatcher("easy"), Target(), 1)


@given(plain_queues(), st.integers(1, 5))
@examples(5)
def test_compiled_simulation_equals_simulation_by_events(drawn, stamps):
    platform, listed, setup = drawn
    dispatcher = Dispatcher("plain", setup, CENTRAL)
    with (
        patch.object(queue_simulation, "STAMPS", stamps),
        patch.object(compiled_simulation, "Recorder", side_effect=Recorder) as made,
    ):
        ours = play(platform, listed, dispatcher, Target(), 3)
        event("compiled" if made.called else "by events")
    with patch.object(compiled_simulation, "may_compile", return_value=False):
        theirs = play(platform, listed, dispatcher, Target(), 3)
    assert ours.schedule.digest() == theirs.schedule.digest()
    assert ours.recorder.reasons == theirs.recorder.reasons
    assert ours.recorder.attempts == theirs.recorder.attempts
    assert len(ours.recorder.decision_ns) == len(theirs.recorder.decision_ns)
    assert ours.figures == theirs.figures
    assert audit(ours.schedule, platform) == []
    distinct = setup.units_per_node is UnitsPerNode.DISTINCT
    assert not rejected_that_could_run(platform, listed, ours.schedule, None, distinct=distinct, instant=True)
