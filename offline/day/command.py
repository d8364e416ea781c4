"""`dardis plan` from its request to its folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time
from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.folders import PLAN_FOLDER
from dardis.model.job import Actual
from offline.day.day import plan_day
from offline.day.files import write_day
from offline.day.hindsight import Hindsight
from offline.day.options import DayOptions
from offline.folder.plan import Figure
from offline.planner.budget import SearchProgress, tell_nobody
from offline.site.calendar import Calendar
from offline.site.history import recorded, replayed
from offline.site.site import Site, SiteRequest, load_site


@dataclass(frozen=True)
class PlanRequest:
    """The arguments of `dardis plan`."""

    site: SiteRequest
    day: int | date
    """The UTC day by its number, or by its date."""
    out: Path
    options: DayOptions
    cap: bool = False
    force: bool = False
    report: bool = True


def run_plan(request: PlanRequest, progress: SearchProgress | None) -> tuple[dict[str, Figure], tuple[str, ...]]:
    """Plan the day and write its folder; return the summary and notes for people. Raises InputError, OSError."""
    with PLAN_FOLDER.held(request.out, force=request.force):
        site = load_site(request.site)
        number = _number_of(request.day, site.calendar)
        start = site.calendar.day(number)[0]
        before = [job for job in site.jobs if job.submit < start]
        if not before:
            found = f"no job was submitted before day {number} ({site.calendar.text(start)})"
            option = "--day" if isinstance(request.day, int) else "--date"
            raise InputError(option, found, "a day with history before it")
        site.conditions(number)
        hindsight, source = _past(site, before, start)
        day = plan_day(hindsight, number, request.options, progress or tell_nobody)
        settings = request.site.settings() | asdict(request.options) | {"day": number, "cap": request.cap}
        with PLAN_FOLDER.written_together(request.out) as part:
            summary = write_day(part, site, day, settings, cap=request.cap, report=request.report)
    return summary, (*site.notes, source, *day.notes)


def _number_of(day: int | date, calendar: Calendar) -> int:
    """The number of a UTC day. Raises InputError for a date where nobody knows dates."""
    if isinstance(day, int):
        return day
    if not calendar.is_known:
        raise InputError("--date", "the trace does not say when it began", "--calendar-start, or the day's number")
    return calendar.number_of(int(datetime.combine(day, time(), UTC).timestamp()))


def _past(site: Site, before: list[Actual], now: int) -> tuple[Hindsight, str]:
    """The history as the trace recorded it, where this machine can hold it, else as EASY would have it; and which."""
    waits = dict(zip(site.trace.number.tolist(), site.trace.wait.tolist(), strict=True))
    record = recorded(before, waits, site.platform, now)
    if record is not None:
        past, jobs = record
        return Hindsight(replace(site, jobs=jobs), past), "what runs already is as the trace recorded it"
    source = "the trace's own starts are not all known or don't fit the platform: its past is replayed under EASY"
    return Hindsight(site, replayed(before, site.platform)), source
