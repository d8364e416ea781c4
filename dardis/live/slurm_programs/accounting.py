"""`sacct`: lists jobs with their results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pwd import getpwuid
from typing import Final, NamedTuple

from dardis.engine.clock import local_now, unix_ms
from dardis.live.client import Client, service_folder
from dardis.live.option_table import FLAG, IGNORED, OPTIONAL, USED, VALUE, OptionTable, options_of
from dardis.live.slurm_names import CLUSTER
from dardis.live.slurm_programs import slurm_jobs as of
from dardis.live.slurm_programs.slurm_jobs import Job
from dardis.live.slurm_times import read_moment
from dardis.model.errors import InputError

PROGRAM: Final = OptionTable("sacct", {
    **options_of(VALUE, USED, "endtime/E format/o jobs/j name partition/r starttime/S state/s user/u uid"),
    **options_of(FLAG, USED, "allocations/X allusers/a brief/b noheader/n parsable/p parsable2/P"),
    **options_of(VALUE, USED, "delimiter"),
    **options_of(VALUE, IGNORED, "accounts/A associations/x clusters/M cluster group/g qos/q timelimit-max/K units"),
    **options_of(FLAG, IGNORED, "allclusters/L array duplicates/D federation local truncate/T noconvert verbose/v"),
    **options_of(VALUE, "nodes cannot be chosen by name", "nodelist/N"),
    **options_of(OPTIONAL, "use dardis history --json", "json yaml"),
    **options_of(FLAG, "use --format", "long/l helpformat/e"),
})  # fmt: skip
USUAL: Final = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
BRIEF: Final = "JobID,State,ExitCode"
MOST_JOBS: Final = 1_000_000


class Line(NamedTuple):
    """Job, or its batch step."""

    job: Job
    now_ms: int
    is_step: bool = False


def _elapsed_s(line: Line) -> int:
    return of.run_s(line.job, line.now_ms) or 0


def _cores(line: Line) -> str:
    return "0" if line.job["started_ms"] is None else str(of.cores_of(line.job))


def _tres(line: Line) -> str:
    job = line.job
    parts = [f"cpu={of.cores_of(job)}", f"node={job['node_count']}", "billing=" + str(of.cores_of(job))]
    if job["memory_mib"]:
        parts.insert(1, f"mem={job['memory_mib'] * job['node_count']}M")
    if job["gpus"]:
        parts.append(f"gres/gpu={job['gpus'] * job['node_count']}")
    return ",".join(parts)


def _of_job(key: str, line: Line) -> str:
    value = line.job[key]
    return "" if value is None else str(value)


def _job_only(text: Callable[[Line], str], line: Line) -> str:
    return "" if line.is_step else text(line)


_UNMEASURED: Final = (
    "MaxRSS", "AveRSS", "MaxVMSize", "AveCPU", "TotalCPU", "UserCPU", "SystemCPU", "ConsumedEnergy",
)  # fmt: skip
FIELDS: Final[Mapping[str, Callable[[Line], str]]] = {
    "JobID": lambda line: of.job_id(line.job) + (".batch" if line.is_step else ""),
    "JobIDRaw": lambda line: str(line.job["id"]) + (".batch" if line.is_step else ""),
    "JobName": lambda line: "batch" if line.is_step else str(line.job["name"]),
    "Partition": partial(_job_only, lambda line: of.partition_of(line.job)), "Account": lambda _: "",
    "AllocCPUS": _cores, "NCPUS": _cores, "ReqCPUS": lambda line: str(of.cores_of(line.job)),
    "State": lambda line: of.state_of(line.job),
    "ExitCode": lambda line: of.exit_text(line.job), "DerivedExitCode": partial(_job_only, lambda _: "0:0"),
    "Submit": lambda line: of.moment(line.job["submitted_ms"]),
    "Eligible": lambda line: of.moment(line.job["begin_ms"] or line.job["submitted_ms"]),
    "Start": lambda line: of.moment(line.job["started_ms"]), "End": lambda line: of.moment(line.job["ended_ms"]),
    "Elapsed": lambda line: of.long_span(_elapsed_s(line)), "ElapsedRaw": lambda line: str(_elapsed_s(line)),
    "CPUTime": lambda line: of.long_span(_elapsed_s(line) * of.cores_of(line.job)),
    "CPUTimeRAW": lambda line: str(_elapsed_s(line) * of.cores_of(line.job)),
    "Timelimit": partial(_job_only, lambda line: of.limit_text(line.job, of.long_span)),
    "TimelimitRaw": partial(_job_only, lambda line: str(line.job["walltime_s"] // 60)),
    "NodeList": lambda line: of.nodes_text(line.job) or "None assigned", "NNodes": partial(_of_job, "node_count"),
    "AllocNodes": lambda line: str(len(line.job["nodes"])), "NTasks": lambda line: "1" if line.is_step else "",
    "User": partial(_job_only, partial(_of_job, "user")), "Cluster": lambda _: CLUSTER, "QOS": lambda _: "normal",
    "ReqMem": lambda line: of.memory_text(line.job), "ReqTRES": partial(_job_only, _tres), "AllocTRES": _tres,
    "WorkDir": partial(_job_only, lambda line: str(line.job["chdir"] or line.job["cwd"])),
    "Comment": partial(_job_only, partial(_of_job, "comment")), "Priority": lambda _: "1",
    "Reason": partial(_job_only, lambda line: of.reason_of(line.job)),
    "Restarts": lambda line: str(max(line.job["attempt"] - 1, 0)),
    "SubmitLine": partial(_job_only, lambda line: of.command_of(line.job)),
    **dict.fromkeys(_UNMEASURED, lambda _: ""),
}  # fmt: skip
"""Fields by name; unmeasured ones are empty."""
_WIDTHS: Final = {"JobID": 12, "JobIDRaw": 12, "NodeList": 15, "Submit": 19, "Start": 19, "End": 19, "Eligible": 19}
_NAMES: Final = {name.lower(): name for name in FIELDS}


class Column(NamedTuple):
    """Field with its width; negative: aligned left."""

    field: str
    width: int


def main(words: Sequence[str]) -> int:
    """List jobs. Raises InputError and DardisError."""
    said: dict[str, str] = {}
    options, left = PROGRAM.split(words, "sacct")
    for option in options:
        if PROGRAM.supported(option, option.written):
            earlier = f"{said[option.name]}," if option.name == "jobs" and "jobs" in said else ""
            said[option.name] = earlier + option.value
    if left:
        raise InputError("sacct", repr(left[0]), "options such as --jobs=12")
    usual = BRIEF if "brief" in said else os.environ.get("SACCT_FORMAT", USUAL)
    columns = _read_columns(said.get("format", usual))
    now_ms = unix_ms()
    rows = []
    for job in selected(said, now_ms, local_now()):
        rows.append(Line(job, now_ms))
        if "allocations" not in said and job["started_ms"] is not None:
            rows.append(Line(job, now_ms, is_step=True))
    table = [[FIELDS[column.field](row) for column in columns] for row in rows]
    if "parsable" in said or "parsable2" in said:
        separator = said.get("delimiter", "|")
        lines = [separator.join(texts) + (separator if "parsable" in said else "") for texts in table]
        header = [separator.join(column.field for column in columns) + (separator if "parsable" in said else "")]
    else:
        lines = [" ".join(map(_cell, columns, texts)) + " " for texts in table]
        header = [" ".join(_cell(column, column.field) for column in columns) + " "]
        header.append(" ".join("-" * abs(column.width) for column in columns) + " ")
    sys.stdout.write("".join(f"{line}\n" for line in [*([] if "noheader" in said else header), *lines]))
    return 0


def _cell(column: Column, text: str) -> str:
    width = abs(column.width)
    if len(text) > width:
        text = text[: width - 1] + "+"
    return text.ljust(width) if column.width < 0 or column.field.startswith("JobID") else text.rjust(width)


def _read_columns(text: str) -> list[Column]:
    columns = []
    for part in text.split(","):
        name, _, size = part.strip().partition("%")
        if name.lower() not in _NAMES or not (size.removeprefix("-").isdecimal() or not size):
            raise InputError("--format", repr(part), f"FIELD[%[-]SIZE] with one of {', '.join(FIELDS)}")
        field = _NAMES[name.lower()]
        columns.append(Column(field, int(size) if size else _WIDTHS.get(field, 10)))
    return columns


def _known(service: Client, name: of.JobName) -> Job | None:
    try:
        return service.job(name.number)
    except InputError:  # there is no such job
        return None


def selected(said: Mapping[str, str], now_ms: int, now: datetime) -> list[Job]:
    """Jobs that the options select, by number. Raises InputError and DardisError."""
    named = [of.read_name(text, "--jobs") for text in said.get("jobs", "").replace(" ", ",").split(",") if text]
    states = of.read_states(said["state"], "--state") if "state" in said else None
    since_ms = 0 if named else int(now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)
    if "starttime" in said:
        since_ms = read_moment(said["starttime"], "--starttime", now, past=True) * 1000
    until_ms = read_moment(said["endtime"], "--endtime", now, past=True) * 1000 if "endtime" in said else now_ms
    names = {*filter(None, said.get("name", "").split(","))}
    users = {*filter(None, said.get("user", said.get("uid", "")).split(","))}
    if not users and "allusers" not in said and os.getuid() != 0:
        users = {getpwuid(os.getuid()).pw_name}
    partitions = {*filter(None, said.get("partition", "").split(","))}
    service = Client(service_folder(None))
    if named and "starttime" not in said:
        since_ms = min((job["submitted_ms"] for job in map(partial(_known, service), named) if job), default=now_ms)
    jobs = {job["id"]: job for job in service.get("/jobs", state="open")["jobs"]}  # first: they may end meanwhile
    jobs |= {job["id"]: job for job in service.history(MOST_JOBS, state="over", since_ms=since_ms or None)}
    return [
        job for _, job in sorted(jobs.items())
        if (not named or any(not one.step and one.matches(job) for one in named))
        and (states is None or of.state_of(job) in states)
        and (job["ended_ms"] is None or job["ended_ms"] >= since_ms) and job["submitted_ms"] <= until_ms
        and (not names or job["name"] in names)
        and (not users or job["user"] in users)
        and (not partitions or of.partition_of(job) in partitions)
    ]  # fmt: skip
