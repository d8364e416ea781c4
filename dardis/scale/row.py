"""Figures of scale.csv, defined in docs/scale.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from dardis.model.csv_table import CsvTable
from dardis.model.loggp import JobCost, sampled_round_ns, tree_round_ns, wave_job_ns
from dardis.scale.experiment import Experiment, ExperimentResult, RankGroup

Nodes = Annotated[int, "asked for: nodes of the machine"]
TaskManagers = Annotated[int, "asked for: task managers that share the jobs"]
Arity = Annotated[int | str, "asked for: children of a host in the tree, or `flat`"]
Sample = Annotated[int | str, "asked for: nodes asked first for each unit, or `all`"]
Window = Annotated[int, "asked for: window of the jobs"]
Reservations = Annotated[int, "asked for: reservations on each node before the first job"]
SetUpName = Annotated[str, "asked for: set-up"]
Seed = Annotated[int, "asked for: seed"]
JobCount = Annotated[int, "asked for: jobs"]


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One line of scale.csv."""

    nodes: Nodes
    ranks: Annotated[int, "asked for: processes that hold nodes"]
    hosts: Annotated[int, "ranks, or virtual hosts in one process"]
    task_managers: TaskManagers
    overlap: Annotated[int, "asked for: jobs in flight together"]
    arity: Arity
    sample: Sample
    window_s: Window
    reservations: Reservations
    dispatcher: SetUpName
    seed: Seed
    jobs: JobCount
    repeat: Annotated[int, "for which time"]
    completed: Annotated[int, "jobs that ran; the others are too large for the machine"]
    rounds: Annotated[
        int,
        "questions that had to be answered before a task manager could go on: through a tree a job needs two, for "
        "sums and for candidates",
    ]
    waves: Annotated[int | None, "how often all in flight asked together; empty with turns"]
    cpu_ns_per_node_job: Annotated[
        float,
        "CPU time of all ranks inside the machines, over nodes and jobs; no set-up, no compilation, no encoding",
    ]
    bytes_per_node: Annotated[
        float,
        "growth of resident memory by building and filling the nodes, all ranks, over nodes; on small machines "
        "what a process needs anyway",
    ]
    message_bytes_per_node_job: Annotated[
        float,
        "payload between hosts, over nodes and jobs; over ranks it includes ends of jobs and what hosts tell of "
        "their CPU time",
    ]
    root_message_bytes: Annotated[int, "the largest payload that host 0 sends or gets"]
    chain: Annotated[
        int,
        "the longest chain of messages of any job, each host handling one at a time: the round trips of its "
        "questions, then its confirmations",
    ]
    wall_s_per_round: Annotated[float | None, "wall-clock time of the run over rounds, less the counting"]
    exchange_s_median: Annotated[
        float | None,
        "the median time from when a question is sent until all answers are there; empty with waves",
    ]
    jobs_per_s: Annotated[float | None, "jobs over the same wall-clock time"]
    mpi_share: Annotated[
        float | None,
        "the part of the wall-clock time that the machines' CPU time does not explain, had it been spread over all"
        " cores that the ranks may use: messages, encoding, waiting",
    ]
    collective_s_per_round: Annotated[
        float | None,
        "what a bare `MPI_Bcast` and `MPI_Gatherv` of a mean question's and a mean answer's bytes take on the same"
        " ranks, right after (median)",
    ]
    predicted_s_per_round: Annotated[float | None, "what the LogGP model says of a round"]
    startup_s: Annotated[
        float,
        "building and filling the nodes, the slowest rank; `launch_s` in `scale.json` is from the start of the "
        "slowest process to the first experiment",
    ]
    node_ns: Annotated[
        float | None,
        "given to the model: CPU time of node managers a node asked and round of the model",
    ]
    message_ns: Annotated[
        float | None,
        "given to the model: CPU time to encode or to decode a message (the mean over all messages of all ranks, "
        "as they were sent)",
    ]
    select_ns: Annotated[float | None, "given to the model: CPU time of the task manager a round of the model"]
    ask_bytes: Annotated[float | None, "given to the model: bytes of a mean question"]
    answer_bytes: Annotated[float | None, "given to the model: bytes of a mean answer"]
    job_ns: Annotated[
        float | None,
        "with waves: CPU time a job, all ranks, with encoding and decoding, but without what MPI takes to send, "
        "and to wait for others",
    ]
    schedule_digest: Annotated[
        str,
        "as in `metrics.json`; for one machine, jobs, seed and overlap it is the same for any ranks, arity and "
        "virtual hosts; of samples, for the same number of task managers",
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
    """Return the row; `grown`: memory of nodes in bytes."""
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
    """Costs of a modelled round; through a tree, two measured ones."""
    if driven.message_ns is None or not driven.rounds:
        return None
    rounds = driven.rounds / (2 if what.through_tree else 1)
    node_ns = (driven.cpu_ns - driven.manager_ns) / rounds / max(driven.queried_nodes, 1.0)
    select_ns = driven.manager_ns / rounds
    return JobCost(node_ns, driven.message_ns, driven.ask_bytes, driven.answer_bytes, select_ns)


def predicted_s(what: Experiment, ground: RankGroup, driven: ExperimentResult, cost: JobCost | None) -> float | None:
    """Return the modelled time of a round, in s."""
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
