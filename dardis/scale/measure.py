"""Measures one scale experiment: fills its nodes, drives its jobs by turns or in waves, and makes a row of it."""

from __future__ import annotations

import numpy as np

from dardis.engine.clock import monotonic_s
from dardis.model.addresses import HostId
from dardis.node_manager import RelayingHost
from dardis.node_manager.state import VirtualHosts
from dardis.scale import load
from dardis.scale.by_turns import drive_turns
from dardis.scale.experiment import Driven, Experiment, Ground
from dardis.scale.memory import resident_bytes, untouched_pages
from dardis.scale.overlapped import drive_overlapped
from dardis.scale.row import Row, row_of
from dardis.sim.simulation import Progress

INNER_ARITY = 8
"""Of the tree by which a pool adds up its own offers, where nobody asks for another."""


def measure(what: Experiment, ground: Ground, progress: Progress | None = None, repeat: int = 1) -> Row | None:
    """Run one experiment, for the `repeat`-th time; all ranks of the ground call it. Returns the row on rank 0."""
    before = resident_bytes()
    begun = monotonic_s()
    with untouched_pages():
        host = filled_host(what, ground.rank)
    startup_s = monotonic_s() - begun
    grown = resident_bytes() - before
    if ground.comm is not None:
        from dardis.transport.groups import largest, total

        grown, startup_s = total(ground.comm, grown), largest(ground.comm, startup_s)
    drive = drive_overlapped if what.overlap > 1 else drive_turns
    driven = drive(what, ground, host, progress)
    collective = bare_collective_s(ground, driven)
    if driven is None:
        return None
    return row_of(what, ground, driven, grown, startup_s, collective, repeat)


def filled_host(what: Experiment, rank: int) -> RelayingHost:
    """The node managers of a rank, with their background load; what is known of all nodes is not kept."""
    cluster = what.cluster
    first, last = cluster.bounds[rank : rank + 2]
    inside = VirtualHosts(what.hosts_of, what.arity or INNER_ARITY)
    host = HostId(rank)
    pool = what.dispatcher.pool(cluster.platform, first, last, host=host, seed=what.seed, virtual_hosts=inside)
    load.fill(pool.state, what.window, what.reservations, what.seed)
    return RelayingHost(pool)


def bare_collective_s(ground: Ground, driven: Driven | None) -> float | None:
    """What a bare broadcast and gather of a mean round's bytes take on the same ranks; all ranks call it."""
    if ground.comm is None or ground.comm.size == 1:
        return None
    from dardis.transport.loggp import collective_ns
    from dardis.transport.mpi import broadcast

    down, up = broadcast(ground.comm, None if driven is None else [round(driven.ask_bytes), round(driven.answer_bytes)])
    return float(np.median(collective_ns(ground.comm, down, [up] * ground.comm.size))) / 1e9
