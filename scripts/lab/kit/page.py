"""Writes what a kit found: a page in Markdown, printed as well, and tables of figures as CSV."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NOTHING: Final = "–"
"""The cell of what is not known."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, blank: str = "  ") -> list[str]:
    """A table in Markdown, line by line: the first `left` columns are words, the others numbers.

    An empty cell is `blank`, so that each page keeps the bytes that it always had.
    """
    line = ["---"] * left + ["---:"] * (len(head) - left)
    return ["|" + "".join(f" {cell} |" if cell else f"{blank}|" for cell in row) for row in (head, line, *rows)]


def markdown(parts: Iterable[Iterable[str]]) -> str:
    """A whole page of parts, each some lines."""
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def publish(path: Path, text: str) -> None:
    """Write a page, and print it."""
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a table, by the names in its head."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def paired_head(names: Iterable[str], theirs: str = "thesis") -> list[str]:
    """The head of a table that has two columns of each figure."""
    return [f"{name}: {whose}" for name in names for whose in (theirs, "ours")]


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table of figures."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


@dataclass(frozen=True)
class FigureTable:
    """A table of figures for the page and, as CSV of this name, for docs/reproduction."""

    name: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    """Columns of words."""

    def lines(self) -> list[str]:
        """As Markdown."""
        return table(self.head, self.rows, self.left)

    def write(self, folder: Path) -> None:
        """As CSV, where an unknown cell is empty."""
        rows = (["" if cell == NOTHING else cell for cell in row] for row in self.rows)
        write_csv(folder / f"{self.name}.csv", self.head, rows)
