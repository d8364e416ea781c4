"""Tables of Slurm's programs: columns of a format, and their lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from dardis.model.errors import InputError

_FIELD: Final = re.compile(r"%(\.?)(\d*)([A-Za-z%])")


class Column(NamedTuple):
    """Column: text ahead of it, field, width (0: that of its text), alignment."""

    before: str
    field: str
    width: int
    right: bool


def read_format(text: str, fields: Collection[str]) -> list[Column]:
    """Columns of --format such as `%.18i %j`, of `fields`. Raises InputError."""
    columns, at = [], 0
    for found in _FIELD.finditer(text):
        if found[3] == "%":
            continue
        if found[3] not in fields:
            raise InputError("--format", repr(found[0]), f"%[[.]SIZE] and one of {' '.join(fields)}")
        columns.append(Column(text[at : found.start()], found[3], int(found[2] or 0), bool(found[1])))
        at = found.end()
    if "%" in text[at:] or any("%" in column.before for column in columns) or not columns:
        raise InputError("--format", repr(text), "fields such as %.18i or %j")
    return [*columns, Column(text[at:], "", 0, right=False)]


def line_of(columns: Sequence[Column], text_of: Callable[[str], str]) -> str:
    """Line of a table. Texts wider than their column are cut."""
    parts = []
    for column in columns:
        text = text_of(column.field) if column.field else ""
        if column.width:
            text = text[: column.width]
            text = text.rjust(column.width) if column.right else text.ljust(column.width)
        parts.append(column.before + text)
    return "".join(parts)
