"""Texts in CSV cells: none that a spreadsheet runs, and all of them back."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from dardis.model.cells import as_cell, from_cell, row_writer

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text("'=+-@\t\r\n\"a ,", max_size=6)
RUN = tuple("=+-@\t\r")
DOCS = Path(__file__).parents[3] / "docs" / "formats.md"


@given(TEXTS)
@example("''=1+1")
@example("'")
def test_any_text_survives_and_none_is_run(text: str) -> None:
    cell = as_cell(text)
    assert from_cell(cell) == text
    assert not cell.startswith(RUN)
    assert len(cell) - len(text) == bool(re.match(r"'*[=+\-@\t\r]", text))


def test_what_nobody_protected_is_taken_as_it_is() -> None:
    assert [from_cell(cell) for cell in ("-debug", "'abc", "", "'", "'=x", "''=x")] == [
        "-debug", "'abc", "", "'", "=x", "'=x",
    ]  # fmt: skip


@given(st.lists(st.lists(TEXTS | st.integers(), min_size=2, max_size=4)))
def test_rows_survive(rows: list[list[str | int]]) -> None:
    text = io.StringIO(newline="")
    row_writer(text).writerows(rows)
    written = text.getvalue()
    assert list(csv.reader(io.StringIO(written, newline=""))) == [[str(cell) for cell in row] for row in rows]
    assert not rows or written.endswith("\n")
    assert not written.endswith("\r\n")


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_the_line_of_pandas_in_the_docs_undoes_it(texts: list[str]) -> None:
    line = re.search(r"^df\[col\] = (df\[col\]\.str\.replace\(.*\))$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert line is not None
    frame = pd.DataFrame({"user": [as_cell(text) for text in texts]}, dtype=object)
    undone = eval(line[1], {"df": frame, "col": "user"})  # noqa: S307 (our own document)
    assert undone.tolist() == texts
