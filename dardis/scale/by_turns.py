"""A scale experiment with one job in flight: task managers on the first rank, one turn after the other."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.engine.clock import monotonic_s
from dardis.model.job import Actual
from dardis.model.schedule import Schedule
from dardis.node_manager import RelayingHost
from dardis.scale import load
from dardis.scale.experiment import Driven, Experiment, Ground
from dardis.scale.tally import TalliedHosts, tally_of
from dardis.sim.simulation import Progress, Simulation
from dardis.transport.local import LocalHosts


def drive_turns(what: Experiment, ground: Ground, host: RelayingHost, progress: Progress | None) -> Driven | None:
    """Play the jobs one turn after the other. All ranks of the ground call it, each with its filled host.

    Rank 0 drives and returns what came of it; the others serve.
    """
    if ground.rank > 0:
        from dardis.transport.mpi import serve

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
        from dardis.transport.mpi import MpiHosts

        remote = MpiHosts(ground.comm, host)
        hosts = TalliedHosts(remote, tally)
        spent, wall_s, schedule = _play(what, jobs, hosts, progress)
        sent, root, message_ns = remote.message_bytes, remote.largest_message, remote.message_ns
        tally.traffic.answers(max(sent - tally.traffic.ask_bytes, 0), 0)
    rounds, asks = max(tally.rounds, 1), max(tally.traffic.asks, 1)
    return Driven(
        schedule, spent, spent - hosts.spent_ns, wall_s, hosts.exchange_s, tally.rounds, sent, root, tally.chain,
        tally.asked_hosts / rounds, tally.asked_nodes / rounds, tally.traffic.ask_bytes / asks,
        tally.traffic.answer_bytes / asks, message_ns,
    )  # fmt: skip


def _play(
    what: Experiment, jobs: Sequence[Actual], hosts: TalliedHosts, progress: Progress | None
) -> tuple[int, float, Schedule]:
    """CPU ns inside the machines of all ranks, wall-clock s without the counting, and the schedule."""
    simulation = Simulation(jobs, what.dispatcher.turns(what.cluster), hosts)
    begun = monotonic_s()
    simulation.run(progress)
    wall_s = monotonic_s() - begun - hosts.noting_s
    recorder = simulation.recorder
    recorder.upkeep_ns += hosts.close()
    spent = sum(recorder.decision_ns) + recorder.upkeep_ns
    return spent, wall_s, recorder.schedule(jobs, load.machine(what.nodes).kinds)
