"""Reads and checks the inputs of planning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from dardis.config.json_records import RunRecord
from dardis.config.platform_file import load_platform
from dardis.config.toml_file import read_json
from dardis.metrics.power import PowerEnvironment, Reader, platform_cooling, tariff_of
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.moments import states_offset, utc_text
from dardis.model.out_folder import RECORDED_FILE
from dardis.model.platform import Facility, Platform
from dardis.model.schedule import Schedule
from dardis.model.series import Series
from dardis.power.conditions import Conditions, Tariff, check_cover
from dardis.power.cooling import Cooling, Plant
from dardis.power.node_power import MachinePower, full_watts
from dardis.runs.run_objects import NO_OBJECTS, Objects
from dardis.workload.trace import UNKNOWN, Trace
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.trace_reader import read_equal_units, require_equal_units
from offline.site.calendar import DAY_S, Calendar, calendar_note, calendar_of
from offline.site.current_jobs import PlanningTime, complete_times
from offline.site.history import job_ends, jobs_that_fit, record_begins, trace_that_fits
from offline.site.site_spec import SiteSpec

PRICE_EXTENSION_S = 7200
"""Market days follow Central Europe: an hour or two before UTC days."""


@dataclass(frozen=True)
class SiteInputs:
    """Machine and its surroundings. `jobs`: the trace's."""

    platform: Platform
    trace: Trace
    jobs: list[ActualJob]
    calendar: Calendar
    around: PowerEnvironment
    cooling: Cooling
    tariff: Tariff
    notes: tuple[str, ...]
    now: int | None = None
    """Time on the trace's clock; None: only ended jobs."""

    def record_begins(self, now: int) -> int:
        """Beginning of the complete record, as known at `now`."""
        trace = self.trace
        return record_begins(trace.submit, job_ends(trace.submit, trace.wait, trace.runtime), now)

    def with_waits(self, past: Schedule) -> Trace:
        """Trace with waits from a schedule."""
        order = np.argsort(past.number)
        number = self.trace.number
        place = order[np.minimum(np.searchsorted(past.number[order], number), len(order) - 1)]
        known = (past.number[place] == number) & past.ran[place]
        return replace(self.trace, wait=np.where(known, past.start[place] - past.submit[place], UNKNOWN))

    def series_ahead(self, first: int, last: int) -> tuple[dict[str, Series], tuple[str, ...]]:
        """Temperature, price and charged CO2 of UTC days (both included), by names in rules.

        Series are on the trace's clock. Constants and (with a note) incomplete files are omitted.
        """
        span = self.calendar.to_unix(self.calendar.day(first)[0]), self.calendar.to_unix(self.calendar.day(last)[1])
        files: dict[str, tuple[str | float | None, Reader]] = {
            "temperature": (self.around.weather, self.around.weather_over),
            "price": (self.around.prices, self.around.prices_over),
        }
        if self.tariff.co2_per_t:
            files["CO2"] = (self.around.carbon, self.around.carbon_over)
        found, notes = {}, []
        for name, (stated, load) in files.items():
            if not isinstance(stated, str):
                continue
            try:
                series = load(Path(stated), span)
                check_cover(stated, series, *span)
            except InputError as error:
                notes.append(f"rules ignore the {name}, since it is unknown for some past days ({error})")
            else:
                found[name] = series.shifted(-self.calendar.offset)
        return found, tuple(notes)

    def price_note(self, day: int) -> tuple[str, ...]:
        """Note if prices end before a UTC day does."""
        if not isinstance(self.around.prices, str):
            return ()
        end = self.calendar.to_unix(self.calendar.day(day)[1])
        known = self.around.known_prices(Path(self.around.prices), (end - DAY_S, end)).end
        return (f"prices end at {utc_text(known)}, so the last one holds until {utc_text(end)}",) if known < end else ()

    def conditions(self, day: int, days: int = 1) -> Conditions:
        """Conditions of UTC days.

        InputError: weather or prices are missing, or cooling is unknown up to full power.
        """
        start, end = self.calendar.day(day)[0], self.calendar.day(day + days - 1)[1]
        found = self.around.over(start, end)
        self.cooling.watts(found.temp_c, full_watts(self.platform))  # a measured plant refuses unknown values
        return found


def _of_clock(stated: str | None, calendar: Calendar) -> str | None:
    if stated is None:
        return None
    day_0 = calendar.text(calendar.day(0)[0])[:10]
    if not states_offset(stated):
        return f"--calendar-start {stated} states no offset, so it counts as UTC and day 0 is {day_0}"
    if not datetime.fromisoformat(stated).utcoffset():
        return None
    return f"--calendar-start {stated} is not UTC: day 0 is {day_0}, from midnight to midnight UTC"


def _unswitched_notes(platform: Platform) -> list[str]:
    notes = []
    for group in platform.groups:
        if group.power is None or group.always_on:
            continue
        takes = group.power.shutdown_s + group.power.boot_s
        if takes >= DAY_S:
            why = f"a shut-down and a boot take {takes} s, a day or more"
        elif group.stays_on:
            why = f"an idle node draws {group.power.idle_w:g} W, an off node {group.power.off_w:g} W"
        else:
            continue
        notes.append(f"plans do not switch nodes {group.prefix}*: {why}")
    return notes


def _boot_time_notes(platform: Platform) -> list[str]:
    groups = [group for group in platform.groups if group.power and not group.stays_on and not group.power.boot_s]
    names = ", ".join(f"{group.prefix}*" for group in groups)
    return [f"the platform has no boot_s for nodes {names}, so they boot immediately"] if groups else []


def _history(request: SiteSpec, made: Trace | None, flop_per_s: float | None, *, not_ended: bool) -> Trace:
    if made is not None:
        return require_equal_units(request.history, made, not_ended=not_ended)
    return read_equal_units(request.history, strict=request.strict, not_ended=not_ended, flop_per_s=flop_per_s)


def _of_service(request: SiteSpec) -> tuple[SiteSpec, int | None]:
    if not request.history.is_dir():
        return request, None
    record = read_json(request.history / "run.json", RunRecord)
    if record.unix_start is None or not (trace := request.history / RECORDED_FILE).exists():
        raise InputError(
            f"--history {request.history}", "is no history of a service", "a folder of dardis history --out"
        )
    if request.calendar_start is not None:
        raise InputError("--calendar-start", "given, and the folder of --history states it", "one of them")
    return request.model_copy(update={"history": trace}), record.unix_start


def _series(request: SiteSpec, facility: Facility) -> tuple[str | float, str | float, str | float | None]:
    weather, prices, carbon = (
        str(stated) if stated else of_platform
        for stated, of_platform in (
            (request.weather, facility.weather), (request.prices, facility.prices), (request.carbon, facility.carbon)
        )
    )  # fmt: skip
    for name, value in (("weather", weather), ("prices", prices)):
        if value is None:
            raise InputError(f"--{name}", "not given, and not stated in the platform", f"--{name} FILE.csv")
    assert weather is not None
    assert prices is not None
    return weather, prices, carbon


def load_site(
    request: SiteSpec, moment_of: Callable[[Trace, Calendar], PlanningTime] | None = None, have: Objects = NO_OBJECTS
) -> SiteInputs:
    """Read all inputs; objects may replace files. Raises InputError.

    `moment_of` gives the current time for unfinished jobs, otherwise omitted.
    """
    platform = have.platform or load_platform(request.platform)
    if platform.reservations:
        raise InputError(f"{request.platform}: reservations", "unsupported in plans", "a machine without reservations")
    facility = platform.facility
    request, unix_start = _of_service(request)
    weather, prices, carbon = _series(request, facility)
    whole = _history(request, have.trace, platform.flop_per_s, not_ended=moment_of is not None)
    stated = facility.begins(request.begins) if unix_start is None else unix_start + int(whole.submit.min())
    calendar, assumed = calendar_of(whole, stated)
    moment = None if moment_of is None else moment_of(whole, calendar)
    if moment is not None:
        whole = complete_times(whole, moment.now)
    platform = platform.on_clock(calendar.offset, calendar.first_submit)
    trace, left_out = trace_that_fits(whole, platform)
    if assumed and (isinstance(weather, str) or isinstance(prices, str)):
        raise InputError("--calendar-start", f"not given, and {assumed}", "the UTC time of its first submission")
    platform = platform.with_partitions(trace.named_partitions)
    workload = to_jobs(trace, platform)
    clock = _of_clock(request.calendar_start, calendar)
    notes = [*workload.notes, *(note for note in (assumed, clock, calendar_note(whole, calendar), left_out) if note)]
    if homeless := len(workload.jobs) - len(jobs_that_fit(workload.jobs, platform)):
        notes.append(
            f"left out: {homeless:,} jobs whose units do not fit the empty nodes of {platform.name}: "
            "platform and trace should count the same cores"
        )
    if moment is not None:
        notes += moment.notes
    notes += [f"{request.history}: {note}" for note in whole.notes]
    if not MachinePower.of_platform(platform).stated:
        notes.append(
            f"platform {platform.name} states no power figures for some of its nodes; they use the thesis's "
            "(9.455 W per busy core, no idle power)"
        )
    if not platform.states_income:
        earns = f"{platform.income_per_core_h:g} {platform.currency}"
        notes.append(f"no income of a core-hour is stated (income_eur_per_core_h): {earns}, as in the thesis")
    notes += [*_unswitched_notes(platform), *_boot_time_notes(platform)]
    cooling = platform_cooling(platform, request.cooling)
    if cooling is None:
        notes.append("no cooling is stated, so an air-cooled plant of the machine's size counts")
        cooling = platform_cooling(platform, Plant.AIR)
    assert cooling is not None
    if whole.skipped:
        notes.append(f"{request.history}: {len(whole.skipped)} lines without a valid job")
    held_s = 0 if moment is None else PRICE_EXTENSION_S
    around = PowerEnvironment(weather, prices, carbon, calendar.offset, platform.money, held_s)
    return SiteInputs(
        platform, trace, workload.jobs, calendar, around, cooling, tariff_of(facility, calendar.offset), tuple(notes),
        None if moment is None else moment.now,
    )  # fmt: skip
