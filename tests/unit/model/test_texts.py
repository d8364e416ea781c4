"""Texts that people and other programs write: numbers, amounts, cells of CSV files, host lists."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dardis.model.cells import as_cell, from_cell, row_writer
from dardis.model.errors import InputError, one_line
from dardis.model.hostlist import MOST_NAMES, hostlist, hostlist_in_order, names_of
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64, decimal_number, whole_number, whole_numbers
from dardis.model.resources import parse_amount

ODD = [
    "", " ", "1_800", "٣", "５", "²", "--5", "+-5", "0x10", "1,5", " 5", "5 ", "5\n", "5\x00", "1 2", "e5", ".", "+",
    "nan", "inf", "infinity", "True", "5L", "=1+1", "9" * 5000,
]  # fmt: skip


WHOLE = [*ODD, "1.5", "1e3", "5.", str(LARGEST_INT64 + 1), str(LEAST_INT64 - 1)]
DECIMAL = [*ODD, "1e400", "-1e400", "1e", "1e5.0", "1.2.3", "9" * 400]


@pytest.mark.parametrize(("read", "texts"), [(whole_number, WHOLE), (decimal_number, DECIMAL)])
def test_what_is_no_whole_number_of_64_bits_or_no_finite_decimal_is_refused(read, texts):
    for text in texts:
        with pytest.raises(ValueError, match=r"is no whole number|is out of range|is no number"):
            read(text)


@given(st.integers(LEAST_INT64, LARGEST_INT64))
def test_every_whole_number_of_64_bits_is_read_and_its_bounds_are_meant_inclusively(number):
    assert whole_number(str(number)) == whole_number(f"{number:+021d}") == number
    assert whole_number(str(number), number, number) == number
    for least, most in ((number + 1, number + 2), (number - 2, number - 1)):
        with pytest.raises(ValueError, match="out of range"):
            whole_number(str(number), least, most)


@given(
    texts=st.lists(st.one_of(st.integers(-99, 99).map(str), st.sampled_from([*ODD, "+7", "007", "1,2"])), max_size=5),
    least=st.integers(-99, 0),
)
def test_many_are_read_as_one_by_one_or_not_at_all(texts, least):
    try:
        one_by_one = [whole_number(text, least, 90) for text in texts]
    except ValueError:
        one_by_one = None
    assert whole_numbers(texts, least, 90) == one_by_one


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_as_python_writes_it(number):
    assert decimal_number(repr(number)) == number
    assert decimal_number(f"{number:.3f}") == float(f"{number:.3f}")


@given(st.text(alphabet="0123456789+-.eE_ n٣", max_size=8))
def test_nothing_is_read_that_python_would_read_otherwise(text):
    for ours, python in ((whole_number, int), (decimal_number, float)):
        try:
            number = ours(text)
        except ValueError:
            continue
        assert number == python(text)


@given(st.text(max_size=2000), st.text(max_size=2000), st.text(max_size=2000))
def test_a_mistake_is_told_in_one_line_of_bounded_length(place, found, expected):
    said = str(InputError(place, found, expected))
    assert said.isprintable()
    # A character that does not print is at most ten when it is escaped.
    assert len(said) <= 10 * 2300 + 20
    if said and (place + found + expected).isprintable():
        assert len(said) <= 2320


def test_what_is_short_is_told_as_it_is_and_both_ends_of_what_is_long():
    assert str(InputError("f.csv:3", "'x'", "a number")) == "f.csv:3: 'x'; expected a number"
    assert one_line("a\nb\x1b[2J\udcff") == "a\\nb\\x1b[2J\\udcff"
    said = one_line(f"{'9' * 5000} is no number", 60)
    assert (len(said), said[:40], said[-12:]) == (63, "9" * 40, "is no number")


@pytest.mark.parametrize(
    ("kind", "value", "amount"),
    [
        ("cores", 16, 16),
        ("cores", " 16 ", 16),
        ("memory", 512, 512),
        ("memory", "16GiB", 16 * 1024),
        ("memory", "16 gib", 16 * 1024),
        ("memory", "1.5TiB", 1536 * 1024),
        ("memory", "2048KiB", 2),
        ("memory", "16GB", 15258),  # 16e9 / 2**20 = 15258.8: what does not fill a MiB is not there
        ("memory", "1048576B", 1),
    ],
)
def test_amounts(kind, value, amount):
    assert parse_amount(kind, value) == amount


@pytest.mark.parametrize(
    ("kind", "value", "complaint"),
    [
        ("cores", -1, "negative"),
        ("cores", True, "not a whole number"),
        ("cores", 1.5, "not a whole number"),
        ("cores", "4GiB", "not a whole number"),
        ("cores", "four", "not an amount"),
        ("memory", "-1GiB", "not an amount"),
        ("memory", "1 XB", "not an amount"),
        ("memory", "", "not an amount"),
        ("memory", None, "not a whole number"),
    ],
)
def test_what_is_no_amount_is_refused(kind, value, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_amount(kind, value)


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


NAMES = st.from_regex(r"(n|x-|r1c)?[0-9]{1,3}|login|a0b", fullmatch=True)


def expanded(text):
    """What a host list means whose brackets end a name."""
    names = []
    for prefix, ranges, alone in re.findall(r"([^,\[\]]*)\[([^\]]*)\]|([^,\[\]]+)", text):
        if alone:
            names.append(alone)
        for part in filter(None, ranges.split(",")):
            low, _, high = part.partition("-")
            names += [f"{prefix}{n:0{len(low)}}" for n in range(int(low), int(high or low) + 1)]
    return names


def test_host_lists_look_as_slurm_writes_them():
    in_order = hostlist_in_order(["n3", "n1", "n2", "n2", "login", "n08", "n09", "n10"])
    assert in_order == "n[3,1-2,2],login,n[08-10]"
    assert hostlist(["n7", "n0", "n2", "n1", "n3"]) == "n[0-3,7]"
    assert hostlist(["n008", "n009", "n010"]) == "n[008-010]"
    assert hostlist(["n9", "n10"]) == "n[9-10]"
    assert hostlist(["n1", "login"]) == "n1,login"
    assert hostlist(["n12", "n08", "n1", "n2"]) == "n[1-2],n[08,12]"
    assert hostlist([]) == ""


@given(st.lists(NAMES, min_size=1, max_size=30))
def test_what_is_written_reads_back(names):
    assert names_of(hostlist_in_order(names)) == expanded(hostlist_in_order(names)) == names
    assert sorted(names_of(hostlist(names))) == sorted(expanded(hostlist(names))) == sorted(set(names))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("login1", ["login1"]),
        ("n[08-10,3]", ["n08", "n09", "n10", "n3"]),
        ("r[0-1]n[1,3]-ib,x", ["r0n1-ib", "r0n3-ib", "r1n1-ib", "r1n3-ib", "x"]),
        ("[1-2]", ["1", "2"]),
    ],
)
def test_brackets_stand_anywhere(text, names):
    assert names_of(text) == names
    assert names_of("n[0-65535]")[-1] == "n65535"  # as many as a list may have


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n[1-", "a bracket without"),
        ("n1]", "a bracket without"),
        ("n[1[2]]", "a bracket without"),
        ("", "a name of no letter"),
        ("n[]", r"\[\] is no range"),
        ("n[1-]", r"\[1-\] is no range"),
        ("n[a-b]", r"\[a-b\] is no range"),
        ("n[٣]", "is no range"),
        ("n[3-1]", "runs backwards"),
        (f"n[1-{'9' * 19}]", "is no range"),
        ("n[1-999999999]", f"more than {MOST_NAMES} names"),
        ("r[0-255]n[0-256]", f"more than {MOST_NAMES} names"),
        ("n[0-65535],x", f"more than {MOST_NAMES} names"),
    ],
)
def test_what_is_no_host_list(text, message):
    with pytest.raises(ValueError, match=message):
        names_of(text)
