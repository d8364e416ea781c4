"""Says which jobs of a trace an empty machine could run, and why not the others, as those who decide judge them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Bools
from dardis.model.capacity import could_hold
from dardis.model.job import Job, Part
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.workload.jobs import to_jobs
from dardis.workload.trace import Trace


class Runnable(NamedTuple):
    """Which jobs of a trace can run, shape (jobs,), and how many can't for which reason, the most frequent first."""

    can: Bools
    reasons: dict[str, int]


def runnable(trace: Trace, platform: Platform) -> Runnable:
    """Which jobs the empty machine holds and their queues take. InputError: the trace is none for this platform."""
    jobs = to_jobs(trace, platform).jobs
    judge = _Judge(platform)
    reasons = [judge.why_not(job.asked) for job in jobs]
    can_run = {job.number for job, reason in zip(jobs, reasons, strict=True) if not reason}
    can = np.array([number in can_run for number in trace.number.tolist()], dtype=bool)
    return Runnable(can, dict(Counter(filter(None, reasons)).most_common()))


class _Judge:
    """Jobs that ask for the same are judged once."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._known: dict[tuple[int, tuple[int, ...], int], str] = {}

    def why_not(self, job: Job) -> str:
        """Why a job can't run; empty if it can."""
        if job.requests:
            found = ["".join(self._of_part(part) for part in request.parts) for request in job.requests]
            refused = "" if "" in found else "no node group holds all parts of any of their requests"
        else:
            refused = self._of_part(Part(job.units, job.request, job.groups))
        if refused or not self._platform.refusal(job):
            return refused
        return f"queue {job.queue} takes no such jobs"

    def _of_part(self, part: Part) -> str:
        key = part.units, part.request, part.groups
        if key not in self._known:
            self._known[key] = self._judged(part)
        return self._known[key]

    def _judged(self, part: Part) -> str:
        if could_hold(part, self._platform.sets, distinct=False) >= part.units:
            return ""
        sets = self._platform.sets
        groups = sets.groups(part.groups)
        holds = (sets.counts[groups] @ sets.capacity[groups]).tolist()
        for kind, need, have in zip(self._platform.kinds, part.request, holds, strict=True):
            if need * part.units > have:
                where = "" if len(groups) == len(sets.counts) else " of the nodes they may use"
                return f"too wide, for more than the {have:,} {kind}{where}" if kind == CORES else f"too much {kind}"
        return "no node they may use is large enough, or too few are"
