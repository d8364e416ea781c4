"""Prices of energy that a live service knows."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from dardis.config.prices import read_prices
from dardis.model.errors import InputError
from dardis.model.platform import Platform

_HOUR_S: Final = 3600
_AROUND: Final = 25


class EnergyPrices:
    """Prices of a platform; a file is read again if it lacks an hour, as a new day may be in it now."""

    def __init__(self, platform: Platform) -> None:
        self._stated, self._money = platform.facility.prices, platform.money
        self._known: dict[int, float] = {}
        """Prices of a file, by hour."""
        self._missed = -1
        """Hour that the file did not have."""

    @property
    def are_stated(self) -> bool:
        """Whether the platform has prices."""
        return self._stated is not None

    def at(self, unix_s: float) -> float | None:
        """Price of a kWh; None: unknown."""
        if not isinstance(self._stated, str):
            return self._stated
        hour = int(unix_s) // _HOUR_S
        if hour not in self._known and hour != self._missed:
            self._read(Path(self._stated), hour)
        return self._known.get(hour)

    def _read(self, path: Path, hour: int) -> None:
        """Read the price of an hour, and of those around it that the file has."""
        self._missed, self._known = hour, {}
        with suppress(InputError, OSError):
            prices = read_prices(path)
            for first, last in ((hour - _AROUND, hour + _AROUND), (hour - _AROUND, hour + 1), (hour, hour + 1)):
                with suppress(InputError):
                    series = prices.over((first * _HOUR_S, last * _HOUR_S), self._money)
                    hours = [one for one in range(first, last) if series.start <= one * _HOUR_S < series.end]
                    self._known = {one: float(series.at(one * _HOUR_S)) for one in hours}
                    return
