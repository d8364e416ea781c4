"""Daily and weekly pages of a shadow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ConfigDict

from dardis.config.node_fields import node_names
from dardis.config.platform_file import load_platform
from dardis.config.toml_file import Table, read_json
from dardis.model.errors import InputError
from dardis.model.files import write_json
from dardis.model.moments import parse_utc, utc_text
from dardis.model.platform import Platform
from dardis.report.shadow_page import draw_shadow
from dardis.report.words import duration, energy
from dardis.slurm.expected_starts import learned_number
from dardis.slurm.shadow_folder import ShadowFolder
from dardis.slurm.slurm_job import SlurmJob, recorded_jobs
from dardis.workload.recorded_nodes import places_of
from dardis.workload.sacct import parse_sacct
from offline.shadow.day_figures import SpanFigures, mean_figures
from offline.shadow.shadow_day import REAL, WARM_UP_DAYS, ClusterRecord, ShadowDay, shadow_day
from offline.shadow.start_accuracy import start_accuracy
from offline.site.calendar import DAY_S

WEEK_DAYS: Final = 7


class DayFile(Table):
    """`day-DATE.json`."""

    model_config = ConfigDict(extra="ignore")

    date_utc: str
    figures: dict[str, SpanFigures]
    currency: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageInputs:
    """What pages compare; `plan` is the folder of a plan of the day."""

    platform: Path | None = None
    names: Path | None = None
    dispatchers: Sequence[str] = ()
    plan: Path | None = None


def write_day(folder: ShadowFolder, day: int, inputs: PageInputs, now: int) -> Path:
    """Write page and figures of the UTC day from `day` on. Raises InputError."""
    platform, names = _machine(folder, inputs)
    text = folder.record_text(day - (WARM_UP_DAYS + 1) * DAY_S)
    trace = parse_sacct(folder.path, text, strict=False)
    numbers = {name: node for node, name in enumerate(names)}
    places = {
        job: [numbers[name] for name in named if name in numbers] for job, named in places_of(folder.path, text).items()
    }
    found = shadow_day(ClusterRecord(folder.path, trace, places, now), platform, day, inputs.dispatchers, inputs.plan)
    accuracy = start_accuracy(folder.logged(day), _starts(recorded_jobs(folder.path, text).jobs))
    date = utc_text(day)[:10]
    content = found.as_dict | {"currency": platform.currency, "starts": vars(accuracy)}
    write_json(folder.path / f"day-{date}.json", content)
    path = folder.path / f"day-{date}.html"
    draw_shadow(
        path, title=f"{date} beside other schedulers", lead=platform.describe(),
        first=[_summary(found), accuracy.line, *_promise_lines(found)], notes=found.notes,
        schedulers={name: one.as_dict for name, one in found.figures.items()}, days=(), currency=platform.currency,
    )  # fmt: skip
    return path


def write_week(folder: ShadowFolder, last: int, inputs: PageInputs) -> Path:
    """Write the page of the seven UTC days up to `last`. Days without figures are named."""
    platform, _ = _machine(folder, inputs)
    dates = [utc_text(last - back * DAY_S)[:10] for back in range(WEEK_DAYS)][::-1]
    files = {date: folder.path / f"day-{date}.json" for date in dates}
    days = {date: read_json(path, DayFile) for date, path in files.items() if path.exists()}
    if not days:
        raise InputError(folder.path, f"no figures of {dates[0]} to {dates[-1]}", "days written by --day")
    shared = [name for name in days[next(iter(days))].figures if all(name in day.figures for day in days.values())]
    means = {name: mean_figures([day.figures[name] for day in days.values()]) for name in shared}
    path = folder.path / f"week-{dates[-1]}.html"
    missing = [date for date in dates if date not in days]
    draw_shadow(
        path, title=f"{dates[0]} to {dates[-1]} beside other schedulers", lead=platform.describe(),
        first=[_weekly_line(name, means) for name in shared if name != REAL],
        notes=[
            *([f"no figures of {', '.join(missing)}"] if missing else []),
            *(f"{date}: {note}" for date, day in days.items() for note in day.notes),
        ],
        schedulers={name: one.as_dict for name, one in means.items()},
        days=[(date, {name: one.as_dict for name, one in day.figures.items()}) for date, day in days.items()],
        currency=platform.currency,
    )  # fmt: skip
    return path


def _machine(folder: ShadowFolder, inputs: PageInputs) -> tuple[Platform, list[str]]:
    path = inputs.platform or folder.platform
    if inputs.platform is None and not path.exists():
        raise InputError(folder.path, "has no platform yet", "the folder of a running dardis shadow")
    platform = load_platform(path)
    own = folder.names if inputs.platform is None or inputs.platform.resolve() == folder.platform.resolve() else None
    return platform, node_names(platform, inputs.names or own)


def _starts(jobs: Iterable[SlurmJob]) -> Mapping[int, list[int]]:
    starts: dict[int, list[int]] = {}
    for job in jobs:
        if job.start is not None:
            starts.setdefault(learned_number(job), []).append(job.start)
    return {number: sorted(times) for number, times in starts.items()}


def _summary(found: ShadowDay) -> str:
    real = found.figures[REAL]
    told = [f"{real.jobs:,} jobs submitted on this day started"]
    if real.mean_wait_s is not None:
        told.append(f"they waited {duration(real.mean_wait_s)} on average")
    told.append(f"{real.idle_nodes:,.1f} nodes could have been off on average")
    if real.avoidable_kwh is not None and real.energy_kwh:
        told.append(f"which would have saved {energy(real.avoidable_kwh)} of {energy(real.energy_kwh)}")
    return "; ".join(told) + "."


def _promise_lines(found: ShadowDay) -> list[str]:
    if (promise := found.promise) is None:
        return []
    expected = "an unknown gain" if promise.gain is None else f"a gain of {promise.gain:,.2f} {promise.currency}"
    if promise.low is not None and promise.high is not None:
        expected += f" ({promise.low:,.2f} to {promise.high:,.2f} on eight of ten days)"
    result = "is unknown" if promise.result is None else f"is {promise.result:,.2f} {promise.currency}"
    return [f"The plan promised {expected}; the gain of {promise.dispatcher} with the plan over without {result}."]


def _weekly_line(name: str, means: Mapping[str, SpanFigures]) -> str:
    real, ours = means[REAL], means[name]
    told = []
    if real.mean_wait_s is not None and ours.mean_wait_s is not None:
        told.append(f"mean wait {duration(ours.mean_wait_s)} instead of {duration(real.mean_wait_s)}")
    if (off := ours.switched_kwh) is not None and (before := real.switched_kwh) is not None:
        told.append(f"{energy(off)} with idle nodes off instead of {energy(before)}")
    return f"{name}: {'; '.join(told)}."


def day_of(text: str, option: str) -> int:
    """Begin of a UTC date, Unix s. Raises InputError."""
    try:
        moment = parse_utc(text)
    except (ValueError, OverflowError):
        moment = -1
    if moment < 0 or moment % DAY_S:
        raise InputError(option, repr(text), "a UTC date such as 2026-11-29")
    return moment
