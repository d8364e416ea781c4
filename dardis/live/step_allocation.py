"""Nodes, cores and GPUs for the tasks of `srun` within a job. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dardis.live.live_jobs import NodeShare
from dardis.live.slurm_environment import counts_text, spread_tasks
from dardis.live.task_request import TaskRequest
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist_in_order


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Task's place."""

    node: str
    cores: tuple[int, ...]
    gpus: tuple[int, ...] = ()

    @classmethod
    def of_list(cls, value: Sequence[Any]) -> TaskPlace:
        """From JSON values."""
        node, cores, gpus = value
        return cls(str(node), tuple(map(int, cores)), tuple(map(int, gpus)))


def place_tasks(
    shares: Sequence[NodeShare], used: Iterable[TaskPlace], asked: TaskRequest
) -> list[TaskPlace] | None:  # fmt: skip
    """Places of tasks by rank, in blocks by node; None: not all free now.

    Raises InputError if the job can never hold the tasks.
    """
    unknown = {*asked.nodelist, *asked.exclude}.difference(share.node for share in shares)
    if unknown:
        nodes = ", ".join(share.node for share in shares)
        raise InputError("--nodelist", repr(min(unknown)), f"nodes of the job: {nodes}")
    possible = _place(shares, {}, asked)
    if possible is None:
        holds = f"{len(shares)} nodes with {counts_text(len(share.cores) for share in shares)} cores"
        raise InputError("--ntasks", f"{asked.tasks} tasks do not fit the job", f"at most {holds}")
    if asked.overlap:
        return possible
    taken: dict[str, tuple[set[int], set[int]]] = {}
    for place in used:
        cores, gpus = taken.setdefault(place.node, (set(), set()))
        cores.update(place.cores)
        gpus.update(place.gpus)
    return _place(shares, taken, asked)


def _place(
    shares: Sequence[NodeShare], taken: Mapping[str, tuple[set[int], set[int]]], asked: TaskRequest
) -> list[TaskPlace] | None:
    free: dict[str, tuple[list[int], list[int]]] = {}
    for share in shares:
        if share.node not in asked.exclude and (not asked.nodelist or share.node in asked.nodelist):
            cores, gpus = taken.get(share.node, (set(), set()))
            free[share.node] = (
                [core for core in share.cores if core not in cores], [gpu for gpu in share.gpus if gpu not in gpus],
            )  # fmt: skip
    count = asked.nodes or (len(asked.nodelist) if asked.nodelist else min(len(free), asked.tasks))
    most = {node: _most_tasks(*parts, asked) for node, parts in free.items()}
    chosen = {*sorted(most, key=lambda node: -most[node])[:count]}
    nodes = [node for node in free if node in chosen and most[node]]
    if len(nodes) < count:
        return None
    counts = spread_tasks(asked.tasks, [most[node] for node in nodes])
    if sum(counts) < asked.tasks:
        return None
    parts = (_on_node(node, tasks, free[node], asked) for node, tasks in zip(nodes, counts, strict=True))
    return [place for places in parts for place in places]


def _most_tasks(cores: Sequence[int], gpus: Sequence[int], asked: TaskRequest) -> int:
    most = asked.tasks if asked.tasks_per_node is None else min(asked.tasks, asked.tasks_per_node)
    most = min(most, len(cores) // asked.cpus) if asked.cpus else most if cores else 0
    if asked.gpus_per_task:
        most = min(most, len(gpus) // asked.gpus_per_task)
    return most if len(gpus) >= asked.gpus_per_node else 0


def _on_node(
    node: str, tasks: int, free: tuple[Sequence[int], Sequence[int]], asked: TaskRequest
) -> list[TaskPlace]:  # fmt: skip
    cores, gpus = map(iter, free)
    of_node = tuple(islice(gpus, asked.gpus_per_node))
    places = []
    for _ in range(tasks):
        own = tuple(islice(cores, asked.cpus)) if asked.cpus else tuple(free[0])
        places.append(TaskPlace(node, own, tuple(islice(gpus, asked.gpus_per_task)) or of_node))
    return places


def task_variables(places: Sequence[TaskPlace], rank: int, step: int) -> dict[str, str]:
    """Variables of Slurm for a task of a step."""
    nodes = list(dict.fromkeys(place.node for place in places))
    here = [other for other, place in enumerate(places) if place.node == places[rank].node]
    cores = {core for other in here for core in places[other].cores}
    counts = counts_text(sum(place.node == node for place in places) for node in nodes)
    found: dict[str, object] = {
        "SLURM_STEP_ID": step, "SLURM_STEPID": step, "SLURM_PROCID": rank, "SLURM_LOCALID": here.index(rank),
        "SLURM_NODEID": nodes.index(places[rank].node), "SLURM_NTASKS": len(places), "SLURM_NPROCS": len(places),
        "SLURM_NNODES": len(nodes), "SLURM_STEP_NUM_TASKS": len(places), "SLURM_STEP_NUM_NODES": len(nodes),
        "SLURM_STEP_NODELIST": hostlist_in_order(nodes), "SLURM_STEP_TASKS_PER_NODE": counts,
        "SLURM_TASKS_PER_NODE": counts, "SLURM_GTIDS": ",".join(map(str, here)), "SLURM_CPUS_ON_NODE": len(cores),
    }  # fmt: skip
    if places[rank].gpus:
        found["CUDA_VISIBLE_DEVICES"] = found["SLURM_STEP_GPUS"] = ",".join(map(str, places[rank].gpus))
    return {name: str(value) for name, value in found.items()}
