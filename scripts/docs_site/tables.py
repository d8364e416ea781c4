"""Writes the tables of docs/ that describe options, keys and records, from the models that define them.

A table stands between two comments: `<!-- table: module:Model -->` and `<!-- end of table -->`. Fields behind the name
of the model choose some of its rows. `python -m scripts.docs_site.tables` writes all of them.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from dardis.config.option import OptionField, key_of, option_fields

PAGES: Final = Path(__file__).parents[2] / "docs"
_TABLE: Final = re.compile(r"(<!-- table: ([\w.]+):(\w+)([\w ]*) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """The page with each table as its model says it."""

    def written(match: re.Match[str]) -> str:
        begin, module, name, fields, _, end = match.groups()
        return f"{begin}{table_of(getattr(import_module(module), name), fields.split())}{end}"

    return _TABLE.sub(written, page)


def table_of(model: type[BaseModel], fields: list[str] | None = None) -> str:
    """The fields of a model as a Markdown table: all, or those that are named."""
    options = {one.name: one for one in option_fields(model)}
    names = fields or [*options, *(name for name in model.model_fields if name not in options)]
    columns = {"key": [f"`{key_of(name)}`" for name in names]}
    if all(name in options for name in names):
        columns["option"] = [_option(options[name]) for name in names]
        columns["default"] = [_default(options[name]) for name in names]
    columns["meaning"] = [_meaning(model, options, name) for name in names]
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    rows = [[*shown], ["---"] * len(shown), *map(list, zip(*shown.values(), strict=True))]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


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
    return "" if one.default in (None, (), "", {}) else f"`{one.text_of(one.default)}`"


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
