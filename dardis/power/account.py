"""Schedule's account: income, energy, cooling, charges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.platform import Platform
from dardis.model.resources import CORES, POWER
from dardis.model.schedule import Downtime, Schedule
from dardis.model.series import Series
from dardis.power.conditions import Conditions, Tariff, co2_per_kwh
from dardis.power.cooling import Cooling
from dardis.power.node_power import MachinePower

_JOBS, _IDLE, _OFF, _SWITCHING = range(4)


@dataclass(frozen=True, slots=True)
class AccountedJobs:
    """Jobs that ran, arrays (jobs,), in s of the trace's clock."""

    start: Ints
    finish: Ints
    cores: Ints
    added_w: Floats
    income: Floats


@dataclass(frozen=True)
class Account:
    """Income and cost per segment; costs are positive."""

    edges: Ints
    price_per_kwh: Floats
    gco2_per_kwh: Floats
    income: Floats
    jobs_w: Floats
    """Mean power added by jobs."""
    idle_w: Floats
    """Idle power of nodes up."""
    off_w: Floats
    switching_w: Floats
    """Nodes in shut-down or boot."""
    cooling_w: Floats
    peak_kw: float
    """Highest 15-min mean of IT and cooling."""
    demand_eur: float
    co2_cost: Floats
    penalty_eur: float
    """For energy above limits or the contracted maximum."""
    over_limit_kwh: float
    """Energy above hard limits."""

    @property
    def it_w(self) -> Floats:
        """Mean IT power."""
        return self.jobs_w + self.idle_w + self.off_w + self.switching_w

    @property
    def energy_cost(self) -> Floats:
        """Cost of IT energy per segment."""
        return self.cost(self.it_w)

    @property
    def cooling_cost(self) -> Floats:
        """Cost of cooling energy per segment."""
        return self.cost(self.cooling_w)

    def kwh(self, watts: Floats) -> Floats:
        """Energy per segment from mean W."""
        return watts * np.diff(self.edges) / 3.6e6

    def cost(self, watts: Floats) -> Floats:
        """Energy cost per segment from mean W."""
        return self.price_per_kwh * self.kwh(watts)

    @property
    def income_eur(self) -> float:
        """Total income."""
        return float(self.income.sum())

    @property
    def energy_eur(self) -> float:
        """Total cost of IT energy."""
        return float(self.energy_cost.sum())

    @property
    def cooling_eur(self) -> float:
        """Total cost of cooling energy."""
        return float(self.cooling_cost.sum())

    @property
    def co2_eur(self) -> float:
        """Total cost of CO2."""
        return float(self.co2_cost.sum())

    @property
    def tariff_eur(self) -> float:
        """Charges for demand and CO2, and penalties."""
        return self.demand_eur + self.co2_eur + self.penalty_eur

    @property
    def profit(self) -> float:
        """Income minus all costs."""
        return self.income_eur - self.energy_eur - self.cooling_eur - self.tariff_eur

    @property
    def energy_kwh(self) -> float:
        """Total IT energy."""
        return float(self.kwh(self.it_w).sum())

    @property
    def cooling_kwh(self) -> float:
        """Total cooling energy."""
        return float(self.kwh(self.cooling_w).sum())

    @property
    def co2_kg(self) -> float:
        """CO2 of all energy."""
        return float((self.gco2_per_kwh * self.kwh(self.it_w + self.cooling_w)).sum() / 1000)

    @property
    def pue(self) -> float | None:
        """(IT + cooling) / IT energy, or None."""
        return 1 + self.cooling_kwh / self.energy_kwh if self.energy_kwh else None

    @property
    def feasible(self) -> bool:
        """Whether all hard limits are kept."""
        return self.over_limit_kwh <= 0


def accounted_jobs(schedule: Schedule, platform: Platform) -> AccountedJobs:
    """Jobs that ran, including killed jobs.

    Of stated watts (kind `power`), idle power is subtracted. Other jobs add `core_w` per core, and device power.
    """
    schedule = schedule.by_part
    ran = schedule.ran
    cores = schedule.request[:, schedule.kinds.index(CORES)]
    by_queue = platform.income_by_queue
    income = np.array([by_queue.get(queue, platform.income_per_core_h) for queue in schedule.queue], dtype=np.float64)
    added_w = added_watts(schedule, platform, cores)
    return AccountedJobs(
        schedule.start[ran], schedule.finish[ran], (schedule.units * cores)[ran], added_w[ran], income[ran]
    )


def account(
    work: AccountedJobs,
    downtime: Downtime,
    machine: MachinePower,
    conditions: Conditions,
    cooling: Cooling,
    tariff: Tariff,
) -> Account:
    """Account for `[conditions.start, conditions.end)`; partly covered jobs count in part.

    Cooling follows mean IT power per segment (thesis eq. 6.4). Nodes in maintenance draw idle power.
    """
    edges, quarters = conditions.edges, conditions.quarters
    income = span_sums(work.start, work.finish, work.income * work.cores / 3600, edges)
    parts = _mean_watts(work, downtime, machine, edges)
    load_w = _mean_watts(work, downtime, machine, quarters).sum(axis=0)
    it_w = parts.sum(axis=0)
    cooling_w = cooling.watts(conditions.temp_c, it_w)
    temp_c = Series(conditions.edges, conditions.temp_c).means(quarters)
    drawn_w = load_w + cooling.watts(temp_c, load_w)
    peak_kw = float(drawn_w.max()) / 1000
    penalty, over = _limits(quarters, drawn_w / 1000, tariff)
    kwh = (it_w + cooling_w) * np.diff(conditions.edges) / 3.6e6
    return Account(
        edges=edges, price_per_kwh=conditions.price_per_kwh, gco2_per_kwh=conditions.gco2_per_kwh,
        income=income, jobs_w=parts[_JOBS], idle_w=parts[_IDLE], off_w=parts[_OFF], switching_w=parts[_SWITCHING],
        cooling_w=cooling_w, peak_kw=peak_kw, demand_eur=tariff.demand_per_kw * peak_kw,
        co2_cost=co2_per_kwh(conditions, tariff) * kwh,
        penalty_eur=penalty, over_limit_kwh=over,
    )  # fmt: skip


def span_sums(start: Ints, finish: Ints, weight: Floats, edges: Ints) -> Floats:
    """Sum of `weight[i]` times seconds of `[start[i], finish[i])` in each `[edges[k], edges[k+1])`."""
    low, high = np.clip(start, edges[0], edges[-1]), np.clip(finish, edges[0], edges[-1])
    some = high > low
    low, high, weight = low[some], high[some], weight[some]
    count = len(edges) - 1
    first = np.searchsorted(edges, low, side="right") - 1
    last = np.searchsorted(edges, high, side="left") - 1
    cover = np.cumsum(np.bincount(first, weight, count + 1) - np.bincount(last + 1, weight, count + 1))[:count]
    before = np.bincount(first, weight * (low - edges[first]), count)
    after = np.bincount(last, weight * (edges[last + 1] - high), count)
    return np.asarray(cover * np.diff(edges) - before - after)


def added_watts(schedule: Schedule, platform: Platform, cores: Ints) -> Floats:
    """Power that each job adds to its nodes, W, (jobs,). `cores`: of a unit."""
    machine = MachinePower.of_platform(platform)
    job, nodes = schedule.placed.job_of, schedule.placed.nodes
    unit_w = cores[job] * machine.core_w[nodes]
    for kind, watts in machine.device_w.items():
        unit_w = unit_w + schedule.request[job, schedule.kinds.index(kind)] * watts[nodes]
    if POWER in schedule.kinds:
        stated = schedule.request[job, schedule.kinds.index(POWER)]
        idle_w = (machine.idle_w / platform.capacity[:, platform.kinds.index(CORES)])[nodes] * cores[job]
        unit_w = np.where(stated > 0, np.maximum(stated - idle_w, 0), unit_w)
    return np.bincount(job, schedule.placed.units * unit_w, len(cores)).astype(np.float64)


def _mean_watts(work: AccountedJobs, downtime: Downtime, machine: MachinePower, edges: Ints) -> Floats:
    """Mean IT power by source: (4, segments)."""
    node, down, up = downtime.node, downtime.down, downtime.up
    off = np.minimum(down + machine.shutdown_s[node], up)
    boot = np.maximum(up - machine.boot_s[node], off)

    def joules(start: Ints, finish: Ints, watts: Floats) -> Floats:
        return span_sums(start, finish, watts, edges)

    lengths = np.diff(edges)
    parts = np.zeros((4, len(lengths)))
    parts[_JOBS] = joules(work.start, work.finish, work.added_w)
    parts[_IDLE] = machine.idle_w.sum() * lengths - joules(down, up, machine.idle_w[node])
    parts[_OFF] = joules(off, boot, machine.off_w[node])
    parts[_SWITCHING] = joules(down, off, machine.shutdown_w[node]) + joules(boot, up, machine.boot_w[node])
    # A measured plant does not accept tiny negative power from rounding.
    return np.asarray(np.maximum(parts, 0) / lengths)


def _limits(quarters: Ints, drawn_kw: Floats, tariff: Tariff) -> tuple[float, float]:
    penalty, over = 0.0, 0.0
    spans = [(limit.start, limit.end, limit.most_kw, limit.penalty_per_kwh) for limit in tariff.limits]
    if tariff.contracted_kw is not None:
        spans.append((int(quarters[0]), int(quarters[-1]), tariff.contracted_kw, tariff.contract_penalty_per_kwh))
    for start, end, most_kw, price in spans:
        inside = np.clip(np.minimum(quarters[1:], end) - np.maximum(quarters[:-1], start), 0, None)
        excess = float((np.maximum(drawn_kw - most_kw, 0) * inside).sum() / 3600)
        if price is None:
            over += excess
        else:
            penalty += price * excess
    return penalty, over


@dataclass(frozen=True, slots=True)
class Gain:
    """Difference in profit by cause; positive is better."""

    idle_power: float
    """Savings on nodes without jobs."""
    cooling: float
    price: float
    """Energy after × fall of the mean price."""
    throughput: float
    """Added income minus added job energy at the previous mean price."""
    tariff: float

    @property
    def total(self) -> float:
        """Difference in profit."""
        return self.idle_power + self.cooling + self.price + self.throughput + self.tariff


def gain(before: Account, after: Account) -> Gain:
    """Gain of `after` over `before`.

    With job energy E and mean price p: throughput = Δincome − (E_after − E_before) · p_before; price = E_after ·
    (p_before − p_after). Others are differences of costs. If E_before is 0, p_before = p_after.
    """
    energy_before, cost_before = (float(x(before.jobs_w).sum()) for x in (before.kwh, before.cost))
    energy_after, cost_after = (float(x(after.jobs_w).sum()) for x in (after.kwh, after.cost))
    energy, cost = (energy_before, cost_before) if energy_before else (energy_after, cost_after)
    mean_price = cost / energy if energy else 0.0
    more_energy = (energy_after - energy_before) * mean_price
    return Gain(
        idle_power=_idle_cost(before) - _idle_cost(after),
        cooling=before.cooling_eur - after.cooling_eur,
        price=energy_after * mean_price - cost_after,
        throughput=after.income_eur - before.income_eur - more_energy,
        tariff=before.tariff_eur - after.tariff_eur,
    )


def _idle_cost(of: Account) -> float:
    return float(of.cost(of.idle_w + of.off_w + of.switching_w).sum())
