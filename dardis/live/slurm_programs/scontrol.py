"""`scontrol`: host names, jobs, hold and release."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from dardis.engine.clock import unix_ms
from dardis.live.client import Client, service_folder
from dardis.live.job_option_texts import DEFAULT_WALLTIME_S, MOST_ELEMENTS
from dardis.live.slurm_names import CLUSTER, PARTITION
from dardis.live.slurm_programs.__main__ import SLURM
from dardis.live.slurm_programs.sinfo import state_of
from dardis.live.slurm_programs.slurm_jobs import RECENT_MS, Job, limit_text, long_span, read_job_name, show_lines
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist, hostlist_in_order, names_of

_COMMANDS: Final = "show hostnames, hostlist, job, node, partition or config, hold, release, version or ping"
_FLAGS: Final = frozenset({"-o", "--oneliner", "-Q", "--quiet", "-d", "--details", "-a", "--all"})


def main(words: Sequence[str]) -> int:
    """Run a command. Raises InputError and DardisError."""
    one_line, left = "-o" in words or "--oneliner" in words, [word for word in words if word not in _FLAGS]
    if left[:1] == ["show"] and len(left) > 1:
        what, equals, name = left[1].partition("=")  # show job=12
        left[1:2] = [what.lower(), *([name] if equals else [])]
    match left:
        case ["show", what, *given] if len(given) < 2 or what.startswith("partition"):
            return _show(what, given, one_line=one_line)
        case ["hold" | "uhold" | "release" as do, *given] if given:
            service = Client(service_folder(None))
            for text in given:
                for job in _matching(service, text):
                    service.change_job(job["id"], do.removeprefix("u"))
        case ["version"]:
            sys.stdout.write(f"slurm {SLURM}\n")
        case ["ping"]:
            Client(service_folder(None)).get("/status")
            sys.stdout.write("Slurmctld(primary) is UP\n")
        case _:
            raise InputError("scontrol", repr(" ".join(left)), _COMMANDS)
    return 0


def _show(what: str, given: Sequence[str], *, one_line: bool) -> int:
    match what:
        case "hostnames" | "hostname":
            text = given[0] if given else os.environ.get("SLURM_JOB_NODELIST", "")
            sys.stdout.write("".join(f"{name}\n" for name in _names(text)))
        case "hostlist" | "hostlistsorted" if given:
            names = [name for part in _names(given[0].replace("\n", ",")) for name in part.split()]
            sys.stdout.write(f"{hostlist_in_order(names) if what == 'hostlist' else hostlist(names)}\n")
        case "job" | "jobs" | "jobid":
            _show_jobs(given, one_line=one_line)
        case "config":
            sys.stdout.write("".join(f"{name:<23} = {value}\n" for name, value in _config().items()))
        case "partition" | "partitions":
            sys.stdout.write(_partition())
        case "node" | "nodes":
            _show_nodes(_names(given[0]) if given else [])
        case _:
            raise InputError("scontrol", repr(" ".join(["show", what, *given])), _COMMANDS)
    return 0


def _names(text: str) -> list[str]:
    try:
        return names_of(text)
    except ValueError as error:
        raise InputError("scontrol", f"{text!r} ({error})", "a host list such as n[1-3,7]") from None


def _matching(service: Client, text: str) -> list[Job]:
    wanted = read_job_name(text.removeprefix("jobid="), "scontrol")
    jobs = [job for job in service.get("/jobs", state="open")["jobs"] if wanted.matches(job)]
    if not jobs and not wanted.indices:
        return [service.job(wanted.number)]
    if not jobs:
        since = service.job(wanted.number)
        jobs = [job for job in service.history(state="over", since_ms=since["submitted_ms"]) if wanted.matches(job)]
    if not jobs:
        raise InputError("scontrol", f"there is no job {text}", "the number of a job of this service")
    return jobs


def _show_jobs(given: Sequence[str], *, one_line: bool) -> None:
    service = Client(service_folder(None))
    jobs = _matching(service, given[0]) if given else service.get("/jobs", state="open")["jobs"]
    for job in jobs:
        lines = show_lines(job, unix_ms())
        sys.stdout.write(
            (" ".join(line.strip() for line in lines) if one_line else "\n".join(lines)) + "\n" * (2 - one_line)
        )
    if not jobs:
        sys.stdout.write("No jobs in the system\n")


def _config() -> dict[str, object]:
    return {
        "ClusterName": CLUSTER, "MaxArraySize": MOST_ELEMENTS + 1, "MaxJobCount": 1_000_000,
        "MinJobAge": f"{RECENT_MS // 1000} sec", "SLURM_VERSION": SLURM,
    }  # fmt: skip


def _partition() -> str:
    service = Client(service_folder(None))
    nodes = service.get("/nodes")["nodes"]
    limit = limit_text({"walltime_s": service.get("/status")["max_time_s"]}, long_span)
    cores = sum(node["cores"] for node in nodes)
    return (
        f"PartitionName={PARTITION}\n   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n   Default=YES State=UP\n"
        f"   MaxNodes=UNLIMITED MaxTime={limit} MinNodes=1 DefaultTime={long_span(DEFAULT_WALLTIME_S)}\n"
        f"   Nodes={hostlist(node['name'] for node in nodes)}\n   TotalCPUs={cores} TotalNodes={len(nodes)}\n"
        "   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n\n"
    )


def _show_nodes(names: Sequence[str]) -> None:
    nodes = Client(service_folder(None)).get("/nodes")["nodes"]
    if unknown := [name for name in names if all(name != node["name"] for node in nodes)]:
        raise InputError("scontrol", f"there is no node {unknown[0]}", hostlist(node["name"] for node in nodes))
    for node in nodes:
        if not names or node["name"] in names:
            gres = f"gpu:{node['gpus']}" if node["gpus"] else "(null)"
            sys.stdout.write(
                f"NodeName={node['name']} CPUAlloc={node['used_cores']} CPUTot={node['cores']}\n"
                f"   NodeHostName={node['host']} RealMemory={node['memory_mib']} Gres={gres}\n"
                f"   State={state_of(node).upper()} Partitions={PARTITION}\n   Reason={node['why'] or 'none'}\n\n"
            )
