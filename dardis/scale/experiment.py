"""One scale experiment: what is measured, on what ground, and what comes of driving its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dardis.model.loggp import LogGP
from dardis.model.schedule import Schedule
from dardis.registry import Cluster, Dispatcher
from dardis.runs.hosts import even_bounds
from dardis.scale.load import machine
from dardis.task_manager import Reach

if TYPE_CHECKING:
    from dardis.transport.mpi import Communicator


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
    dispatcher: Dispatcher
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

    @property
    def cluster(self) -> Cluster:
        """On what the dispatcher decides: equal nodes, spread evenly over the ranks; what is measured is messages."""
        return Cluster(
            machine(self.nodes), even_bounds(self.nodes, self.ranks), self.seed, task_managers=self.task_managers,
            reach=Reach(self.arity, self.sample), at_once=False,
        )  # fmt: skip


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
