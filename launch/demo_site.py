# ruff: noqa: INP001 (a script outside of a package)
"""Write synthetic weather.csv and prices.csv for the demo; equal seeds give equal files.

The temperature is lowest before dawn. The price has a peak in the morning and one in the evening.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.randomness import stream

MEAN_C, SWING_C, COLDEST_H = 18.0, 6.0, 4.0
"""Outdoor temperature of a day in May: mean, amplitude and coldest hour (UTC)."""
NIGHT_EUR, PEAKS = 0.09, ((8.0, 2.0, 0.07), (18.5, 2.2, 0.12))
"""Price per kWh without peaks, and hour, width (h) and height of each peak."""
DAILY_C, DAILY_SHARE = 1.5, 0.06
"""Standard deviations of a day's mean temperature, and of its relative price."""


def temperatures(hours: Floats, shift_c: Floats) -> Floats:
    """°C at hours of the day, with the `shift_c` of each day."""
    return MEAN_C + shift_c - SWING_C * np.cos(2 * np.pi * (hours - COLDEST_H) / 24)


def prices(hours: Floats, factor: Floats) -> Floats:
    """Price per kWh at hours of the day, times the `factor` of each day."""
    peaks = sum(high * np.exp(-(((hours - hour) / width) ** 2)) for hour, width, high in PEAKS)
    return factor * (NIGHT_EUR + peaks)


def write_around(folder: Path, begin: datetime, days: int, seed: int) -> None:
    """Write hourly weather.csv and prices.csv of `days` UTC days. Raises OSError."""
    rng = stream(seed, "demo", "around")
    hour = np.arange(24 * days)
    of_day = (hour % 24).astype(np.float64) + 0.5
    warmer, dearer = rng.normal(0, DAILY_C, days), 1 + rng.normal(0, DAILY_SHARE, days)
    rows = {
        "weather.csv": ("temp_c", ".1f", temperatures(of_day, warmer[hour // 24])),
        "prices.csv": ("price_eur_per_kwh", ".4f", prices(of_day, dearer[hour // 24])),
    }
    for name, (column, form, values) in rows.items():
        with (folder / name).open("w", encoding="utf-8") as file:
            file.write(f"start_utc,{column}\n")
            for place, value in zip(hour.tolist(), values.tolist(), strict=True):
                file.write(f"{begin + timedelta(hours=place):%Y-%m-%dT%H:%MZ},{value:{form}}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--begin", required=True, help="UTC day, as 2014-05-05")
    parser.add_argument("--days", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    write_around(asked.folder, datetime.fromisoformat(asked.begin).replace(tzinfo=UTC), asked.days, asked.seed)


if __name__ == "__main__":
    main()
