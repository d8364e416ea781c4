"""Request of tasks of `srun`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dardis.live.job_option_texts import MOST_CPUS, MOST_GPUS, MOST_NODES
from dardis.model.errors import InputError

MOST_TASKS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """Tasks that start together. Raises InputError."""

    tasks: int = 1
    cpus: int = 1
    """Cores of each task; 0: a node's tasks share all cores."""
    nodes: int | None = None
    """None: as many nodes of the job as there are tasks."""
    tasks_per_node: int | None = None
    nodelist: tuple[str, ...] = ()
    """Nodes to use; empty: any."""
    exclude: tuple[str, ...] = ()
    gpus_per_node: int = 0
    gpus_per_task: int = 0
    overlap: bool = False
    """Cores and GPUs may belong to other tasks, too."""

    def __post_init__(self) -> None:
        for option, value, least, most in (
            ("--ntasks", self.tasks, 1, MOST_TASKS), ("--cpus-per-task", self.cpus, 0, MOST_CPUS),
            ("--nodes", self.nodes, 1, MOST_NODES), ("--ntasks-per-node", self.tasks_per_node, 1, MOST_TASKS),
            ("--gpus-per-node", self.gpus_per_node, 0, MOST_GPUS),
            ("--gpus-per-task", self.gpus_per_task, 0, MOST_GPUS),
        ):  # fmt: skip
            if value is not None and not (type(value) is int and least <= value <= most):
                raise InputError(option, repr(value), f"from {least} to {most}")
