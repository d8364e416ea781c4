"""Figures of scale.csv, defined in docs/scale.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from dardis.model.csv_table import CsvTable
from dardis.model.loggp import JobCost, sampled_round_ns, tree_round_ns, wave_job_ns
from dardis.scale.experiment import Experiment, ExperimentResult, RankGroup

Nodes = Annotated[int, "input: nodes of the machine"]
TaskManagers = Annotated[int, "input: task managers that share the jobs"]
Arity = Annotated[int | str, "input: children of a host in the tree, or `flat`"]
Sample = Annotated[int | str, "input: nodes asked first for each unit, or `all`"]
Window = Annotated[int, "input: window of the jobs"]
Reservations = Annotated[int, "input: reservations on each node before the first job"]
SetUpName = Annotated[str, "input: set-up"]
Seed = Annotated[int, "input: seed"]
JobCount = Annotated[int, "input: jobs"]


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One line of scale.csv."""

    nodes: Nodes
    ranks: Annotated[int, "input: processes that hold nodes"]
    hosts: Annotated[int, "ranks, or virtual hosts in one process"]
    task_managers: TaskManagers
    overlap: Annotated[int, "input: jobs in flight together"]
    arity: Arity
    sample: Sample
    window_s: Window
    reservations: Reservations
    dispatcher: SetUpName
    seed: Seed
    jobs: JobCount
    repeat: Annotated[int, "number of the repetition"]
    completed: Annotated[int, "jobs that ran; the others are too large for the machine"]
    rounds: Annotated[
        int,
        "queries that task managers waited for: through a tree a job needs two, for sums and for candidates",
    ]
    waves: Annotated[int | None, "number of times that all jobs in flight asked together; empty with turns"]
    cpu_ns_per_node_job: Annotated[
        float,
        "CPU time of all ranks inside the machines, over nodes and jobs, without set-up, compilation and encoding",
    ]
    bytes_per_node: Annotated[
        float,
        "growth of resident memory by building and filling the nodes, all ranks, over nodes; on small machines "
        "mostly that of the process",
    ]
    message_bytes_per_node_job: Annotated[
        float,
        "payload between hosts, over nodes and jobs; over ranks it includes ends of jobs and CPU times of hosts",
    ]
    root_message_bytes: Annotated[int, "largest payload sent or received by host 0"]
    chain: Annotated[
        int,
        "longest chain of messages of a job, if each host handles one at a time: round trips of its queries, then "
        "its confirmations",
    ]
    wall_s_per_round: Annotated[float | None, "wall-clock time of the run over rounds, without the counting"]
    exchange_s_median: Annotated[
        float | None,
        "median time from a query to its last answer; empty with waves",
    ]
    jobs_per_s: Annotated[float | None, "jobs over the same wall-clock time"]
    mpi_share: Annotated[
        float | None,
        "share of the wall-clock time beyond the machines' CPU time, spread over all cores of the ranks: messages,"
        " encoding, waiting",
    ]
    collective_s_per_round: Annotated[
        float | None,
        "time of a plain `MPI_Bcast` and `MPI_Gatherv` with the bytes of a mean query and answer on the same ranks,"
        " afterwards (median)",
    ]
    predicted_s_per_round: Annotated[float | None, "time of a round in the LogGP model"]
    startup_s: Annotated[
        float,
        "time to build and fill the nodes, of the slowest rank; `launch_s` in `scale.json` is from the start of the "
        "slowest process to the first experiment",
    ]
    node_ns: Annotated[
        float | None,
        "input of the model: CPU time of node managers per queried node and round of the model",
    ]
    message_ns: Annotated[
        float | None,
        "input of the model: CPU time to encode or decode a message (mean over all messages of all ranks)",
    ]
    select_ns: Annotated[float | None, "input of the model: CPU time of the task manager per round of the model"]
    ask_bytes: Annotated[float | None, "input of the model: mean bytes of a query"]
    answer_bytes: Annotated[float | None, "input of the model: mean bytes of an answer"]
    job_ns: Annotated[
        float | None,
        "with waves: CPU time of all ranks per job, with encoding and decoding, but without sending and waiting in MPI",
    ]
    schedule_digest: Annotated[
        str,
        "as in `metrics.json`; equal for one machine, jobs, seed and overlap with any ranks, arity and "
        "virtual hosts, and for samples with equal numbers of task managers",
    ]


SCALE: Final = CsvTable.of_fields("scale.csv", ExperimentRow, ".6g")
"""Six digits exceed the accuracy."""


def row_of(
    what: Experiment,
    ground: RankGroup,
    driven: ExperimentResult,
    grown: int,
    startup_s: float,
    collective_s: float | None,
    repeat: int,
) -> ExperimentRow:
    """Row; `grown`: memory of nodes in bytes."""
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
    return ExperimentRow(
        nodes=what.nodes, ranks=what.ranks, hosts=what.hosts, task_managers=what.task_managers, overlap=what.overlap,
        arity=what.arity or "flat", sample=what.sample or "all", window_s=what.window, reservations=what.reservations,
        dispatcher=what.dispatcher.name, seed=what.seed, jobs=what.jobs, repeat=repeat,
        completed=int(driven.schedule.ran.sum()), rounds=driven.rounds, waves=driven.waves,
        cpu_ns_per_node_job=driven.cpu_ns / node_jobs, bytes_per_node=grown / what.nodes,
        message_bytes_per_node_job=driven.message_bytes / node_jobs, root_message_bytes=driven.root_message_bytes,
        chain=driven.chain, startup_s=startup_s, schedule_digest=driven.schedule.digest(), **figures,
    )  # fmt: skip


def _cost(what: Experiment, driven: ExperimentResult) -> JobCost | None:
    if driven.message_ns is None or not driven.rounds:
        return None
    rounds = driven.rounds / (2 if what.through_tree else 1)
    node_ns = (driven.cpu_ns - driven.manager_ns) / rounds / max(driven.queried_nodes, 1.0)
    select_ns = driven.manager_ns / rounds
    return JobCost(node_ns, driven.message_ns, driven.ask_bytes, driven.answer_bytes, select_ns)


def predicted_s(what: Experiment, ground: RankGroup, driven: ExperimentResult, cost: JobCost | None) -> float | None:
    """Modelled time of a round, in s."""
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
    asked, nodes = max(round(driven.queried_hosts) - 1, 0), driven.queried_nodes
    return sampled_round_ns(ground.network, cost, asked, nodes, cores=ground.cores) / 1e9
