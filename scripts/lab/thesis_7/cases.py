"""What is run: three workloads cut from one trace, one machine, and eight scenarios of plant, season and prices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Final

from dardis.config.clocks import parse_utc
from dardis.metrics.power import Surroundings, platform_cooling
from offline.site.calendar import Calendar
from offline.site.site_inputs import Site, load_site
from offline.site.site_spec import SiteSpec
from scripts.lab.kit import thesis
from scripts.lab.kit.command import convert
from scripts.lab.kit.thesis import FLAT_PRICE, PARTITION, SUMMER, WINTER, Season

TRACE: Final = f"traces/{thesis.TRACE}"
WEATHER: Final = "weather/frankfurt-2023-utc.csv"
PRICES: Final = "prices/DE-LU-2023-utc.csv"
ASSUMED_DAYS: Final = 90
"""So many days of assumed weather are written: more than any schedule takes."""

# Weather and prices are numbers here, so that no rule is learned from them: each schedule serves all scenarios.
_PLATFORM: Final = f"""\
name = "curie-fat"
income_eur_per_core_h = 0.013
cooling = "air"
weather = 14.0
prices = {FLAT_PRICE}
[[nodes]]
count = 300
prefix = "fat"
resources = {{ cores = 32, memory = "128GiB" }}
power = {{ idle_w = 100, core_w = 6.33, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }}
"""


@dataclass(frozen=True)
class Workload:
    """One load: how it is cut from the trace, what the thesis has in its place, and what is aimed at."""

    name: str
    options: tuple[str, ...]
    theirs: str
    share_of_bound: float
    delayed_share: float


WORKLOADS: Final = (
    Workload("low", ("--thin", "0.3291", "--load", "0.8833"), "3,207 jobs in 30 days", 0.90, 0.15),
    Workload("medium", (), "8,125 jobs in 30 days", 0.90, 0.10),
    Workload("high", ("--load", "1.27"), "10,892 jobs in 23 days", 0.85, 0.10),
)


@dataclass(frozen=True)
class Scenario:
    """A plant in a season, with the assumed day at a flat price or with real weather and prices."""

    plant: str
    season: Season
    real: bool

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.plant} {self.season.name}{', real' if self.real else ''}"


SCENARIOS: Final = tuple(
    Scenario(plant, season, real) for real, plant, season in product((False, True), ("air", "hybrid"), (SUMMER, WINTER))
)


@dataclass(frozen=True)
class Files:
    """Where everything is read from and written to."""

    data: Path
    out: Path

    def trace(self, workload: Workload) -> Path:
        """The trace of a workload."""
        return self.out / f"{workload.name}.swf"

    @property
    def platform(self) -> Path:
        """The machine."""
        return self.out / "platform.toml"

    def weather(self, scenario: Scenario) -> Path:
        """The weather of a scenario."""
        return self.data / WEATHER if scenario.real else self.out / f"weather-{scenario.season.name}.csv"

    def prices(self, scenario: Scenario) -> str | float:
        """The prices of a scenario."""
        return str(self.data / PRICES) if scenario.real else FLAT_PRICE


def prepare(files: Files, workloads: tuple[Workload, ...]) -> None:
    """Write traces, the machine and the assumed days."""
    files.platform.write_text(_PLATFORM, encoding="utf-8")
    for season in (SUMMER, WINTER):
        first = datetime.fromtimestamp(parse_utc(season.start), UTC)
        hours = (first + timedelta(hours=hour) for hour in range(24 * ASSUMED_DAYS))
        rows = [f"{moment:%Y-%m-%dT%H:%MZ},{season.assumed_c(moment.hour):.4f}" for moment in hours]
        path = files.weather(Scenario("air", season, real=False))
        path.write_text("\n".join(["start_utc,temp_c", *rows]) + "\n", encoding="utf-8")
    for workload in workloads:
        convert(files.data / TRACE, files.trace(workload), "--partition", PARTITION, *workload.options)


def site_of(files: Files, workload: Workload) -> Site:
    """The machine with a workload, in no scenario yet; its day 0 begins with its first submission."""
    return load_site(SiteSpec(history=files.trace(workload), platform=files.platform, calendar_start=SUMMER.start))


def in_scenario(site: Site, files: Files, scenario: Scenario) -> Site:
    """The same machine and jobs in a scenario."""
    calendar = Calendar(site.calendar.first_submit, parse_utc(scenario.season.start))
    around = Surroundings(str(files.weather(scenario)), files.prices(scenario), None, calendar.offset)
    cooling = platform_cooling(site.platform, scenario.plant)
    assert cooling is not None
    return replace(site, calendar=calendar, around=around, cooling=cooling)


def counted_days(site: Site) -> tuple[int, int]:
    """The days that are rolled over: all with submissions but the first, before which nothing is known."""
    return 1, site.calendar.day_of(site.jobs[-1].submit)
