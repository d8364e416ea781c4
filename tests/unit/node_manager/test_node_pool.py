"""A pool, message by message: what it reserves, refuses, replaces and frees."""

from dataclasses import replace

import numpy as np
import pytest
from kit.asks import ask_for

from dardis.model.errors import ProtocolError
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.node_manager.pool import LAPSE
from dardis.wire.effects import Kill, Launch, Tell
from dardis.wire.messages import (
    Commit,
    Committed,
    Confirm,
    Ended,
    Later,
    Noted,
    Offers,
    Refused,
    Release,
    Reserved,
    Timer,
)

MACHINE = Platform("m", (NodeGroup("a", 1, {"cores": 1}), NodeGroup("b", 2, {"cores": 3})))


def pool_of(first: int = 0, last: int = 3, platform: Platform = MACHINE) -> NodePool:
    return NodePool(platform, first, last, host=7)


def confirm(
    job: int = 1, *, nodes=(0,), units=(1,), start: int = 0, walltime: int = 10, attempt: int = 1, cores: int = 1
) -> Confirm:
    arrays = (np.array(values, dtype=np.int64) for values in ((cores,), nodes, units))
    return Confirm(job, attempt, 0, start, walltime, *arrays, tentative=False)


def free_starts(pool: NodePool, last: int = 30, **ask) -> dict[int, list[int]]:
    """The starts that each node offers to another job for one second."""
    (send,) = pool.handle(ask_for(job=99, last=last, groups=0b11, **ask), 0)
    found: dict[int, list[int]] = {}
    for node, low, high, *_ in send.message.rows.tolist():
        found.setdefault(node, []).extend(range(low, high))
    return found


def refused(effects) -> bool:
    return any(isinstance(effect, Tell) and isinstance(effect.message, Refused) for effect in effects)


def test_a_confirmed_job_is_launched_and_its_time_taken():
    pool = pool_of()
    (launch,) = pool.handle(confirm(start=5), 0)
    assert isinstance(launch, Launch)
    assert (launch.at, launch.until, launch.nodes.tolist(), launch.units.tolist()) == (5, 15, [0], [1])
    assert free_starts(pool, request=(1,))[0] == [*range(5), *range(15, 31)]


def test_nodes_keep_the_platforms_numbers():
    pool = pool_of(1, 3)
    (launch,) = pool.handle(confirm(nodes=(2,), cores=3, start=0, walltime=31), 0)
    assert launch.nodes.tolist() == [2]
    assert list(free_starts(pool)) == [1]
    (send,) = pool.handle(ask_for(groups=0b11), 0)
    assert isinstance(send.message, Offers)
    assert (send.message.host, send.message.last_end) == (7, 31)


def test_what_does_not_fit_any_more_is_refused_as_a_whole():
    pool = pool_of()
    pool.handle(confirm(1, nodes=(1,), units=(2,), start=5), 0)
    assert refused(pool.handle(confirm(2, nodes=(0, 1), units=(1, 2), start=0), 0))
    assert free_starts(pool)[0] == [*range(31)]
    assert not refused(pool.handle(confirm(2, nodes=(0, 1), units=(1, 1), start=0, attempt=2), 0))


def test_a_start_in_the_past_and_another_incarnation_are_refused():
    assert refused(pool_of().handle(confirm(start=4), 5))
    other = Confirm(1, 1, 3, 9, 5, *(np.array([1]),) * 3, tentative=False)
    assert refused(pool_of().handle(other, 0))


UNSOUND = {
    "a node twice": {"nodes": (1, 1), "units": (2, 2)}, "nodes in no order": {"nodes": (2, 1), "units": (1, 1)},
    "no node": {"nodes": (), "units": ()}, "a node of others": {"nodes": (3,)}, "a node before all": {"nodes": (-1,)},
    "no units": {"units": (0,)}, "less than none": {"units": (-1,)}, "more nodes than units": {"nodes": (1, 2)},
    "units beyond counting": {"units": (1 << 62,), "cores": 4}, "a request beyond counting": {"cores": 1 << 62},
    "to give back": {"cores": -1}, "no time": {"walltime": 0},
}  # fmt: skip


@pytest.mark.parametrize("claim", UNSOUND.values(), ids=UNSOUND.keys())
def test_a_claim_that_makes_no_sense_is_refused_and_changes_nothing(claim):
    pool = pool_of()
    assert refused(pool.handle(confirm(**{"nodes": (1,), **claim}), 0))
    assert pool.idle
    for cores, last in ((1, 3), (3, 2)):
        assert [*free_starts(pool, request=(cores,))] == [0, 1, 2][3 - last :]
    assert free_starts(pool, request=(4,)) == {}


def test_said_twice_is_held_once():
    pool = pool_of()
    pool.handle(confirm(nodes=(1,), units=(1,)), 0)
    assert pool.handle(confirm(nodes=(1,), units=(1,)), 0) == []
    assert free_starts(pool, request=(2,))[1] == [*range(31)]


def test_a_new_claim_replaces_the_old_one():
    pool = pool_of()
    pool.handle(confirm(start=12), 0)
    pool.handle(confirm(start=8, attempt=2), 0)  # overlaps the old one, which counts as free
    assert free_starts(pool)[0] == [*range(8), *range(18, 31)]
    assert refused(pool.handle(confirm(start=0, attempt=1), 0))


def test_a_replacement_that_does_not_fit_leaves_the_old_claim():
    pool = pool_of()
    pool.handle(confirm(1, start=12), 0)
    pool.handle(confirm(2, start=0, walltime=5), 0)
    assert refused(pool.handle(confirm(1, start=3, attempt=2), 0))
    assert free_starts(pool)[0] == [*range(5, 12), *range(22, 31)]


def test_an_end_frees_what_is_left():
    pool = pool_of()
    pool.handle(confirm(start=0, walltime=20), 0)
    assert pool.handle(Ended(1, 0), 6) == []
    (send,) = pool.handle(ask_for(job=9, first=6, last=30), 6)
    assert send.message.rows[0, 1:3].tolist() == [0, 25]


def later_of(effects) -> list[int]:
    (send,) = effects
    assert isinstance(send.message, Later)
    return send.message.jobs.tolist()


def test_an_end_tells_the_next_jobs_of_its_nodes():
    pool = pool_of()
    pool.handle(confirm(1, nodes=(0, 1), units=(1, 1)), 0)
    for job, node, start in ((5, 0, 10), (3, 1, 20), (4, 0, 20), (6, 1, 40), (8, 2, 10)):
        pool.handle(confirm(job, nodes=(node,), start=start), 0)
    assert later_of(pool.handle(Ended(1, 2), 6)) == [3, 4, 5, 6]


def test_a_job_that_has_begun_is_not_told():
    pool = pool_of()
    pool.handle(confirm(1, nodes=(1,), walltime=50), 0)
    pool.handle(confirm(2, nodes=(1,), start=10, walltime=50), 0)
    assert later_of(pool.handle(Ended(1, 5), 10)) == []


def test_a_job_that_has_gone_or_moved_is_not_told_where_it_was():
    pool = pool_of()
    pool.handle(confirm(1, nodes=(1,)), 0)
    for job, start in ((2, 20), (3, 30), (4, 40)):
        pool.handle(confirm(job, nodes=(1,), start=start), 0)
    pool.handle(Release(2, 1), 1)
    pool.handle(confirm(3, nodes=(2,), start=30, attempt=2), 1)
    assert later_of(pool.handle(Ended(1, 5), 2)) == [4]


@pytest.mark.parametrize("bounds", [(0, 3), (0, 1)], ids=["one host", "a host of its own"])
def test_a_node_tells_as_many_as_it_has_cores(bounds):
    """Whatever other nodes its host holds: the schedule must not depend on that."""
    pool = pool_of(*bounds)
    for job in range(1, 6):
        pool.handle(confirm(job, start=10 * job), 0)
    assert later_of(pool.handle(Ended(1, -1), 12)) == [2]


def test_an_end_of_nothing_here_tells_nobody():
    assert pool_of().handle(Ended(5, 0), 3) == []
    assert later_of(pool_of().handle(Ended(5, -1), 3)) == []


def test_nothing_fits_into_maintenance():
    closed = Platform("m", MACHINE.groups, maintenance=(Maintenance((0, 2), 10, 20),))
    for bounds in ((0, 3), (2, 3)):
        pool = pool_of(*bounds, platform=closed)
        starts = free_starts(pool, walltime=5)
        assert starts[2] == [*range(6), *range(20, 31)]
    assert free_starts(pool_of(platform=closed))[1] == [*range(31)]


def test_what_no_node_manager_understands_is_a_defect():
    with pytest.raises(ProtocolError, match="Reserved"):
        pool_of().handle(Reserved(1, 1, 0), 0)


def test_a_note_about_nothing_is_ignored():
    assert pool_of().handle(Noted(4, 1), 0) == []


def tentative(attempt: int, start: int = 20) -> Confirm:
    return replace(confirm(start=start, attempt=attempt), tentative=True)


def test_what_is_committed_does_not_lapse_and_what_is_not_does():
    for committed in (True, False):
        pool = NodePool(MACHINE, 0, 3, host=7, report_every=4)
        pool.handle(tentative(1), 0)
        if committed:
            pool.handle(Commit(1, 1), 5)
        assert pool.handle(Timer(1, 1, LAPSE), 20) == ([] if committed else [Kill(1, 1)])
        assert pool.idle is not committed


def test_a_release_of_an_earlier_claim_leaves_a_later_one():
    pool = NodePool(MACHINE, 0, 3, host=7, report_every=4)
    pool.handle(tentative(1), 0)
    pool.handle(tentative(2, 30), 1)
    pool.handle(Release(1, 1), 2)
    assert free_starts(pool)[0] == [*range(30)]
    done, launch = pool.handle(Commit(1, 2), 3)
    assert done.message == Committed(1, 2, 7)
    assert (launch.attempt, launch.at) == (2, 30)
