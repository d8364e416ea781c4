"""Jobs of the service as Slurm's programs name and show them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from dardis.live.job_option_texts import UNLIMITED_S
from dardis.live.output import output_path
from dardis.live.slurm_names import CLUSTER, PARTITION
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist_in_order

Job = Mapping[str, Any]
STATES: Final = {
    "PENDING": "PD", "RUNNING": "R", "COMPLETED": "CD", "FAILED": "F", "TIMEOUT": "TO", "CANCELLED": "CA",
    "NODE_FAIL": "NF", "DEADLINE": "DL", "OUT_OF_MEMORY": "OOM", "SUSPENDED": "S", "COMPLETING": "CG",
    "CONFIGURING": "CF", "BOOT_FAIL": "BF", "PREEMPTED": "PR", "REQUEUED": "RQ", "STOPPED": "ST",
}  # fmt: skip
"""Slurm's states with short forms. Jobs have the first nine."""
_STATES: Final = {
    "held": "PENDING", "waiting": "PENDING", "running": "RUNNING", "completed": "COMPLETED", "failed": "FAILED",
    "timeout": "TIMEOUT", "cancelled": "CANCELLED", "unknown": "NODE_FAIL",
}  # fmt: skip
_SPAN: Final = r"\d{1,10}(?:-\d{1,10}(?::[1-9]\d{0,9})?)?"
_ID: Final = re.compile(
    rf"(\d{{1,16}})(?:_(?:(\d{{1,10}})|\[({_SPAN}(?:,{_SPAN})*)(?:%\d+)?\]|\*))?(?:\.batch|\.(extern|\d+))?", re.ASCII
)
NONE: Final = "N/A"
RECENT_MS: Final = 300_000
"""Listing time of ended jobs (Slurm: MinJobAge), ms."""


class JobName(NamedTuple):
    """Job or array as Slurm's programs name it: `12`, `12_3` or `12_[3-5]`."""

    number: int
    indices: str = ""
    """Indices in the array as stated; empty: all."""
    step: str = ""

    def matches(self, job: Job) -> bool:
        """Whether it names a job, or its array."""
        if not self.indices:
            return self.number in (job["id"], job["array"])
        return job["array"] == self.number and job["index"] in set(spans(self.indices))


def read_job_name(text: str, place: str) -> JobName:
    """Name of a job or array, not of a step. Raises InputError."""
    found = read_name(text, place)
    if found.step:
        raise InputError(place, repr(text), "a job: its steps cannot be named")
    return found


def spans(text: str) -> Iterable[int]:
    """Yield numbers of `1,3-5,7-9:2`."""
    for part in text.split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1, int(step or 1))


def read_name(text: str, place: str) -> JobName:
    """Job name of a text. Raises InputError."""
    if (found := _ID.fullmatch(text)) is None:
        raise InputError(place, repr(text), "the number of a job such as 12, 12_3 or 12_[3-5]")
    return JobName(int(found[1]), found[2] or found[3] or "", found[4] or "")


def state_of(job: Job) -> str:
    """Slurm's state of a job."""
    if job["state"] == "cancelled" and "deadline" in job["why"]:
        return "DEADLINE"
    if job["state"] == "failed" and "memory limit" in job["why"]:
        return "OUT_OF_MEMORY"
    return _STATES[job["state"]]


def read_states(text: str, place: str) -> set[str]:
    """Full names of states in a list; `all`: all of them. Raises InputError."""
    short = {code: name for name, code in STATES.items()}
    found = set[str]()
    for part in text.upper().split(","):
        if part == "ALL":
            return set(STATES)
        if (name := short.get(part, part)) not in STATES:
            raise InputError(place, repr(text), f"all, or {', '.join(STATES)}")
        found.add(name)
    return found


def job_id(job: Job) -> str:
    """Job's number: `12`, or `12_3` in an array."""
    return str(job["id"]) if job["array"] is None else f"{job['array']}_{job['index']}"


def reason_of(job: Job) -> str:
    """Slurm's word for why a job does not run."""
    why = job["why"]
    if job["state"] == "held":
        return "JobHeldUser"
    if job["state"] != "waiting":
        return "None"
    for text, reason in (
        ("jobs of its array", "JobArrayTaskLimit"), ("waits for the", "Dependency"), ("earlier jobs", "Dependency"),
        ("begins at", "BeginTime"), ("all are drained", "ReqNodeNotAvail"), ("led by another", "ReqNodeNotAvail"),
    ):  # fmt: skip
        if text in why:
            return reason
    return "Resources"


def exit_text(job: Job) -> str:
    """Exit code and signal: `0:0`."""
    code, signal = job["code"], job["signal"]
    if state_of(job) == "TIMEOUT" and code is None:
        return "0:0"
    return f"{code or 0}:{signal or 0}"


def nodes_text(job: Job) -> str:
    """Host list of the nodes; empty: none yet."""
    return hostlist_in_order(job["nodes"])


def moment(unix_ms: int | None, unknown: str = "Unknown") -> str:
    """Local time as Slurm writes it."""
    return unknown if unix_ms is None else datetime.fromtimestamp(unix_ms // 1000).isoformat()  # noqa: DTZ006 (local)


def span(seconds: int | None, none: str = "INVALID") -> str:
    """Span of time: `[DD-[HH:]]MM:SS`."""
    if seconds is None:
        return none
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    clock = f"{rest // 60:02}:{rest % 60:02}"
    if days:
        return f"{days}-{hours:02}:{clock}"
    return f"{hours}:{clock}" if hours else f"{rest // 60}:{rest % 60:02}"


def long_span(seconds: int | None) -> str:
    """Span of time: `[DD-]HH:MM:SS`."""
    if seconds is None:
        return "00:00:00"
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def run_s(job: Job, now_ms: int) -> int | None:
    """Run time so far in s; None: not started."""
    if job["started_ms"] is None:
        return None
    ended_ms = int(job["ended_ms"] if job["ended_ms"] is not None else now_ms)
    return max(0, ended_ms // 1000 - int(job["started_ms"]) // 1000)  # as the moments are shown


def limit_text(job: Job, text: Callable[[int], str] = span) -> str:
    """Job's walltime."""
    return "UNLIMITED" if job["walltime_s"] == UNLIMITED_S else text(job["walltime_s"])


def memory_text(job: Job) -> str:
    """Requested memory, of each node or core."""
    if job["memory_per_cpu_mib"]:
        return f"{job['memory_per_cpu_mib']}Mc"
    return f"{job['memory_mib']}M" if job["memory_mib"] else "0"


def cores_of(job: Job) -> int:
    """Number of cores, allocated or requested."""
    return int(job["allocated_cores"] or job["cpus"] * job["node_count"])


def dependency_text(job: Job) -> str:
    """Dependencies in Slurm's notation."""
    kinds = {"ok": "afterok", "any": "afterany", "fail": "afternotok", "each": "aftercorr", "start": "after"}
    parts = [f"{kinds[one['kind']]}:{one['id']}" for one in job["after"]] + ["singleton"] * bool(job["singleton"])
    return ("?" if job["after_any"] else ",").join(parts)


def partition_of(job: Job) -> str:
    """Stated partition, or the usual one."""
    return job["partition"] or PARTITION


def command_of(job: Job) -> str:
    """Words of the command; those of a script follow the job's name (its path is not kept)."""
    return " ".join([job["name"]] * job["has_script"] + job["argv"]) or "(null)"


def _tasks_of(job: Job) -> int:
    return int(job["tasks"] or (job["tasks_per_node"] or 1) * job["node_count"])


def show_lines(job: Job, now_ms: int) -> list[str]:
    """Lines of `scontrol show job`."""
    ends_ms = job["ended_ms"]
    if ends_ms is None and job["started_ms"] is not None and job["walltime_s"] != UNLIMITED_S:
        ends_ms = job["started_ms"] + job["walltime_s"] * 1000
    paths = {name: output_path(job, error=name == "StdErr") for name in ("StdErr", "StdOut") if job["output"]}
    array = f" ArrayJobId={job['array']} ArrayTaskId={job['index']}" if job["array"] is not None else ""
    of = partial(moment, unknown="Unknown")
    return [
        f"JobId={job['id']}{array} JobName={job['name']}",
        f"   UserId={job['user']}({job['uid']}) Priority=1 Account=(null) QOS=normal",
        f"   JobState={state_of(job)} Reason={reason_of(job)} Dependency={dependency_text(job) or '(null)'}",
        f"   Requeue={int(job['requeue'])} Restarts={max(job['attempt'] - 1, 0)} BatchFlag=1 ExitCode={exit_text(job)}",
        f"   RunTime={long_span(run_s(job, now_ms))} TimeLimit={limit_text(job, long_span)} TimeMin=N/A",
        f"   SubmitTime={of(job['submitted_ms'])} EligibleTime={of(job['begin_ms'] or job['submitted_ms'])}",
        f"   StartTime={of(job['started_ms'])} EndTime={of(ends_ms)} Deadline={moment(job['deadline_ms'], NONE)}",
        f"   Partition={partition_of(job)} ClusterName={CLUSTER}",
        f"   NodeList={nodes_text(job)} BatchHost={(job['nodes'] or ['(null)'])[0]}",
        f"   NumNodes={job['node_count']} NumCPUs={cores_of(job)} NumTasks={_tasks_of(job)}",
        f"   CPUs/Task={job['cpus_per_task'] or NONE}",
        f"   Comment={job['comment']}",
        f"   Command={command_of(job)}",
        f"   WorkDir={job['chdir'] or job['cwd']}",
        f"   StdIn={job['stdin'] or '/dev/null'}",
        *(f"   {name}={path}" for name, path in paths.items()),
    ]


def folded(jobs: Sequence[Job]) -> list[tuple[Job, str]]:
    """Jobs and numbers; waiting jobs of an array that are alike share a row: `12_[3-5,7]`."""
    rows: list[tuple[Job, str]] = []
    groups: dict[tuple[object, ...], list[Job]] = {}
    for job in jobs:
        if job["array"] is not None and job["state"] in {"held", "waiting"}:
            groups.setdefault((job["array"], reason_of(job)), []).append(job)
    for job in jobs:
        if job["array"] is None or job["state"] not in {"held", "waiting"}:
            rows.append((job, job_id(job)))
        elif (group := groups.pop((job["array"], reason_of(job)), None)) is not None:
            rows.append((job, f"{job['array']}_[{_ranges([one['index'] for one in group])}]"))
    return rows


def _ranges(indices: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for index in sorted(indices):
        if parts and parts[-1][-1] == index - 1:
            parts[-1].append(index)
        else:
            parts.append([index])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
