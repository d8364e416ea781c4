"""Jobs of a trace for a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dardis.config.cuts import TraceClock, seconds_of, trim_seconds
from dardis.config.run_spec import JobsSpec, RunSpec
from dardis.model.choices import Overrun
from dardis.model.errors import InputError
from dardis.model.node_layout import make_layout
from dardis.model.platform import Platform
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import Workload, to_jobs
from dardis.workload.trace_reader import read_trace
from dardis.workload.trace_summary import unlike_header
from dardis.workload.transform import extended, first_jobs, submitted, with_estimates


class TraceSelection(NamedTuple):
    """Replayed part of a trace: jobs submitted in `[start, end)`, in s."""

    start: int | None
    end: int | None
    spec: JobsSpec = JobsSpec()

    def select_from(self, whole: Trace) -> Trace:
        """Part. Raises InputError if empty."""
        part = whole
        if self.start is not None or self.end is not None:
            part = submitted(part, self.start, self.end)
        if self.spec.jobs is not None:
            part = first_jobs(part, self.spec.jobs)
        if self.spec.walltime_factor != 1:
            part = with_estimates(part, self.spec.walltime_factor)
        return extended(part) if self.spec.overrun is Overrun.EXTEND else part

    def as_stated(self) -> TraceSelection:
        """Same part with the trace's walltimes."""
        return TraceSelection(self.start, self.end, JobsSpec(jobs=self.spec.jobs))


def requested_selection(request: RunSpec, whole: Trace, unix_start: int | None) -> TraceSelection:
    """Request's part. Raises InputError."""
    clock = TraceClock(request.trace, int(whole.submit.min()), unix_start)
    start, end = (
        None if cut is None else seconds_of(option, cut, clock)
        for option, cut in (("--from", request.from_), ("--to", request.to))
    )
    return TraceSelection(start, end, request)


def requested_trim(request: RunSpec, first: int, last: int, unix_start: int | None) -> tuple[int, int] | None:
    """Warm-up and cool-down in s from the first and last submission. Raises InputError."""
    if request.trim is None:
        return None
    return trim_seconds("--trim", request.trim, TraceClock(request.trace, first, unix_start), last)


def jobs_of(part: Trace, platform: Platform, unit_cores: int | None, *, think_times: bool) -> Workload:
    """Jobs with the trace's deadlines. Raises InputError."""
    return to_jobs(part, make_layout(platform).machine, unit_cores=unit_cores, think_times=think_times)


def read_selected_jobs(
    path: Path, platform: Platform, unit_cores: int | None, part: TraceSelection, *, think_times: bool, strict: bool
) -> Workload:
    """Read a run's jobs. Raises InputError."""
    asked = part.select_from(read_trace(path, strict=strict, flop_per_s=platform.flop_per_s))
    return name_trace_in_errors(path, lambda: jobs_of(asked, platform, unit_cores, think_times=think_times))


def name_trace_in_errors(trace: Path, read: Callable[[], Workload]) -> Workload:
    """Call `read`; add the trace's name to an InputError."""
    try:
        return read()
    except InputError as error:
        raise InputError(trace, str(error)) from None


def walltime_notes(whole: Trace, part: TraceSelection) -> list[str]:
    """Notes on missing or extended walltimes."""
    asked = TraceSelection(part.start, part.end, part.spec.model_copy(update={"overrun": Overrun.KILL})).select_from(
        whole
    )
    count, factor = int(asked.no_walltime.sum()), part.spec.walltime_factor
    told = []
    if count and factor == 1:
        what = "their runtime is used, so planners know their ends"
        told.append(f"{count} of {len(asked)} jobs state no walltime; {what} (--walltime-factor X: X times too long)")
    elif count:
        told.append(f"{count} of {len(asked)} jobs state no walltime; {factor:g} times their runtime is used")
    elif factor != 1:
        told.append(f"--walltime-factor {factor:g}: no effect, since all jobs state walltimes")
    if part.spec.overrun is Overrun.EXTEND and (lifted := int((asked.runtime > asked.walltime).sum())):
        what = "their walltimes become their runtimes, so planners know their ends"
        told.append(f"--overrun extend: {lifted} of {len(asked)} jobs run longer than their walltimes; {what}")
    return told


def machine_notes(whole: Trace, platform: Platform) -> list[str]:
    """Notes if the trace's header describes another machine."""
    found = unlike_header(whole, platform)
    return [found] if found else []
