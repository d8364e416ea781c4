"""Job request and the environment that options make."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePath
from socket import gethostname
from typing import Any, Final, NamedTuple

from dardis.live import job_option_texts as texts
from dardis.live.client import current_folder
from dardis.live.job_request import JobRequest
from dardis.live.slurm_names import PROGRAMS
from dardis.live.slurm_times import read_moment
from dardis.live.slurm_translation import YES, OptionText
from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.numbers import whole_number

LOGIN_S: Final = 10
_OWN: Final = frozenset({"DARDIS_JOB_ID", "DARDIS_ARRAY_INDEX", "DARDIS_ARRAY_JOB_ID", "DARDIS_HOSTFILE", "DARDIS_RUN"})
_SETTINGS: Final = frozenset({"SLURM_CONF"})


class SubmitRequest(NamedTuple):
    """Job request, its environment, and warnings."""

    job: JobRequest
    environment: dict[str, str]
    warnings: list[str]


def submit_request(
    said: Mapping[str, OptionText], argv: Sequence[str], name: str, environment: Mapping[str, str], now: datetime
) -> SubmitRequest:
    """Job request for options; `name`: default; `chdir` becomes absolute; `now`: local time.

    Raises InputError.
    """
    export, values = texts.read_export(*said.get("export", OptionText(texts.ALL, "--export")))
    handed_on, warnings = _environment(export, values, environment)
    if is_set(said, "get-user-env") or is_set(said, "export-login"):
        handed_on = {**login_environment(), **handed_on}
    handed_on.setdefault("SLURM_SUBMIT_HOST", gethostname())
    for option in ("output", "error"):
        if option in said:
            texts.check_pattern(said[option].place, said[option].text)
    time, grace, signal, after = said.get("time"), said.get("grace"), said.get("signal"), said.get("after")
    nodes, most_nodes = texts.read_nodes(*said["nodes"]) if "nodes" in said else (1, None)
    conditions = texts.read_after(*after) if after else texts.After(())
    begin_ms, deadline_ms = (_moment_ms(said[one], now) if one in said else None for one in ("begin", "deadline"))
    array, chdir = said.get("array"), said.get("chdir")
    job = JobRequest(
        argv=tuple(argv),
        name=said["name"].text if "name" in said else name,
        array=texts.read_array(*array) if array else None,
        walltime_s=texts.read_walltime(*time) if time else texts.DEFAULT_WALLTIME_S,
        **_resources(said, nodes, most_nodes),
        exclusive=is_set(said, "exclusive"),
        begin_ms=begin_ms,
        deadline_ms=deadline_ms,
        after=conditions.jobs,
        after_any=conditions.any_of,
        singleton=conditions.singleton,
        export=export,
        chdir=_folder(chdir) if chdir else current_folder(),
        output=said["output"].text if "output" in said else "",
        error=said["error"].text if "error" in said else "",
        priority=_priority(said),
        watts=integer_value(said["watts"], 1, texts.MOST_NODE_WATTS) if "watts" in said else None,
        tmp_mib=texts.read_memory(*said["tmp"], 0) if "tmp" in said else 0,
        stdin=_input(said["stdin"], chdir) if "stdin" in said else None,
        append=_is_append(said["open-mode"]) if "open-mode" in said else False,
        requeue=is_set(said, "requeue"),
        hold=is_set(said, "hold") or ("priority" in said and said["priority"].text == "0"),
        grace_s=_grace(grace) if grace else None,
        signal=texts.read_signal(*signal) if signal else None,
        **_retries(said),
        partition=said["partition"].text if "partition" in said else "",
        comment=said["comment"].text if "comment" in said else "",
    )
    return SubmitRequest(job if job.most_nodes is not None else job.on_nodes(job.nodes), handed_on, warnings)


def body_of(
    asked: SubmitRequest, script: str, key: str, items: Sequence[str] = (), *, json_items: bool = False
) -> dict[str, Any]:  # fmt: skip
    """Request for a submission. `items`: one for each job of the array."""
    more: dict[str, Any] = {"items": list(items), "json_items": json_items} if items else {}
    return {
        **more,
        "key": key, "jobs": asked.job.as_dict(), "script": script, "environment": asked.environment,
        "cwd": current_folder(),
    }  # fmt: skip


def is_set(said: Mapping[str, OptionText], flag: str) -> bool:
    """Whether a flag is set."""
    return flag in said and said[flag].text == YES


def integer_value(said: OptionText, least: int, most: int) -> int:
    """Integer value of an option. Raises InputError."""
    try:
        return whole_number(said.text, least, most)
    except ValueError:
        raise InputError(said.place, repr(said.text), f"a whole number from {least} to {most}") from None


def _resources(said: Mapping[str, OptionText], nodes: int, most_nodes: int | None) -> dict[str, Any]:
    def number(option: str, least: int, most: int) -> int | None:
        return integer_value(said[option], least, most) if option in said else None

    def memory(option: str, least: int = 1) -> int | None:
        return texts.read_memory(*said[option], least) if option in said else None

    tasks = number("ntasks", 1, texts.MOST_CPUS)
    per_node = number("ntasks-per-node", 1, texts.MOST_CPUS)
    per_task = number("cpus-per-task", 1, texts.MOST_CPUS)
    if "nodes" not in said and tasks is not None and "cpus" not in said:  # as many nodes as the tasks need
        nodes, most_nodes = (1, tasks) if per_node is None else (-(-tasks // per_node), None)
    gpus, in_total = number("gpus", 0, texts.MOST_GPUS), number("gpus-in-total", 0, texts.MOST_GPUS)
    if (of_task := number("gpus-per-task", 0, texts.MOST_GPUS)) is not None:
        gpus, in_total = (of_task * (per_node or 1), None) if tasks is None else (None, of_task * tasks)
    cpus = number("cpus", 1, texts.MOST_CPUS) or per_task or 1
    if (of_gpu := number("cpus-per-gpu", 1, texts.MOST_CPUS)) is not None:
        cpus = max(cpus, of_gpu * (gpus or -(-(in_total or 0) // nodes)))
    mib = memory("mem", 0)
    if (of_gpu_mib := memory("mem-per-gpu")) is not None:
        mib = of_gpu_mib * max(gpus or -(-(in_total or 0) // nodes), 1)
    return {
        "nodes": nodes, "most_nodes": most_nodes, "cpus": max(cpus, number("mincpus", 1, texts.MOST_CPUS) or 1),
        "memory_mib": mib, "gpus": gpus or 0, "tasks": tasks, "tasks_per_node": per_node, "cpus_per_task": per_task,
        "memory_per_cpu_mib": memory("mem-per-cpu") if mib is None else None, "gpus_in_total": in_total,
        "gpus_per_task": of_task,
    }  # fmt: skip


def _retries(said: Mapping[str, OptionText]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "retries" in said:
        found["retries"] = integer_value(said["retries"], 0, texts.MOST_RETRIES)
    if "retry-delay" in said:
        text = said["retry-delay"]
        found["retry_delay_s"] = 0 if text.text == "0" else _grace(text)
    if "retry-codes" in said:
        parts = said["retry-codes"].text.split(",")
        found["retry_codes"] = tuple(integer_value(said["retry-codes"]._replace(text=part), 1, 255) for part in parts)
    if len(found) > ("retries" in said) and not found.get("retries"):
        other = said.get("retry-codes") or said["retry-delay"]
        raise InputError(other.place, "given without --retries", "--retries as well")
    return found


def read_environment(path: Path) -> dict[str, str]:
    """Variables of a file with lines NAME=VALUE; `#` begins a comment line. Raises InputError."""
    lines = read_text(path).splitlines()
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        if not equals:
            raise InputError(f"{path}:{number}", repr(line), "NAME=VALUE")
        texts.check_variable(f"{path}:{number}", name.strip())
        value = value.strip()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        found[name.strip()] = value[1:-1] if quoted else value
    return found


def _priority(said: Mapping[str, OptionText]) -> int:
    stated = said.get("priority")
    top = stated is not None and stated.text.upper() == "TOP"
    most = texts.MOST_PRIORITY
    priority = most if top else 0 if stated is None else integer_value(stated, 0, most)
    return priority - (integer_value(said["nice"], -most, most) if "nice" in said else 0)


def _input(said: OptionText, chdir: OptionText | None) -> str:
    path = Path(_folder(chdir) if chdir else current_folder(), said.text)
    if "\0" in said.text or not path.exists() or path.is_dir():
        raise InputError(said.place, repr(said.text), "an existing file")
    return str(path)


def _moment_ms(said: OptionText, now: datetime) -> int:
    return read_moment(*said, now) * 1000


def _is_append(said: OptionText) -> bool:
    if said.text not in ("append", "truncate"):
        raise InputError(said.place, repr(said.text), "append or truncate")
    return said.text == "append"


def _grace(said: OptionText) -> int:
    return int(said.text) if said.text.isdecimal() and len(said.text) < 10 else texts.read_time(*said)


def _folder(said: OptionText) -> str:
    folder = Path(os.path.normpath(current_folder() / PurePath(said.text)))
    if "\0" in said.text or not folder.is_dir():
        raise InputError(said.place, f"{said.text!r} is no folder", "an existing folder")
    return str(folder)


def _environment(
    export: Sequence[str] | str, given: Mapping[str, str], present: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    names = list(present) if export == texts.ALL else [] if export == texts.NONE else list(export)
    folder = present.get("DARDIS_FOLDER") if "DARDIS_RUN" in present else None
    within = f"{folder}/" if folder else "\0"
    found: dict[str, str] = {}
    warnings = []
    for name in names:
        # Variables of the current job, also its files for MPI.
        own = name in _OWN or (name != "PATH" and present.get(name, "").startswith(within))
        own |= name.startswith(("SLURM_", "SLURMD_", "BASH_FUNC_s")) and name not in _SETTINGS
        if name in given or (own and export == texts.ALL):
            continue
        if name not in present:
            warnings.append(f"--export: {name} is not set here, so the job will not have it")
        elif not texts.is_utf8(name + present[name]):
            warnings.append(f"--export: {name!a} is no UTF-8, so the job will not have it")
        else:
            found[name] = present[name]
    if folder is not None and "PATH" in found:
        programs = f"{folder}/{PROGRAMS}"
        found["PATH"] = ":".join(part for part in found["PATH"].split(":") if part != programs)
    for name, value in given.items():
        if not texts.is_utf8(value):
            raise InputError("--export", ascii(f"{name}={value}"), "UTF-8")
        found[name] = value
    return found, warnings


def login_environment() -> dict[str, str]:
    """Environment of a login shell of the current user (sbatch --get-user-env). Raises InputError."""
    entry = pwd.getpwuid(os.getuid())
    base = {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name, "SHELL": entry.pw_shell or "/bin/sh"}
    try:
        done = subprocess.run(
            [base["SHELL"], "-l", "-c", "env -0"], env=base, cwd=entry.pw_dir, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=LOGIN_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError("--get-user-env", f"the login shell failed ({error})", "a shell that ends at once") from None
    lines = done.stdout.decode(errors="surrogateescape").split("\0")
    found = dict(line.split("=", 1) for line in lines if "=" in line and texts.is_utf8(line))
    return base | {name: value for name, value in found.items() if name not in {"SHLVL", "_", "PWD", "OLDPWD"}}
