"""`squeue`: lists jobs in Slurm's formats."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pwd import getpwuid
from typing import Any, Final, NamedTuple

from dardis.engine.clock import unix_ms
from dardis.live.client import Client, service_folder
from dardis.live.job_option_texts import UNLIMITED_S
from dardis.live.option_table import FLAG, IGNORED, OPTIONAL, USED, VALUE, OptionTable, options_of
from dardis.live.slurm_programs import slurm_jobs as of
from dardis.live.slurm_programs.slurm_jobs import NONE, Job
from dardis.live.slurm_programs.slurm_table import Column, line_of, read_format
from dardis.model.errors import InputError

PROGRAM: Final = OptionTable("squeue", {
    **options_of(VALUE, USED, "Format/O format/o jobs/j name/n partition/p sort/S states/t user/u users"),
    **options_of(FLAG, USED, "array/r long/l me noheader/h start"),
    **options_of(VALUE, IGNORED, "account/A clusters/M licenses/L qos/q reservation/R"),
    **options_of(FLAG, IGNORED, "all/a array-unique federation hide local only-job-state priority/P sibling verbose/v"),
    **options_of(VALUE, "run the program again instead", "iterate/i"),
    **options_of(OPTIONAL, "steps are not listed", "steps/s"),
    **options_of(VALUE, "nodes cannot be chosen by name", "nodelist/w"),
    **options_of(OPTIONAL, "use dardis queue --json", "json yaml"),
})  # fmt: skip
USUAL: Final = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
LONG: Final = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
START: Final = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"


class Row(NamedTuple):
    """Job of the list."""

    job: Job
    id: str
    now_ms: int


def _end_ms(row: Row) -> int | None:
    job = row.job
    if job["ended_ms"] is not None or job["started_ms"] is None or job["walltime_s"] == UNLIMITED_S:
        ended: int | None = job["ended_ms"]
        return ended
    return int(job["started_ms"] + job["walltime_s"] * 1000)


def _time_left(row: Row) -> str:
    if row.job["walltime_s"] == UNLIMITED_S:
        return "UNLIMITED"
    return of.span(row.job["walltime_s"] - (of.run_s(row.job, row.now_ms) or 0))


def _where(row: Row) -> str:
    return of.nodes_text(row.job) if row.job["state"] == "running" else f"({of.reason_of(row.job)})"


def _of_job(key: str, none: str, row: Row) -> str:
    value = row.job[key]
    return none if value is None or value == "" else str(value)


FIELDS: Final[Mapping[str, tuple[str, Callable[[Row], str]]]] = {
    "i": ("JOBID", lambda row: row.id), "A": ("JOBID", lambda row: str(row.job["id"])),
    "F": ("ARRAY_JOB_ID", lambda row: str(row.job["array"] or row.job["id"])),
    "K": ("ARRAY_TASK_ID", partial(_of_job, "index", NONE)),
    "j": ("NAME", partial(_of_job, "name", "")), "u": ("USER", partial(_of_job, "user", "")),
    "P": ("PARTITION", lambda row: of.partition_of(row.job)), "t": ("ST", lambda row: of.STATES[of.state_of(row.job)]),
    "T": ("STATE", lambda row: of.state_of(row.job)), "r": ("REASON", lambda row: of.reason_of(row.job)),
    "R": ("NODELIST(REASON)", _where), "N": ("NODELIST", lambda row: of.nodes_text(row.job)),
    "B": ("EXEC_HOST", lambda row: (row.job["nodes"] or ["n/a"])[0]),
    "M": ("TIME", lambda row: of.span(of.run_s(row.job, row.now_ms) or 0)),
    "l": ("TIME_LIMIT", lambda row: of.limit_text(row.job)), "L": ("TIME_LEFT", _time_left),
    "D": ("NODES", partial(_of_job, "node_count", "")), "C": ("CPUS", lambda row: str(of.cores_of(row.job))),
    "c": ("MIN_CPUS", partial(_of_job, "cpus", "")), "m": ("MIN_MEMORY", lambda row: of.memory_text(row.job)),
    "S": ("START_TIME", lambda row: of.moment(row.job["started_ms"], NONE)),
    "e": ("END_TIME", lambda row: of.moment(_end_ms(row), NONE)),
    "V": ("SUBMIT_TIME", lambda row: of.moment(row.job["submitted_ms"], NONE)),
    "E": ("DEPENDENCY", lambda row: of.dependency_text(row.job) or "(null)"),
    "Z": ("WORK_DIR", lambda row: str(row.job["chdir"] or row.job["cwd"])),
    "o": ("COMMAND", lambda row: of.command_of(row.job)), "k": ("COMMENT", partial(_of_job, "comment", "(null)")),
    "b": ("TRES_PER_NODE", lambda row: f"gres/gpu:{row.job['gpus']}" if row.job["gpus"] else NONE),
    "h": ("OVER_SUBSCRIBE", lambda row: "NO" if row.job["exclusive"] else "OK"),
    "Y": ("SCHEDNODES", lambda _: "(null)"),
    "a": ("ACCOUNT", lambda _: "(null)"), "q": ("QOS", lambda _: "normal"), "f": ("FEATURES", lambda _: "(null)"),
    "v": ("RESERVATION", lambda _: "(null)"), "Q": ("PRIORITY", lambda _: "1"), "p": ("PRIORITY", lambda _: "1.0"),
    "y": ("NICE", lambda _: "0"), "U": ("UID", partial(_of_job, "user", "")),
    "g": ("GROUP", partial(_of_job, "user", "")),
}  # fmt: skip
LONG_FIELDS: Final = {
    "jobid": "A", "jobarrayid": "i", "arrayjobid": "F", "arraytaskid": "K", "name": "j", "username": "u",
    "partition": "P", "statecompact": "t", "state": "T", "reason": "r", "reasonlist": "R", "nodelist": "N",
    "batchhost": "B", "timeused": "M", "timelimit": "l", "timeleft": "L", "numnodes": "D", "numcpus": "C",
    "mincpus": "c", "minmemory": "m", "starttime": "S", "endtime": "e", "submittime": "V", "dependency": "E",
    "workdir": "Z", "command": "o", "comment": "k", "account": "a", "qos": "q", "priority": "p",
}  # fmt: skip


def main(words: Sequence[str]) -> int:
    """List jobs. Raises InputError and DardisError."""
    said: dict[str, str] = {}
    options, left = PROGRAM.split(words, "squeue")
    for option in options:
        if PROGRAM.supported(option, option.written):
            said[option.name] = option.value
    if left:
        raise InputError("squeue", repr(left[0]), "options such as --me")
    usual = LONG if "long" in said else START if "start" in said else os.environ.get("SQUEUE_FORMAT", USUAL)
    columns = (
        _read_long_format(said["Format"]) if "Format" in said else read_format(said.get("format", usual), FIELDS)
    )  # fmt: skip
    now_ms = unix_ms()
    jobs = sorted(selected(said, now_ms), key=lambda job: (job["state"] == "running", job["id"]))
    rows = [(job, of.job_id(job)) for job in jobs] if "array" in said else of.folded(jobs)
    lines = [] if "noheader" in said else [line_of(columns, lambda field: FIELDS[field][0])]
    for job, number in _sort_rows(rows, said.get("sort", ""), now_ms):
        row = Row(job, number, now_ms)
        lines.append(line_of(columns, lambda field, row=row: FIELDS[field][1](row)))  # type: ignore[misc]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def selected(said: Mapping[str, str], now_ms: int) -> list[Job]:
    """Jobs of the service that the options select. Raises InputError and DardisError."""
    named = [of.read_name(text, "--jobs") for text in _texts(said.get("jobs", ""))]
    states = of.read_states(said["states"], "--states") if "states" in said else None
    users = {*_texts(said.get("user", said.get("users", "")))} | (
        {getpwuid(os.getuid()).pw_name} if "me" in said else set()
    )
    names, partitions = {*_texts(said.get("name", ""))}, {*_texts(said.get("partition", ""))}
    service = Client(service_folder(None))
    jobs: list[Job] = service.get("/jobs", state="open")["jobs"]
    if len(named) == 1 and not any(named[0].matches(job) for job in jobs):
        _check_known(service, named[0], now_ms)
    if states is not None and states - {"PENDING", "RUNNING"}:
        known = {job["id"] for job in jobs}
        ended = service.history(state="over", since_ms=now_ms - of.RECENT_MS)
        jobs += [job for job in ended if job["id"] not in known]
    return [
        job for job in jobs
        if (not named or any(one.matches(job) for one in named))
        and (of.state_of(job) in states if states is not None else job["state"] in {"held", "waiting", "running"})
        and (not users or job["user"] in users)
        and (not names or job["name"] in names)
        and (not partitions or of.partition_of(job) in partitions)
    ]  # fmt: skip


def _check_known(service: Client, name: of.JobName, now_ms: int) -> None:
    with suppress(InputError):
        ended_ms = service.job(name.number)["ended_ms"]
        if name.indices or ended_ms is None or ended_ms >= now_ms - of.RECENT_MS:
            return
    raise InputError.of_message("Invalid job id specified")


def _texts(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+(?![^\[]*\])", text) if part]


def _sort_rows(rows: Sequence[tuple[Job, str]], order: str, now_ms: int) -> list[tuple[Job, str]]:
    found = list(rows)
    keys: Mapping[str, Callable[[Job], Any]] = {
        "i": lambda job: job["id"], "M": lambda job: of.run_s(job, now_ms) or 0, "D": lambda job: job["node_count"],
        "C": of.cores_of, "S": lambda job: job["started_ms"] or 0, "V": lambda job: job["submitted_ms"],
        "l": lambda job: job["walltime_s"],
    }  # fmt: skip
    for part in reversed(_texts(order)):
        field = part.lstrip("+-")
        if field not in FIELDS:
            raise InputError("--sort", repr(order), "fields of --format such as i or -M")
        key = keys.get(field, lambda job, field=field: FIELDS[field][1](Row(job, of.job_id(job), now_ms)))
        found.sort(key=lambda row, key=key: key(row[0]), reverse=part.startswith("-"))  # type: ignore[misc]
    return found


def _read_long_format(text: str) -> list[Column]:
    columns = []
    for part in text.split(","):
        name, _, size = part.strip().partition(":")
        right, size = size.startswith("."), size.lstrip(".-")
        if name.lower() not in LONG_FIELDS or not (size.isdecimal() or not size):
            raise InputError("--Format", repr(part), f"TYPE[:[.]SIZE] with one of {', '.join(LONG_FIELDS)}")
        columns.append(Column("", LONG_FIELDS[name.lower()], int(size or 20), right))
    return columns
