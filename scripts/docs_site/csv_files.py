"""Shows CSV files as tables on the site. A code host shows the link alone.

A page names a file in a line of its own: `[Title](folder/name.csv) <!-- csv -->`, also as an item of a list.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Final

_NAMED: Final = re.compile(r"^(?:[-*] )?\[([^\]]+)\]\(([\w./-]+\.csv)\) <!-- csv -->$", re.MULTILINE)
_NUMBER: Final = re.compile(r"[-+]?\d[\d.]*(e[-+]\d+)?|∞")


def with_csv_tables(page: str, folder: Path) -> str:
    """Page with a folded HTML table of each CSV file that it names relative to `folder`."""
    return _NAMED.sub(lambda named: _folded(named[1], named[2], folder / named[2]), page)


def _folded(title: str, target: str, path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    if any(len(row) != len(head) for row in rows):
        msg = f"{path}: a row has more or fewer cells than the header"
        raise ValueError(msg)
    table = "\n".join([_row("th", head), *(_row("td", row) for row in rows)])
    link = f'<p><a href="{target}">{path.name}</a></p>'
    summary = escape(title.replace("`", ""))
    return f"\n<details><summary>{summary}</summary>\n{link}\n<table>\n{table}\n</table>\n</details>\n"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(_cell(tag, text) for text in cells)}</tr>"


def _cell(tag: str, text: str) -> str:
    place = ' align="right"' if _NUMBER.fullmatch(text) else ""
    return f"<{tag}{place}>{escape(text)}</{tag}>"
