"""Energy, cost and CO2 of recorded Slurm jobs. Rules: docs/energy.md.

A job's energy is measured if its nodes were its own, otherwise by the platform's power figures: for each core `core_w`
and its share of `idle_w`, and the watts of its devices. It is spread evenly over the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from dardis.config.node_fields import node_names
from dardis.config.prices import DEFAULT_MONEY, read_prices
from dardis.metrics.power import PowerEnvironment
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.model.moments import utc_text
from dardis.model.platform import Money, Platform
from dardis.model.resources import CORES
from dardis.power.account import span_sums
from dardis.power.node_power import MachinePower
from dardis.workload.slurm_usage import SlurmUsage, UsedSpan

DAY_S: Final = 86_400
_J_PER_KWH: Final = 3.6e6


class Grouping(StrEnum):
    """Rows of a table."""

    JOB = "job"
    USER = "user"
    ACCOUNT = "account"
    PARTITION = "partition"
    DAY = "day"


class Source(StrEnum):
    """Origin of a job's energy."""

    MEASURED = "measured"
    MODEL = "model"
    UNKNOWN = ""


_AMOUNTS: Final = (
    Column("core_h", REAL, "reserved core-hours", form=".10g"),
    Column("kwh", REAL, "energy of the nodes; empty if unknown", form=".10g"),
    Column("measured_kwh", REAL, "part of it that was measured", form=".10g"),
    Column("eur", REAL, "cost of the energy; empty without prices", "currency", ".10g"),
    Column("co2_kg", REAL, "CO2 of the energy; empty without carbon data", form=".10g"),
    Column("unused_share", REAL, "share of reserved core-hours without CPU time; empty if unknown", form=".4g"),
)
_JOBS_WITHOUT: Final = Column("unknown_jobs", WHOLE, "jobs whose energy is unknown")
RUNS: Final = CsvTable(
    "energy.csv",
    Column("job", WORD, "job, as in Slurm"),
    Column("user", TEXT, "user"),
    Column("account", TEXT, "account"),
    Column("partition", TEXT, "partition"),
    Column("start_utc", WORD, "start"),
    Column("end_utc", WORD, "end, or the time of the data"),
    Column("nodes", WHOLE, "number of nodes"),
    Column("cores", WHOLE, "reserved cores"),
    *_AMOUNTS,
    Column("source", WORD, "`measured`, `model`, or empty if unknown"),
)


def energy_table(by: Grouping) -> CsvTable:
    """Table's columns."""
    if by is Grouping.JOB:
        return RUNS
    key = Column(by, WORD if by is Grouping.DAY else TEXT, f"{by}; of days the UTC date" if by is Grouping.DAY else by)
    return CsvTable("energy.csv", key, Column("jobs", WHOLE, "runs of jobs"), *_AMOUNTS, _JOBS_WITHOUT)


@dataclass(frozen=True)
class EnergySums:
    """Sums over runs; None if unknown."""

    jobs: int
    core_h: float
    kwh: float | None
    measured_kwh: float
    eur: float | None
    co2_kg: float | None
    unused_share: float | None
    unknown_jobs: int

    @property
    def cells(self) -> tuple[float | None, ...]:
        """Values of the common columns."""
        return self.core_h, self.kwh, self.measured_kwh, self.eur, self.co2_kg, self.unused_share


@dataclass(frozen=True)
class JobEnergy:
    """Energy of runs; arrays (runs,)."""

    runs: tuple[UsedSpan, ...]
    watts: Floats
    """Mean power; NaN if unknown."""
    is_measured: Bools
    edges: Ints
    """Hours, and changes of prices and carbon: `[edges[i], edges[i+1])`, Unix s."""
    price_per_kwh: Floats | None
    gco2_per_kwh: Floats | None
    currency: str
    notes: tuple[str, ...] = ()

    @cached_property
    def start(self) -> Ints:
        """Starts, Unix s."""
        return np.array([run.start for run in self.runs], dtype=np.int64)

    @cached_property
    def end(self) -> Ints:
        """Ends, Unix s."""
        return np.array([run.end for run in self.runs], dtype=np.int64)

    @cached_property
    def kwh(self) -> Floats:
        """Energy; NaN if unknown."""
        return np.asarray(self.watts * (self.end - self.start) / _J_PER_KWH)

    @cached_property
    def eur(self) -> Floats | None:
        """Cost of energy; None without prices."""
        return self._weighed(self.price_per_kwh)

    @cached_property
    def co2_kg(self) -> Floats | None:
        """CO2 of energy; None without carbon data."""
        return None if self.gco2_per_kwh is None else self._weighed(self.gco2_per_kwh / 1000)

    def _weighed(self, per_kwh: Floats | None) -> Floats | None:
        if per_kwh is None:
            return None
        whole = np.concatenate([[0.0], np.cumsum(np.diff(self.edges) * per_kwh)])
        at_end, at_start = (np.interp(times, self.edges, whole) for times in (self.end, self.start))
        return np.asarray(self.watts * (at_end - at_start) / _J_PER_KWH)

    @cached_property
    def core_h(self) -> Floats:
        """Reserved core-hours."""
        return np.array([run.core_s / 3600 for run in self.runs])

    @cached_property
    def unused_core_h(self) -> Floats:
        """Reserved core-hours without CPU time; NaN if unknown."""
        known = [np.nan if run.cpu_s is None else max(run.core_s - run.cpu_s, 0.0) / 3600 for run in self.runs]
        return np.array(known)

    def sums(self, rows: Ints | None = None) -> EnergySums:
        """Sums over these runs (None: all)."""
        chosen = np.arange(len(self.runs)) if rows is None else rows
        known = chosen[~np.isnan(self.watts[chosen])]
        with_cpu = chosen[~np.isnan(self.unused_core_h[chosen])]
        reserved = float(self.core_h[with_cpu].sum())
        return EnergySums(
            jobs=len(chosen),
            core_h=float(self.core_h[chosen].sum()),
            kwh=float(self.kwh[known].sum()) if len(known) else None,
            measured_kwh=float(self.kwh[known][self.is_measured[known]].sum()),
            eur=float(self.eur[known].sum()) if self.eur is not None and len(known) else None,
            co2_kg=float(self.co2_kg[known].sum()) if self.co2_kg is not None and len(known) else None,
            unused_share=float(self.unused_core_h[with_cpu].sum()) / reserved if reserved else None,
            unknown_jobs=len(chosen) - len(known),
        )

    def source(self, row: int) -> Source:
        """Origin of a run's energy."""
        if np.isnan(self.watts[row]):
            return Source.UNKNOWN
        return Source.MEASURED if self.is_measured[row] else Source.MODEL

    def groups(self, by: Grouping) -> list[tuple[str, EnergySums]]:
        """Sums by user, account or partition (most energy first), or by UTC day."""
        if by is Grouping.DAY:
            return self._days()
        members: dict[str, list[int]] = {}
        for row, run in enumerate(self.runs):
            members.setdefault(getattr(run, by), []).append(row)
        found = [(name, self.sums(np.array(rows))) for name, rows in members.items()]
        return sorted(found, key=lambda pair: (-(pair[1].kwh or 0.0), -pair[1].core_h, pair[0]))

    def _days(self) -> list[tuple[str, EnergySums]]:
        first, last = int(self.start.min()) // DAY_S, -(-int(self.end.max()) // DAY_S)
        found = []
        for day in range(first, last):
            within = np.flatnonzero((self.start < (day + 1) * DAY_S) & (self.end > day * DAY_S))
            if len(within):
                found.append((utc_text(day * DAY_S)[:10], self.cut(day * DAY_S, (day + 1) * DAY_S, within).sums()))
        return found

    def cut(self, since: int, until: int, rows: Ints) -> JobEnergy:
        """These runs, cut to `[since, until)`."""
        runs = tuple(_cut_run(self.runs[row], since, until) for row in rows.tolist())
        return replace(self, runs=runs, watts=self.watts[rows], is_measured=self.is_measured[rows])

    def rows(self, by: Grouping) -> list[tuple[object, ...]]:
        """Rows of `energy_table`."""
        if by is not Grouping.JOB:
            return [(name, sums.jobs, *sums.cells, sums.unknown_jobs) for name, sums in self.groups(by)]
        measured = np.where(self.is_measured, self.kwh, np.where(np.isnan(self.kwh), np.nan, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            unused = self.unused_core_h / self.core_h
        amounts = [_cells(values) for values in (self.core_h, self.kwh, measured, self.eur, self.co2_kg, unused)]
        order = np.argsort(-np.nan_to_num(self.kwh), kind="stable").tolist()
        return [self._run_row(row, [values[row] if values else None for values in amounts]) for row in order]

    def _run_row(self, row: int, amounts: Sequence[float | None]) -> tuple[object, ...]:
        run = self.runs[row]
        times = (utc_text(moment, seconds=True) for moment in (run.start, run.end))
        names = run.job, run.user, run.account, run.partition
        return *names, *times, run.nodes, run.amounts.get(CORES, 0), *amounts, str(self.source(row))

    def load(self, edges: Ints) -> tuple[Floats, Floats]:
        """Mean power (W) over `[edges[i], edges[i+1])`: measured, and of the model."""
        parts = []
        for kind in (self.is_measured, ~self.is_measured):
            chosen = kind & ~np.isnan(self.watts)
            joules = span_sums(self.start[chosen], self.end[chosen], self.watts[chosen], edges)
            parts.append(joules / np.diff(edges))
        return parts[0], parts[1]


def _cells(values: Floats | None) -> list[float | None]:
    return [] if values is None else [value if np.isfinite(value) else None for value in values.tolist()]


def _cut_run(run: UsedSpan, since: int, until: int) -> UsedSpan:
    start, end = max(run.start, since), min(run.end, until)
    cpu_s = None if run.cpu_s is None else run.cpu_s * (end - start) / (run.end - run.start)
    return replace(run, start=start, end=end, cpu_s=cpu_s)


@dataclass(frozen=True)
class EnergyTerms:
    """Machine, prices and span of an account."""

    platform: Platform | None = None
    names: Path | None = None
    """File with the nodes' names in Slurm."""
    prices: Path | None = None
    carbon: Path | None = None
    since: int | None = None
    until: int | None = None
    """Unix s; None: all runs."""


def job_energy(path: Path, usage: SlurmUsage, terms: EnergyTerms) -> JobEnergy:
    """Account for the runs of `path`. Raises InputError."""
    runs = usage.spans
    since = min(run.start for run in runs) if terms.since is None else terms.since
    until = max(run.end for run in runs) if terms.until is None else terms.until
    within = [run for run in runs if run.start < until and run.end > since]
    if not within:
        first, last = min(run.start for run in runs), max(run.end for run in runs)
        found = "no job ran" + ("" if terms.since is None else f" after {utc_text(since)}")
        found += "" if terms.until is None else f" before {utc_text(until)}"
        raise InputError(path, found, f"a span (--since, --until) within {utc_text(first)} to {utc_text(last)}")
    watts, is_measured, notes = _powers(path, within, terms)
    kept = tuple(_cut_run(run, since, until) for run in within)
    span = min(run.start for run in kept), max(run.end for run in kept)
    facility = None if terms.platform is None else terms.platform.facility
    prices, carbon = (
        str(stated) if stated else of_platform
        for stated, of_platform in (
            (terms.prices, None if facility is None else facility.prices),
            (terms.carbon, None if facility is None else facility.carbon),
        )
    )
    files = InputFiles()
    money = _money(files, prices, terms.platform)
    conditions = PowerEnvironment(None, prices, carbon, 0, money, files=files).over(*span)
    if all(run.cpu_s is None for run in kept):
        notes.append("unused cores are unknown: no job has CPU time (TotalCPU of sacct without -X)")
    return JobEnergy(
        kept, watts, is_measured, conditions.edges,
        None if prices is None else conditions.price_per_kwh, None if carbon is None else conditions.gco2_per_kwh,
        money.currency, (*usage.notes, *notes),
    )  # fmt: skip


def _money(files: InputFiles, prices: str | float | None, platform: Platform | None) -> Money:
    if platform is not None:
        return platform.money
    if isinstance(prices, str):
        return Money(files.once(read_prices, Path(prices)).currency)
    return DEFAULT_MONEY


def _powers(path: Path, runs: Sequence[UsedSpan], terms: EnergyTerms) -> tuple[Floats, Bools, list[str]]:
    """Mean power of each run (NaN: unknown), whether measured, and notes."""
    lengths = np.array([run.end - run.start for run in runs], dtype=np.float64)
    measured = np.array([np.nan if run.joules is None else run.joules for run in runs]) / lengths
    is_measured = ~np.isnan(measured)
    if terms.platform is None:
        if not is_measured.any():
            raise InputError(path, "no job has measured energy (ConsumedEnergyRaw)", "--platform P.toml for a model")
        notes = ["energy is as measured; on nodes shared by several jobs it counts for each (--platform splits it)"]
        if unknown := int((~is_measured).sum()):
            notes.append(f"{unknown:,} jobs without measured energy are left out of kWh; --platform has a model")
        return measured, is_measured, notes
    model = _NodePowers(terms.platform, node_names(terms.platform, terms.names))
    modelled = np.array([model.watts(run) for run in runs])
    is_shared = is_measured & np.array([model.shares_nodes(run) for run in runs])
    is_measured &= ~is_shared
    notes = model.notes
    if is_shared.any():
        notes.append(f"{is_shared.sum():,} jobs with measured energy shared their nodes, so the model counts for them")
    return np.where(is_measured, measured, modelled), is_measured, notes


class _NodePowers:
    def __init__(self, platform: Platform, names: Sequence[str]) -> None:
        self._platform, self._machine = platform, MachinePower.of_platform(platform)
        self._place = {name: node for node, name in enumerate(names)}
        self._cores = platform.capacity[:, platform.kinds.index(CORES)].astype(np.float64)
        self._idle_per_core = self._machine.idle_w / np.maximum(self._cores, 1)
        self._nodes: dict[object, Ints] = {}
        self._unknown: set[str] = set()

    @property
    def notes(self) -> list[str]:
        notes = []
        if not self._machine.stated:
            notes.append(
                f"platform {self._platform.name} states no power figures for some of its nodes; they use the thesis's "
                "(9.455 W per busy core, no idle power)"
            )
        if self._unknown:
            found = f"{len(self._unknown):,} nodes of jobs are not in the platform, such as {min(self._unknown)}"
            notes.append(f"{found} (--names); the mean of possible nodes counts")
        return notes

    def watts(self, run: UsedSpan) -> float:
        nodes = self._nodes_of(run)
        found = run.amounts.get(CORES, 0) * (self._machine.core_w[nodes] + self._idle_per_core[nodes]).mean()
        for kind, watts in self._machine.device_w.items():
            found += run.amounts.get(kind, 0) * watts[nodes].mean()
        return float(found)

    def shares_nodes(self, run: UsedSpan) -> bool:
        count = run.nodes or len(run.places) or 1
        return bool(run.amounts.get(CORES, 0) < count * self._cores[self._nodes_of(run)].mean() - 0.5)

    def _nodes_of(self, run: UsedSpan) -> Ints:
        key: object = run.places or (run.partition, run.nodes, *sorted(run.amounts.items()))
        if key not in self._nodes:
            known = [self._place[name] for name in run.places if name in self._place]
            self._unknown.update(name for name in run.places if name not in self._place)
            self._nodes[key] = np.array(known, dtype=np.int64) if known else self._possible_nodes(run)
        return self._nodes[key]

    def _possible_nodes(self, run: UsedSpan) -> Ints:
        """Nodes of the partition that hold the run's share of a node; else all nodes."""
        platform = self._platform
        groups: Iterable[int] = {
            group for name in run.partition.split(",") for group in platform.partitions.get(name, ())
        } or range(len(platform.groups))
        each = np.array([-(-run.amounts.get(kind, 0) // max(run.nodes, 1)) for kind in platform.kinds])
        able = [group for group in groups if (platform.group_capacity[group] >= each).all()]
        return np.flatnonzero(np.isin(platform.group_of_node, able or list(groups)))
