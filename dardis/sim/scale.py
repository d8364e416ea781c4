"""One scale experiment: a machine, its background load and some jobs are played, and become one row of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dardis.engine.clock import monotonic_s
from dardis.model.job import Job
from dardis.model.loggp import JobCost, LogGP, sampled_round_ns, tree_round_ns, wave_job_ns
from dardis.model.schedule import Schedule
from dardis.node_manager import NodePool, RelayingHost
from dardis.node_manager.state import VirtualHosts
from dardis.sim import scale_load
from dardis.sim.resident import resident_bytes, untouched_pages
from dardis.sim.scale_tally import TalliedHosts, Tally
from dardis.sim.simulation import Progress, Simulation
from dardis.sim.spread import even_bounds
from dardis.task_manager import SETUPS, PlannedManager, Reach
from dardis.task_manager.layout import layout_of
from dardis.transport.local import LocalHosts
from dardis.turns import PlannedTurns

if TYPE_CHECKING:
    from dardis.transport.mpi import Communicator

INNER_ARITY = 8
"""Of the tree by which a pool adds up its own offers, where nobody asks for another."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is measured: `arity` 0 is flat, `sample` 0 is all nodes, `window` in s, `hosts_of` nodes a virtual host.

    `overlap` is how many jobs are in flight at once.
    """

    nodes: int
    ranks: int
    task_managers: int
    arity: int
    sample: int
    window: int
    reservations: int
    jobs: int
    dispatcher: str
    hosts_of: int
    seed: int
    overlap: int = 1

    @property
    def through_tree(self) -> bool:
        """Whether rounds go through the tree as a rule: a sample is asked without it."""
        return self.arity > 0 and self.sample == 0

    @property
    def hosts(self) -> int:
        """Ranks, or in one process the virtual hosts that its pool stands for."""
        return self.ranks if self.ranks > 1 else -(-self.nodes // self.hosts_of)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of scale.csv: figures as docs/scale.md defines them; None where there is nothing to measure."""

    nodes: int
    ranks: int
    hosts: int
    task_managers: int
    overlap: int
    arity: int | str
    sample: int | str
    window_s: int
    reservations: int
    dispatcher: str
    seed: int
    jobs: int
    repeat: int
    completed: int
    rounds: int
    waves: int | None
    cpu_ns_per_node_job: float
    bytes_per_node: float
    message_bytes_per_node_job: float
    root_message_bytes: int
    chain: int
    wall_s_per_round: float | None
    exchange_s_median: float | None
    jobs_per_s: float | None
    mpi_share: float | None
    collective_s_per_round: float | None
    predicted_s_per_round: float | None
    startup_s: float
    node_ns: float | None
    message_ns: float | None
    select_ns: float | None
    ask_bytes: float | None
    answer_bytes: float | None
    job_ns: float | None
    schedule_digest: str


@dataclass(frozen=True, slots=True)
class Driven:
    """What came of an experiment's jobs.

    `cpu_ns` is the CPU time of all ranks inside the machines, `manager_ns` that of task managers in it, `wall_s` how
    long it took, `exchange_s` the median time until a question was answered, `message_bytes` payload between hosts,
    `ask_bytes` and `answer_bytes` those of a mean question and answer; `asked_hosts` and `asked_nodes` are means of the
    rounds, `chain` the longest of any job. Where jobs are in flight together there were `waves`, and `job_ns` is the
    CPU time a job of all ranks, with encoding and decoding but without what MPI takes.
    """

    schedule: Schedule
    cpu_ns: int
    manager_ns: int
    wall_s: float
    exchange_s: float | None
    rounds: int
    message_bytes: int
    root_message_bytes: int
    chain: int
    asked_hosts: float
    asked_nodes: float
    ask_bytes: float
    answer_bytes: float
    message_ns: float | None
    waves: int | None = None
    job_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """On what experiments run: ranks (None: this process alone), their network as it was measured, and their cores.

    `short_ns` is the CPU time of encoding, or of decoding, a message that holds little.
    """

    comm: Communicator | None
    network: LogGP | None
    cores: int
    short_ns: float = 0.0

    @property
    def rank(self) -> int:
        """This process's."""
        return 0 if self.comm is None else self.comm.rank


def measure(what: Experiment, ground: Ground, progress: Progress | None = None, repeat: int = 1) -> Row | None:
    """Run one experiment, for the `repeat`-th time; all ranks of the ground call it. Returns the row on rank 0."""
    before = resident_bytes()
    begun = monotonic_s()
    bounds = even_bounds(what.nodes, what.ranks)
    with untouched_pages():
        host = filled_host(what, bounds, ground.rank)
    startup_s = monotonic_s() - begun
    grown = resident_bytes() - before
    if ground.comm is not None:
        from dardis.transport.groups import largest, total

        grown, startup_s = total(ground.comm, grown), largest(ground.comm, startup_s)
    if what.overlap > 1:
        from dardis.sim.scale_waves import drive_waves

        driven = drive_waves(what, ground, host, bounds, progress)
    else:
        driven = drive(what, ground, host, bounds, progress)
    collective = bare_collective_s(ground, driven)
    if driven is None:
        return None
    return replace(_row(what, ground, driven, grown, startup_s, collective), repeat=repeat)


def filled_host(what: Experiment, bounds: tuple[int, ...], rank: int) -> RelayingHost:
    """The node managers of a rank, with their background load; what is known of all nodes is not kept."""
    pool = NodePool(scale_load.machine(what.nodes), bounds[rank], bounds[rank + 1], host=rank, seed=what.seed)
    pool.state.tree = VirtualHosts(what.hosts_of, what.arity or INNER_ARITY)
    scale_load.fill(pool.state, what.window, what.reservations, what.seed)
    return RelayingHost(pool)


def drive(
    what: Experiment, ground: Ground, host: RelayingHost, bounds: tuple[int, ...], progress: Progress | None
) -> Driven | None:  # fmt: skip
    """Play the jobs one turn after the other. All ranks of the ground call it, each with its filled host.

    Rank 0 drives and returns what came of it; the others serve.
    """
    if ground.rank > 0:
        from dardis.transport.mpi import serve

        assert ground.comm is not None
        serve(ground.comm, host)
        return None
    jobs = scale_load.jobs(what.jobs, what.window, what.seed)
    tally = tally_of(what, host)
    if ground.comm is None or what.ranks == 1:
        hosts = TalliedHosts(LocalHosts([host]), tally)
        spent, wall_s, schedule = _play(what, bounds, jobs, hosts, progress)
        sent, root, message_ns = tally.traffic.bytes, tally.traffic.root_bytes, None
    else:
        from dardis.transport.mpi import MpiHosts

        remote = MpiHosts(ground.comm, host)
        hosts = TalliedHosts(remote, tally)
        spent, wall_s, schedule = _play(what, bounds, jobs, hosts, progress)
        sent, root, message_ns = remote.message_bytes, remote.largest_message, remote.message_ns
        tally.traffic.answers(max(sent - tally.traffic.ask_bytes, 0), 0)
    rounds, asks = max(tally.rounds, 1), max(tally.traffic.asks, 1)
    return Driven(
        schedule, spent, spent - hosts.spent_ns, wall_s, hosts.exchange_s, tally.rounds, sent, root, tally.chain,
        tally.asked_hosts / rounds, tally.asked_nodes / rounds, tally.traffic.ask_bytes / asks,
        tally.traffic.answer_bytes / asks, message_ns,
    )  # fmt: skip


def tally_of(what: Experiment, host: RelayingHost) -> Tally:
    """What counts the messages of an experiment: those between ranks, or between virtual hosts."""
    return Tally(what.hosts, what.nodes, what.arity, host.pool.state.tree if what.ranks == 1 else None)


def _play(
    what: Experiment, bounds: tuple[int, ...], jobs: Sequence[Job], hosts: TalliedHosts, progress: Progress | None
) -> tuple[int, float, Schedule]:
    """CPU ns inside the machines of all ranks, wall-clock s without the counting, and the schedule."""
    platform = scale_load.machine(what.nodes)
    setup, reach = SETUPS[what.dispatcher], Reach(what.arity, what.sample)
    layout = layout_of(platform, bounds, None)
    managers = [PlannedManager(setup, layout, what.seed, None, reach, -1 - m) for m in range(what.task_managers)]
    simulation = Simulation(jobs, PlannedTurns(setup, managers, bounds), hosts)
    begun = monotonic_s()
    simulation.run(progress)
    wall_s = monotonic_s() - begun - hosts.noting_s
    recorder = simulation.recorder
    recorder.upkeep_ns += hosts.close()
    return sum(recorder.decision_ns) + recorder.upkeep_ns, wall_s, recorder.schedule(jobs, platform.kinds)


def bare_collective_s(ground: Ground, driven: Driven | None) -> float | None:
    """What a bare broadcast and gather of a mean round's bytes take on the same ranks; all ranks call it."""
    if ground.comm is None or ground.comm.size == 1:
        return None
    from dardis.transport.loggp import collective_ns
    from dardis.transport.mpi import broadcast

    down, up = broadcast(ground.comm, None if driven is None else [round(driven.ask_bytes), round(driven.answer_bytes)])
    return float(np.median(collective_ns(ground.comm, down, [up] * ground.comm.size))) / 1e9


def _cost(what: Experiment, driven: Driven) -> JobCost | None:
    """What a round of the model costs beside the network: through a tree it is two of ours, for sums and candidates."""
    if driven.message_ns is None or not driven.rounds:
        return None
    rounds = driven.rounds / (2 if what.through_tree else 1)
    node_ns = (driven.cpu_ns - driven.manager_ns) / rounds / max(driven.asked_nodes, 1.0)
    select_ns = driven.manager_ns / rounds
    return JobCost(node_ns, driven.message_ns, driven.ask_bytes, driven.answer_bytes, select_ns)


def predicted_s(what: Experiment, ground: Ground, driven: Driven, cost: JobCost | None) -> float | None:
    """How long the model says that a round takes."""
    if ground.network is None:
        return None
    if driven.job_ns is not None and driven.waves is not None:
        settled = what.jobs / driven.waves
        job_ns = wave_job_ns(ground.network, driven.job_ns, what.ranks, what.task_managers, settled, ground.cores)
        return job_ns * what.jobs / driven.rounds / 1e9
    if cost is None:
        return None
    if what.through_tree:
        return tree_round_ns(ground.network, cost, what.hosts, what.arity, what.nodes, cores=ground.cores) / 2e9
    asked, nodes = max(round(driven.asked_hosts) - 1, 0), driven.asked_nodes
    return sampled_round_ns(ground.network, cost, asked, nodes, cores=ground.cores) / 1e9


def _row(
    what: Experiment, ground: Ground, driven: Driven, grown: int, startup_s: float, collective_s: float | None
) -> Row:
    node_jobs = what.nodes * what.jobs
    several = what.ranks > 1
    cores = min(what.ranks, ground.cores)
    cost = _cost(what, driven)
    figures: dict[str, Any] = {
        "wall_s_per_round": driven.wall_s / driven.rounds if driven.rounds else None,
        "exchange_s_median": driven.exchange_s,
        "jobs_per_s": what.jobs / driven.wall_s if driven.wall_s > 0 else None,
        "mpi_share": max(1 - driven.cpu_ns / 1e9 / driven.wall_s / cores, 0.0) if several else None,
        "collective_s_per_round": collective_s,
        "predicted_s_per_round": predicted_s(what, ground, driven, cost),
        "node_ns": None if cost is None else cost.node_ns,
        "message_ns": driven.message_ns,
        "select_ns": None if cost is None else cost.select_ns,
        "ask_bytes": driven.ask_bytes if what.hosts > 1 else None,
        "answer_bytes": driven.answer_bytes if what.hosts > 1 else None,
        "job_ns": driven.job_ns,
    }
    return Row(
        nodes=what.nodes, ranks=what.ranks, hosts=what.hosts, task_managers=what.task_managers, overlap=what.overlap,
        arity=what.arity or "flat", sample=what.sample or "all", window_s=what.window, reservations=what.reservations,
        dispatcher=what.dispatcher, seed=what.seed, jobs=what.jobs, repeat=1, completed=int(driven.schedule.ran.sum()),
        rounds=driven.rounds, waves=driven.waves, cpu_ns_per_node_job=driven.cpu_ns / node_jobs,
        bytes_per_node=grown / what.nodes,
        message_bytes_per_node_job=driven.message_bytes / node_jobs, root_message_bytes=driven.root_message_bytes,
        chain=driven.chain, startup_s=startup_s, schedule_digest=driven.schedule.digest(), **figures,
    )  # fmt: skip
