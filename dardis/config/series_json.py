"""JSON files of values over time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dardis.config.series_file import SeriesFormat, SeriesTable, find_columns, listed, table_of
from dardis.model.errors import InputError


@dataclass(frozen=True)
class JsonFormat:
    """Place of the records in a JSON file, and the format of the table with their keys as columns.

    A place is keys joined by dots; `0`: first of a list.
    """

    form: SeriesFormat
    """Its columns are lower-case keys such as `values.price`; those of lists are `0`, `1`."""
    records: tuple[str, ...]
    """Possible places of records, or of an object of lists."""
    unit: tuple[str, str] | None = None
    """Place of the unit (`{}`: the place of the records), and the unit."""
    offset: str = ""
    """Place of a UTC offset; `time` becomes `time OFFSET`."""


def json_table(path: Path, text: str, formats: Sequence[JsonFormat]) -> SeriesTable:
    """Parse JSON in one of the formats. Raises InputError."""
    expected = listed(one.form for one in formats)
    try:
        content: object = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise InputError(path, f"is not JSON ({error})", expected) from None
    if isinstance(content, list):
        raise InputError(path, "a list of several JSON objects, such as one for each place", f"one of {expected}")
    known: dict[str, list[dict[str, str]]] = {}
    for one in formats:
        for place in one.records:
            if place not in known:
                known[place] = _records(_part(content, place))
            if find_columns([*_names(known[place])], one.form) is not None:
                return _table(path, content, one, place, known[place])
    raise InputError(path, "JSON of another format", expected)


def _table(path: Path, content: object, one: JsonFormat, place: str, records: list[dict[str, str]]) -> SeriesTable:
    if one.unit is not None:
        where = one.unit[0].format(place)
        unit = _text(_part(content, where)) or ""
        if unit.replace(" ", "").lower() != one.unit[1].lower():
            raise InputError(f"{path}: {where}", repr(unit), one.unit[1])
    names = [*_names(records)]
    header = names
    if one.offset:
        offset = _text(_part(content, one.offset))
        header = [f"time {offset}" if name == "time" else name for name in names]
    form = replace(one.form, missing=frozenset({""}))
    lines = [(index, [record.get(name, "") for name in names]) for index, record in enumerate(records)]
    return table_of(path, [(0, header), *lines], [form], f": {place}[{{}}]")


def _part(content: object, place: str) -> object:
    for key in filter(None, place.split(".")):
        if isinstance(content, dict):
            content = content.get(key)
        else:
            content = content[0] if isinstance(content, list) and content and key == "0" else None
    return content


def _records(part: object) -> list[dict[str, str]]:
    if isinstance(part, dict):
        columns = {key: values for key, values in part.items() if isinstance(values, list)}
        if len({len(values) for values in columns.values()}) != 1:
            return []
        part = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [_fields(record) for record in part] if isinstance(part, list) else []


def _fields(record: object) -> dict[str, str]:
    if isinstance(record, list):
        record = {str(index): value for index, value in enumerate(record)}
    if not isinstance(record, dict):
        return {}
    fields: dict[str, str] = {}
    for key, value in record.items():
        parts = {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
        fields |= {name.lower(): text for name, inner in parts.items() if (text := _text(inner)) is not None}
    return fields


def _names(records: Iterable[dict[str, str]]) -> dict[str, None]:
    return {name: None for record in records for name in record}


def _text(value: object) -> str | None:
    if isinstance(value, dict | list):
        return None
    return "" if value is None else str(value)
