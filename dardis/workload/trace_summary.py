"""Trace's summary, and fit to a platform."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Bools, Ints
from dardis.model.capacity import could_hold
from dardis.model.errors import InputError
from dardis.model.job import Job, Part
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.workload.trace import Skipped, Texts, Trace
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.transform import offered_load

_MOST_NAMES = 8
_LINES_SHOWN = 5
_QUOTED = re.compile(r"'.*'|\d+")
"""Variable text within reasons of one kind."""


def summarise(trace: Trace, platform: Platform | None) -> list[tuple[str, str]]:
    """Jobs, times, sizes, names, skipped lines; with a platform, load. Unended jobs are only counted."""
    now = trace.take(~trace.has_ended)
    trace = trace.take(trace.has_ended)
    first, last = int(trace.submit.min()), int(trace.submit.max())
    lines = [
        ("jobs", f"{len(trace):,} ({len(np.unique(trace.user))} users)" if trace.user.any() else f"{len(trace):,}"),
        ("submitted", f"{first:,} to {last:,} s ({(last - first) / 86400:.1f} days)"),
        ("processors a job", _spread(trace.procs)),
        ("walltime, s", _spread(trace.walltime)),
        ("runtime, s", _spread(trace.runtime)),
        ("longer than their walltime", _share(trace.runtime > trace.walltime)),
        ("equal to their walltime", _share((trace.runtime == trace.walltime) & ~trace.no_walltime)),
    ]
    if trace.no_walltime.any():
        lines.append(("without a walltime", _share(trace.no_walltime) + ", replaced by their runtime"))
    if (trace.wait >= 0).any():
        lines.append(("wait there, s", _spread(trace.wait[trace.wait >= 0])))
    if trace.counts_processors:
        lines.append(("memory stated", _share(trace.memory_kb >= 0)))
    else:
        lines.append(("units a job", _spread(trace.units)))
        lines += [(f"{kind} a unit", _spread(amounts)) for kind, amounts in trace.request.items()]
    if platform is not None:
        lines += _on_machine(trace, platform)
    if len(now):
        lines.append(("when it was written", f"{not_ended(now)}; not in any other figure"))
    for name in ("queue", "partition"):
        if getattr(trace, name).any():
            lines.append((f"{name}s", _names(getattr(trace, name))))
    lines += [("note", note) for note in trace.notes]
    for skips in sorted(_skipped_by_kind(trace), key=len, reverse=True)[:_MOST_NAMES]:
        kind = "malformed" if skips[0].malformed else "skipped"
        lines.append((kind, f"{len(skips):,}: {skips[0].reason} (first in line {skips[0].line})"))
    return lines


def _on_machine(trace: Trace, platform: Platform) -> list[tuple[str, str]]:
    load = offered_load(trace, platform)
    told = "one instant" if load is None else f"{load:.3f} of {platform.cores:,} cores"
    lines = [(f"load on {platform.name}", told)]
    try:
        found = runnable(trace, platform)
    except InputError as error:
        return [*lines, ("cannot run there", str(error))]
    if found.reasons:
        lines += [("cannot run there", f"{count:,} jobs: {reason}") for reason, count in found.reasons.items()]
        trace = trace.take(found.is_runnable)
        load = offered_load(trace, platform)
        lines.append(("load without these", "none" if load is None else f"{load:.3f} ({len(trace):,} jobs)"))
    if load is None or load <= 1:
        return lines
    lines.append(("above 1", "the queue grows while jobs arrive"))
    for name in ("partition", "queue"):
        names = [*filter(None, Counter(getattr(trace, name).tolist()))]
        parts = {one: offered_load(trace.take(getattr(trace, name) == one), platform) for one in names}
        fit = [f"{one}: {load:.3f}" for one, load in parts.items() if load is not None and load <= 1]
        if len(names) > 1:
            more = f" and {len(fit) - _MOST_NAMES} more" if len(fit) > _MOST_NAMES else ""
            lines.append((f"{name}s that fit alone", ", ".join(fit[:_MOST_NAMES]) + more if fit else "none"))
    return lines


def not_ended(trace: Trace) -> str:
    """Running and waiting jobs, or empty."""
    waited = trace.wait[~trace.has_ended] < 0
    running, waiting = int((~waited).sum()), int(waited.sum())
    return f"{running:,} run and {waiting:,} wait" if len(waited) else ""


def skipped_lines(trace: Trace) -> list[str]:
    """One line per kind of reason: count, example, first lines."""
    found = []
    for skips in _skipped_by_kind(trace):
        lines = ", ".join(str(skip.line) for skip in skips[:_LINES_SHOWN])
        more = ", …" if len(skips) > _LINES_SHOWN else ""
        what = "malformed" if skips[0].malformed else "no job"
        found.append(f"{len(skips)} {what} ({skips[0].reason}), skipped: line {lines}{more}")
    return found


def _skipped_by_kind(trace: Trace) -> list[list[Skipped]]:
    kinds: dict[tuple[str, bool], list[Skipped]] = {}
    for skip in trace.skipped:
        kinds.setdefault((_QUOTED.sub("", skip.reason), skip.malformed), []).append(skip)
    return [*kinds.values()]


def _spread(values: Ints) -> str:
    return f"{values.min():,} to {values.max():,}, median {np.median(values):,.0f}, mean {values.mean():,.1f}"


def _share(rows: NDArray[Any]) -> str:
    return f"{int(rows.sum()):,} ({rows.mean():.1%})"


def _names(texts: Texts) -> str:
    count = Counter(text or "(none)" for text in texts.tolist())
    shown = [f"{name}: {number:,}" for name, number in count.most_common(_MOST_NAMES)]
    return ", ".join(shown) + (f" and {len(count) - _MOST_NAMES} more" if len(count) > _MOST_NAMES else "")


_STATED: Final = re.compile(r";*\s*(MaxProcs|MaxNodes)\s*:\s*(\d{1,12})\b", re.ASCII)


def stated_size(trace: Trace) -> dict[str, int]:
    """Positive `MaxProcs` and `MaxNodes` of an SWF header."""
    found: dict[str, int] = {}
    for comment in trace.comments:
        if (match := _STATED.match(comment)) is not None and int(match[2]) > 0:
            found.setdefault(match[1], int(match[2]))
    return found


def unlike_header(trace: Trace, platform: Platform) -> str:
    """Message if header and platform differ in size, else empty.

    Processors take precedence over nodes. None for one named partition: the header describes the machine.
    """
    stated = stated_size(trace)
    partitions = {*trace.partition.tolist()}
    if not stated or (len(partitions) == 1 and partitions != {""}):
        return ""
    name = "MaxProcs" if "MaxProcs" in stated else "MaxNodes"
    has, what = (platform.cores, "cores") if name == "MaxProcs" else (platform.node_count, "nodes")
    if stated[name] == has:
        return ""
    return f"its header states {name} {stated[name]:,}, but {platform.name} has {has:,} {what}"


class Runnable(NamedTuple):
    """Mask of runnable jobs (jobs,), and counts of refusal reasons."""

    is_runnable: Bools
    reasons: dict[str, int]


def runnable(trace: Trace, platform: Platform) -> Runnable:
    """Jobs that fit the empty machine and their queues. Raises InputError."""
    jobs = to_jobs(trace, platform).jobs
    judge = _JobChecker(platform)
    reasons = [judge.refusal_reason(job.job) for job in jobs]
    can_run = {job.number for job, reason in zip(jobs, reasons, strict=True) if not reason}
    can = np.array([number in can_run for number in trace.number.tolist()], dtype=bool)
    return Runnable(can, dict(Counter(filter(None, reasons)).most_common()))


class _JobChecker:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._known: dict[tuple[int, tuple[int, ...], int], str] = {}

    def refusal_reason(self, job: Job) -> str:
        if job.requests:
            found = ["".join(self._part_refusal(part) for part in request.parts) for request in job.requests]
            refused = "" if "" in found else "no node group fits all parts of any of their requests"
        else:
            refused = self._part_refusal(Part(job.units, job.request, job.groups))
        if refused or not self._platform.refusal(job):
            return refused
        return f"queue {job.queue} does not accept them"

    def _part_refusal(self, part: Part) -> str:
        key = part.units, part.request, part.groups
        if key not in self._known:
            self._known[key] = self._find_part_refusal(part)
        return self._known[key]

    def _find_part_refusal(self, part: Part) -> str:
        if could_hold(part, self._platform.sets, distinct=False) >= part.units:
            return ""
        sets = self._platform.sets
        groups = sets.groups(part.groups)
        holds = (sets.counts[groups] @ sets.capacity[groups]).tolist()
        for kind, need, have in zip(self._platform.kinds, part.request, holds, strict=True):
            if need * part.units > have:
                where = "" if len(groups) == len(sets.counts) else " of the nodes they may use"
                return f"too wide for the {have:,} {kind}{where}" if kind == CORES else f"too much {kind}"
        return "too few of the nodes that they may use are large enough"
