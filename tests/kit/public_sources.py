"""Files as public sources of prices, weather and carbon intensity provide them, of given values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from zoneinfo import ZoneInfo

from dardis.model.moments import utc_text

HOUR = 3600
Write = Callable[[int, Sequence[float]], str]
"""Text of the hourly values from a Unix time on."""
Row = Callable[[int, str, float], object]
"""Row of a Unix time, the same as ISO 8601 and a value."""


def _json(record: Row, around: Callable[[list[object]], object]) -> Write:
    return lambda start, values: json.dumps(around(_rows(record, start, values)))


def _csv(head: str, row: Row) -> Write:
    return lambda start, values: "\r\n".join([*filter(None, [head]), *map(str, _rows(row, start, values)), ""])


def _rows(row: Row, start: int, values: Sequence[float]) -> list[object]:
    return [row(at, utc_text(at), value) for at, value in zip(range(start, 1 << 40, HOUR), values, strict=False)]


def _local(at: int, form: str) -> str:
    return datetime.fromtimestamp(at, ZoneInfo("Europe/Berlin")).strftime(form)


def _smard(head: str, time: str, marks: str) -> Write:
    def row(at: int, _: str, value: float) -> str:
        number = f"{value:,.2f}".translate(str.maketrans(",.", marks))
        return f"{_local(at, time)};{_local(at + HOUR, time)};{number};1"

    return _csv("\ufeff" + head, row)


def entsoe(*series: str) -> str:
    """A document of TimeSeries."""
    head = '<Publication_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3"><type>A44'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}</type>{"".join(series)}</Publication_MarketDocument>'


def entsoe_series(
    start: int, values: Sequence[float], step: int = HOUR, curve: str = "A03", currency: str = "EUR", sequence: int = 1
) -> str:
    """A TimeSeries; with curve A03, a point for each change."""
    numbered = [[*alike] for _, alike in groupby(enumerate(values, 1), lambda pair: pair[1])]
    points = [pair for alike in numbered for pair in alike[: 1 if curve == "A03" else None]]
    name = "classificationSequence_AttributeInstanceComponent.position"
    return (
        f"<TimeSeries><mRID>1</mRID><in_Domain.mRID>10Y</in_Domain.mRID><{name}>{sequence}</{name}><currency_Unit.name>"
        f"{currency}</currency_Unit.name><price_Measure_Unit.name>MWH</price_Measure_Unit.name><curveType>{curve}"
        f"</curveType><Period><timeInterval><start>{utc_text(start)}</start><end>{utc_text(start + step * len(values))}"
        f"</end></timeInterval><resolution>PT{step // 60}M</resolution>"
        + "".join(f"<Point><position>{at}</position><price.amount>{v}</price.amount></Point>" for at, v in points)
        + "</Period></TimeSeries>"
    )


def _station(head: str, time: str, row: str) -> Write:
    return _csv(head, lambda at, _, v: row.format(datetime.fromtimestamp(at, UTC).strftime(time), v))


def _region(at: int, utc: str, value: float) -> object:
    return {"from": utc, "to": utc_text(at + HOUR), "intensity": {"forecast": value}, "generationmix": [{"perc": 1}]}


PRICES: dict[str, tuple[float, Write]] = {
    "aWATTar": (1e-3, _json(
        lambda at, _, v: {
            "start_timestamp": 1000 * at, "end_timestamp": 1000 * (at + HOUR), "marketprice": v, "unit": "Eur/MWh"},
        lambda rows: {"object": "list", "data": rows, "url": "/at/v1/marketdata"})),
    "Energy-Charts": (1e-3, _json(
        lambda at, _, v: (at, v),
        lambda rows: {"license_info": "CC", "unit": "EUR / MWh", "deprecated": False}
        | dict(zip(("unix_seconds", "price"), zip(*rows, strict=True), strict=True)))),
    "Energy-Charts, version 2": (1e-3, _json(
        lambda at, _, v: {"timestamp": _local(at, "%Y-%m-%dT%H:%M:%S%z"), "values": {"day_ahead_price": v}},
        lambda rows: {"unit": "EUR / MWh", "series": [{"id": "day_ahead_price"}], "data": rows})),
    "SMARD JSON": (1e-3, _json(
        lambda at, _, v: (1000 * at, v), lambda rows: {"meta_data": {"version": 1}, "series": rows})),
    "SMARD CSV, German": (1e-3, _smard(
        "Datum von;Datum bis;Deutschland/Luxemburg [€/MWh] Originalauflösungen;∅ Anrainer DE/LU [€/MWh] Original",
        "%d.%m.%Y %H:%M", ".,")),
    "SMARD CSV, English": (1e-3, _smard(
        "Start date;End date;Germany/Luxembourg [€/MWh] Original resolutions;Belgium [€/MWh] Original resolutions",
        "%b %-d, %Y %-I:%M %p", ",.")),
    "Octopus": (1e-2, _json(
        lambda at, utc, v: {"value_exc_vat": v, "value_inc_vat": 1.05 * v, "payment_method": None,
                            "valid_from": utc, "valid_to": utc_text(at + HOUR)},
        lambda rows: {"count": len(rows), "next": None, "previous": None, "results": rows[::-1]})),
    "ENTSO-E, A03": (1e-3, lambda start, values: entsoe(entsoe_series(start, values))),
    "ENTSO-E, A01": (1e-3, lambda start, values: entsoe(entsoe_series(start, values, curve="A01"))),
}  # fmt: skip
"""Unit of the values per kWh, and writer."""
WEATHER: dict[str, Write] = {
    "DWD, hourly": _station("STATIONS_ID;MESS_DATUM;QN_9;TT_TU;RF_TU;eor", "%Y%m%d%H", "  44;{};  3;{:6};  80.0;eor"),
    "DWD, 10 minutes": _station(
        "STATIONS_ID;MESS_DATUM;  QN;PP_10;TT_10;TM5_10;RF_10;TD_10;eor", "%Y%m%d%H%M",
        "  44;{};  3;  -999;{:6};  -999; 80.0;  1.0;eor"),
    "Meteostat, without header": _station("", "%Y-%m-%d,%H", "{},{},9.5,90,,,230,7.6,,1010.1,,"),
    "Meteostat, with header": _station(
        "year,month,day,hour,temp,temp_source,coco,coco_source", "%Y,%-m,%-d,%-H", "{},{},dwd,,"),
    "Meteostat JSON": _json(
        lambda _, utc, v: {"time": f"{utc[:10]} {utc[11:16]}:00", "temp": v, "dwpt": None, "coco": 4},
        lambda rows: {"meta": {"generated": "2026-01-01 00:00:00"}, "data": rows}),
}  # fmt: skip
CARBON: dict[str, Write] = {
    **{f"Electricity Maps, {key}": _json(
        lambda _, utc, v: {"zone": "XX", "carbonIntensity": v, "datetime": f"{utc[:-1]}:00.000Z",
                           "emissionFactorType": "lifecycle", "isEstimated": False, "estimationMethod": None},
        lambda rows, key=key: {key: rows}) for key in ("history", "data", "forecast")},
    "Great Britain": _json(
        lambda at, utc, v: {"from": utc, "to": utc_text(at + HOUR), "intensity": {
            "forecast": v if at % 7200 else 1, "actual": None if at % 7200 else v, "index": "low"}},
        lambda rows: {"data": rows}),
    "Great Britain, region": _json(_region, lambda rows: {"data": {"regionid": 13, "data": rows}}),
    "Great Britain, listed region": _json(_region, lambda rows: {"data": [{"regionid": 13, "data": rows}]}),
}  # fmt: skip
