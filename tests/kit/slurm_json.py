"""Slurm's JSON of jobs, nodes and partitions, in the forms of several OpenAPI versions."""

from __future__ import annotations

import json
from typing import Any

VERSIONS = (38, 39, 40, 43)
INFINITE = -1


def document(kind: str, records: list[dict[str, Any]], version: int, *, indent: int | None = 1) -> str:
    """The whole output of a command."""
    meta = {"data_parser": f"data_parser/v0.0.{version}", "Slurm": {"release": "23.02.6"}}
    return json.dumps({"meta": meta, kind: records, "last_update": number(5, version), "errors": []}, indent=indent)


def number(value: int | None, version: int, *, since: int = 39) -> object:
    """A number that may be unset or infinite."""
    if version < since:
        return {None: 0xFFFFFFFE, INFINITE: 0xFFFFFFFF}.get(value, value)
    return {"set": value not in {None, INFINITE}, "infinite": value == INFINITE, "number": max(value or 0, 0)}


def states(words: list[str], version: int) -> object:
    """States of a job: one word before 0.0.40."""
    return words if version >= 40 else words[0]


def _tres_list(text: str) -> list[dict[str, Any]]:
    found = []
    for part in filter(None, text.split(",")):
        name, _, amount = part.partition("=")
        kind, _, of_kind = name.partition("/")
        count = int(amount.removesuffix("G")) * (1024 if amount.endswith("G") else 1)
        found.append({"type": kind, "name": of_kind, "id": 1, "count": count})
    return found


def _time(text: str) -> int:
    return int(text) if text.isdigit() else 0


def accounting_job(cells: dict[str, str], version: int) -> dict[str, Any]:
    """The job of `sacct --json` that sacct writes as these cells."""
    minutes = int(cells["TimelimitRaw"]) if cells["TimelimitRaw"].isdigit() else INFINITE
    return {
        "job_id": int(cells["JobIDRaw"]), "name": cells.get("JobName", ""), "user": cells.get("User", ""),
        "group": cells.get("Group", ""), "account": cells.get("Account", ""), "qos": cells.get("QOS", ""),
        "partition": cells.get("Partition", ""), "nodes": cells.get("NodeList", ""),
        "allocation_nodes": int(cells["NNodes"]), "het": {"job_id": 0, "job_offset": number(None, version)},
        "array": {"job_id": 0, "task_id": number(None, version), "task": ""},
        "required": {"CPUs": int(cells["NCPUS"]), "memory_per_cpu": number(None, version)},
        "state": {"current": states([cells["State"].split()[0]], version), "reason": "None"},
        "time": {
            "submission": _time(cells["Submit"]), "eligible": _time(cells["Eligible"]), "start": _time(cells["Start"]),
            "end": _time(cells["End"]), "elapsed": int(cells["ElapsedRaw"] or 0), "suspended": 0,
            "limit": number(minutes, version),
            "total": {"seconds": 0, "microseconds": 0},
        },
        "tres": {"requested": _tres_list(cells["ReqTRES"]), "allocated": _tres_list(cells["AllocTRES"])},
        "steps": [],
    }  # fmt: skip


def queue_job(
    cells: dict[str, str], version: int, *, array: tuple[int, int | None, str] = (0, None, "")
) -> dict[str, Any]:
    """The job of `squeue --json` that sacct writes as these cells. `array`: its job, task and waiting tasks."""
    waits = cells["State"] == "PENDING"
    expected_end = _time(cells["Start"]) + 86_400
    limit = int(cells["TimelimitRaw"]) if cells["TimelimitRaw"].isdigit() else INFINITE
    return {
        "job_id": int(cells["JobIDRaw"]), "name": cells.get("JobName", ""), "user_name": cells.get("User", ""),
        "group_name": cells.get("Group", ""), "account": cells.get("Account", ""), "qos": cells.get("QOS", ""),
        "partition": cells.get("Partition", ""), "nodes": "" if waits else cells.get("NodeList", ""),
        "job_state": states([cells["State"], *(["COMPLETING"] if cells["State"] == "COMPLETED" else [])], version),
        "array_job_id": number(array[0], version), "array_task_id": number(array[1], version),
        "array_task_string": array[2], "het_job_id": number(0, version), "het_job_offset": number(0, version),
        "submit_time": number(_time(cells["Submit"]), version, since=40),
        "eligible_time": number(_time(cells["Eligible"]), version, since=40),
        "start_time": number(_time(cells["Start"]), version, since=40),
        "end_time": number(_time(cells["End"]) or expected_end, version, since=40),
        "time_limit": number(limit, version), "node_count": number(int(cells["NNodes"]), version),
        "cpus": number(int(cells["NCPUS"]), version), "tres_req_str": cells["ReqTRES"],
        "tres_alloc_str": cells["AllocTRES"], "priority": number(4294901758, version),
    }  # fmt: skip


def node(name: str, words: list[str], version: int, **more: object) -> dict[str, Any]:
    """A node of `scontrol show nodes --json`, with 64 CPUs and 192,000 MiB."""
    state: dict[str, Any] = {"state": words} if version >= 39 else {"state": words[0].lower(), "state_flags": words[1:]}
    return state | {
        "name": name, "cpus": 64, "effective_cpus": 64, "threads": 2, "real_memory": 192_000, "gres": "",
        "partitions": ["batch"], "features": [] if version >= 40 else "", "weight": 1, "temporary_disk": 0, "owner": "",
        "boot_time": number(1_690_000_000, version, since=40),
    } | more  # fmt: skip


def partition(
    name: str, version: int, *, minutes: int = INFINITE, nodes: int = INFINITE, state: str = "UP"
) -> dict[str, Any]:
    """A partition of `scontrol show partitions --json`."""
    if version < 39:
        plain = {"max_time_limit": minutes, "maximum_nodes_per_job": nodes, "nodes": "n[1-2]"}
        return {"name": name, "state": state, "flags": []} | plain
    limits = {"time": number(minutes, version), "nodes": number(nodes, version)}
    return {"name": name, "maximums": limits, "partition": {"state": [state]}, "nodes": {"configured": "n[1-2]"}}


def sinfo_line(
    names: list[str], state: list[str], partition_name: str, *, cpus: tuple[int, int] = (64, 64)
) -> dict[str, Any]:
    """A line of `sinfo --json`, of equal nodes."""
    return {
        "node": {"state": state}, "nodes": {"nodes": names, "total": len(names)},
        "cpus": {"minimum": cpus[0], "maximum": cpus[1], "total": cpus[1] * len(names)},
        "threads": {"minimum": 2, "maximum": 2}, "memory": {"minimum": 192_000, "maximum": 192_000, "allocated": 0},
        "gres": {"total": "gpu:a100:4(S:0-1)", "used": "gpu:0"}, "partition": {"name": partition_name},
    }  # fmt: skip
