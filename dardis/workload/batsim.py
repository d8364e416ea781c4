"""Batsim's JSON workload, read and written: a job runs for as long as its profile says, on so many processors.

Submit times are cut off at whole seconds; runtimes and walltimes are rounded up, so that no job vanishes. A job whose
profile has no runtime before a network is simulated is skipped, with the reason (`dardis.workload.batsim_profiles`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from dardis.model.errors import InputError
from dardis.model.files import write_text
from dardis.model.job import NO_TIME
from dardis.model.numbers import whole_number
from dardis.model.resources import CORES
from dardis.workload.batsim_profiles import Profiles, number
from dardis.workload.stamps import whole_seconds
from dardis.workload.trace import LARGEST, UNKNOWN, Skipped, Trace, build_trace

_TEXTS: Final = ("user", "group", "name", "queue", "partition")
"""Batsim leaves a job's further keys to whoever decides; these are ours, texts or numbers."""
_EXPECTED: Final = "a workload of Batsim's: an object with the list `jobs` and the object `profiles`"


def parse_batsim(path: Path, text: str, *, strict: bool, flop_per_s: float | None = None) -> Trace:
    """Read a workload from a text; `path` names it in messages.

    `flop_per_s` is the speed of a core; without it jobs that compute are skipped.

    A job's "line" is its place in `jobs`, from 1. Jobs are numbered by their ids, after a `WORKLOAD!`, where all of
    these are different whole numbers; else by where each id comes first, and `name` is the id. `nb_res` becomes the
    header's MaxProcs. InputError for what is no such workload, and as `build_trace` says.
    """
    jobs, stated, processors = _workload(path, text)
    profiles = Profiles(stated, flop_per_s)
    number_of, is_said = _numbers(jobs)
    lines: list[int] = []
    rows: list[dict[str, Any]] = []
    problems: list[Skipped] = []
    for place, job in enumerate(jobs, 1):
        if not isinstance(job, dict):
            problems.append(Skipped(place, "no job of Batsim's (no object)", malformed=True))
            continue
        try:
            runtime = _runtime(job, profiles)
            if isinstance(runtime, str):
                problems.append(Skipped(place, runtime, malformed=False))
                continue
            row = _row(job, runtime, number_of)
            rows.append(row if is_said else row | {"name": _text(job["id"])})
        except ValueError as error:
            problems.append(Skipped(place, f"no job of Batsim's ({error})", malformed=True))
        else:
            lines.append(place)
    numbers = ("number", "submit", "runtime", "walltime", "procs")
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in numbers}
    columns |= {name: np.array([row[name] for row in rows], dtype=object) for name in _TEXTS}
    header = () if processors is None else ("; Version: 2.2", f"; MaxProcs: {processors}")
    never_ran = np.ones(len(rows), dtype=bool)  # a delay of nothing is no job that runs still
    return build_trace(path, lines, columns, problems, strict=strict, comments=header, never_ran=never_ran)


def _workload(path: Path, text: str) -> tuple[list[Any], dict[str, Any], int | None]:
    """Jobs, profiles, and for how many resources they were made, if a whole number above 0 is stated. InputError."""
    try:
        found = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise InputError(path, "is no JSON: nested too deeply", _EXPECTED) from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}", f"is no JSON ({error.msg})", _EXPECTED) from None
    except ValueError as error:
        raise InputError(path, f"is no JSON ({error})", _EXPECTED) from None
    jobs, profiles = (found.get("jobs"), found.get("profiles")) if isinstance(found, dict) else (None, None)
    if not isinstance(jobs, list) or not isinstance(profiles, dict):
        raise InputError(path, "no `jobs` and `profiles`", _EXPECTED)
    stated = found.get("nb_res")
    return jobs, profiles, stated if type(stated) is int and 0 < stated <= LARGEST else None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _numbers(jobs: list[Any]) -> tuple[dict[str, int], bool]:
    """The number of each id, and whether that is the one it says."""
    first: dict[str, int] = {}
    for place, job in enumerate(jobs, 1):
        if isinstance(job, dict) and isinstance(job.get("id"), str | int):
            first.setdefault(str(job["id"]), place)
    try:
        said = {name: whole_number(name.rpartition("!")[2], 0, LARGEST) for name in first}
    except ValueError:
        return first, False
    return (said, True) if len({*said.values()}) == len(said) else (first, False)


def _runtime(job: dict[str, Any], profiles: Profiles) -> int | str:
    """For how long the job's profile runs, or why nobody can tell. ValueError where it names none of the workload."""
    hosts = job.get("res")
    found = profiles.seconds(job.get("profile"), hosts if type(hosts) is int else 1)
    return found if isinstance(found, str) else whole_seconds(found)


def _row(job: dict[str, Any], runtime: int, number_of: dict[str, int]) -> dict[str, Any]:
    """The columns of one job. ValueError for what is none."""
    if type(job.get("id")) not in {str, int}:
        raise ValueError("no id")
    walltime = whole_seconds(number(job, "walltime")) if "walltime" in job else UNKNOWN
    if type(job.get("res")) is not int:
        raise ValueError(f"res is {job.get('res')!r}")
    texts = {key: _text(job.get(key)) for key in _TEXTS}
    submit = number(job, "subtime")
    return texts | {
        "number": number_of[str(job["id"])],
        "submit": -1 if submit < 0 else int(submit),  # -0.5 is before the beginning, too
        "runtime": max(runtime, UNKNOWN - 1),
        "walltime": max(walltime, UNKNOWN),
        "procs": min(max(job["res"], UNKNOWN - 1), LARGEST + 1),
    }


def _text(value: object) -> str:
    """A text, with ? for what UTF-8 can't hold, a whole number as one; else nothing is stated."""
    said = isinstance(value, str) or type(value) is int
    return str(value).encode(errors="replace").decode() if said else ""


def write_batsim(trace: Trace, path: Path, resources: int | None = None) -> list[str]:
    """Write a trace as a workload and return what the form could not hold.

    A resource is a processor. `resources` are the machine's (None: those of the header, or of the widest job). Jobs
    of one runtime share a profile. What is stated of user, group, name, queue and partition are further keys of a job.
    """
    whole = trace.has_ended & (trace.procs > 0)
    kept = trace.take(whole)
    jobs: list[dict[str, Any]] = []
    columns = (kept.number, kept.submit, kept.stated_walltime, kept.procs, kept.runtime)
    texts = [getattr(kept, name).tolist() for name in _TEXTS]
    for *numbers, runtime, said in zip(*(column.tolist() for column in columns), zip(*texts, strict=True), strict=True):
        number, submit, walltime, procs = numbers
        limit = {} if walltime == UNKNOWN else {"walltime": walltime}
        job = {"id": str(number), "subtime": submit, **limit, "res": procs, "profile": f"delay-{runtime}"}
        jobs.append(job | {name: text for name, text in zip(_TEXTS, said, strict=True) if text})
    runtimes = sorted({*kept.runtime.tolist()})
    widest = resources or trace.most_processors or int(kept.procs.max(initial=1))
    write_text(
        path,
        f'{{\n"nb_res": {widest},\n"jobs": [\n'
        + ",\n".join(map(json.dumps, jobs))
        + '\n],\n"profiles": {\n'
        + ",\n".join(f'"delay-{runtime}": {{"type": "delay", "delay": {runtime}}}' for runtime in runtimes)
        + "\n}\n}\n",
    )
    return _lost(trace, int((~whole).sum()))


def _lost(trace: Trace, left_out: int) -> list[str]:
    """What a workload of Batsim's says nothing of."""
    lost = [f"{kind}: Batsim knows no such resource" for kind in trace.request if kind != CORES]
    if (trace.est != trace.submit).any() or (trace.lst != NO_TIME).any():
        lost.append("est_s, lst_s: Batsim has no keys for them")
    if shaped := sum(number in trace.requests for number in trace.number.tolist()):
        lost.append(f"parts, nodes, contiguous and alternatives of {shaped} jobs: Batsim has no keys for them")
    for what, values in (("waits", trace.wait), ("memory", trace.memory_kb), ("preceding jobs", trace.after)):
        if (values > UNKNOWN).any():
            lost.append(f"{what}: Batsim has no key for them")
    if left_out:
        lost.append(f"{left_out} jobs have not ended, or ask for no cores, and are left out")
    return lost
