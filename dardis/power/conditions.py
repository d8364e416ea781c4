"""Weather, prices, carbon and tariff over time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.moments import utc_text
from dardis.model.series import Series
from dardis.power.cooling import Cooling

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Conditions:
    """Segments `[edges[i], edges[i+1])` in s of the trace's clock, at most 1 h.

    Accounts use mean power per segment (thesis eq. 6.4).
    """

    edges: Ints
    temp_c: Floats
    price_per_kwh: Floats
    gco2_per_kwh: Floats
    offset: int = 0
    """Unix time minus trace time."""

    def __post_init__(self) -> None:
        lengths = {len(self.temp_c), len(self.price_per_kwh), len(self.gco2_per_kwh), len(self.edges) - 1}
        if len(lengths) != 1 or np.diff(self.edges).min() < 1 or np.diff(self.edges).max() > HOUR_S:
            raise ValueError("segments of 1 s to 1 h with temperature, price and CO2")

    @property
    def start(self) -> int:
        """Begin, s."""
        return int(self.edges[0])

    @property
    def end(self) -> int:
        """End, s."""
        return int(self.edges[-1])

    @property
    def quarters(self) -> Ints:
        """Edges of UTC quarter hours, cut at both ends."""
        first = self.start + -(self.start + self.offset) % DEMAND_SPAN_S
        inner = np.arange(first, self.end, DEMAND_SPAN_S, dtype=np.int64)
        return np.unique(np.concatenate([[self.start], inner, [self.end]])).astype(np.int64)

    def between(self, start: int, end: int) -> Conditions:
        """Conditions within `[start, end)`."""
        kept = (self.edges[1:] > start) & (self.edges[:-1] < end)
        edges = np.append(np.maximum(self.edges[:-1][kept], start), end)
        return Conditions(edges, self.temp_c[kept], self.price_per_kwh[kept], self.gco2_per_kwh[kept], self.offset)


def conditions_over(
    start: int, end: int, weather: Series, prices: Series, carbon: Series | None = None, offset: int = 0
) -> Conditions:
    """Conditions over `[start, end)`; trace time = Unix time of the series − `offset`.

    Segments end at full UTC hours and changes. Without `carbon`, CO2 is 0. Raises InputError for an incomplete series.
    """
    low, high = start + offset, end + offset
    series = {"weather": weather, "prices": prices} | ({"carbon": carbon} if carbon else {})
    for name, one in series.items():
        check_cover(name, one, low, high)
    hours = np.arange(low - low % HOUR_S, high, HOUR_S, dtype=np.int64)
    inner = np.unique(np.concatenate([hours, *(one.edges for one in series.values())]))
    edges = np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]]).astype(np.int64)
    co2 = carbon.at(edges[:-1]) if carbon else np.zeros(len(edges) - 1)
    return Conditions(edges - offset, weather.at(edges[:-1]), prices.at(edges[:-1]), co2, offset)


def check_cover(name: object, series: Series, low: int, high: int) -> None:
    """Raise InputError unless the series covers `[low, high)`, Unix time."""
    if series.start > low or series.end < high:
        found = f"covers {utc_text(series.start)} to {utc_text(series.end)}"
        raise InputError(name, found, f"all of {utc_text(low)} to {utc_text(high)}")


DEMAND_SPAN_S = 900
"""Demand charges use quarter-hour means, aligned to UTC."""


@dataclass(frozen=True, slots=True)
class PowerLimit:
    """Limit on IT and cooling during `[start, end)`, s of the trace's clock."""

    start: int
    end: int
    most_kw: float
    penalty_per_kwh: float | None = None
    """None: a hard limit, infeasible if exceeded."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """Tariff; default: everything free."""

    demand_per_kw: float = 0.0
    """For the highest 15-min mean, once per account."""
    co2_per_t: float = 0.0
    contracted_kw: float | None = None
    """Contracted maximum of 15-min means."""
    contract_penalty_per_kwh: float | None = None
    """None: a hard limit."""
    limits: tuple[PowerLimit, ...] = field(default=())


def co2_per_kwh(conditions: Conditions, tariff: Tariff) -> Floats:
    """CO2 cost per kWh and segment."""
    return tariff.co2_per_t * conditions.gco2_per_kwh / 1e6


def price_of_joule(conditions: Conditions, tariff: Tariff) -> Floats:
    """Price per joule with CO2, without peak charges and penalties; per segment."""
    return np.asarray((conditions.price_per_kwh + co2_per_kwh(conditions, tariff)) / 3.6e6)


def cost_of_joule(conditions: Conditions, cooling: Cooling, tariff: Tariff, it_w: Series) -> Series:
    """Marginal cost of a joule with cooling, per segment."""
    load = it_w.means(conditions.edges)
    step_w = np.maximum(load * 0.01, 100.0)
    less = np.maximum(load - step_w, 0.0)  # a measured plant may not cover a higher load
    marginal = (cooling.watts(conditions.temp_c, load) - cooling.watts(conditions.temp_c, less)) / np.maximum(
        load - less, 1e-9
    )
    return Series(conditions.edges, price_of_joule(conditions, tariff) * (1 + marginal))
