"""Daily and weekly pages of a shadow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ConfigDict

from dardis.config.node_fields import node_names
from dardis.config.platform_file import load_platform
from dardis.config.site_file import import_platform
from dardis.config.toml_file import Table, read_json
from dardis.model.errors import InputError
from dardis.model.files import write_json, write_text
from dardis.model.moments import parse_utc, utc_text
from dardis.model.platform import Platform
from dardis.report.shadow_page import draw_shadow
from dardis.slurm.shadow_folder import ShadowFolder
from dardis.workload.recorded_nodes import places_of
from dardis.workload.sacct import parse_sacct
from dardis.workload.trace import Trace
from offline.shadow.day_figures import SpanFigures, mean_figures
from offline.shadow.shadow_day import DAY_S, REAL, WARM_UP_DAYS, RecordedJobs, ShadowDay, shadow_day
from offline.shadow.start_accuracy import start_accuracy

WEEK_DAYS: Final = 7
PLATFORM: Final = "platform.toml"


class DayFile(Table):
    """`day-DATE.json`."""

    model_config = ConfigDict(extra="ignore")

    date_utc: str
    figures: dict[str, SpanFigures]
    currency: str


@dataclass(frozen=True)
class PageInputs:
    """What pages compare; `plan` is the folder of a plan of the day."""

    platform: Path | None = None
    names: Path | None = None
    dispatchers: Sequence[str] = ()
    plan: Path | None = None


def write_day(folder: ShadowFolder, day: int, inputs: PageInputs, now: int) -> Path:
    """Write page and figures of the UTC day that begins at `day`; return the page. Raises InputError."""
    platform, names = _machine(folder, inputs)
    text = folder.record_text(day - (WARM_UP_DAYS + 1) * DAY_S)
    trace = parse_sacct(folder.path, text, strict=False)
    numbers = {name: node for node, name in enumerate(names)}
    places = {
        job: [numbers[name] for name in named if name in numbers] for job, named in places_of(folder.path, text).items()
    }
    found = shadow_day(RecordedJobs(folder.path, trace, places, now), platform, day, inputs.dispatchers, inputs.plan)
    accuracy = start_accuracy(folder.logged(day), _starts(trace))
    date = utc_text(day)[:10]
    content = found.as_dict | {"currency": platform.currency, "starts": vars(accuracy)}
    write_json(folder.path / f"day-{date}.json", content)
    path = folder.path / f"day-{date}.html"
    draw_shadow(
        path, title=f"{date} on {platform.name}", lead=f"The real day beside the same jobs. {platform.describe()}",
        first=[_summary(found), accuracy.line, *_promise_lines(found)], notes=found.notes,
        schedulers={name: one.as_dict for name, one in found.figures.items()}, days=(), currency=platform.currency,
    )  # fmt: skip
    return path


def write_week(folder: ShadowFolder, last: int, inputs: PageInputs) -> Path:
    """Write the page of the seven UTC days that end with `last`; return it. Days without figures are named."""
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
        path, title=f"{dates[0]} to {dates[-1]} on {platform.name}", lead=platform.describe(),
        first=[_weekly_line(name, means) for name in shared if name != REAL],
        notes=[f"no figures of {', '.join(missing)}"] if missing else [],
        schedulers={name: one.as_dict for name, one in means.items()},
        days=[(date, {name: one.as_dict for name, one in day.figures.items()}) for date, day in days.items()],
        currency=platform.currency,
    )  # fmt: skip
    return path


def _machine(folder: ShadowFolder, inputs: PageInputs) -> tuple[Platform, list[str]]:
    """Platform and names of nodes in Slurm; without a file the platform is made from the nodes, and kept."""
    path = inputs.platform or folder.path / PLATFORM
    if inputs.platform is None and not path.exists():
        nodes = folder.path / "nodes.txt"
        if not nodes.exists():
            raise InputError(folder.path, "has no nodes of Slurm yet", "the folder of a running dardis shadow")
        write_text(path, import_platform(nodes).text)
    platform = load_platform(path)
    return platform, node_names(platform, inputs.names)


def _starts(trace: Trace) -> Mapping[int, list[int]]:
    starts: dict[int, list[int]] = {}
    began = trace.wait >= 0
    times = (trace.submit + trace.wait)[began]
    for number, start in sorted(zip(trace.number[began].tolist(), times.tolist(), strict=True)):
        starts.setdefault(number, []).append(start)
    return starts


def _summary(found: ShadowDay) -> str:
    real = found.figures[REAL]
    told = [f"{real.jobs:,} jobs submitted on this day started"]
    if real.mean_wait_s is not None:
        told.append(f"they waited {real.mean_wait_s / 3600:.2f} h on average")
    told.append(f"{real.idle_nodes:,.1f} nodes could have been off on average")
    if real.avoidable_kwh is not None and real.energy_kwh:
        told.append(f"which would have saved {real.avoidable_kwh:,.0f} of {real.energy_kwh:,.0f} kWh")
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
    told = [name]
    if real.mean_wait_s is not None and ours.mean_wait_s is not None:
        told.append(f"mean wait {ours.mean_wait_s / 3600:.2f} h instead of {real.mean_wait_s / 3600:.2f} h")
    if real.energy_kwh is not None and ours.energy_kwh is not None and ours.avoidable_kwh is not None:
        saved = real.energy_kwh - (ours.energy_kwh - ours.avoidable_kwh)
        told.append(f"{saved:,.0f} kWh less with idle nodes off")
    return ": ".join([told[0], ", ".join(told[1:])]) + "."


def day_of(text: str, option: str) -> int:
    """Begin of a UTC date, Unix s. Raises InputError."""
    try:
        moment = parse_utc(text)
    except (ValueError, OverflowError):
        moment = -1
    if moment < 0 or moment % DAY_S:
        raise InputError(option, repr(text), "a UTC date such as 2026-11-29")
    return moment
