"""Energy prices of a live service."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from dardis.config.prices import PriceTable, read_prices
from dardis.model.errors import InputError
from dardis.model.platform import Platform

_HOUR_S: Final = 3600


class EnergyPrices:
    """Platform's prices; a changed file is read again at a new hour."""

    def __init__(self, platform: Platform) -> None:
        self._stated, self._money = platform.facility.prices, platform.money
        self._stamp: tuple[int, int] | None = None
        self._table: PriceTable | None = None
        self._known: dict[int, float | None] = {}

    @property
    def are_stated(self) -> bool:
        """Whether the platform has prices."""
        return self._stated is not None

    def at(self, unix_s: float) -> float | None:
        """Price of a kWh; None: unknown."""
        if not isinstance(self._stated, str):
            return self._stated
        hour = int(unix_s) // _HOUR_S
        if hour not in self._known:
            self._read_changes(Path(self._stated))
            self._known[hour] = None
            with suppress(InputError):
                if self._table is not None:
                    series = self._table.over((hour * _HOUR_S, (hour + 1) * _HOUR_S), self._money)
                    if series.start <= unix_s < series.end:
                        self._known[hour] = float(series.at(int(unix_s)))
        return self._known[hour]

    def _read_changes(self, path: Path) -> None:
        stamp = None
        with suppress(OSError):
            found = path.stat()
            stamp = found.st_mtime_ns, found.st_size
        if stamp != self._stamp:
            self._stamp, self._table, self._known = stamp, None, {}
            with suppress(InputError, OSError):
                self._table = read_prices(path)
