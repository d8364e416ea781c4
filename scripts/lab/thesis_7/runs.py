"""Simulates three workloads of one trace under each dispatcher and switching once, and keeps what came of it.

Each is accounted for in eight scenarios of plant, season and prices. A run that is there is not done again, unless its
jobs, machine, settings, switching or the simulator have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.clocks import parse_utc
from dardis.metrics.audit import audit
from dardis.metrics.power import PowerEnvironment, platform_cooling
from dardis.model.arrays import Ints
from dardis.model.job import ActualJob
from dardis.model.schedule import Downtime, Schedule
from dardis.model.target import Switching, Target
from dardis.registry import CENTRAL, Dispatcher, find_dispatcher
from dardis.runs.kernel_warmup import warm_kernels
from dardis.runs.play import play
from offline.day.hours_before import MachineHistory
from offline.day.idle_reserve import reactive_switching, reserve_of_day, thesis_switching, thesis_target
from offline.day.plan_spec import Reactive
from offline.loop.loop import join_switching
from offline.loop.shift import shift_jobs
from offline.onoff.reserve_replay import demands_of
from offline.planner.searches import rule_setups
from offline.site.calendar import Calendar
from offline.site.site_inputs import SiteInputs, load_site
from offline.site.site_spec import SiteSpec
from scripts.lab.kit import thesis
from scripts.lab.kit.cache import arrays_of, cached_arrays, code_version, fingerprint, placements_of, read_arrays
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


def site_of(files: Files, workload: Workload) -> SiteInputs:
    """The machine with a workload, in no scenario yet; its day 0 begins with its first submission."""
    return load_site(SiteSpec(history=files.trace(workload), platform=files.platform, calendar_start=SUMMER.start))


def in_scenario(site: SiteInputs, files: Files, scenario: Scenario) -> SiteInputs:
    """The same machine and jobs in a scenario."""
    calendar = Calendar(site.calendar.first_submit, parse_utc(scenario.season.start))
    around = PowerEnvironment(str(files.weather(scenario)), files.prices(scenario), None, calendar.offset)
    cooling = platform_cooling(site.platform, scenario.plant)
    assert cooling is not None
    return replace(site, calendar=calendar, around=around, cooling=cooling)


def counted_days(site: SiteInputs) -> tuple[int, int]:
    """The days that are rolled over: all with submissions but the first, before which nothing is known."""
    return 1, site.calendar.day_of(site.jobs[-1].submit)


SEED: Final = 1
SHIFT_H: Final = 12
THROUGHPUT, SAME_NODES, LATE, OPPONENTS = "throughput", "throughput, same nodes", "late", "opponents"
DISPATCHERS: Final = {
    THROUGHPUT: ("dardis-throughput", ("backfill_scope=all-nodes",)),
    SAME_NODES: ("dardis-throughput", ("backfill_scope=same-nodes",)),
    LATE: ("dardis-late", ()),
}
SHIFTED: Final = (LATE,)
"""Dispatchers with which time shifting is tried; throughput would take minutes a run with what it must plan again."""
ALL_ON, OFFSET_70, OFFSET_50, SPARES = "all nodes on", "70 %", "50 %", "learned spares"
BREAK_EVEN_S: Final = 337
"""Of the machine's nodes."""
RIVALS: Final = {
    str(rule): rule
    for rule in (Reactive(900), *(Reactive(BREAK_EVEN_S, spares) for spares in (0, 1, 3, 5, 10, 20, 30)))
}
"""Rules that look at nothing but idle nodes, as `dardis hybrid --switching` takes them."""
TEN: Final = str(Reactive(BREAK_EVEN_S, 10))
BESIDE_RIVALS: Final = (THROUGHPUT, LATE)
"""Dispatchers with which they are tried."""
EASY: Final = "easy"


@dataclass(frozen=True)
class Run:
    """What came of a run; `boot_delay` (jobs,) in s, `decision_ns` (decisions,)."""

    schedule: Schedule
    downtime: Downtime
    boot_delay: Ints
    decision_ns: Ints


Runs = dict[tuple[str, str], Run]
"""By dispatcher and switching; the opponents' second name is their own."""


@dataclass(frozen=True)
class RunRequest:
    """One run that is asked for."""

    key: tuple[str, str]
    dispatcher: Dispatcher
    jobs: Sequence[ActualJob]
    switching: Switching | None = None


def switchings(family: str) -> tuple[str, ...]:
    """How nodes are switched in the runs of a dispatcher."""
    return (ALL_ON, OFFSET_70, OFFSET_50, *(RIVALS if family in BESIDE_RIVALS else ()), SPARES)


def simulate(files: Files, workload: Workload, family: str) -> list[tuple[tuple[str, str], Path]]:
    """Do the runs of a family (a dispatcher, or the opponents) that are missing; return where each lies."""
    site = site_of(files, workload)
    folder = files.out / "runs" / workload.name
    folder.mkdir(parents=True, exist_ok=True)
    kept = _opponents(site, folder) if family == OPPONENTS else _switched(files, site, folder, family)
    return list(kept)


def _opponents(site: SiteInputs, folder: Path) -> Iterator[tuple[tuple[str, str], Path]]:
    rules = {name: Dispatcher(name, setup, CENTRAL) for name, setup in rule_setups().items()}
    for name, dispatcher in (rules | {EASY: find_dispatcher(EASY)}).items():
        yield (OPPONENTS, name), _kept(site, RunRequest((OPPONENTS, name), dispatcher, site.jobs), folder)


def _switched(files: Files, site: SiteInputs, folder: Path, family: str) -> Iterator[tuple[tuple[str, str], Path]]:
    dispatcher = find_dispatcher(*DISPATCHERS[family])
    path = _kept(site, RunRequest((family, ALL_ON), dispatcher, site.jobs), folder)
    yield (family, ALL_ON), path
    past = load(path).schedule
    for name in switchings(family)[1:]:
        switching = switching_of(site, past, name)
        asked = RunRequest((family, name), dispatcher, site.jobs, switching)
        yield asked.key, _kept(site, asked, folder)
    if family in SHIFTED:
        for scenario in SCENARIOS:
            if not scenario.real:
                continue
            jobs = shift_jobs(in_scenario(site, files, scenario), site.jobs, past, counted_days(site), SHIFT_H)
            asked = RunRequest((family, f"{SPARES}, shifted, {scenario.name}"), dispatcher, jobs, switching)
            yield asked.key, _kept(site, asked, folder)


def switching_of(site: SiteInputs, past: Schedule, name: str) -> Switching | None:
    """What is switched over the counted days, each from what was known before it; all nodes are on before."""
    first, last = counted_days(site)
    platform = site.platform
    if name in RIVALS:
        return reactive_switching(RIVALS[name], platform, site.calendar.day(first)[0])
    days: list[Switching | None] = []
    demands = demands_of(past, platform)
    for day in range(first, last + 1):
        known = MachineHistory(platform, site.calendar, past, site.calendar.day(day)[0], {})
        if name == SPARES:
            days.append(reserve_of_day(known, day, demands).switching)
        else:
            offset = 70 if name == OFFSET_70 else 50
            days.append(thesis_switching(thesis_target(known, day, offset, None), platform))
    return join_switching(days)


_NOT_HERE = {"parts", "taken"}
"""No job of these traces has several parts or requests."""


def _kept(site: SiteInputs, asked: RunRequest, folder: Path) -> Path:
    """The file of a run, which is done if it is not there."""
    return cached_arrays(folder / f"{_fingerprint(site, asked)}.npz", lambda: _arrays(_played(site, asked)))


def _played(site: SiteInputs, asked: RunRequest) -> Run:
    warm_kernels(asked.dispatcher)
    target = Target(None, asked.switching, site.calendar.offset)
    played = play(site.platform, asked.jobs, asked.dispatcher, target, SEED)
    recorder = played.recorder
    return Run(
        played.schedule, recorder.downtime(), np.array(recorder.boot_delay, dtype=np.int64),
        np.array(recorder.decision_ns, dtype=np.int64),
    )  # fmt: skip


def _fingerprint(site: SiteInputs, asked: RunRequest) -> str:
    """What a run's outcome hangs on, in a few letters."""
    rule = asked.switching
    functions = [] if rule is None else [*sorted(rule.spares.items()), *sorted(rule.floors.items())]
    steps = [(group, function.times.tolist(), function.values.tolist()) for group, function in functions]
    limits = None if rule is None else (rule.idle_s, rule.most_cycles_per_day)
    return fingerprint((code_version(), site.platform, asked.dispatcher.setup, asked.jobs, steps, limits))


def _arrays(run: Run) -> dict[str, np.ndarray[Any, Any]]:
    arrays = {"boot_delay": run.boot_delay, "decision_ns": run.decision_ns}
    for part in (run.schedule, run.downtime):
        columns = {field.name for field in fields(part)} - {"placed"} - _NOT_HERE
        arrays |= {name: np.asarray(getattr(part, name)) for name in columns}
    arrays |= arrays_of(run.schedule.placed)
    return arrays


def load(path: Path) -> Run:
    """Read a run."""
    arrays: dict[str, Any] = read_arrays(path)
    texts = {name: arrays[name].tolist() for name in ("queue", "user")} | {"kinds": tuple(arrays["kinds"].tolist())}
    arrays |= texts | {"placed": placements_of(arrays)}
    schedule = Schedule(**{field.name: arrays[field.name] for field in fields(Schedule) if field.name not in _NOT_HERE})
    downtime = Downtime(**{field.name: arrays[field.name] for field in fields(Downtime)})
    return Run(schedule, downtime, arrays["boot_delay"], arrays["decision_ns"])


def violations(site: SiteInputs, run: Run) -> list[str]:
    """What the audit finds wrong with a run."""
    numbers = [job.number for job in site.jobs]
    found = audit(run.schedule, site.platform, expected=numbers, downtime=run.downtime)
    return [str(violation) for violation in found]
