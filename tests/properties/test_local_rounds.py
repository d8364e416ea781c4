"""A local pool, which is asked by calls, does what encoded messages of one or several hosts bring."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples
from kit.machine import busy_hours, jobs, platforms
from kit.run import Run, simulate

from dardis.kernels.offers import HeldReservations
from dardis.metrics.audit import audit
from dardis.model.choices import EventOrder, NodeChoice, OnOff, UnitsPerNode
from dardis.model.local_queries import ImproveQuery
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.task_manager import SETUPS, SetUp

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


def local_and_message_runs(platform, queue, setup, managers=1, cuts=()) -> tuple[Run, Run]:
    called = simulate(platform, queue, setup, managers=managers, local=True)
    assert audit(called.schedule, platform, expected=[job.number for job in queue]) == []
    return called, simulate(platform, queue, setup, managers=managers, cuts=cuts)


def assert_alike(called: Run, told: Run) -> None:
    """The same starts in the same order, on the same nodes, and as many messages and second thoughts."""
    assert called.starts == told.starts
    assert called.schedule.digest() == told.schedule.digest()
    assert called.schedule.attempts.tolist() == told.schedule.attempts.tolist()
    assert called.reasons == told.reasons
    assert [a.messages for a in called.agents] == [a.messages for a in told.agents]
    assert [a.renegotiations for a in called.agents] == [a.renegotiations for a in told.agents]


@given(st.data(), st.integers(1, 3))
@examples(4)
def test_local_calls_give_the_results_of_messages(data, managers):
    platform = data.draw(platforms(most_nodes=data.draw(st.sampled_from((3, 6, 30)))))
    queue = data.draw(jobs(platform, most=24))
    setup = data.draw(set_ups() | st.sampled_from([*SETUPS.values()]))
    cuts = data.draw(st.sets(st.integers(1, max(platform.node_count - 1, 1)), max_size=2))
    cuts = sorted(cut for cut in cuts if cut < platform.node_count)
    runs = local_and_message_runs(platform, queue, setup, managers, cuts)
    event("moved" if any(len(starts) > 1 for starts in runs[0].starts.values()) else "stayed")
    event(f"{setup.selection}, {len(cuts) + 1} hosts")
    assert_alike(*runs)


@given(busy_hours(), set_ups())
@examples(1)
def test_local_calls_give_the_results_of_messages_in_busy_hours(case, setup):
    platform, queue, _ = case
    assert_alike(*local_and_message_runs(platform, queue, setup))


def test_local_runs_call_the_pool():
    queue = [actual(1, 0, 0, None, 10, 1, (1,), 1, runtime=5)]
    with patch.object(NodePool, "seek", autospec=True, side_effect=NodePool.seek) as seek:
        local_and_message_runs(Platform("one", (NodeGroup("n", 1, {"cores": 4}),)), queue, THROUGHPUT)
    assert seek.call_count == 1


def test_buffers_grow_with_the_number_of_moved_jobs():
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
    held = HeldReservations(
        2 * np.arange(count + 1), np.tile(both_nodes, count), np.tile(units, count), 5000 + none, 9000 + none
    )
    first = 100 + 3 * jobs
    improve = ImproveQuery(jobs, ones, first, held.start - 1, 2 * ones, ones, ones.reshape(-1, 1), 0, False)
    before = len(state._out.rows)
    assert (state.improve(improve, held, -ones, 1, 0).start == first).all()
    assert len(state._out.rows) == before
