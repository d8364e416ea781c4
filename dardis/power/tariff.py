"""What a contract charges besides the price of energy: peak power, CO2, and limits on power, for a time or always."""

from __future__ import annotations

from dataclasses import dataclass, field

DEMAND_SPAN_S = 900
"""A demand charge looks at means over quarters of an hour, counted from the whole hours of UTC."""


@dataclass(frozen=True, slots=True)
class PowerLimit:
    """The grid asks for at most `most_kw` (IT and cooling) during `[start, end)`, s of the trace's clock."""

    start: int
    end: int
    most_kw: float
    penalty_per_kwh: float | None = None
    """For energy above the limit; None: never to be exceeded, a plan or schedule that does is infeasible."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """Everything is free by default. Money is in the platform's currency."""

    demand_per_kw: float = 0.0
    """For the highest mean power of IT and cooling over a quarter of an hour, once for the time that is accounted."""
    co2_per_t: float = 0.0
    """Price of a tonne of CO2."""
    contracted_kw: float | None = None
    """Contracted maximum of the same quarter-hourly means, each of which is judged."""
    contract_penalty_per_kwh: float | None = None
    """For energy above the contracted maximum; None: never to be exceeded."""
    limits: tuple[PowerLimit, ...] = field(default=())
