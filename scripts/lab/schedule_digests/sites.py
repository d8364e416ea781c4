"""Where the guarded runs take place: machines, traces and what is asked of them, written to a folder from figures here.

Promises that two folders made by the same version are the same: nothing is drawn, and nothing read but the traces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

HOUR_S, DAY_S = 3600, 86_400
DAYS_OF_PRICES = 100
CALENDAR_START = "2023-07-03T00:00Z"
PRICES = "prices.csv"
MACHINE = """name = "{name}"
cooling = "air"
weather = 20
prices = "{prices}"
calendar_start = "{start}"
"""
GROUP = """
[[nodes]]
count = {count}
prefix = "{prefix}"
resources = {{ cores = {cores}{others} }}
power = {{ idle_w = 100, core_w = 6.5, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }}
"""
MAINTENANCE = """
[[maintenance]]
nodes = "{first}-{last}"
start_s = {start}
end_s = {end}
"""
Run = Callable[[Sequence[str]], object]
"""Runs a `dardis` command with these arguments, and raises where it fails."""


@dataclass(frozen=True, slots=True)
class Site:
    """A machine, its trace, and when the first job is submitted.

    `groups` are equal nodes each: how many, their prefix, cores, and other resources as TOML has them. `make` writes
    the trace as `FOLDER/NAME.csv` or `.swf`, given the folder of traces; `plain` runs take its first `jobs`, all others
    the first `few` (None: all there are).
    """

    name: str
    groups: tuple[tuple[int, str, int, str], ...]
    first: int
    trace: str
    make: tuple[str, ...]
    """Arguments of the `dardis trace` command that writes it."""
    jobs: int | None
    few: int | None
    day: int
    """The day that is planned; its target is that of the runs that switch."""

    @property
    def nodes(self) -> int:
        """All of its nodes."""
        return sum(count for count, *_ in self.groups)

    def platform(self, *, maintained: bool) -> str:
        """Its platform file; `maintained`: a third of the nodes is closed for six hours of every day for a week."""
        text = MACHINE.format(name=self.name, prices=PRICES, start=CALENDAR_START)
        for count, prefix, cores, others in self.groups:
            text += GROUP.format(count=count, prefix=prefix, cores=cores, others=others)
        for day in range(7 if maintained else 0):
            start = self.first + day * DAY_S + 5 * HOUR_S
            text += MAINTENANCE.format(first=0, last=self.nodes // 3, start=start, end=start + 6 * HOUR_S)
        return text

    def cap(self) -> str:
        """A desired profile: for six hours each all cores, half, three quarters and two thirds of them, over again."""
        shares = (12, 6, 9, 8)
        rows = [
            f"{self.first + place * 6 * HOUR_S},*,cores,{self.cores * shares[place % 4] // 12}\n"
            for place in range(4 * 20)
        ]
        return "time_s,node,kind,value\n" + "".join(rows)

    @property
    def cores(self) -> int:
        """All of its cores."""
        return sum(count * cores for count, _, cores, _ in self.groups)


CURIE, HPC2N, EURORA = (
    "{traces}/CEA-Curie-2012-slice36k.swf.gz", "{traces}/HPC2N-2002-2.2-cln.swf.gz", "{traces}/Eurora-2014.csv.gz",
)  # fmt: skip


def _eurora(memory: str) -> tuple[tuple[int, str, int, str], ...]:
    return tuple((32, kind, 16, f', memory = "{memory}", {kind} = 2') for kind in ("mic", "gpu"))


GENERATED = Site(
    "generated", _eurora("16GiB"), 0, "generated.csv",
    ("generate", "eurora", "{folder}/generated.csv", "--jobs", "240", "--days", "3"), None, None, 2,
)  # fmt: skip
"""Small, and of no recorded trace."""
RECORDED = (
    Site("eurora", _eurora("32GiB"), 1_396_255_870, EURORA, (), None, 1_500, 3),
    Site(
        "curie-4", ((300, "n", 32, ""),), 43_604_796, "curie-4.swf",
        ("convert", CURIE, "{folder}/curie-4.swf", "--partition", "4"), None, 1_500, 3,
    ),
    Site(
        "hpc2n", ((120, "seth", 2, ""),), 0, "hpc2n.swf",
        ("convert", HPC2N, "{folder}/hpc2n.swf", "--jobs", "5000"), None, 1_500, 10,
    ),
)  # fmt: skip


def prepare(site: Site, folder: Path, traces: Path, run: Run) -> None:
    """Write all that the runs of a site read to a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    if site.make:
        run(["trace", *(part.format(folder=folder, traces=traces) for part in site.make), "--force"])
    for maintained in (False, True):
        (folder / platform_file(site, maintained=maintained)).write_text(site.platform(maintained=maintained))
    (folder / f"{site.name}-cap.csv").write_text(site.cap())
    (folder / PRICES).write_text(_prices())


def platform_file(site: Site, *, maintained: bool = False) -> str:
    """The name of a site's platform file."""
    return f"{site.name}{'-maintained' if maintained else ''}.toml"


def _prices() -> str:
    """Dear by day, cheap by night, in EUR per kWh."""
    start = datetime.fromisoformat(CALENDAR_START)
    rows = [
        f"{start + timedelta(hours=hour):%Y-%m-%dT%H:%MZ},{0.08 + 0.01 * min(hour % 24, 24 - hour % 24):.2f}\n"
        for hour in range(24 * DAYS_OF_PRICES)
    ]
    return "start_utc,price_eur_per_kwh\n" + "".join(rows)
