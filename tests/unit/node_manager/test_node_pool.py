"""A pool, message by message: what it reserves, refuses, replaces and frees, and which questions it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from kit.offer_requests import ask_for

from dardis.model.errors import ProtocolError
from dardis.model.local_queries import BindQuery, ImproveQuery
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.node_manager.pool import LAPSE
from dardis.node_manager.pool_state import PoolState
from dardis.wire import messages as say
from dardis.wire.effects import Kill, Launch, SendToManager

MACHINE = Platform("m", (NodeGroup("a", 1, {"cores": 1}), NodeGroup("b", 2, {"cores": 3})))


def ints(*values):
    return np.array(values, dtype=np.int64)


def pool_of(first: int = 0, last: int = 3, platform: Platform = MACHINE, **more) -> NodePool:
    return NodePool(platform, first, last, host=7, **more)


def confirm(
    job: int = 1, *, nodes=(0,), units=(1,), start=0, walltime=10, attempt=1, cores=1, tentative=False
) -> say.Confirm:
    return say.Confirm(job, attempt, 0, start, walltime, ints(cores), ints(*nodes), ints(*units), tentative=tentative)


def free_starts(pool: NodePool, last: int = 30, **ask) -> dict[int, list[int]]:
    """The starts that each node offers to another job for one second."""
    (send,) = pool.handle(ask_for(job=99, last=last, groups=0b11, **ask), 0)
    found: dict[int, list[int]] = {}
    for node, low, high, *_ in send.message.rows.tolist():
        found.setdefault(node, []).extend(range(low, high))
    return found


def refused(effects) -> bool:
    return any(isinstance(effect, SendToManager) and isinstance(effect.message, say.Refused) for effect in effects)


def test_a_confirmed_job_is_launched_under_the_platforms_numbers_and_its_time_taken():
    pool = pool_of(1, 3)
    (launch,) = pool.handle(confirm(nodes=(2,), cores=3, start=5), 0)
    assert isinstance(launch, Launch)
    assert (launch.at, launch.until, launch.nodes.tolist(), launch.units.tolist()) == (5, 15, [2], [1])
    assert free_starts(pool, request=(1,)) == {1: [*range(31)], 2: [*range(5), *range(15, 31)]}
    (send,) = pool.handle(ask_for(groups=0b11), 0)
    assert (send.message.host, send.message.last_end) == (7, 15)


def test_claim_that_partly_fits_is_refused_entirely():
    pool = pool_of()
    pool.handle(confirm(1, nodes=(1,), units=(2,), start=5), 0)
    assert refused(pool.handle(confirm(2, nodes=(0, 1), units=(1, 2), start=0), 0))
    assert free_starts(pool)[0] == [*range(31)]
    assert not refused(pool.handle(confirm(2, nodes=(0, 1), units=(1, 1), start=0, attempt=2), 0))


def test_a_start_in_the_past_and_another_incarnation_are_refused():
    assert refused(pool_of().handle(confirm(start=4), 5))
    assert refused(pool_of().handle(replace(confirm(start=9), incarnation=3), 0))


UNSOUND = {
    "a node twice": {"nodes": (1, 1), "units": (2, 2)}, "nodes in no order": {"nodes": (2, 1), "units": (1, 1)},
    "no node": {"nodes": (), "units": ()}, "a node of others": {"nodes": (3,)}, "a node before all": {"nodes": (-1,)},
    "no units": {"units": (0,)}, "less than none": {"units": (-1,)}, "more nodes than units": {"nodes": (1, 2)},
    "units beyond counting": {"units": (1 << 62,), "cores": 4}, "a request beyond counting": {"cores": 1 << 62},
    "to give back": {"cores": -1}, "no time": {"walltime": 0},
}  # fmt: skip


@pytest.mark.parametrize("claim", UNSOUND.values(), ids=UNSOUND.keys())
def test_invalid_claim_is_refused_and_changes_nothing(claim):
    pool = pool_of()
    assert refused(pool.handle(confirm(**{"nodes": (1,), **claim}), 0))
    assert pool.idle
    assert [[*free_starts(pool, request=(cores,))] for cores in (1, 3, 4)] == [[0, 1, 2], [1, 2], []]


def test_repeated_claim_is_reserved_once():
    pool = pool_of()
    pool.handle(confirm(nodes=(1,)), 0)
    assert pool.handle(confirm(nodes=(1,)), 0) == []
    assert free_starts(pool, request=(2,))[1] == [*range(31)]


def test_a_new_claim_replaces_the_old_one_if_it_fits():
    pool = pool_of()
    pool.handle(confirm(start=12), 0)
    pool.handle(confirm(start=8, attempt=2), 0)  # overlaps the old one, which counts as free
    assert free_starts(pool)[0] == [*range(8), *range(18, 31)]
    assert refused(pool.handle(confirm(start=0, attempt=1), 0))
    pool.handle(confirm(2, start=0, walltime=5), 0)
    assert refused(pool.handle(confirm(start=3, attempt=3), 0))
    assert free_starts(pool)[0] == [*range(5, 8), *range(18, 31)]


def test_a_release_of_an_earlier_claim_leaves_a_later_one():
    pool = pool_of(report_every=4)
    pool.handle(confirm(start=20, tentative=True), 0)
    pool.handle(confirm(start=30, attempt=2, tentative=True), 1)
    pool.handle(say.Release(1, 1), 2)
    assert free_starts(pool)[0] == [*range(30)]
    done, launch = pool.handle(say.Commit(1, 2), 3)
    assert done.message == say.Committed(1, 2, 7)
    assert (launch.attempt, launch.at) == (2, 30)


@pytest.mark.parametrize("committed", [True, False])
def test_tentative_claims_lapse_and_committed_claims_do_not(committed):
    pool = pool_of(report_every=4)
    pool.handle(confirm(start=20, tentative=True), 0)
    if committed:
        pool.handle(say.Commit(1, 1), 5)
    assert pool.handle(say.Timer(1, 1, LAPSE), 20) == ([] if committed else [Kill(1, 1)])
    assert pool.idle is not committed


def later_of(effects) -> list[int]:
    (send,) = effects
    assert isinstance(send.message, say.CapacityFreed)
    return send.message.jobs.tolist()


def test_end_notifies_later_jobs_of_its_nodes():
    pool = pool_of()
    pool.handle(confirm(1, nodes=(0, 1), units=(1, 1)), 0)
    for job, node, start in ((5, 0, 10), (3, 1, 20), (4, 0, 20), (6, 1, 40), (8, 2, 10)):
        pool.handle(confirm(job, nodes=(node,), start=start), 0)
    assert later_of(pool.handle(say.UnitsEnded(1, 2), 6)) == [3, 4, 5, 6]


def test_started_released_or_moved_job_is_not_notified():
    pool = pool_of()
    pool.handle(confirm(1, nodes=(1,), walltime=50), 0)
    for job, start in ((2, 20), (3, 30), (4, 40), (5, 1)):
        pool.handle(confirm(job, nodes=(1,), start=start, walltime=5), 0)
    pool.handle(say.Release(2, 1), 1)
    pool.handle(confirm(3, nodes=(2,), start=30, attempt=2), 1)
    assert later_of(pool.handle(say.UnitsEnded(1, 5), 1)) == [4]


@pytest.mark.parametrize("bounds", [(0, 3), (0, 1)], ids=["one host", "a host of its own"])
def test_node_notifies_at_most_as_many_jobs_as_it_has_cores(bounds):
    pool = pool_of(*bounds)
    for job in range(1, 6):
        pool.handle(confirm(job, start=10 * job), 0)
    assert later_of(pool.handle(say.UnitsEnded(1, -1), 12)) == [2]


def test_unrelated_message_is_ignored_and_unexpected_message_is_an_error():
    assert pool_of().handle(say.UnitsEnded(5, 0), 3) == []
    assert later_of(pool_of().handle(say.UnitsEnded(5, -1), 3)) == []
    assert pool_of().handle(say.FinishedAck(4, 1), 0) == []
    with pytest.raises(ProtocolError, match="Reserved"):
        pool_of().handle(say.Reserved(1, 1, 0), 0)


ASK = ask_for()


def three_nodes() -> NodePool:
    return NodePool(Platform("m", (NodeGroup("n", 3, {"cores": 4}),)), 0, 3)


def ask(**columns):
    return replace(ASK, **columns)


@pytest.mark.parametrize(
    "message",
    [
        *(ask(**{column: ints(wrong)}) for column in ("units", "walltime") for wrong in (0, -5, -(2**63))),
        *(ask(**{column: ints(1, 1)}) for column in ("job", "first", "quota", "groups")),
        ask(request=ints(1, 1).reshape(1, 2)),
        ask(request=ints(-1).reshape(1, 1)),
        ask(want=say.CANDIDATES, start=ints()),
        ask(sample_offset=ints(0, 2), sample=ints(0, 3)),
        ask(job=ints(1, 2), needed=ints(1)),
        ask(grain=0),
    ],
)
def test_invalid_request_is_refused(message):
    pool = three_nodes()
    with pytest.raises(ProtocolError):
        pool.handle(message, 0)
    assert pool.handle(ASK, 0)


def test_job_without_reservation_can_neither_move_nor_release():
    improve = ImproveQuery(ints(1), ints(2), ints(0), ints(4), ints(1), ints(1), ints(1).reshape(1, 1), 0, False)
    with pytest.raises(ProtocolError, match="a job without a reservation"):
        three_nodes().improve(improve, 0)
    bind = BindQuery(ints(1, 0, 10, 1, 1, 99, 0, 1).reshape(1, 8), 5, 0, False, 0, False, False, False)
    with pytest.raises(ProtocolError, match="does not hold"):
        three_nodes().bind(bind, 0)


ONE, NODES = ints(1), 40


def state() -> PoolState:
    return PoolState(Platform("m", (NodeGroup("a", NODES, {"cores": 1}),)), 0, NODES, None)
