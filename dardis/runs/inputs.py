"""Run's inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dardis.config.events_file import LoadedEvents, load_events
from dardis.config.queue_fields import check_reservations, places_of
from dardis.config.run_spec import RunSpec
from dardis.config.settings import AnySetUp
from dardis.config.target_file import read_profile
from dardis.metrics.system import trim_window
from dardis.model.choices import Expecting, ProfileRule
from dardis.model.errors import InputError
from dardis.model.events import JobChanged, NodesDown, NodesUp, ReservationMade, SiteEvent
from dardis.model.files import InputFiles
from dardis.model.job import ActualJob
from dardis.model.node_layout import make_layout
from dardis.model.platform import Platform
from dardis.model.queues import LATEST_BEGIN
from dardis.model.target import Target
from dardis.power.node_power import MachinePower
from dardis.registry import Dispatcher, name_conflicts, names_of_capable
from dardis.runs.run_objects import RunSources, read_sources
from dardis.runs.run_workload import (
    TraceSelection,
    jobs_of,
    machine_notes,
    name_trace_in_errors,
    requested_selection,
    requested_trim,
    walltime_notes,
)
from dardis.workload.deadlines import deadline_notes, with_requested_deadlines
from dardis.workload.trace import Trace, unequal_units_text
from dardis.workload.trace_jobs import RoundingExcess, groups_of
from dardis.workload.trace_summary import skipped_lines

if TYPE_CHECKING:
    from dardis.metrics.power import PowerTerms

LONGEST_CLOSED_S = 366 * 86_400
STARTS_ONLY: Final = "profile=hard is tested when a job starts, not after (profile_check=instant)"


@dataclass(frozen=True)
class Inputs:
    """Run's inputs, read and checked."""

    platform: Platform
    dispatcher: Dispatcher
    jobs: list[ActualJob]
    deadlines: str
    deadlines_stated: bool
    """The trace's deadlines stay: no rule was requested."""
    target: Target
    unix_start: int | None
    skipped: list[str]
    warnings: list[str]
    sources: RunSources
    record: dict[str, Any]
    """Equal records have equal outcomes."""
    selection: TraceSelection
    trim: tuple[int, int] | None
    """Warm-up and cool-down in s; their jobs are not counted."""
    rounding: RoundingExcess
    power: PowerTerms | None = None
    """Platform's power and prices, or None."""
    events: Sequence[SiteEvent] = ()


def load_inputs(request: RunSpec, files: InputFiles) -> Inputs:
    """Read and check a run's inputs. Raises InputError."""
    return check_inputs(request, read_sources(request, files))


def check_inputs(request: RunSpec, given: RunSources) -> Inputs:
    """Check a run's inputs. Raises InputError."""
    dispatcher, whole, setup = given.dispatcher, given.trace, given.dispatcher.setup
    platform, unix_start = _on_clock(request, given)
    asked = requested_selection(request, whole, unix_start)
    part = asked.select_from(whole)
    platform = platform.with_partitions(part.named_partitions)
    setup.check_platform(platform)
    story = _story(request, platform, given, part)
    platform = story.platform
    unit_cores = setup.unit_cores or None
    workload = name_trace_in_errors(
        request.trace, lambda: jobs_of(part, platform, unit_cores, think_times=request.think_times)
    )  # fmt: skip
    _check_hours(request, platform, int(whole.submit.min()))
    skipped = skipped_lines(whole)
    warnings = [str(mistake) for mistake in name_conflicts(request.dispatcher)]
    told = [*skipped, *whole.notes, *walltime_notes(whole, asked), *machine_notes(whole, given.platform)]
    warnings += [f"{request.trace}: {line}" for line in told] + workload.notes
    warnings += deadline_notes(whole, request.deadlines or setup.deadlines)
    jobs = with_requested_deadlines(workload.jobs, whole, request.deadlines, setup.deadlines, given.files.content)
    undated = [job.number for job in jobs if job.latest is None] if setup.needs_deadlines else []
    if undated:
        found = f"gives no deadline to job {undated[0]}, but {request.dispatcher} needs expected waits"
        raise InputError(f"--deadlines {request.deadlines or setup.deadlines}", found, "deadlines for all jobs")
    if setup.expecting not in (None, Expecting.WALLTIME):
        warnings += _walltime_warnings(request.trace, jobs)
    trim = requested_trim(request, jobs[0].submit, jobs[-1].submit, unix_start)
    if trim is not None:
        trim_window(jobs[0].submit, jobs[-1].submit, trim)
    target = _target(request, story, given, warnings, jobs[-1].submit)
    check_shapes(request.trace, jobs, request.dispatcher, setup, target)
    warnings += check_reach(request, setup)
    power = _power(platform, unix_start, jobs, given.files)
    warnings += power.warnings if power else ()
    events = _with_groups(request, story.events, part, make_layout(platform).machine)
    return Inputs(
        platform, dispatcher, jobs, request.deadlines or setup.deadlines, request.deadlines is None, target, unix_start,
        skipped, warnings, given, given.record(request), asked, trim, workload.rounding, power, events,
    )  # fmt: skip


def _power(
    platform: Platform, unix_start: int | None, jobs: Sequence[ActualJob], files: InputFiles
) -> PowerTerms | None:  # fmt: skip
    if not platform.has_power_data:
        return None
    from dardis.metrics.power import power_terms

    return power_terms(platform, unix_start, jobs[0].submit, jobs[-1].submit, files)


def _target(request: RunSpec, story: LoadedEvents, given: RunSources, warnings: list[str], last_submit: int) -> Target:
    if request.profile is None:
        return Target()
    platform, setup = story.platform, given.dispatcher.setup
    target = read_profile(request.profile, platform, setup.profile_split, given.files.content)
    if target.switching is not None and story.events:
        found = f"switches nodes, which does not work with events ({request.events})"
        raise InputError(f"--profile {request.profile}", found, "one of the two")
    if target.switching is not None and not setup.switches:
        found = f"switches nodes, which {request.dispatcher} does not obey"
        expected = f"one of {names_of_capable(lambda setup: setup.switches)}, or another profile"
        raise InputError(f"--profile {request.profile}", found, expected)
    desired = target.desired
    if desired is not None:
        given.dispatcher.check_split(desired.split, f"--profile {request.profile}")
        if desired.watts is not None:
            check_power_cap(f"--profile {request.profile}", platform, int(desired.watts.values.min()))
        last = desired.last_breakpoint
        if last is not None and last < last_submit:
            warnings.append(
                f"{request.profile}: the desired profile ends at {last} s, the trace at {last_submit} s; "
                "its last value holds"
            )
        if setup.profile is ProfileRule.OFF:
            warnings.append(f"{request.profile}: read for the metrics only, since profile=off")
        if platform.reservations:
            found = f"and {request.platform} has reservations, which a profile cannot separate"
            raise InputError(f"--profile {request.profile}", found, "one of the two")
    if desired is not None and setup.checks_starts_only:
        warnings.append(f"{request.profile}: {STARTS_ONLY}")
    return target


def check_power_cap(place: str, platform: Platform, least_w: int) -> None:
    """Raise InputError for a power cap that the platform cannot keep, or without power figures."""
    machine = MachinePower.of_platform(platform)
    if not machine.stated:
        expected = "power = { idle_w = …, core_w = … } in each [[nodes]] of the platform"
        raise InputError(place, f"limits power, but {platform.name} states none for some nodes", expected)
    if least_w < machine.idle_w.sum():
        found = f"{least_w} W is below the power of the idle nodes"
        raise InputError(place, found, f"at least {ceil(machine.idle_w.sum())} W")


def _story(request: RunSpec, platform: Platform, given: RunSources, part: Trace) -> LoadedEvents:
    if request.events is None:
        return LoadedEvents(platform, ())
    jobs, first = {*part.number.tolist()}, int(given.trace.submit.min())
    story = load_events(request.events, platform, jobs, first, given.files.content)
    check_failures(request.events, story.events, request.dispatcher, given.dispatcher.setup)
    return story


def check_failures(path: Path | None, events: Sequence[SiteEvent], dispatcher: str, setup: AnySetUp) -> None:
    """Raise InputError for node failures or reservations unsupported by the dispatcher."""
    changes_nodes = any(isinstance(event, NodesDown | NodesUp | ReservationMade) for event in events)
    if changes_nodes and not setup.bears_failures:
        found = f"nodes fail or reservations are made, which {dispatcher} does not support"
        raise InputError(f"--events {path}", found, f"one of {names_of_capable(lambda setup: setup.bears_failures)}")


def _with_groups(
    request: RunSpec, events: Sequence[SiteEvent], part: Trace, machine: Platform
) -> list[SiteEvent]:  # fmt: skip
    found: list[SiteEvent] = []
    for event in events:
        if isinstance(event, JobChanged) and event.job in part.requests:
            what = f"job {event.job} has parts, nodes, contiguous or alternatives"
            raise InputError(f"--events {request.events}", what, "changes only of jobs with equal units")
        if isinstance(event, JobChanged) and event.queue is not None:
            row = part.take(np.flatnonzero(part.number == event.job))
            moved = replace(row, queue=np.array([event.queue], dtype=object))
            found.append(replace(event, groups=int(groups_of(moved, machine)[0])))
        else:
            found.append(event)
    return found


def check_shapes(trace: Path, jobs: Sequence[ActualJob], dispatcher: str, setup: AnySetUp, target: Target) -> None:
    """Raise InputError for job parts, nodes or alternatives unsupported by the dispatcher."""
    shaped = [job.number for job in jobs if job.job.requests]
    if not shaped:
        return
    what = unequal_units_text(shaped[0])
    if not setup.obeys_shapes:
        expected = f"one of {names_of_capable(lambda setup: setup.obeys_shapes)}"
        raise InputError(trace, f"{what}, which {dispatcher} does not obey", expected)
    if setup.expecting not in (None, Expecting.WALLTIME):
        raise InputError(trace, f"{what}, which expected={setup.expecting} does not predict", "expected=walltime")
    if target.desired is not None and setup.profile is not ProfileRule.OFF:
        raise InputError(trace, f"{what}, which do not work with a desired profile", "profile=off, or no --profile")


def _check_hours(request: RunSpec, platform: Platform, first: int) -> None:
    if not any(queue.is_closed_at_times for queue in platform.queues):
        return
    if platform.prime is not None and not 0 <= (platform.prime.unix_start or 0) + first <= LATEST_BEGIN:
        raise InputError(request.trace, "begins in a year without known prime time", "a year from 1970 to 9000")
    for name, starts in platform.hours.items():
        if starts.opens(first) > first + LONGEST_CLOSED_S:
            found = f"queue {name!r} is closed for over a year from the first submission"
            raise InputError(f"{request.platform}: queues", found, "hours in which its jobs may start")


def _walltime_warnings(trace: Path, jobs: Sequence[ActualJob]) -> list[str]:
    told = sum(job.runtime == job.walltime for job in jobs)
    if 2 * told <= len(jobs):
        return []
    why = "as if the trace stated no walltimes: then expected runtimes are exact"
    return [f"{trace}: {told} of {len(jobs)} jobs have their runtimes as walltimes, {why}"]


def check_reach(request: RunSpec, setup: AnySetUp) -> list[str]:
    """Warnings about unused node-reach options. Raises InputError."""
    if not setup.asks_nodes:
        asked = {"--task-managers": request.task_managers - 1, "--arity": request.arity, "--sample": request.sample}
        return [f"{option}: {request.dispatcher} asks no nodes" for option, value in asked.items() if value]
    if request.sample and not setup.samples:
        found = f"{request.sample}, but jobs of {request.dispatcher} ask all nodes"
        raise InputError("--sample", found, f"one of {names_of_capable(lambda setup: setup.samples)}")
    return []


def _on_clock(request: RunSpec, given: RunSources) -> tuple[Platform, int | None]:
    stated, trace = given.platform, given.trace
    unix_start = trace.begins(stated.facility.begins(request.begins))
    platform = stated.on_clock(unix_start, int(trace.submit.min()))
    if platform.needs_calendar:
        needs = "prime time" if not stated.dated else "maintenance by date"
        found = f"{request.trace} states no start date, which {needs} needs"
        expected = "--calendar-start, or the key in a comparison's file: the UTC time of its first submission"
        raise InputError(request.platform, found, expected)
    if stated.dated:
        check_reservations(platform, places_of(f"{request.platform}: reservations", platform))
    return platform, unix_start
