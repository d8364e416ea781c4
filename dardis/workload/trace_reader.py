"""Decides by its content which reader a trace file gets, so that nobody has to name the format."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.files import Read, read_text
from dardis.workload.alibaba import CPU_MILLI, parse_pods
from dardis.workload.batsim import parse_batsim
from dardis.workload.csv_trace import parse_table
from dardis.workload.eurora_trace import ALLOCATION, parse_eurora
from dardis.workload.philly import COLUMNS as PHILLY
from dardis.workload.philly import parse_philly
from dardis.workload.sacct import is_sacct, parse_sacct
from dardis.workload.swf import parse_swf
from dardis.workload.trace import NOT_ENDED, Trace, no_job, told_of

_FIRST_LINE = re.compile(r"^\s*([^;\s].*)$", re.MULTILINE)
"""The first line that is neither blank nor a comment."""


def read_trace(
    path: Path, read: Read = Path.read_bytes, *, strict: bool = False, not_ended: bool = False,
    flop_per_s: float | None = None,
) -> Trace:  # fmt: skip
    """Read SWF, a job table, sacct's output, Batsim's JSON, or the tables of Eurora, Alibaba or Philly; also gzipped.

    Lines that are no job are counted in `Trace.skipped`; so are those of jobs that ran or waited when the file was
    written, unless who asks wants these (`not_ended`) among the others. InputError: a file that cannot be read or is of
    no known form, no valid job in it, and with `strict` the first malformed line. Jobs of Batsim that compute need
    `flop_per_s`, the speed of a core.
    """
    trace = _parse(path, read_text(path, read), strict=strict, flop_per_s=flop_per_s)
    return _asked_for(path, trace, not_ended=not_ended)


def _asked_for(path: Path, trace: Trace, *, not_ended: bool) -> Trace:
    """A trace, which `path` names, with the jobs that have not ended or without."""
    ended = of_those_that_ended(path, trace)
    if not_ended:
        return replace(trace, skipped=tuple(skip for skip in trace.skipped if skip.reason != NOT_ENDED))
    return ended


def of_those_that_ended(path: Path, trace: Trace) -> Trace:
    """The trace without jobs that ran or waited when it was written; `path` names it. InputError: no other is there."""
    if not trace.has_ended.any():
        raise no_job(path, trace.skipped)
    return trace if trace.has_ended.all() else trace.take(trace.has_ended)


def _parse(path: Path, text: str, *, strict: bool, flop_per_s: float | None) -> Trace:
    """By the reader of its form."""
    found = _FIRST_LINE.search(text)
    first = found[1] if found else ""
    names = {name.strip() for name in first.split(",")}
    if first.startswith("{"):
        return parse_batsim(path, text, strict=strict, flop_per_s=flop_per_s)
    if ALLOCATION in names:
        return parse_eurora(path, text, strict=strict)
    if CPU_MILLI in names:
        return parse_pods(path, text, strict=strict)
    if names.issuperset(PHILLY):
        return parse_philly(path, text, strict=strict)
    if "submit_s" in names or "runtime_s" in names:
        return parse_table(path, text, strict=strict)
    if is_sacct(first):
        return parse_sacct(path, text, strict=strict)
    if len(names) > 1 and not first.split()[0].lstrip("-").isdecimal():
        table = "job table (job_id,submit_s,runtime_s,units,req_cores,…)"
        expected = f"SWF, a {table}, sacct --parsable2, Batsim's JSON, the Eurora CSV, Alibaba's pods or Philly's table"
        raise InputError(f"{path}:1", f"columns of no known trace ({first[:60].strip()})", expected)
    return parse_swf(path, text, strict=strict)


def read_equal_units(
    path: Path, *, strict: bool = False, not_ended: bool = False, flop_per_s: float | None = None
) -> Trace:  # fmt: skip
    """The same for whoever knows nothing but equal units on any nodes. InputError, too, where a job asks for more."""
    trace = read_trace(path, strict=strict, not_ended=not_ended, flop_per_s=flop_per_s)
    return of_equal_units(path, trace, not_ended=not_ended)


def of_equal_units(path: Path, trace: Trace, *, not_ended: bool) -> Trace:
    """A trace, which `path` names, with the jobs that have not ended or without. InputError: a job asks for more."""
    trace = _asked_for(path, trace, not_ended=not_ended)
    for number in trace.number.tolist() if trace.requests else ():
        if number in trace.requests:
            raise InputError(path, told_of(number), "jobs of equal units")
    return trace
