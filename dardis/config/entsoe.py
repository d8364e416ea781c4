"""Prices of ENTSO-E's transparency platform (XML)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from dardis.config.clocks import fixed_clock
from dardis.config.series_file import DAY_S
from dardis.config.xml_text import parse_xml
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number

_EXPECTED: Final = "a Publication_MarketDocument of prices (ENTSO-E)"
_STEPS_S: Final = {"PT15M": 900, "PT30M": 1800, "PT60M": 3600}
_SEQUENCE: Final = "classificationSequence_AttributeInstanceComponent.position"
_LONGEST_S: Final = 366 * DAY_S
POINTS: Final = ": Point {}"
"""Format of a row's place after the path."""


def is_xml(text: str) -> bool:
    """Whether a text begins as XML does."""
    return text.lstrip()[:1] == "<"


def entsoe_lines(path: Path, text: str) -> list[tuple[int, list[str]]]:
    """Header and rows of the first auction, numbered by points. Raises InputError."""
    root = parse_xml(path, text, "Publication_MarketDocument", _EXPECTED)
    for number, point in enumerate(root.iterfind(".//{*}Point"), 1):
        point.set("number", str(number))
    rows = [row for series in root.iterfind("{*}TimeSeries") for row in _rows(path, series)]
    currency = rows[0][1][3] if rows else ""
    return [(1, ["time", "end", f"price ({currency}/MWh)", "currency", "area"]), *rows]


def _rows(path: Path, series: ET.Element) -> Iterator[tuple[int, list[str]]]:
    if _text(series, _SEQUENCE) not in {"", "1"}:
        return
    curve, unit = _text(series, "curveType"), _text(series, "price_Measure_Unit.name")
    if curve not in {"", "A01", "A03"}:
        raise InputError(f"{path}: curveType", repr(curve), "A01 or A03")
    if unit != "MWH":
        raise InputError(f"{path}: price_Measure_Unit.name", repr(unit), "MWH")
    currency, area = _text(series, "currency_Unit.name"), _text(series, "in_Domain.mRID")
    if not re.fullmatch("[A-Z]{3}", currency):
        raise InputError(f"{path}: currency_Unit.name", repr(currency), "a currency such as EUR")
    for period in series.iterfind("{*}Period"):
        start, end, step_s = _times(path, period)
        steps = (end - start) // step_s
        points = period.findall("{*}Point")
        positions = [_position(path, point, steps) for point in points] + [steps + 1]
        for point, (position, following) in zip(points, pairwise(positions), strict=True):
            if following <= position:
                found = f"position {following} after {position}"
                raise InputError(_place(path, point), found, "ascending positions")
            held = following if curve == "A03" else position + 1
            for begin in range(start + (position - 1) * step_s, start + (held - 1) * step_s, step_s):
                price = _text(point, "price.amount")
                yield int(point.get("number", "")), [str(begin), str(begin + step_s), price, currency, area]


def _times(path: Path, period: ET.Element) -> tuple[int, int, int]:
    first, last = (_text(period, f"timeInterval/{{*}}{name}") for name in ("start", "end"))
    resolution, clock = _text(period, "resolution"), fixed_clock(0)
    try:
        start, end, step_s = clock(first), clock(last), _STEPS_S[resolution]
    except (ValueError, OverflowError, KeyError):
        start, end, step_s = 0, 0, 1
    if not 0 < end - start <= _LONGEST_S or (end - start) % step_s:
        found = f"{first!r} to {last!r}, resolution {resolution!r}"
        raise InputError(f"{path}: Period", found, f"at most a year in steps of {', '.join(_STEPS_S)}")
    return start, end, step_s


def _position(path: Path, point: ET.Element, most: int) -> int:
    text = _text(point, "position")
    try:
        return whole_number(text, 1, most)
    except ValueError:
        raise InputError(_place(path, point), f"position {text!r}", f"1 to {most}") from None


def _place(path: Path, point: ET.Element) -> str:
    return f"{path}: Point {point.get('number')}"


def _text(element: ET.Element, name: str) -> str:
    return (element.findtext(f"{{*}}{name}") or "").strip()
