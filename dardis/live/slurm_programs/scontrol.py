"""`scontrol`: host names, jobs, hold and release. Source: Slurm's manual page of scontrol."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dardis.engine.clock import unix_ms
from dardis.live.client import Client, service_folder
from dardis.live.slurm_programs.slurm_jobs import Job, read_name, show_lines
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist, hostlist_in_order, names_of

_COMMANDS = "show hostnames, show hostlist, show hostlistsorted, show job, hold, release or ping"


def main(words: Sequence[str]) -> int:
    """Run a command. Raises InputError and DardisError."""
    left = [word for word in words if word not in {"-o", "--oneliner", "-Q", "--quiet", "-d", "--details"}]
    one_line = len(left) < len(words) and ("-o" in words or "--oneliner" in words)
    match left:
        case ["show", "hostnames" | "hostname", *given] if len(given) < 2:
            text = given[0] if given else os.environ.get("SLURM_JOB_NODELIST", "")
            sys.stdout.write("".join(f"{name}\n" for name in _names(text)))
        case ["show", "hostlist" | "hostlistsorted" as how, given]:
            names = [name for part in _names(given.replace("\n", ",")) for name in part.split()]
            sys.stdout.write(f"{hostlist_in_order(names) if how == 'hostlist' else hostlist(names)}\n")
        case ["show", "job" | "jobs", *given] if len(given) < 2:
            _show_jobs(given, one_line=one_line)
        case ["hold" | "release" as do, *given] if given:
            service = Client(service_folder(None))
            for text in given:
                for job in _matching(service, text):
                    service.change_job(job["id"], do)
        case ["ping"]:
            Client(service_folder(None)).get("/status")
            sys.stdout.write("Slurmctld(primary) is UP\n")
        case _:
            raise InputError("scontrol", repr(" ".join(left)), _COMMANDS)
    return 0


def _names(text: str) -> list[str]:
    try:
        return names_of(text)
    except ValueError as error:
        raise InputError("scontrol", f"{text!r} ({error})", "a host list such as n[1-3,7]") from None


def _matching(service: Client, text: str) -> list[Job]:
    wanted = read_name(text.removeprefix("jobid="), "scontrol")
    jobs = [job for job in service.get("/jobs", state="open")["jobs"] if wanted.matches(job)]
    return jobs or [service.job(wanted.number)]


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
