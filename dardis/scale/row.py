"""The figures of a scale experiment, as a line of scale.csv; promises them as docs/scale.md defines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dardis.model.loggp import JobCost, sampled_round_ns, tree_round_ns, wave_job_ns
from dardis.scale.experiment import Driven, Experiment, Ground


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


def row_of(
    what: Experiment,
    ground: Ground,
    driven: Driven,
    grown: int,
    startup_s: float,
    collective_s: float | None,
    repeat: int,
) -> Row:
    """The figures of what was driven; `grown` is the memory in bytes that the filled nodes take."""
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
        dispatcher=what.dispatcher.name, seed=what.seed, jobs=what.jobs, repeat=repeat,
        completed=int(driven.schedule.ran.sum()), rounds=driven.rounds, waves=driven.waves,
        cpu_ns_per_node_job=driven.cpu_ns / node_jobs, bytes_per_node=grown / what.nodes,
        message_bytes_per_node_job=driven.message_bytes / node_jobs, root_message_bytes=driven.root_message_bytes,
        chain=driven.chain, startup_s=startup_s, schedule_digest=driven.schedule.digest(), **figures,
    )  # fmt: skip


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
