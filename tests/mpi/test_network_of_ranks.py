"""What is measured of the network: plausible, the same on all ranks, and nothing is left under way."""

import numpy as np
import pytest
from mpi4py import MPI

from dardis.model.loggp import JobCost, LogGP, flat_round_ns
from dardis.transport.loggp import collective_ns, measure
from dardis.transport.mpi import broadcast

COMM = MPI.COMM_WORLD


def same_on_all_ranks(value):
    return broadcast(COMM, repr(value) if COMM.rank == 0 else None) == repr(value)


@pytest.mark.mpi
def test_one_rank_has_no_network():
    """Nor a wait for others: each asks for itself."""
    assert measure(MPI.COMM_SELF) is None


@pytest.mark.mpi(min_size=2)
def test_the_network_is_measured():
    network = measure(COMM, repetitions=3)
    assert isinstance(network, LogGP)
    assert same_on_all_ranks(network)
    assert network.ranks == COMM.size
    assert 0 < network.send_overhead_ns < 1e7
    assert 0 < network.receive_overhead_ns < 1e7
    assert network.latency_ns >= 0
    assert network.gap_ns >= 0
    assert 0 < network.gap_per_byte_ns < 1e5
    assert not COMM.Iprobe()
    cost = JobCost(0.0, 0.0, 100.0, 100.0)
    assert flat_round_ns(network, cost, COMM.size, 0) > network.send_overhead_ns + network.receive_overhead_ns


@pytest.mark.mpi
def test_bare_collective_calls_are_timed():
    taken = collective_ns(COMM, 1000, [100 * rank for rank in range(COMM.size)], repetitions=7)
    assert taken.shape == (7,)
    assert np.all(taken > 0)
    assert same_on_all_ranks(taken.tolist())
    with pytest.raises(ValueError, match="sizes for"):
        collective_ns(COMM, 10, [1] * (COMM.size + 1))
