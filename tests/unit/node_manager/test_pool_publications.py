"""What a pool publishes, to whom and when: its changed nodes and the announced heads."""

import numpy as np

from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.wire.effects import SendToManagers
from dardis.wire.messages import Announce, Commit, Confirm, Published, PublishRequest, Release, UnitsEnded

MACHINE = Platform("m", (NodeGroup("a", 1, {"cores": 1}), NodeGroup("b", 2, {"cores": 3})))


def confirm(job: int = 1, *, nodes=(1,), units=(2,), start=5, walltime=10, attempt=1, tentative=False) -> Confirm:
    arrays = (np.array(values, dtype=np.int64) for values in ((1,), nodes, units))
    return Confirm(job, attempt, 0, start, walltime, *arrays, tentative=tentative)


def broadcasts(effects) -> list[Published]:
    """What was said to everybody."""
    return [effect.message for effect in effects if isinstance(effect, SendToManagers)]


def look(pool: NodePool, now: int = 0) -> Published:
    (said,) = broadcasts(pool.handle(PublishRequest(), now))
    return said


def steps(said: Published) -> dict[int, list[tuple[int, list[int]]]]:
    """By node, from when on how much of each column."""
    return {
        node: [(int(said.time[i]), said.value[i].tolist()) for i in range(said.offset[n], said.offset[n + 1])]
        for n, node in enumerate(said.node.tolist())
    }


def test_first_publication_is_complete_and_later_ones_are_changes():
    pool = NodePool(MACHINE, 1, 3, host=7, incarnation=2)
    said = look(pool)
    assert (said.host, said.incarnation, said.at, said.next_change) == (7, 2, 0, FOREVER)
    assert {node: values for node, ((_, values),) in steps(said).items()} == {1: [3], 2: [3]}
    assert steps(look(pool, 1)) == {}


def test_publication_ends_at_the_first_reservation():
    pool = NodePool(MACHINE, 0, 3)
    look(pool)
    pool.handle(confirm(), 2)
    ((begins, now_free), (falls, left)) = steps(look(pool, 2))[1]
    assert begins <= 2
    assert (now_free, falls, left) == ([3], 5, [1])
    assert broadcasts(pool.handle(UnitsEnded(1, 0), 9)) == []  # nothing is lost here: it speaks when it is asked
    assert [values for _, values in steps(look(pool, 9))[1]] == [[3]]
    pool.handle(confirm(start=20), 9)
    assert set(steps(look(pool, 9))) == {1}
    assert broadcasts(pool.handle(Release(1, 1), 10)) == []
    assert [values for _, values in steps(look(pool, 10))[1]] == [[3]]


def head(job: int, start: int) -> np.ndarray:
    return np.array([job, 0, 10, 4, 1, start])


def test_heads_are_published_until_they_start_or_are_cancelled():
    pool = NodePool(MACHINE, 0, 3)
    assert look(pool).heads.shape == (0, 6)
    assert pool.handle(Announce(head(4, 50), standing=True), 0) == []
    pool.handle(Announce(head(3, 20), standing=True), 0)
    pool.handle(Announce(head(3, 30), standing=True), 0)
    assert look(pool).heads.tolist() == [[3, 0, 10, 4, 1, 30], [4, 0, 10, 4, 1, 50]]
    pool.handle(Announce(head(4, 50), standing=False), 0)
    assert look(pool, 30).heads[:, 0].tolist() == [3]
    assert look(pool, 31).heads.shape == (0, 6)
    pool.handle(Announce(head(9, 50), standing=False), 31)
    pool.handle(Announce(head(9, 50), standing=True), 51)
    assert not pool._heads, "what has expired when it comes leaves nothing behind"
    pool.handle(Announce(head(9, 50), standing=True), 50)
    assert len(pool._heads) == 1


def test_unreliable_network_publishes_everything_and_releases_unrequested():
    pool = NodePool(MACHINE, 0, 3, report_every=4)
    pool.handle(confirm(tentative=True), 0)
    assert broadcasts(pool.handle(Release(1, 1), 1)) == []  # nobody has ever looked
    assert set(steps(look(pool, 1))) == {0, 1, 2}
    pool.handle(confirm(attempt=2, tentative=True), 2)
    (said,) = broadcasts(pool.handle(Release(1, 2), 3))
    assert set(steps(said)) == {0, 1, 2}
    pool.handle(confirm(attempt=3, tentative=True), 4)
    pool.handle(Commit(1, 3), 4)
    (said,) = broadcasts(pool.handle(UnitsEnded(1, 0), 8))
    assert (said.at, [values for _, values in steps(said)[1]]) == (8, [[3]])
