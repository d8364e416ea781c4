"""`dardis plan` and `dardis hybrid` from their requests to their folders."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dardis import __version__
from dardis.engine.clock import utc_now
from dardis.model.errors import InputError
from dardis.model.folders import LOOP_FOLDER, PLAN_FOLDER
from dardis.model.job import Job
from offline.day import DayOptions, plan_day
from offline.folder.plan import Figure
from offline.history import recorded, replayed
from offline.hybrid import LoopOptions, run_loop
from offline.lessons import Lessons
from offline.loop_files import write_loop
from offline.plan_files import write_day
from offline.planner.budget import Progress, tell_nobody
from offline.site import Site, SiteRequest, load_site


@dataclass(frozen=True)
class PlanRequest:
    """The arguments of `dardis plan`."""

    site: SiteRequest
    day: int
    out: Path
    options: DayOptions
    cap: bool = False
    force: bool = False
    report: bool = True


def run_plan(request: PlanRequest, progress: Progress | None) -> tuple[dict[str, Figure], tuple[str, ...]]:
    """Plan the day and write its folder; return the summary and notes for people. Raises InputError, OSError."""
    with PLAN_FOLDER.held(request.out, force=request.force):
        site = load_site(request.site)
        start = site.calendar.day(request.day)[0]
        before = [job for job in site.jobs if job.submit < start]
        if not before:
            found = f"no job was submitted before day {request.day} ({site.calendar.text(start)})"
            raise InputError("--day", found, "a day with history before it")
        site.conditions(request.day)
        lessons, source = _past(site, before, start)
        day = plan_day(lessons, request.day, request.options, progress or tell_nobody)
        settings = _settings(request.site) | asdict(request.options) | {"day": request.day, "cap": request.cap}
        with PLAN_FOLDER.written_together(request.out) as part:
            summary = write_day(part, site, day, settings, cap=request.cap, report=request.report)
    return summary, (*site.notes, source, *day.notes)


def _past(site: Site, before: list[Job], now: int) -> tuple[Lessons, str]:
    """The history as the trace recorded it, where this machine can hold it, else as EASY would have it; and which."""
    waits = dict(zip(site.trace.number.tolist(), site.trace.wait.tolist(), strict=True))
    record = recorded(before, waits, site.platform, now)
    if record is not None:
        past, jobs = record
        return Lessons(replace(site, jobs=jobs), past), "what runs already is as the trace recorded it"
    source = "the trace's own starts are not all known or don't fit the platform: its past is replayed under EASY"
    return Lessons(site, replayed(before, site.platform)), source


@dataclass(frozen=True)
class LoopRequest:
    """The arguments of `dardis hybrid`."""

    site: SiteRequest
    out: Path
    options: LoopOptions
    force: bool = False
    report: bool = True


def run_hybrid(request: LoopRequest, progress: Progress | None) -> dict[str, Figure]:
    """Live through the days and write the folder; return the summary. Raises InputError, OSError."""
    with LOOP_FOLDER.held(request.out, force=request.force):
        site = load_site(request.site)
        settings = _settings(request.site) | asdict(request.options)
        loop = run_loop(site, request.options, progress or tell_nobody)
        with LOOP_FOLDER.written_together(request.out) as part:
            return write_loop(part, loop, settings, report=request.report)


def _settings(site: SiteRequest) -> dict[str, Any]:
    """What a folder was made of."""
    asked = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(site).items()}
    return asked | {"dardis_version": __version__, "made_utc": utc_now()}
