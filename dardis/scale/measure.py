"""Measurement of one experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.engine.clock import cpu_ns, monotonic_s
from dardis.model.addresses import HostId
from dardis.model.job import ActualJob
from dardis.model.schedule import Schedule
from dardis.node_manager import RelayingHost
from dardis.node_manager.pool_state import VirtualHosts
from dardis.scale import experiment as load
from dardis.scale.experiment import Experiment, ExperimentResult, RankGroup
from dardis.scale.row import ExperimentRow, row_of
from dardis.scale.tally import TalliedHosts, resident_bytes, tally_of, untouched_pages
from dardis.sim.overlapped_rounds import OverlappedRounds
from dardis.sim.simulation import Progress, Simulation
from dardis.transport.local_transport import LocalHosts
from dardis.transport.peers import MpiPeers, Peers, SingleRank

INNER_ARITY = 8
"""Default arity of the tree within a pool."""


def measure(
    what: Experiment, ground: RankGroup, progress: Progress | None = None, repeat: int = 1
) -> ExperimentRow | None:
    """Run one experiment; return the row on rank 0. Collective."""
    before = resident_bytes()
    begun = monotonic_s()
    with untouched_pages():
        host = filled_host(what, ground.rank)
    startup_s = monotonic_s() - begun
    grown = resident_bytes() - before
    if ground.comm is not None:
        from dardis.transport.rank_groups import largest, total

        grown, startup_s = total(ground.comm, grown), largest(ground.comm, startup_s)
    drive = drive_overlapped if what.overlap > 1 else drive_turns
    driven = drive(what, ground, host, progress)
    collective = bare_collective_s(ground, driven)
    if driven is None:
        return None
    return row_of(what, ground, driven, grown, startup_s, collective, repeat)


def filled_host(what: Experiment, rank: int) -> RelayingHost:
    """Rank's loaded node managers."""
    cluster = what.cluster
    first, last = cluster.bounds[rank : rank + 2]
    inside = VirtualHosts(what.hosts_of, what.arity or INNER_ARITY)
    host = HostId(rank)
    pool = what.dispatcher.pool(cluster.platform, first, last, host=host, seed=what.seed, virtual_hosts=inside)
    load.fill(pool.state, what.window, what.reservations, what.seed)
    return RelayingHost(pool)


def bare_collective_s(ground: RankGroup, driven: ExperimentResult | None) -> float | None:
    """Time of a bare broadcast and gather. Collective."""
    if ground.comm is None or ground.comm.size == 1:
        return None
    from dardis.transport.loggp_probe import collective_ns
    from dardis.transport.mpi_transport import broadcast

    down, up = broadcast(ground.comm, None if driven is None else [round(driven.ask_bytes), round(driven.answer_bytes)])
    return float(np.median(collective_ns(ground.comm, down, [up] * ground.comm.size))) / 1e9


def drive_turns(
    what: Experiment, ground: RankGroup, host: RelayingHost, progress: Progress | None
) -> ExperimentResult | None:
    """Run the jobs turn by turn; return the results on rank 0. Collective."""
    if ground.rank > 0:
        from dardis.transport.mpi_transport import serve

        assert ground.comm is not None
        serve(ground.comm, host)
        return None
    jobs = load.jobs(what.jobs, what.window, what.seed)
    tally = tally_of(what, host)
    if ground.comm is None or what.ranks == 1:
        hosts = TalliedHosts(LocalHosts([host]), tally)
        spent, wall_s, schedule = _play(what, jobs, hosts, progress)
        sent, root, message_ns = tally.traffic.bytes, tally.traffic.root_bytes, None
    else:
        from dardis.transport.mpi_transport import MpiHosts

        remote = MpiHosts(ground.comm, host)
        hosts = TalliedHosts(remote, tally)
        spent, wall_s, schedule = _play(what, jobs, hosts, progress)
        sent, root, message_ns = remote.message_bytes, remote.largest_message, remote.message_ns
        tally.traffic.count_answers(max(sent - tally.traffic.ask_bytes, 0), 0)
    rounds, asks = max(tally.rounds, 1), max(tally.traffic.query_count, 1)
    return ExperimentResult(
        schedule, spent, spent - hosts.spent_ns, wall_s, hosts.exchange_s, tally.rounds, sent, root, tally.chain,
        tally.asked_hosts / rounds, tally.asked_nodes / rounds, tally.traffic.ask_bytes / asks,
        tally.traffic.answer_bytes / asks, message_ns,
    )  # fmt: skip


def _play(
    what: Experiment, jobs: Sequence[ActualJob], hosts: TalliedHosts, progress: Progress | None
) -> tuple[int, float, Schedule]:
    simulation = Simulation(jobs, what.dispatcher.turns(what.cluster), hosts)
    begun = monotonic_s()
    simulation.run(progress)
    wall_s = monotonic_s() - begun - hosts.noting_s
    recorder = simulation.recorder
    recorder.upkeep_ns += hosts.close()
    spent = sum(recorder.decision_ns) + recorder.upkeep_ns
    return spent, wall_s, recorder.schedule(jobs, load.machine(what.nodes).kinds)


def drive_overlapped(
    what: Experiment, ground: RankGroup, host: RelayingHost, progress: Progress | None
) -> ExperimentResult | None:
    """Run the jobs in waves; return the results on rank 0. Collective."""
    peers: Peers = SingleRank() if ground.comm is None else MpiPeers(ground.comm)
    jobs = load.jobs(what.jobs, what.window, what.seed)
    tally = tally_of(what, host)
    waves = OverlappedRounds(jobs, what.dispatcher.overlapped(what.cluster, what.overlap), host.pool, peers, tally.note)
    peers.gather_all(0)  # start after all ranks have filled their nodes
    begun, spent, waited = monotonic_s(), cpu_ns(), peers.waiting_ns
    waves.run(progress if ground.rank == 0 else None)
    wall_s = monotonic_s() - begun - waves.noting_s
    work_ns = cpu_ns() - spent - (peers.waiting_ns - waited) - waves.noting_ns
    waves.report_messages()
    recorder = waves.record()
    figures = peers.gather_all(
        waves.cpu_ns, work_ns, tally.rounds, peers.message_bytes, peers.largest_message, tally.chain,
        tally.asked_hosts, tally.asked_nodes, tally.traffic.ask_bytes, tally.traffic.query_count,
    )  # fmt: skip
    if recorder is None:
        return None
    schedule = recorder.schedule(jobs, load.machine(what.nodes).kinds)
    inside_ns, work_ns, rounds, sent, *_ = figures.sum(axis=0).tolist()
    asked_hosts, asked_nodes, ask_bytes, asks = figures[:, 6:].sum(axis=0).tolist()
    root, chain = int(figures[0, 4]), int(figures[:, 5].max())
    answer_bytes = max(sent - ask_bytes, 0)
    if what.ranks == 1:
        sent, root, answer_bytes = tally.traffic.bytes, tally.traffic.root_bytes, tally.traffic.answer_bytes
    return ExperimentResult(
        schedule, inside_ns, 0, wall_s, None, rounds, sent, root, chain, asked_hosts / max(rounds, 1),
        asked_nodes / max(rounds, 1), ask_bytes / max(asks, 1), answer_bytes / max(asks, 1), None,
        waves.waves, work_ns / max(len(jobs), 1),
    )  # fmt: skip
