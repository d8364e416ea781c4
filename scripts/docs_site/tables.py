"""Writes the tables of docs/ that describe options, keys, records, columns and metrics, from what declares them.

A table stands between two comments: `<!-- table: module:NAME -->` and `<!-- end of table -->`. NAME is a model, a
set-up of dispatchers, a table of options, a mapping of words to meanings, the glossary of reports, a CsvTable, a part
of the catalogue of metrics, or a function that returns rows. Names behind it choose some of its rows, or are arguments
of the function. `python -m scripts.docs_site.tables` writes all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from dardis.config.option import Option, OptionField, key_of, option_fields
from dardis.live.option_table import IGNORED, USED, OptionTable
from dardis.metrics.catalogue import Metric
from dardis.model.csv_table import Column, CsvTable
from dardis.report.glossary import GlossaryEntry
from scripts.docs_site.setting_tables import setting_rows

PAGES: Final = Path(__file__).parents[2] / "docs"
_TABLE: Final = re.compile(r"(<!-- table: ([\w.]+):(\w+)([\w -]*) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """The page with each table as its model says it."""

    def written(match: re.Match[str]) -> str:
        begin, module, name, fields, _, end = match.groups()
        return f"{begin}{table_of(getattr(import_module(module), name), fields.split())}{end}"

    return _TABLE.sub(written, page)


def table_of(thing: Any, fields: list[str] | None = None) -> str:  # noqa: ANN401 (what the page's comment names)
    """What is declared as a Markdown table: all rows, or those that are named."""
    if isinstance(thing, CsvTable):
        rows = _column_rows("column", thing.columns, fields)
    elif isinstance(thing, Mapping) and all(isinstance(one, Metric) for one in thing.values()):
        rows = _column_rows("key", thing.values(), fields)
    elif isinstance(thing, Mapping) and all(isinstance(one, GlossaryEntry) for one in thing.values()):
        rows = [["term", "meaning"], *([word, _linked(thing[word])] for word in sorted(thing))]
    elif isinstance(thing, OptionTable):
        rows = [["options", "here"], *_option_rows(thing)]
    elif isinstance(thing, Mapping):
        rows = [["value", "meaning"], *([f"`{word}`", about] for word, about in thing.items())]
    elif isfunction(thing):
        rows = thing(*fields or [])
    else:
        is_model = issubclass(thing, BaseModel)
        rows = _model_rows(thing, fields) if is_model else setting_rows(thing, fields or [])
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _column_rows(head: str, columns: Iterable[Column], names: list[str] | None) -> list[list[str]]:
    chosen = [column for column in columns if not names or column.name in names]
    return _shown(
        {
            head: [f"`{one.name}`" for one in chosen],
            "name": [one.caption if isinstance(one, Metric) else "" for one in chosen],
            "unit": [one.unit_text for one in chosen],
            "better": [one.better.value if isinstance(one, Metric) and one.better else "" for one in chosen],
            "meaning": [" ".join(map(_sentence, filter(None, (one.meaning, one.detail)))) for one in chosen],
        }
    )


def _option_rows(table: OptionTable) -> list[list[str]]:
    """A row for each kind of support, and for each reason of a rejection."""
    groups: dict[str, list[str]] = {}
    for name, option in sorted(table.options.items()):
        short = f", `-{option.short}`" if option.short else ""
        groups.setdefault(option.support, []).append(f"`--{name}`{short}")
    words = {USED: "used", IGNORED: "ignored, with a warning"}
    order = [USED, IGNORED, *sorted(support for support in groups if support not in words)]
    return [["; ".join(groups[one]), words.get(one, f"rejected: {one}")] for one in order]


def _linked(meaning: GlossaryEntry) -> str:
    return f"{_sentence(meaning.text)} [Metrics](metrics.md#{meaning.section})"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def _shown(columns: dict[str, list[str]]) -> list[list[str]]:
    """Head and rows of the columns that say something."""
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    return [[*shown], *map(list, zip(*shown.values(), strict=True))]


def _model_rows(model: type[BaseModel], fields: list[str] | None) -> list[list[str]]:
    options = {one.name: one for one in option_fields(model)}
    described = options or {
        name: OptionField(name, info, Option(info.description or "")) for name, info in model.model_fields.items()
    }
    required = sorted(described, key=lambda name: not described[name].info.is_required())
    names = fields or [*required, *(name for name in model.model_fields if name not in described)]
    columns = {"key": [f"`{key_of(name)}`" for name in names]}
    if all(name in options for name in names):
        columns["option"] = [_option(options[name]) for name in names]
    if all(name in described for name in names):
        columns["default"] = [_default(described[name]) for name in names]
    columns["meaning"] = [_meaning(model, described, name) for name in names]
    return _shown(columns)


def _option(one: OptionField) -> str:
    """The option as it is written; empty: only a file states it."""
    if one.about.metavar is None and one.kind is not bool:
        return ""
    words = one.about.metavar if one.about.is_argument else f"{one.option} {one.about.metavar or ''}".rstrip()
    return f"`{words}`".replace("|", "\\|")


def _default(one: OptionField) -> str:
    if one.info.is_required():
        return "required"
    if one.kind is bool:
        return f"`{str(one.default).lower()}`"
    stated = isinstance(one.default, str | float | int) or one.reader is not None
    return f"`{one.text_of(one.default)}`" if stated and one.default not in (None, "", ()) else ""


def _sentences(one: OptionField) -> str:
    return " ".join(filter(None, (one.about.help, one.about.detail)))


def _meaning(model: type[BaseModel], options: dict[str, OptionField], name: str) -> str:
    return _sentences(options[name]) if name in options else model.model_fields[name].description or ""


def main() -> None:
    """Write the tables of all pages."""
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        if (new := with_tables(text)) != text:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
