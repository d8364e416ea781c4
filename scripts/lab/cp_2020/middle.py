"""The middle jobs of a trace that fit a machine, which are brought to another load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.workload.trace import Trace


@dataclass(frozen=True)
class Cut:
    """So many jobs of a trace that fit a machine of so many cores, from the time of the first of them on."""

    cores: int
    since: int
    """Of the first submission, s."""
    jobs: int
    load: float
    """What they ask for over what the machine has, from the first to the last submission."""

    def options(self, load: float) -> tuple[str, ...]:
        """How `dardis trace convert` makes it, brought to another load."""
        return (
            f"--max-width={self.cores}", f"--from={self.since}", f"--jobs={self.jobs}", f"--load={load / self.load:.6f}"
        )  # fmt: skip


def middle(trace: Trace, cores: int, jobs: int) -> Cut:
    """The middle jobs of those that fit; all that were submitted with the first of them as well."""
    fits = np.flatnonzero(trace.procs <= cores)
    first = int(trace.submit[fits[max(0, (len(fits) - jobs) // 2)]])
    chosen = fits[trace.submit[fits] >= first][:jobs]
    area = int((trace.procs[chosen] * trace.runtime[chosen]).sum())
    span = int(trace.submit[chosen[-1]]) - first
    return Cut(cores, first, len(chosen), area / (cores * span))
