"""Latest starts (lst) by a named rule; s of the trace's clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.files import Read, csv_rows, is_file, read_text
from dardis.model.job import SHORTEST_WINDOW_S, ActualJob, Job
from dardis.model.numbers import decimal_number, whole_number
from dardis.workload.trace import LARGEST, Trace

FORMS = (
    "none, window:SECONDS, factor:X, mean-wait:queue, mean-wait:partition, or a table file with columns job_id,lst_s"
)


_Rule = Callable[[Job], int | None]


def with_deadlines(
    jobs: list[ActualJob], trace: Trace, rule: str, *, keep_stated: bool = False, read: Read = Path.read_bytes
) -> list[ActualJob]:  # fmt: skip
    """Set latest starts by `rule` (docs/formats.md).

    `keep_stated` keeps a job table's deadlines. Raises InputError.
    """
    rule_of = _rule(jobs, trace, rule, read)
    latest = [job.latest if keep_stated and job.latest is not None else rule_of(job.job) for job in jobs]
    return [
        job if time == job.latest else replace(job, job=replace(job.job, latest=time))
        for job, time in zip(jobs, latest, strict=True)
    ]


def with_requested_deadlines(
    jobs: list[ActualJob], trace: Trace, asked: str | None, default: str, read: Read = Path.read_bytes
) -> list[ActualJob]:  # fmt: skip
    """Set latest starts by `asked`, else by `default`, but keep stated ones."""
    return with_deadlines(jobs, trace, asked or default, keep_stated=asked is None, read=read)


def deadline_notes(trace: Trace, rule: str) -> list[str]:
    """Notes about a rule on this trace."""
    column = rule.removeprefix("mean-wait:")
    if column in {rule, ""} or column not in {"queue", "partition"} or any(getattr(trace, column).tolist()):
        return []
    return [f"--deadlines {rule}: the trace has no {column}s, so the mean wait covers all jobs"]


def _rule(jobs: list[ActualJob], trace: Trace, rule: str, read: Read) -> _Rule:
    name, colon, value = rule.partition(":")
    match name, colon, value:
        case "none", "", _:
            return lambda _job: None
        case "window", ":", _:
            window = int(_number(rule, value))
            return lambda job: job.earliest + window
        case "factor", ":", _:
            factor = _number(rule, value)
            return lambda job: job.earliest + min(int(factor * max(job.walltime, SHORTEST_WINDOW_S)), LARGEST)
        case "mean-wait", ":", "queue" | "partition":
            waits = _mean_waits(trace, value)
            return lambda job: job.earliest + waits[job.number]
    path = Path(rule)
    if not is_file(path):
        raise InputError("--deadlines", f"{rule!r} is neither a rule nor a file", FORMS)
    table = _parse_table(path, read_text(path, read), {job.number: job.earliest for job in jobs})
    return lambda job: table.get(job.number)


def _number(rule: str, text: str) -> Decimal:
    try:
        decimal_number(text)
    except ValueError as error:
        raise InputError("--deadlines", f"{rule!r}: {error}", FORMS) from None
    number = Decimal(text)
    if not 0 <= number <= LARGEST:
        raise InputError("--deadlines", f"{rule!r} is out of range", f"a number from 0 to {LARGEST}")
    return number


def _mean_waits(trace: Trace, column: str) -> dict[int, int]:
    names = getattr(trace, column).tolist()
    waits = defaultdict(list)
    for name, wait in zip(names, trace.wait.tolist(), strict=True):
        if wait >= 0:
            waits[name].append(wait)
    mean = {name: round(Fraction(sum(group), len(group))) for name, group in waits.items()}
    for name in dict.fromkeys(names):
        if name not in mean:
            place = f"--deadlines mean-wait:{column}"
            raise InputError(place, f"the trace states no waits for {column} {name!r}", "a trace with waiting times")
    return {number: mean[name] for number, name in zip(trace.number.tolist(), names, strict=True)}


def _parse_table(path: Path, text: str, earliest: dict[int, int]) -> dict[int, int]:
    rows = csv_rows(path, text)
    _, header = next(rows, (1, []))
    if header != ["job_id", "lst_s"]:
        raise InputError(f"{path}:1", f"columns {','.join(header)!r}", "job_id,lst_s")
    table: dict[int, int] = {}
    for line_number, fields in rows:
        place = f"{path}:{line_number}"
        try:
            number, latest = map(whole_number, fields)
        except ValueError:
            raise InputError(place, ",".join(fields), "two whole numbers: job_id,lst_s") from None
        if number in table:
            raise InputError(place, f"a second deadline of job {number}")
        if not earliest.get(number, latest) <= latest <= LARGEST:
            raise InputError(place, f"lst_s {latest}", f"{earliest.get(number, 0)} (its est) to {LARGEST}")
        table[number] = latest
    if not table.keys() & earliest.keys():
        raise InputError(path, "has no job of the trace", "job_id,lst_s of some of its jobs")
    return table
