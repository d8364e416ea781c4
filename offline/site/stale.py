"""Whether a history has ended before its time: a dump that failed looks like a machine without jobs.

Judged on nine real traces at all midnights by which some job had ended, with two weeks before them: 16 of 2,956 are
refused (at most 1 in 100 of any trace but Philly's, 3 of 76, its last days, in which hardly a job came), and all that
end two days too early where at most 3 of 100 days are without a job.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Ints
from offline.site.calendar import DAY_S

LEAST_DAYS = 14
"""Less history can't tell."""
MEMORY_DAYS = 26 * 7
RARE = 0.03
"""Days without a job are rare if they are so small a share of all."""
LEAST_JOBS = 30
"""Fewer jobs than this can't tell that a silence is more than chance."""
SILENT_DAYS = 3
"""A weekend without jobs is no silence."""
FEW = 5
"""A last week of less than a fifth of the least of the weeks before is none of its kind."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Why a history is `stale`, or "", and a `note` where it is too short to tell, or ""."""

    stale: str = ""
    note: str = ""


def freshness(submits: Ints, now: int, since: int = 0) -> Freshness:
    """Of a history whose jobs were submitted at these times, of which none from `now` on or before `since` counts."""
    known = submits[(submits >= since) & (submits < now)]
    days = (now - int(known.min())) // DAY_S if len(known) else 0
    if len(known) >= LEAST_JOBS:
        silent_s, active_s = now - int(known.max()), int(known.max() - known.min())
        if silent_s >= SILENT_DAYS * DAY_S and silent_s > active_s:
            came = f"{len(known)} jobs in {-(-active_s // DAY_S)} days"
            return Freshness(f"no job was submitted for {silent_s // DAY_S} days, after {came}")
    if days < LEAST_DAYS:
        return Freshness(note=f"{days} days of history: too few to tell whether it ended before its time")
    silent = (now - int(known.max())) // DAY_S
    days = min(days, MEMORY_DAYS + silent)
    arrivals = np.histogram(known, now - DAY_S * np.arange(days, -1, -1))[0]
    if not arrivals[-1]:
        before = np.trim_zeros(arrivals, "b")
        such = np.count_nonzero(before == 0)
        if such <= RARE * len(before):
            long = "a day" if silent == 1 else f"{silent} days"
            some = (
                f"{such} of {len(before)} days before had none"
                if such
                else f"each of {len(before)} days before had some"
            )
            return Freshness(f"no job was submitted for {long}, and {some}")
    weeks = arrivals[: days // 7 * -7 - 1 : -1].reshape(-1, 7).sum(axis=1)
    last, least = int(weeks[0]), int(weeks[1:].min())
    if FEW * last < least:
        return Freshness(
            f"{last} jobs were submitted in the last week, and at least {least} in each of the weeks before"
        )
    return Freshness()
