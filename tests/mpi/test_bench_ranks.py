"""What the bench measures over ranks: the tree of bare messages reaches all, and every turn has its figures."""

import pytest
from mpi4py import MPI

from scripts.bench_peers.rank_of_tree import BareTree, measure

COMM = MPI.COMM_WORLD


@pytest.mark.mpi
@pytest.mark.parametrize("arity", [1, 2, 8])
def test_everybody_is_reached_once(arity):
    tree = BareTree(COMM, arity)
    assert len(tree.children) <= arity
    assert tree.pass_s(500, 100) > 0
    places = COMM.gather((tree.parent, tree.children))
    if places is None:
        return
    found = {child: rank for rank, (_, children) in enumerate(places) for child in children}
    assert sum(len(children) for _, children in places) == COMM.size - 1
    assert found == {rank: parent for rank, (parent, _) in enumerate(places) if rank > 0}


@pytest.mark.mpi(min_size=2)
def test_every_turn_has_its_figures():
    taken = measure(COMM, 100, 2, 3, 2)
    assert (taken is None) == (COMM.rank > 0)
    if taken is not None:
        assert {name: len(turns) for name, turns in taken.items()} == dict.fromkeys(taken, 2)
        assert all(min(taken[name]) > 0 for name in ("question", "tree", "collective", "leaf", "peak_mib"))
        assert (min(taken["relay"]) > 0) == (COMM.size > 3)
