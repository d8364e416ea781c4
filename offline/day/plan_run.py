"""Runs `dardis plan`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from functools import partial
from typing import NamedTuple

from dardis.config.clocks import parse_utc
from dardis.config.node_fields import node_names
from dardis.config.node_states import read_node_states
from dardis.engine.clock import monotonic_s
from dardis.model.errors import InputError
from dardis.model.moments import states_offset
from dardis.model.out_folder import PLAN_FOLDER
from dardis.model.target import Target
from dardis.runs.run_objects import NO_OBJECTS, Objects
from dardis.workload.trace import Trace
from dardis.workload.trace_summary import not_ended
from offline.day.cap_cost import parse_limit, what_if
from offline.day.day import plan_day
from offline.day.hindsight import Hindsight
from offline.day.initial_nodes import InitialNodes, downtime_after_plan, initial_nodes_of
from offline.day.plan_files import notes_of, write_day
from offline.day.plan_spec import DaySpec, PlanSpec
from offline.folder.plan_folder import PlanFolder
from offline.planner.budget import SearchProgress, ignore_progress
from offline.site.calendar import DAY_S, Calendar
from offline.site.current_jobs import PlanningTime, freshness, hour_after, last_event
from offline.site.history import past_of
from offline.site.site_inputs import SiteInputs, load_site


class PlanResult(NamedTuple):
    """Plan, its target and notes."""

    plan: PlanFolder
    target: Target
    notes: tuple[str, ...]


def run_plan(request: PlanSpec, progress: SearchProgress | None, have: Objects = NO_OBJECTS) -> PlanResult:
    """Plan the day and write its folder; objects may replace files. Raises InputError, OSError."""
    begun = monotonic_s()
    wanted = request.wanted_day
    if request.what_if is not None:
        parse_limit(request.what_if, 0)
    with PLAN_FOLDER.lock(request.out, force=request.force):
        site = load_site(request, partial(_moment, request), have)
        number = _number_of(wanted, site.calendar)
        start, now = site.calendar.day(number)[0], site.now
        assert now is not None
        before = [job for job in site.jobs if job.submit < now]
        if not before:
            found = f"no job was submitted before day {number} ({site.calendar.text(now)})"
            option = "--day" if isinstance(wanted, int) else "--date"
            raise InputError(option, found, "a day with history before it")
        site.conditions(number)
        site = replace(site, notes=(*site.notes, *site.price_note(number)))
        stale = freshness(site.trace.submit, now, site.record_begins(now)).stale
        if stale and not (request.accept_stale or request.force):
            raise InputError(
                request.history,
                f"the history is stale: {stale}",
                "a current history, --accept-stale or --force",
            )
        past = past_of(before, site.trace, site.platform, now)
        hindsight = Hindsight(replace(site, jobs=past.jobs), past.schedule, start - now)
        standing, unsaid = _initial_nodes(request, site, start)
        left_s = max(request.time_limit - (monotonic_s() - begun), 0.0)
        limit_s = left_s if request.what_if is None else left_s / 2
        options = request.model_copy(update={"time_limit": limit_s})
        tell = progress or ignore_progress
        day = plan_day(hindsight, number, options, tell, standing=standing)
        limited = None if request.what_if is None else what_if(request.what_if, day, hindsight, options, tell, standing)
        settings = request.record() | request.model_dump(mode="json", by_alias=True, include={*DaySpec.model_fields})
        settings |= {"day": number, "cap": request.cap}
        settings |= {"now": site.calendar.text(now), "stale": stale}
        files = {"state": request.state, "after": request.after, "names": request.names}
        settings |= {key: None if file is None else str(file) for key, file in files.items()}
        with PLAN_FOLDER.replace_files(request.out) as part:
            plan, target = write_day(
                part, site, day, settings, cap=request.cap, what_if=limited, report=not request.no_report
            )
    return PlanResult(plan, target, (*unsaid, *notes_of(replace(site, notes=(past.source, *site.notes)), day)))


def _initial_nodes(request: PlanSpec, site: SiteInputs, start: int) -> tuple[InitialNodes | None, tuple[str, ...]]:
    platform, offset = site.platform, site.calendar.offset
    assert site.now is not None
    standing, notes = None, list[str]()
    names = node_names(platform, request.names)
    if request.state is not None:
        states = read_node_states(request.state, platform, names)
        standing = initial_nodes_of(states, platform, site.now, start)
        notes += states.notes
        if states.unnamed:
            told = f"{request.state} omits {states.unnamed} of {platform.node_count} nodes"
            notes.append(f"{told}, so they count as on")
    if request.after is not None:
        down = downtime_after_plan(request.after, platform, start, offset)
        standing = replace(standing or InitialNodes.all_on(platform.node_count), down=down)
        if request.state is not None:
            notes.append("off nodes come from --after, busy and closed nodes from --state")
    return standing, tuple(notes)


def _number_of(day: int | date, calendar: Calendar) -> int:
    if isinstance(day, int):
        return day
    if not calendar.is_known:
        raise InputError("--date", "the trace states no start date", "--calendar-start, or the day's number")
    return calendar.number_of(int(datetime.combine(day, time(), UTC).timestamp()))


def _moment(request: PlanSpec, trace: Trace, calendar: Calendar) -> PlanningTime:
    start = calendar.day(_number_of(request.wanted_day, calendar))[0]
    counted = not_ended(trace)
    if request.now is not None:
        if not calendar.is_known:
            raise InputError("--now", "the trace states no start date", "--calendar-start too")
        now = calendar.from_unix(parse_utc(request.now, "--now"))
        earliest = calendar.text(start - DAY_S)
        if not start - DAY_S <= now <= start:
            raise InputError("--now", calendar.text(now), f"{earliest} to {calendar.text(start)}")
        notes = [f"--now {request.now} states no offset, so it counts as UTC"] if not states_offset(request.now) else []
    else:
        now, notes = min(hour_after(trace, calendar), start), []
        if now < start - DAY_S:
            now = start
        elif now < start:
            last = calendar.text(last_event(trace))
            notes = [f"without --now, the plan starts from the last event of the history, {last}: {calendar.text(now)}"]
    if counted:
        notes.append(f"jobs of the history at {calendar.text(now)}: {counted}")
    return PlanningTime(now, tuple(notes))
