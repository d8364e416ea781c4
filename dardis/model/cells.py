"""Texts as cells of CSV files: none that a spreadsheet runs as a formula, and any survives the way there and back."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any, Final, Protocol, TextIO

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
"""How a text begins that a spreadsheet would run, or one that was kept from it."""


def as_cell(text: str) -> str:
    """The text with one more apostrophe before it where a spreadsheet would run it, or where it looks like such a cell.

    Never for numbers: a negative one stays as it is.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_cell(cell: str) -> str:
    """The text that `as_cell` wrote; a cell that nobody protected is taken as it is."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


class RowWriter(Protocol):
    """What writes rows."""

    def writerow(self, row: Iterable[Any], /) -> Any:  # noqa: ANN401 (as the csv module has it)
        """Write one row."""

    def writerows(self, rows: Iterable[Iterable[Any]], /) -> None:
        """Write some rows."""


def row_writer(file: TextIO) -> RowWriter:
    """Write rows to `file` that end in LF, with every text quoted that needs it, one with a lone CR too."""
    return csv.writer(_LineFeeds(file), lineterminator="\r\n")


class _LineFeeds:
    """Ends rows in LF: the csv module quotes only what occurs in its own end of line, so that is CR LF."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> int:
        """Hand a whole row on."""
        return self._file.write(row[:-2] + "\n")
