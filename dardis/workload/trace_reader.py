"""Detects trace formats by content."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.files import Read, read_text
from dardis.model.slurm_json import is_slurm_json
from dardis.workload.alibaba import CPU_MILLI, parse_pods
from dardis.workload.batsim import parse_batsim
from dardis.workload.csv_trace import parse_table
from dardis.workload.eurora_trace import ALLOCATION, parse_eurora
from dardis.workload.philly import COLUMNS as PHILLY
from dardis.workload.philly import parse_philly
from dardis.workload.sacct import parse_sacct
from dardis.workload.slurm_cells import is_sacct
from dardis.workload.swf import parse_swf
from dardis.workload.trace import NOT_ENDED, Trace, no_job, unequal_units_text

_FIRST_LINE = re.compile(r"^\s*([^;\s].*)$", re.MULTILINE)
"""First line, without blanks and comments."""


def read_trace(
    path: Path, read: Read = Path.read_bytes, *, strict: bool = False, not_ended: bool = False,
    flop_per_s: float | None = None,
) -> Trace:  # fmt: skip
    """Read a trace in a form of docs/formats.md, also gzipped.

    Invalid lines, and (unless `not_ended`) jobs that have not ended, are in `Trace.skipped`. `flop_per_s`: core speed
    for Batsim jobs. Raises InputError for unreadable or unknown files and no valid job; with `strict`, for malformed
    lines.
    """
    trace = _parse(path, read_text(path, read), strict=strict, flop_per_s=flop_per_s)
    return _select_ended(path, trace, not_ended=not_ended)


def _select_ended(path: Path, trace: Trace, *, not_ended: bool) -> Trace:
    ended = drop_unended_jobs(path, trace)
    if not_ended:
        return replace(trace, skipped=tuple(skip for skip in trace.skipped if skip.reason != NOT_ENDED))
    return ended


def drop_unended_jobs(path: Path, trace: Trace) -> Trace:
    """Drop jobs that have not ended. Raises InputError if none is left."""
    if not trace.has_ended.any():
        raise no_job(path, trace.skipped)
    return trace if trace.has_ended.all() else trace.take(trace.has_ended)


def _parse(path: Path, text: str, *, strict: bool, flop_per_s: float | None) -> Trace:
    found = _FIRST_LINE.search(text)
    first = found[1] if found else ""
    names = {name.strip() for name in first.split(",")}
    if is_slurm_json(text):
        return parse_sacct(path, text, strict=strict)
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
        raise InputError(f"{path}:1", f"columns of an unknown trace format ({first[:60].strip()})", expected)
    return parse_swf(path, text, strict=strict)


def read_equal_units(
    path: Path, *, strict: bool = False, not_ended: bool = False, flop_per_s: float | None = None
) -> Trace:  # fmt: skip
    """Like `read_trace`; InputError unless all units are equal."""
    trace = read_trace(path, strict=strict, not_ended=not_ended, flop_per_s=flop_per_s)
    return require_equal_units(path, trace, not_ended=not_ended)


def require_equal_units(path: Path, trace: Trace, *, not_ended: bool) -> Trace:
    """Keep or drop unended jobs. Raises InputError unless all units are equal."""
    trace = _select_ended(path, trace, not_ended=not_ended)
    for number in trace.number.tolist() if trace.requests else ():
        if number in trace.requests:
            raise InputError(path, unequal_units_text(number), "jobs of equal units")
    return trace
