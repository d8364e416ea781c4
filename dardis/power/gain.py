"""Where the difference between two accounts of the same time comes from: parts that add up to it exactly."""

from __future__ import annotations

from dataclasses import dataclass

from dardis.power.account import Account


@dataclass(frozen=True, slots=True)
class Gain:
    """What one account has more profit than another, by reason. Money; positive is better."""

    idle_power: float
    """Nodes' own power: what idling, being off, shutting down and booting cost less."""
    cooling: float
    """What cooling costs less, for whatever reason."""
    price: float
    """The jobs' energy bought at better prices: its amount after, times the fall of its mean price."""
    throughput: float
    """More income, less what the jobs' additional energy costs at the mean price before."""
    tariff: float
    """Demand charge, CO2 and penalties that cost less."""

    @property
    def total(self) -> float:
        """The difference in profit."""
        return self.idle_power + self.cooling + self.price + self.throughput + self.tariff


def gain(before: Account, after: Account) -> Gain:
    """What `after` has more than `before`, by reason.

    With E the jobs' energy and p its mean price: throughput = Δincome − (E_after − E_before) · p_before, price =
    E_after · (p_before − p_after); the other three are differences of costs. Without energy before, p_before is that
    after.
    """
    energy_before, cost_before = (float(x(before.jobs_w).sum()) for x in (before.kwh, before.cost))
    energy_after, cost_after = (float(x(after.jobs_w).sum()) for x in (after.kwh, after.cost))
    energy, cost = (energy_before, cost_before) if energy_before else (energy_after, cost_after)
    mean_price = cost / energy if energy else 0.0
    more_energy = (energy_after - energy_before) * mean_price
    return Gain(
        idle_power=_own(before) - _own(after),
        cooling=before.cooling_eur - after.cooling_eur,
        price=energy_after * mean_price - cost_after,
        throughput=after.income_eur - before.income_eur - more_energy,
        tariff=before.tariff_eur - after.tariff_eur,
    )


def _own(of: Account) -> float:
    """Cost of what nodes draw without their jobs."""
    return float(of.cost(of.idle_w + of.off_w + of.switching_w).sum())
