"""What is known of each hour of a day when that day is planned: the table that all trees are fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Floats, Ints
from dardis.model.profile import StepFunction
from dardis.model.series import Series
from offline.site.calendar import DAY_S, HOUR_S

EVENING_S = 6 * HOUR_S
"""How much of the end of the last day `last hours' arrivals` looks at."""


@dataclass(frozen=True)
class HourTable:
    """One row an hour. `values` (hours, features), named by `names`; hour i is `[edges[i], edges[i+1])`.

    `day` (hours,) numbers the day of each hour: a cross-validation never splits one.
    """

    names: tuple[str, ...]
    values: Floats
    edges: Ints
    day: Ints

    def rows(self, first: int, last: int) -> HourTable:
        """The hours `[first, last)`."""
        cut = slice(first, last)
        return replace(self, values=self.values[cut], edges=self.edges[first : last + 1], day=self.day[cut])


def hour_table(
    first_day: int,
    days: int,
    weekday: int,
    used: StepFunction,
    capacity: int,
    submits: Ints,
    more: dict[str, Series],
) -> HourTable:
    """Rows for `days` days from the midnight `first_day` on, which is of `weekday` (0: Monday).

    `used` and `submits` (ascending) are cores in use and times of submission in the past; a row looks only at what lies
    before the midnight that begins its day. `more` are values known ahead, each for all of these hours: temperature,
    price, forecast use; a name is how the tree's rules call it.
    """
    edges = first_day + HOUR_S * np.arange(24 * days + 1, dtype=np.int64)
    day = np.repeat(np.arange(days), 24)
    begins = edges[:-1]
    midnight = first_day + DAY_S * day
    daily = [
        used.integral(m - DAY_S, m) / (capacity * DAY_S) for m in range(first_day, first_day + days * DAY_S, DAY_S)
    ]

    def arrivals(since: Ints, until: Ints) -> Ints:
        return np.asarray(np.searchsorted(submits, until) - np.searchsorted(submits, since))

    columns: dict[str, NDArray[np.generic]] = {
        "hour": np.tile(np.arange(24), days),
        "weekday": (weekday + day) % 7,
        "last day's use": np.array(daily)[day],
        "last hours' arrivals": arrivals(midnight - EVENING_S, midnight),
        "arrivals at this hour yesterday": arrivals(begins - DAY_S, begins - DAY_S + HOUR_S),
    }
    columns |= {name: series.means(edges) for name, series in more.items()}
    return HourTable(tuple(columns), np.stack([c.astype(np.float64) for c in columns.values()], axis=1), edges, day)
