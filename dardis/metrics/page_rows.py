"""Page data of jobs, live or of a finished run. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

COLUMNS: Final = (
    "id", "name", "user", "state", "submitted_ms", "started_ms", "ended_ms", "nodes", "cores", "walltime_s", "watts",
    "on",
)  # fmt: skip
"""Row's values: numbers of `nodes` and `cores`, added `watts`, and first nodes (`on`)."""
MOST_NODES_OF_ROW: Final = 4
HOUR_S: Final = 3600
JOULES_PER_KWH: Final = 3.6e6

_USER, _STARTED, _ENDED, _CORES, _WATTS = map(COLUMNS.index, ("user", "started_ms", "ended_ms", "cores", "watts"))
UserEnergy = tuple[str, float, float | None, float | None]
"""User, core-hours, kWh and cost; None: unknown."""


def energy_by_user(
    rows: Iterable[Sequence[Any]], since_s: int, until_s: int, price: Callable[[int], float | None]
) -> list[UserEnergy]:  # fmt: skip
    """Use by user between two times (Unix s), the largest first. `price`: of a kWh."""
    found: dict[str, list[float]] = {}
    prices = {hour: price(hour * HOUR_S) for hour in range(since_s // HOUR_S, until_s // HOUR_S + 1)}
    has_power = is_priced = True
    for row in rows:
        if row[_STARTED] is None:
            continue
        begin = max(row[_STARTED] / 1000, since_s)
        end = min(until_s if row[_ENDED] is None else row[_ENDED] / 1000, until_s)
        if end <= begin:
            continue
        has_power &= row[_WATTS] is not None
        of = found.setdefault(row[_USER], [0.0, 0.0, 0.0])
        of[0] += row[_CORES] * (end - begin) / HOUR_S
        for hour in range(int(begin) // HOUR_S, int(end) // HOUR_S + 1):
            seconds = min(end, (hour + 1) * HOUR_S) - max(begin, hour * HOUR_S)
            kwh = (row[_WATTS] or 0.0) * max(seconds, 0.0) / JOULES_PER_KWH
            of[1] += kwh
            cost = prices.get(hour)
            is_priced &= cost is not None or kwh == 0
            of[2] += kwh * (cost or 0.0)
    told = [
        (user, of[0], of[1] if has_power else None, of[2] if has_power and is_priced else None)
        for user, of in found.items()
    ]
    return sorted(told, key=lambda one: (-one[1], one[0]))
