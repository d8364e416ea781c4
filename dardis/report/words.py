"""Numbers for people: 3.2 h, 35,538, 84.3 %."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from dardis.model.resources import CORES, MEMORY, POWER

_DURATIONS: Final = ((2 * 365 * 86400, 365 * 86400, "years"), (2 * 86400, 86400, "d"), (2 * 3600, 3600, "h"))
_SHORT: Final = ((1, 1, "s"), (1e-3, 1e-3, "ms"), (0, 1e-6, "µs"))
_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_UNITS: Final = (
    ("_percent", "%"), ("_core_h", "core-hours"), ("_kwh", "kWh"), ("_kw", "kW"), ("_kg", "kg"), ("_eur", ""),
    ("_s", "s"),
)  # fmt: skip
_LOW, _HIGH = "(a tenth of the days: less)", "(a tenth of the days: more)"
_SPELLED: Final = {"p10": _LOW, "p90": _HIGH, "co2": "CO2", "pue": "PUE"}
NOTHING: Final = "–"
"""Placeholder of undefined figures."""


def number(value: float) -> str:
    """Number with separators, or three digits."""
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Duration in the largest unit with at least two."""
    if seconds == 0:
        return "0 s"
    for least, unit, name in (*_DURATIONS, (120, 60, "min"), *_SHORT):
        if abs(seconds) >= least:
            value = seconds / unit
            digits = 0 if float(value).is_integer() or abs(value) >= 100 else 1
            return f"{value:,.{digits}f} {name}"
    raise AssertionError  # the last unit fits all


def draws(count: str, weeks: Collection[int]) -> str:
    """Scope of intervals; `weeks`: per trace, 0 if shaken."""
    if any(weeks):
        least, most = min(weeks), max(weeks)
        return f"{count} draws of the trace's {least if least == most else f'{least} to {most}'} weeks"
    return f"{count} draws of the trace, shaken (without information about other months)"


def share(value: float) -> str:
    """Percentage; two digits if small."""
    percent = 100 * value
    return f"{percent:.1f} %" if percent == 0 or abs(percent) >= 0.1 else f"{percent:.2g} %"


def money(amount: float) -> str:
    """Money, with cents if small."""
    return f"{amount:,.0f}" if abs(amount) >= 10_000 else f"{amount:,.2f}"


def energy(kwh: float) -> str:
    """MWh (from 10), else kWh."""
    return f"{number(round(kwh / 1000, 1))} MWh" if abs(kwh) >= 10_000 else f"{number(_rounded(kwh))} kWh"


def mass(kg: float) -> str:
    """Tonnes (from 10), else kg."""
    return f"{number(round(kg / 1000, 1))} t" if abs(kg) >= 10_000 else f"{number(_rounded(kg))} kg"


def _rounded(amount: float) -> float:
    """Amount with one decimal, or all of a small one."""
    return round(amount, 1) if abs(amount) >= 1 else amount


def data_size(size: float) -> str:
    """Bytes in binary units."""
    steps = 0
    while abs(size) >= 1024 and steps < len(_BYTES) - 1:
        size, steps = size / 1024, steps + 1
    return f"{number(round(size, 2))} {_BYTES[steps]}"


_FORMATS: Final = {
    "s": duration, "share": share, "currency": money, "kWh": energy, "kg": mass, "bytes": data_size,
    "kW": "{:,.1f} kW".format, "ratio": "{:.4f}".format,
}  # fmt: skip
"""Formats by metric unit."""


def in_unit(unit: str, value: float | None) -> str:
    """Value in a metric's unit; money without currency."""
    return NOTHING if value is None else _FORMATS.get(unit, number)(value)


def axis_unit(kind: str, most: float) -> tuple[str, float]:
    """Unit and divisor of an axis, for maximum `most`."""
    if kind != MEMORY:
        return "power (W)" if kind == POWER else kind, 1.0
    steps = 0
    while most >= 4096 and steps < 3:
        most, steps = most / 1024, steps + 1
    return f"{kind} ({_BYTES[steps + 2]})", 1024.0**steps


def amount_seconds(kind: str, value: float) -> str:
    """Volume: core-hours, GiB-hours, gpu-hours."""
    if kind == MEMORY:
        return f"{number(round(value / 1024 / 3600, 1))} GiB·h"
    return f"{number(round(value / 3600, 1))} {'core' if kind == CORES else kind}·h"


def label_and_value(key: str, value: str | float | None, currency: str) -> tuple[str, str]:
    """Name and value; the key ends with the unit, `_eur`: currency."""
    ending, unit = next((pair for pair in _UNITS if key.endswith(pair[0])), ("", ""))
    parts = [_SPELLED.get(part, part) for part in key.removesuffix(ending).split("_")]
    name = " ".join(sorted(parts, key=lambda part: part.startswith("(")))
    if value is None or isinstance(value, str):
        return name[:1].upper() + name[1:], NOTHING if value is None else value
    if key.endswith("_share") or key.startswith("share_"):
        return name[:1].upper() + name[1:], share(value)
    told = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
    unit = currency if ending == "_eur" else unit
    return name[:1].upper() + name[1:], f"{told} {unit}".strip()
