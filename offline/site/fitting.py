"""Which jobs the machine can ever run: what planning leaves out, and says so."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.model.capacity import could_hold
from dardis.model.errors import InputError
from dardis.model.job import Actual
from dardis.model.platform import Platform
from dardis.workload.trace import Trace


def trace_that_fits(trace: Trace, platform: Platform) -> tuple[Trace, str | None]:
    """The jobs that ask for no more cores than the machine has, and a note on the others, which will never run."""
    fits = trace.procs <= platform.cores
    if fits.all():
        return trace, None
    if not fits.any():
        raise InputError("forecast", f"no job fits the {platform.cores:,} cores of {platform.name}", "its own trace")
    note = f"left out: {int((~fits).sum()):,} jobs of more cores than the {platform.cores:,} of {platform.name}"
    return trace.take(fits), note


def jobs_that_fit(jobs: Sequence[Actual], platform: Platform) -> list[Actual]:
    """The jobs that the empty machine holds."""
    return [job for job in jobs if could_hold(job.asked, platform.sets, distinct=False) >= job.units]
