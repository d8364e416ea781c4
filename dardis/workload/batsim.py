"""Reads and writes Batsim's workload JSON.

Submit times are rounded down, runtimes and walltimes up. Network jobs are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from dardis.model.errors import InputError, one_line
from dardis.model.files import write_text
from dardis.model.job import NO_TIME
from dardis.model.numbers import whole_number
from dardis.model.resources import CORES
from dardis.workload.slurm_texts import whole_seconds
from dardis.workload.trace import LARGEST, UNKNOWN, Skipped, Trace, build_trace

_TEXTS: Final = ("user", "group", "name", "queue", "partition")
"""Optional keys; Batsim leaves additional keys to schedulers."""
_EXPECTED: Final = "a Batsim workload: an object with the list `jobs` and the object `profiles`"


def parse_batsim(path: Path, text: str, *, strict: bool, flop_per_s: float | None = None) -> Trace:
    """Read a workload. Raises InputError.

    `flop_per_s`: a core's speed; without it, jobs that compute are skipped. "Line": position in `jobs`. Ids (after
    `WORKLOAD!`) are job numbers if distinct whole numbers; else jobs are numbered by occurrence, with the id as `name`.
    `nb_res` becomes MaxProcs.
    """
    jobs, stated, processors = _workload(path, text)
    profiles = Profiles(stated, flop_per_s)
    number_of, is_said = _numbers(jobs)
    lines: list[int] = []
    rows: list[dict[str, Any]] = []
    problems: list[Skipped] = []
    for place, job in enumerate(jobs, 1):
        if not isinstance(job, dict):
            problems.append(Skipped(place, "not a Batsim job (not an object)", malformed=True))
            continue
        try:
            runtime = _runtime(job, profiles)
            if isinstance(runtime, str):
                problems.append(Skipped(place, runtime, malformed=False))
                continue
            row = _row(job, runtime, number_of)
            rows.append(row if is_said else row | {"name": _text(job["id"])})
        except ValueError as error:
            problems.append(Skipped(place, f"not a Batsim job ({error})", malformed=True))
        else:
            lines.append(place)
    numbers = ("number", "submit", "runtime", "walltime", "procs")
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in numbers}
    columns |= {name: np.array([row[name] for row in rows], dtype=object) for name in _TEXTS}
    header = () if processors is None else ("; Version: 2.2", f"; MaxProcs: {processors}")
    never_ran = np.ones(len(rows), dtype=bool)  # a delay of 0 is not a job that still runs
    return build_trace(path, lines, columns, problems, strict=strict, comments=header, never_ran=never_ran)


def _workload(path: Path, text: str) -> tuple[list[Any], dict[str, Any], int | None]:
    try:
        found = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise InputError(path, "is not JSON: nested too deeply", _EXPECTED) from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}", f"is not JSON ({error.msg})", _EXPECTED) from None
    except ValueError as error:
        raise InputError(path, f"is not JSON ({error})", _EXPECTED) from None
    jobs, profiles = (found.get("jobs"), found.get("profiles")) if isinstance(found, dict) else (None, None)
    if not isinstance(jobs, list) or not isinstance(profiles, dict):
        raise InputError(path, "missing `jobs` and `profiles`", _EXPECTED)
    stated = found.get("nb_res")
    return jobs, profiles, stated if type(stated) is int and 0 < stated <= LARGEST else None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _numbers(jobs: list[Any]) -> tuple[dict[str, int], bool]:
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
    hosts = job.get("res")
    found = profiles.seconds(job.get("profile"), hosts if type(hosts) is int else 1)
    return found if isinstance(found, str) else whole_seconds(found)


def _row(job: dict[str, Any], runtime: int, number_of: dict[str, int]) -> dict[str, Any]:
    if type(job.get("id")) not in {str, int}:
        raise ValueError("no id")
    walltime = whole_seconds(number(job, "walltime")) if "walltime" in job else UNKNOWN
    if type(job.get("res")) is not int:
        raise ValueError(f"res is {job.get('res')!r}")
    texts = {key: _text(job.get(key)) for key in _TEXTS}
    submit = number(job, "subtime")
    return texts | {
        "number": number_of[str(job["id"])],
        "submit": -1 if submit < 0 else int(submit),  # -0.5 precedes the beginning, too
        "runtime": max(runtime, UNKNOWN - 1),
        "walltime": max(walltime, UNKNOWN),
        "procs": min(max(job["res"], UNKNOWN - 1), LARGEST + 1),
    }


def _text(value: object) -> str:
    said = isinstance(value, str) or type(value) is int
    return str(value).encode(errors="replace").decode() if said else ""


def write_batsim(trace: Trace, path: Path, resources: int | None = None) -> list[str]:
    """Write a workload; return the data lost.

    Resources are processors. `resources`: machine size (default: header, else widest job). Jobs with equal runtimes
    share a profile. User, group, name, queue and partition become additional keys.
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
    return _lost_data(trace, int((~whole).sum()))


def _lost_data(trace: Trace, left_out: int) -> list[str]:
    lost = [f"{kind}: Batsim does not have this resource" for kind in trace.request if kind != CORES]
    if (trace.est != trace.submit).any() or (trace.lst != NO_TIME).any():
        lost.append("est_s, lst_s: Batsim has no keys for them")
    if shaped := sum(number in trace.requests for number in trace.number.tolist()):
        lost.append(f"parts, nodes, contiguous and alternatives of {shaped} jobs: Batsim has no keys for them")
    for what, values in (("waits", trace.wait), ("memory", trace.memory_kb), ("preceding jobs", trace.after)):
        if (values > UNKNOWN).any():
            lost.append(f"{what}: Batsim has no key for them")
    if left_out:
        lost.append(f"{left_out} jobs without an end or cores are left out")
    return lost


_DELAYS: Final = frozenset({"delay", "DelayProfile"})
_VECTORS: Final = frozenset({"parallel", "msg_par", "ptask", "ParallelTaskProfile"})
"""`cpu` by host, `com` by pair of hosts."""
_EACH_HOST: Final = frozenset(
    {"parallel_homogeneous", "msg_par_hg", "ptask_homogeneous", "ParallelTaskHomogeneousProfile"}
)
"""`cpu` per host, unless spread over hosts."""
_ALL_HOSTS: Final = frozenset({"parallel_homogeneous_total", "msg_par_hg_tot"})
"""`cpu` of all hosts."""
_SPREAD: Final = frozenset({"defined_amount_spread_uniformly", "DefinedAmountsSpreadUniformly"})
_SEQUENCES: Final = frozenset({"composed", "sequential_composition", "SequentialCompositionProfile"})
_DEEPEST: Final = 100
_LONGEST_TYPE: Final = 60


class Profiles:
    """Profiles by name, with core speed in flop/s."""

    def __init__(self, stated: Mapping[str, Any], flop_per_s: float | None) -> None:
        self._stated = stated
        self._flop_per_s = flop_per_s
        self._known: dict[tuple[str, int], tuple[float | str, int]] = {}

    def seconds(self, name: object, hosts: int) -> float | str:
        """Runtime on `hosts` hosts, or reason for none. Raises ValueError."""
        return self._runtime_and_depth(name, hosts, 0)[0]

    def _runtime_and_depth(self, name: object, hosts: int, above: int) -> tuple[float | str, int]:
        """`above`: enclosing sequences."""
        profile = self._stated.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or not isinstance(profile, dict) or not isinstance(profile.get("type"), str):
            raise ValueError(f"profile {name!r} is unknown")
        found = self._known.get((name, hosts))
        if found is None and above <= _DEEPEST:
            is_sequence = profile["type"] in _SEQUENCES
            found = self._of_sequence(profile, hosts, above) if is_sequence else (self._of_one(profile, hosts), 0)
            self._known[name, hosts] = found
        if found is None or above + found[1] > _DEEPEST:
            raise ValueError(f"profile {name!r} contains itself, or is in more than {_DEEPEST} sequences")
        return found

    def _of_one(self, profile: dict[str, Any], hosts: int) -> float | str:
        kind = profile["type"]
        if kind in _DELAYS:
            return number(profile, "delay")
        of_type = f"its profile is of type {one_line(kind, _LONGEST_TYPE)}, "
        if kind not in _VECTORS | _EACH_HOST | _ALL_HOSTS:
            return f"{of_type}not a delay"
        if any(_amounts(profile, "com", several=kind in _VECTORS)):
            return f"{of_type}which communicates"
        if self._flop_per_s is None:
            return f"{of_type}which computes, but flop_per_s is unknown"
        flop = max(_amounts(profile, "cpu", several=kind in _VECTORS))
        strategy = profile.get("generation_strategy")
        if kind in _ALL_HOSTS or (isinstance(strategy, str) and strategy in _SPREAD):
            flop /= max(hosts, 1)
        return min(flop / self._flop_per_s, LARGEST + 1.0)

    def _of_sequence(self, profile: dict[str, Any], hosts: int, above: int) -> tuple[float | str, int]:
        members, repeat = profile.get("seq"), profile.get("repeat", 1)
        if not isinstance(members, list) or not members:
            raise ValueError("a sequence of profiles without `seq`")
        if type(repeat) is not int or repeat < 1:
            raise ValueError(f"repeat is {repeat!r}")
        total, deepest, without = 0.0, 0, ""
        for member in members:
            found, depth = self._runtime_and_depth(member, hosts, above + 1)
            deepest = max(deepest, depth)
            if isinstance(found, str):
                without = without or found
            elif found < 0:
                raise ValueError(f"profile {member!r} takes less than 0 s")
            else:
                total += found
        return without or min(total * min(repeat, LARGEST + 1), LARGEST + 1.0), deepest + 1


def number(where: Mapping[str, Any], key: str) -> float:
    """Seconds, at most `LARGEST + 1`. Raises ValueError."""
    return max(min(_finite(where.get(key), key), LARGEST + 1), -LARGEST)


def _finite(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} is {value!r}")
    try:
        found = float(value)
    except OverflowError:
        found = float("inf") if value > 0 else float("-inf")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{key} is {value!r}")
    return found


def _amounts(profile: Mapping[str, Any], key: str, *, several: bool) -> list[float]:
    stated = profile.get(key)
    if several and (not isinstance(stated, list) or (key == "cpu" and not stated)):
        raise ValueError(f"{key} is not a list")
    found = [_finite(one, key) for one in (stated if isinstance(stated, list) and several else [stated])]
    if min(found, default=0.0) < 0:
        raise ValueError(f"{key} is negative")
    return found
