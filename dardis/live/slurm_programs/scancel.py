"""`scancel`: cancels jobs and arrays."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pwd import getpwuid
from typing import Final

from dardis.live.client import Client, service_folder
from dardis.live.job_option_texts import LimitSignal, read_signal
from dardis.live.option_table import FLAG, IGNORED, USED, VALUE, OptionTable, options_of
from dardis.live.slurm_programs.slurm_jobs import Job, job_id, partition_of, read_job_name, read_states, state_of
from dardis.model.errors import DardisError, InputError

PROGRAM: Final = OptionTable("scancel", {
    **options_of(VALUE, USED, "name/n jobname partition/p state/t user/u"),
    **options_of(VALUE, USED, "signal/s"),
    **options_of(FLAG, USED, "batch/b full/f me quiet/Q"),
    **options_of(VALUE, IGNORED, "account/A clusters/M qos/q reservation/R wckey"),
    **options_of(FLAG, IGNORED, "ctld hurry/H sibling verbose/v"),
    **options_of(VALUE, "nodes cannot be chosen by name", "nodelist/w"),
    **options_of(FLAG, "questions are not supported", "interactive/i"),
})  # fmt: skip


def main(words: Sequence[str]) -> int:
    """Cancel jobs; exit status 1 for a failure. Raises InputError and DardisError."""
    left, names, said = [*reversed(words)], list[str](), dict[str, str]()
    while left:
        if left[-1].startswith("-"):
            option = PROGRAM.take(left, "scancel")
            if PROGRAM.supported(option, option.written):
                said[option.name] = option.value
        else:
            names += left.pop().replace(" ", ",").split(",") if "[" not in left[-1] else [left.pop()]
    wanted = [read_job_name(text, "scancel") for text in filter(None, names)]
    states = read_states(said["state"], "--state") if "state" in said else None
    user = getpwuid(os.getuid()).pw_name if "me" in said else said.get("user")
    name = said.get("name", said.get("jobname"))
    if not wanted and all(one is None for one in (states, user, name, said.get("partition"))):
        raise InputError("scancel", "no jobs", "numbers of jobs, --me, --user, --name, --state or --partition")
    warning = read_signal(said["signal"], "--signal") if "signal" in said else None
    service = Client(service_folder(None))
    failed = False
    jobs = service.get("/jobs", state="open")["jobs"]
    for one in wanted:
        if not any(one.matches(job) for job in jobs):
            failed |= "quiet" not in said
            if "quiet" not in said:
                sys.stderr.write(f"scancel: error: Kill job error on job id {one.number}: Invalid job id specified\n")
    chosen = [
        job for job in jobs
        if (not wanted or any(one.matches(job) for one in wanted))
        and (states is None or state_of(job) in states)
        and user in (None, job["user"])
        and name in (None, job["name"])
        and said.get("partition") in (None, partition_of(job))
    ]  # fmt: skip
    return int(_end(service, chosen, said, warning) or failed)


def _end(service: Client, jobs: Sequence[Job], said: Mapping[str, str], warning: LimitSignal | None) -> bool:
    failed = False
    if warning is None and len(jobs) > 1:  # one request for each run of numbers
        numbers = sorted(job["id"] for job in jobs)
        starts = [at for at, number in enumerate(numbers) if at == 0 or numbers[at - 1] != number - 1]
        ends = [*starts[1:], len(numbers)]
        changed = sum(
            service.change_range(numbers[begin], numbers[end - 1], "cancel")
            for begin, end in zip(starts, ends, strict=True)
        )
        if changed < len(numbers) and "quiet" not in said:
            sys.stderr.write(f"scancel: error: {len(numbers) - changed} of {len(numbers)} jobs cannot be cancelled\n")
        return changed < len(numbers) and "quiet" not in said
    for job in jobs:
        try:
            if warning is None:
                service.change_job(job["id"], "cancel")
            else:
                parts = {"script": "batch" in said or "full" in said, "steps": "batch" not in said}
                service.post(f"/jobs/{job['id']}/signal", {"number": warning.number, **parts})
        except DardisError as error:
            failed = True
            sys.stderr.write(f"scancel: error: Kill job error on job id {job_id(job)}: {error}\n")
    return failed
