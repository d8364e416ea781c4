"""A host that holds whole rounds by itself does what messages between task managers and node managers would bring."""

from dataclasses import replace

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import busy_hours, jobs, platforms
from kit.run import Run, simulate

from dardis.kernels.offers import Held
from dardis.metrics.audit import audit
from dardis.model.choices import EventOrder, NodeChoice, OnOff, UnitsPerNode
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.task_manager import SETUPS, SetUp
from dardis.wire import messages as say

THROUGHPUT = SETUPS["dardis-throughput"]


@st.composite
def set_ups(draw) -> SetUp:
    return replace(
        THROUGHPUT,
        node_choice=draw(st.sampled_from(NodeChoice)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        backfill=draw(st.sampled_from(OnOff)),
        backfill_depth=draw(st.integers(0, 3)),
        backfill_scope=draw(st.sampled_from(list(type(THROUGHPUT.backfill_scope)))),
        event_order=draw(st.sampled_from(EventOrder)),
    )


def both(platform, queue, setup, managers=1) -> tuple[Run, Run]:
    runs = [simulate(platform, queue, setup, managers=managers, at_once=at_once) for at_once in (True, False)]
    assert audit(runs[0].schedule, platform, expected=[job.number for job in queue]) == []
    return runs[0], runs[1]


def assert_alike(at_once: Run, told: Run) -> None:
    """The same starts in the same order, on the same nodes, and as many messages and second thoughts."""
    assert at_once.starts == told.starts
    assert at_once.schedule.digest() == told.schedule.digest()
    assert at_once.schedule.attempts.tolist() == told.schedule.attempts.tolist()
    assert at_once.reasons == told.reasons
    assert [a.messages for a in at_once.agents] == [a.messages for a in told.agents]
    assert [a.renegotiations for a in at_once.agents] == [a.renegotiations for a in told.agents]


@given(st.data())
@examples(4)
def test_it_is_what_messages_bring(data):
    platform = data.draw(platforms(most_nodes=data.draw(st.sampled_from((3, 6, 30)))))
    queue = data.draw(jobs(platform, most=24))
    runs = both(platform, queue, data.draw(set_ups()), data.draw(st.integers(1, 3)))
    event("moved" if any(len(starts) > 1 for starts in runs[0].starts.values()) else "stayed")
    assert_alike(*runs)


@given(busy_hours(), set_ups())
@examples(1)
def test_it_is_so_in_busy_hours(case, setup):
    platform, queue, _ = case
    assert_alike(*both(platform, queue, setup))


def test_room_grows_with_what_it_is_for():
    """Many move in one call and leave steps behind: profiles outgrow the scratch, the offers do not."""
    platform = Platform("two", (NodeGroup("n", 2, {"cores": 400}),))  # who holds a core of each could hold two of one
    state = NodePool(platform, 0, 2).state
    both_nodes, one = np.arange(2), np.ones(1, dtype=np.int64)
    units = np.ones(2, dtype=np.int64)
    for step in range(83):
        assert state.reserve(both_nodes, units, one, 1000 + 7 * step, 100_000 + 13 * step, 0)
    jobs = np.arange(1, 61, dtype=np.int64)
    for job in jobs.tolist():
        assert state.reserve(both_nodes, units, one, 5000, 9000, 0)
        state.book(both_nodes, job, 5000, 0)
    count = len(jobs)
    none, ones = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
    held = Held(2 * np.arange(count + 1), np.tile(both_nodes, count), np.tile(units, count), 5000 + none, 9000 + none)
    first = 100 + 3 * jobs
    improve = say.Improve(jobs, ones, first, held.start - 1, 2 * ones, ones, ones.reshape(-1, 1), 0, False)
    before = len(state._out.rows)
    assert (state.improve(improve, held, -ones, 1, 0).start == first).all()
    assert len(state._out.rows) == before
