"""`scancel`: cancels jobs and arrays."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pwd import getpwuid
from typing import Final

from dardis.live.client import Client, service_folder
from dardis.live.option_table import FLAG, IGNORED, USED, VALUE, OptionTable, options_of
from dardis.live.slurm_programs.slurm_jobs import job_id, partition_of, read_name, read_states, state_of
from dardis.model.errors import DardisError, InputError

PROGRAM: Final = OptionTable("scancel", {
    **options_of(VALUE, USED, "name/n jobname partition/p state/t user/u"),
    **options_of(FLAG, USED, "me quiet/Q"),
    **options_of(VALUE, IGNORED, "account/A clusters/M qos/q reservation/R wckey"),
    **options_of(FLAG, IGNORED, "ctld full/f hurry/H sibling verbose/v"),
    **options_of(VALUE, "jobs are cancelled with SIGTERM and SIGKILL: use --signal of sbatch", "signal/s"),
    **options_of(VALUE, "nodes cannot be chosen by name", "nodelist/w"),
    **options_of(FLAG, "questions are not supported", "interactive/i"),
    **options_of(FLAG, "the whole job is cancelled: leave it out", "batch/b"),
})  # fmt: skip


def main(words: Sequence[str]) -> int:
    """Cancel jobs; exit status 1 if one cannot be cancelled. Raises InputError and DardisError."""
    left, names, said = [*reversed(words)], list[str](), dict[str, str]()
    while left:
        if left[-1].startswith("-"):
            option = PROGRAM.take(left, "scancel")
            if PROGRAM.supported(option, option.written):
                said[option.name] = option.value
        else:
            names += left.pop().replace(" ", ",").split(",") if "[" not in left[-1] else [left.pop()]
    wanted = [read_name(text, "scancel") for text in filter(None, names)]
    states = read_states(said["state"], "--state") if "state" in said else None
    user = getpwuid(os.getuid()).pw_name if "me" in said else said.get("user")
    name = said.get("name", said.get("jobname"))
    if not wanted and all(one is None for one in (states, user, name, said.get("partition"))):
        raise InputError("scancel", "no jobs", "numbers of jobs, --me, --user, --name, --state or --partition")
    service = Client(service_folder(None))
    failed = False
    jobs = service.get("/jobs", state="open")["jobs"]
    for one in wanted:
        if not any(one.matches(job) for job in jobs):
            failed |= "quiet" not in said
            if "quiet" not in said:
                sys.stderr.write(f"scancel: error: Kill job error on job id {one.number}: Invalid job id specified\n")
    for job in jobs:
        if (
            (not wanted or any(one.matches(job) for one in wanted))
            and (states is None or state_of(job) in states)
            and user in (None, job["user"])
            and name in (None, job["name"])
            and said.get("partition") in (None, partition_of(job))
        ):
            try:
                service.change_job(job["id"], "cancel")
            except DardisError as error:
                failed = True
                sys.stderr.write(f"scancel: error: Kill job error on job id {job_id(job)}: {error}\n")
    return int(failed)
