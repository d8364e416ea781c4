"""Jobs of a steered partition from `squeue --json`: requests of waiting jobs, holdings of running jobs. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from dardis.config.slurm.slurm_fields import NodeRecord, amounts_of, gres_of
from dardis.model.errors import InputError
from dardis.model.hostlist import names_in, names_of
from dardis.model.resources import CORES, MEMORY, UNKNOWN_END
from dardis.model.slurm_json import inner, number_of, words_of
from dardis.slurm.slurm_job import SlurmJob, read_squeue, slurm_job
from dardis.workload.slurm_texts import JobPhase, pending_tasks

MOST_TASKS: Final = 1000
"""Most waiting tasks of an array in a round."""
NO_LIMIT_S: Final = 365 * 86_400
"""Walltime of jobs without a limit."""
_PREFIX = re.compile(r"\bgres[:/]")
_UNSUPPORTED: Final = {
    "core_spec": "--core-spec", "thread_spec": "--thread-spec", "sockets_per_node": "--sockets-per-node",
    "cores_per_socket": "--cores-per-socket", "threads_per_core": "--threads-per-core or --hint",
    "tasks_per_socket": "--ntasks-per-socket", "tasks_per_core": "--ntasks-per-core",
    "minimum_tmp_disk_per_node": "--tmp", "minimum_switches": "--switches", "het_job_id": "a heterogeneous job",
}  # fmt: skip
"""Options whose fields are 0 or unset in other jobs."""
_UNSUPPORTED_TEXTS: Final = {
    "burst_buffer": "a burst buffer", "tres_per_socket": "--gpus-per-socket", "federation_origin": "a federated job",
    "cpus_per_tres": "--cpus-per-gpu", "memory_per_tres": "--mem-per-gpu",
}  # fmt: skip
_OTHER_TRES: Final = ("cpu", "mem", "license", "bb/", "fs/", "ic/", "node", "billing", "energy", "vmem", "pages")
"""Resources that are no devices."""


class NodeNeeds(NamedTuple):
    """Which nodes a job may use."""

    features: str = ""
    """`a&b` or `a|b`."""
    required: str = ""
    """Host list; empty: any."""
    excluded: str = ""
    memory: int = 0
    """MiB of a node."""

    def permitted(self, nodes: Sequence[NodeRecord]) -> Iterator[bool]:
        """Whether each node is permitted."""
        required, excluded = names_in(self.required) if self.required else None, names_in(self.excluded)
        any_of, all_of = self.features.split("|"), [*filter(None, re.split("[&,]", self.features))]
        for node in nodes:
            is_like = not {*any_of}.isdisjoint(node.features) if len(any_of) > 1 else {*all_of} <= {*node.features}
            is_listed = (required is None or node.name in required) and node.name not in excluded
            yield is_like and is_listed and (node.memory is None or node.memory >= self.memory)


class NodeRequest(NamedTuple):
    """Request of a waiting job."""

    nodes: int
    amounts: Mapping[str, int]
    """Of each node, by kind; memory in MiB, 0: all of a node."""
    whole: bool
    """Whether no other job may run on these nodes."""
    needs: NodeNeeds


@dataclass(frozen=True, slots=True)
class SteeredJob:
    """A job, or the waiting tasks of an array."""

    job: SlurmJob
    pending: str
    """Waiting tasks of an array, `1-5,9`; empty: a single job."""
    tasks: tuple[int, ...]
    """The first of them."""
    throttle: int
    """Most running tasks of the array; 0: no limit."""
    reservation: str
    required: str
    """Required nodes, by the user or by a decision."""
    request: NodeRequest | None
    """Of supported waiting jobs."""
    unsupported: str
    """Why a waiting job cannot be steered; empty: it can."""
    licences: str
    held: Mapping[str, Mapping[str, int]]
    """What a started job holds, by node and kind."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the job or its tasks; `123+1` of a started heterogeneous job."""
        if self.job.phase is not JobPhase.WAITS:
            return (self.job.job,)
        return tuple(f"{self.name}_{task}" for task in self.tasks) or (self.name,)

    @property
    def name(self) -> str:
        """Name of the job or of its array."""
        return self.job.job.partition("_[")[0].partition("+")[0]

    @property
    def array(self) -> str:
        """Array of a task or of waiting tasks; empty: none."""
        name, _, task = self.job.job.partition("_")
        return name if task else ""

    @property
    def all_tasks(self) -> str:
        """Name of all waiting tasks for `scontrol`."""
        return f"{self.name}_[{self.pending}]" if self.pending else self.name

    @property
    def account(self) -> str:
        """Account; empty without accounting."""
        return self.job.cells.get("Account", "")

    @property
    def is_held(self) -> bool:
        """Whether the job waits for something else than nodes, or tasks of its array."""
        return self.job.is_held and self.job.reason != "JobArrayTaskLimit"

    @property
    def walltime(self) -> int:
        """Time limit, s."""
        return max(NO_LIMIT_S if self.job.limit_s is None else self.job.limit_s, 1)

    def latest_end(self, now: int, overrun_s: int) -> int:
        """Latest end of a started job, Unix s; beyond its limit `overrun_s` from now."""
        if self.job.start is None or self.job.phase is JobPhase.SUSPENDED:
            return UNKNOWN_END
        end = self.job.start + self.walltime
        return end if end > now else now + overrun_s


def steered_jobs(place: str, text: str) -> tuple[list[SteeredJob], list[str]]:
    """As `squeue_jobs`. Raises InputError."""
    return read_squeue(place, text, _steered_job)


def _steered_job(record: Mapping[str, Any]) -> SteeredJob:
    job = slurm_job(record)
    pending = job.job.partition("[")[2].removesuffix("]").partition("%")[0]
    request, unsupported = None, ""
    waits, required = job.phase is JobPhase.WAITS, _hosts(record.get("required_nodes"))
    names_in(required), names_in(job.cells.get("NodeList", ""))  # a record with other lists is malformed
    if waits:
        try:
            unsupported = _why_unsupported(record)
            request = None if unsupported else _request(record, job, required)
        except ValueError as error:
            unsupported = str(error)
    if request is not None and 0 < len(names_in(required)) < request.nodes:
        request, unsupported = None, "fewer nodes in --nodelist than --nodes"
    return SteeredJob(
        job,
        pending if waits else "",
        tuple(islice(pending_tasks(pending), MOST_TASKS)) if waits and pending else (),
        _count(record, "array_max_tasks"),
        str(record.get("resv_name") or ""),
        required,
        request,
        unsupported,
        str(record.get("licenses") or ""),
        _held(record, job) if job.is_running else {},
    )


def _why_unsupported(record: Mapping[str, Any]) -> str:
    numbers = (what for key, what in _UNSUPPORTED.items() if _count(record, key))
    texts = (what for key, what in _UNSUPPORTED_TEXTS.items() if record.get(key))
    features = str(record.get("features") or "")
    if {*words_of(record.get("shared"))} & {"user", "mcs", "topo"}:
        return "--exclusive=user, mcs or topo"
    if record.get("contiguous") is True:
        return "--contiguous"
    if re.search(r"[][()*!]", features) or ("|" in features and re.search("[&,]", features)):
        return f"--constraint={features}"[:60]
    return next(numbers, next(texts, ""))


def _request(record: Mapping[str, Any], job: SlurmJob, required: str) -> NodeRequest:
    nodes = max(_count(record, "node_count"), len(names_in(required)), 1)
    tasks, cores_of_task = _count(record, "tasks") or 1, _count(record, "cpus_per_task") or 1
    tasks_of_node = -(-tasks // nodes)
    cores = max(
        tasks_of_node * cores_of_task, _count(record, "minimum_cpus_per_node"), -(-job.asked.get(CORES, 0) // nodes)
    )
    amounts = {CORES: cores} | _devices(record, nodes, tasks_of_node)
    per_core, per_node = _count(record, "memory_per_cpu"), _count(record, "memory_per_node")
    memory = per_core * cores or per_node
    features, excluded = str(record.get("features") or ""), _hosts(record.get("excluded_nodes"))
    names_in(excluded)  # a list that cannot be read
    whole = "none" in words_of(record.get("shared"))
    return NodeRequest(nodes, amounts | {MEMORY: memory}, whole, NodeNeeds(features, required, excluded, memory))


def _devices(record: Mapping[str, Any], nodes: int, tasks_of_node: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, of_node in (("tres_per_node", 1.0), ("tres_per_task", float(tasks_of_node)), ("tres_per_job", 1 / nodes)):
        for kind, amount in _by_kind(record.get(key)).items():
            found[kind] = found.get(kind, 0) + math.ceil(amount * of_node)
    return found


def _by_kind(text: object) -> dict[str, int]:
    words = (word for word in re.split(r",(?![^(]*\))", str(text or "")) if not word.startswith(_OTHER_TRES))
    try:
        return amounts_of(gres_of("job", _PREFIX.sub("", ",".join(words)).replace("=", ":")))
    except InputError as error:
        raise ValueError(str(error)) from None


def _held(record: Mapping[str, Any], job: SlurmJob) -> dict[str, dict[str, int]]:
    names = names_of(text) if (text := str(record.get("nodes") or "")) else []
    cores = {str(one.get("nodename", one.get("name"))): _allocated_cores(one) for one in _allocations(record)}
    devices = _texts(record.get("gres_detail"))
    shares = {kind: -(-amount // max(len(names), 1)) for kind, amount in job.amounts.items()}
    held = {name: shares | ({CORES: cores[name]} if cores.get(name) else {}) for name in names}
    if len(devices) == len(names):
        for name, text in zip(names, devices, strict=True):
            held[name] |= _by_kind(text)
    return held


def _texts(value: object) -> list[str]:
    return [*map(str, value)] if isinstance(value, list) else []


def _allocations(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    resources = record.get("job_resources")
    found = inner(resources, "allocated_nodes") or inner(resources, "nodes", "allocation") or ()
    values = found.values() if isinstance(found, Mapping) else found if isinstance(found, list) else ()
    return [one for one in values if isinstance(one, Mapping)]


def _allocated_cores(share: Mapping[str, Any]) -> int:
    """CPUs of a job on a node; before 0.0.40 they are listed; 0: not stated."""
    count = number_of(inner(share, "cpus", "count"))
    if count and count != math.inf:
        return int(count)
    sockets = share.get("sockets")
    cores = [inner(one, "cores") for one in (sockets.values() if isinstance(sockets, Mapping) else ())]
    return sum(state == "allocated" for one in cores if isinstance(one, Mapping) for state in one.values())


def _count(record: Mapping[str, Any], key: str) -> int:
    number = number_of(record.get(key))
    return 0 if number is None or number == math.inf else int(number)


def _hosts(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value or "")
