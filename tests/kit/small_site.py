"""A small machine with ten made-up days of jobs, weather and prices: the files that `dardis plan` and `hybrid` read."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from dardis.cli.main import run
from offline.day import hindsight
from offline.extract import spares
from offline.planner import day_planner as planning
from offline.site.site_inputs import SiteInputs, load_site
from offline.site.site_spec import SiteSpec

START = "2023-07-03T00:00Z"
START_UNIX = 1_688_342_400
"""When the first job is submitted, at time 0 of the trace."""
DAYS, DAY_S, HOUR_S = 10, 86_400, 3_600
NODES, CORES = 10, 8
PLATFORM = """name = "small"
income_eur_per_core_h = 0.013
cooling = "air"
[[nodes]]
count = 10
prefix = "n"
resources = { cores = 8 }
"""
POWER = "power = { idle_w = 100, core_w = 6.33, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }\n"  # noqa: E501

_NODE_HOURS = spares._NODE_HOURS
FILES = ("profile.csv", "target.json", "onoff.csv", "schedule.csv")
"""What a plan hands on."""


@dataclass(frozen=True)
class Row:
    """A job of the trace; times in s."""

    number: int
    submit: int
    runtime: int
    cores: int
    walltime: int
    user: int
    wait: int = -1
    """-1: not recorded."""

    def line(self) -> str:
        """As SWF has it; a walltime of -1 is unknown."""
        return (
            f"{self.number} {self.submit} {self.wait} {self.runtime} {self.cores} -1 -1 {self.cores} "
            f"{self.walltime} -1 1 {self.user} 1 -1 1 1 -1 -1"
        )


def made_up_rows(seed: int = 1, days: int = DAYS) -> list[Row]:
    """Some forty jobs a day, most of them by day, from time 0 on; users' jobs are alike, and less than they ask for."""
    rng = np.random.default_rng(seed)
    by_hour = np.array([1, 1, 1, 1, 1, 1, 2, 3, 5, 6, 6, 5, 4, 5, 6, 6, 5, 4, 3, 3, 2, 2, 1, 1], dtype=float)
    submits = [0]
    for day in range(days):
        hours = rng.choice(24, int(rng.integers(32, 48)), p=by_hour / by_hour.sum())
        submits += (day * DAY_S + hours * HOUR_S + rng.integers(1, HOUR_S, len(hours))).tolist()
    rows = []
    for number, submit in enumerate(sorted(submits), start=1):
        user = int(rng.integers(1, 6))
        runtime = int(np.clip(np.exp(rng.normal(6.0 + 0.5 * user, 1.0)), 30, 10 * HOUR_S))
        walltime = int(runtime * rng.uniform(1.1, 4.0)) + 60
        rows.append(Row(number, submit, runtime, int(min(2 ** rng.integers(0, 6), 40)), walltime, user))
    return rows


def crowded_rows(seed: int = 3) -> list[Row]:
    """Wider jobs, so that some wait at any midnight."""
    return [
        replace(row, cores=min(2 * row.cores, NODES * CORES), runtime=2 * row.runtime, walltime=3 * row.walltime)
        for row in made_up_rows(seed)
    ]


def swf(rows: list[Row]) -> str:
    """The trace."""
    return "".join(row.line() + "\n" for row in rows)


def other_future(rows: list[Row], now: int, unfinished: set[int]) -> list[Row]:
    """Other jobs from `now` on, and longer runs of `unfinished` ones: jobs submitted by `now` that have not ended."""
    past = [
        replace(row, runtime=row.runtime + 7_777, walltime=-1 if row.walltime < 0 else max(row.walltime, row.runtime))
        if row.number in unfinished
        else row
        for row in rows
        if row.submit < now
    ]
    later = [
        Row(row.number + 5_000, row.submit + 777, 2 * row.runtime, NODES * CORES, 3 * row.walltime, 6, row.wait)
        for row in rows
        if row.submit >= now
    ]
    return [*past, *later[::2]]


def hourly(values: list[float]) -> list[tuple[str, float]]:
    """(UTC, value) for every hour from a day before the start on."""
    begin = np.datetime64(START_UNIX, "s")
    return [(str(begin + np.timedelta64(hour - 24, "h")) + "Z", float(value)) for hour, value in enumerate(values)]


def table(column: str, rows: list[tuple[str, float]]) -> str:
    """A CSV of the project's own form."""
    return f"start_utc,{column}\n" + "".join(f"{when},{value}\n" for when, value in rows)


def weather(hours: int = 24 * (DAYS + 6)) -> str:
    """Warm afternoons, from the day before the start on."""
    hour = np.arange(hours)
    return table("temp_c", hourly(np.round(19 - 6 * np.cos((hour - 3) / 12 * np.pi), 2).tolist()))


def prices(hours: int = 24 * (DAYS + 6)) -> str:
    """Two peaks a day; every third noon somebody pays for using energy."""
    hour = np.arange(hours)
    price = np.interp(hour % 24, [0, 4, 8, 13, 19, 23], [0.10, 0.08, 0.24, 0.06, 0.30, 0.12])
    price = np.where((hour // 24 % 3 == 0) & (hour % 24 == 13), -0.05, price)
    return table("price_eur_per_kwh", hourly(np.round(price, 4).tolist()))


def write_site(folder: Path, *, power: str = POWER) -> Path:
    """Write trace.swf, small.toml, weather.csv and prices.csv."""
    (folder / "trace.swf").write_text(swf(made_up_rows()))
    (folder / "small.toml").write_text(PLATFORM + power)
    (folder / "weather.csv").write_text(weather())
    (folder / "prices.csv").write_text(prices())
    return folder


def loaded(folder: Path, **options: object) -> SiteInputs:
    """The site that these files say, day 0 as `START` says."""
    return load_site(SiteSpec(**files_of(folder) | {"calendar_start": START} | options))


def files_of(folder: Path) -> dict[str, Path]:
    """The files of the site by what they are to a plan."""
    names = {"history": "trace.swf", "platform": "small.toml", "weather": "weather.csv", "prices": "prices.csv"}
    return {what: folder / name for what, name in names.items()}


def arguments(command: str, site: Path, out: Path, **options: object) -> list[str]:
    """What to say to `dardis`: the site's files with other ones in their places; None or False leave an option out."""
    said: dict[str, object] = {
        "history": site / "trace.swf", "platform": site / "small.toml", "weather": site / "weather.csv",
        "prices": site / "prices.csv", "calendar_start": START, "out": out, "time_limit": 600,
    } | options  # fmt: skip
    words = [command]
    for name, value in said.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def called(command: str, site: Path, out: Path, *, polishes: int = 0, **options: object) -> int:
    """Exit status of the command, which is run here and searches little."""
    with pytest.MonkeyPatch.context() as patch:
        search_less(patch, polishes)
        return run(arguments(command, site, out, **options))


def simulated(site: Path, out: Path, *more: object, platform: Path | None = None) -> int:
    """Exit status of `dardis simulate` of the trace, which is run here."""
    words = ["simulate", site / "trace.swf", "--platform", platform or site / "small.toml", "--out", out, *more]
    return run([*map(str, words), "--no-report"])


def search_less(patch: pytest.MonkeyPatch, polishes: int = 0) -> None:
    """Shorten the searches, for what does not depend on how good plans are."""
    patch.setattr(planning, "GROUPS", 100)
    patch.setattr(planning, "POLISHES", polishes)
    patch.setattr(hindsight, "MOST_DAYS", 5)
    patch.setattr(spares, "_NODE_HOURS", _NODE_HOURS[::3])


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def summary_of(out: Path) -> dict[str, object]:
    """What summary.json holds."""
    return json.loads((out / "summary.json").read_text())
