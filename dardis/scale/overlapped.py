"""A scale experiment with many jobs in flight: task managers on all ranks at once, in waves."""

from __future__ import annotations

from dardis.engine.clock import cpu_ns, monotonic_s
from dardis.node_manager import RelayingHost
from dardis.scale import load
from dardis.scale.experiment import Driven, Experiment, Ground
from dardis.scale.tally import tally_of
from dardis.sim.overlapped import OverlappedRounds
from dardis.sim.simulation import Progress
from dardis.transport.peers import Alone, MpiPeers, Peers


def drive_overlapped(what: Experiment, ground: Ground, host: RelayingHost, progress: Progress | None) -> Driven | None:
    """Play the jobs in waves. All ranks of the ground call it, each with its filled host; rank 0 returns what came."""
    peers: Peers = Alone() if ground.comm is None else MpiPeers(ground.comm)
    jobs = load.jobs(what.jobs, what.window, what.seed)
    tally = tally_of(what, host)
    waves = OverlappedRounds(jobs, what.dispatcher.overlapped(what.cluster, what.overlap), host.pool, peers, tally.note)
    peers.share(0)  # nobody begins before all have filled their nodes
    begun, spent, waited = monotonic_s(), cpu_ns(), peers.waiting_ns
    waves.run(progress if ground.rank == 0 else None)
    wall_s = monotonic_s() - begun - waves.noting_s
    work_ns = cpu_ns() - spent - (peers.waiting_ns - waited) - waves.noting_ns
    waves.note_said()
    recorder = waves.record()
    figures = peers.share(
        waves.cpu_ns, work_ns, tally.rounds, peers.message_bytes, peers.largest_message, tally.chain,
        tally.asked_hosts, tally.asked_nodes, tally.traffic.ask_bytes, tally.traffic.asks,
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
    return Driven(
        schedule, inside_ns, 0, wall_s, None, rounds, sent, root, chain, asked_hosts / max(rounds, 1),
        asked_nodes / max(rounds, 1), ask_bytes / max(asks, 1), answer_bytes / max(asks, 1), None,
        waves.waves, work_ns / max(len(jobs), 1),
    )  # fmt: skip
