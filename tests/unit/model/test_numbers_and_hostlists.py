"""Texts that people and other programs write: numbers, amounts, cells of CSV files, host lists."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.errors import InputError
from dardis.model.hostlist import MOST_NAMES, hostlist, hostlist_in_order, names_of
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64, decimal_number, whole_number

ODD = [
    "", " ", "1_800", "٣", "５", "²", "--5", "+-5", "0x10", "1,5", " 5", "5 ", "5\n", "5\x00", "1 2", "e5", ".", "+",
    "nan", "inf", "infinity", "True", "5L", "=1+1", "9" * 5000,
]  # fmt: skip


WHOLE = [*ODD, "1.5", "1e3", "5.", str(LARGEST_INT64 + 1), str(LEAST_INT64 - 1)]
DECIMAL = [*ODD, "1e400", "-1e400", "1e", "1e5.0", "1.2.3", "9" * 400]


@pytest.mark.parametrize(("read", "texts"), [(whole_number, WHOLE), (decimal_number, DECIMAL)])
def test_invalid_integers_and_decimals_are_refused(read, texts):
    for text in texts:
        with pytest.raises(ValueError, match=r"is not a whole number|is out of range|is not a number"):
            read(text)


@given(st.integers(LEAST_INT64, LARGEST_INT64))
def test_every_64_bit_integer_is_read(number):
    assert whole_number(str(number)) == whole_number(f"{number:+021d}") == number
    assert whole_number(str(number), number, number) == number
    for least, most in ((number + 1, number + 2), (number - 2, number - 1)):
        with pytest.raises(ValueError, match="out of range"):
            whole_number(str(number), least, most)


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
def test_number_error_is_one_line_of_bounded_length(place, found, expected):
    said = str(InputError(place, found, expected))
    assert said.isprintable()
    # A character that does not print is at most ten when it is escaped.
    assert len(said) <= 10 * 2300 + 20
    if said and (place + found + expected).isprintable():
        assert len(said) <= 2320


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


@given(st.lists(NAMES, min_size=1, max_size=30))
def test_host_lists_round_trip(names):
    assert names_of(hostlist_in_order(names)) == expanded(hostlist_in_order(names)) == names
    assert sorted(names_of(hostlist(names))) == sorted(expanded(hostlist(names))) == sorted(set(names))


@pytest.mark.parametrize(("text", "message"), [
    ("n[1-", "an unmatched bracket"), ("n1]", "an unmatched bracket"), ("n[1[2]]", "an unmatched bracket"),
    ("", "a name without letters"), ("n[]", r"\[\] is not a range"), ("n[1-]", r"\[1-\] is not a range"),
    ("n[a-b]", r"\[a-b\] is not a range"), ("n[٣]", "is not a range"), ("n[3-1]", "is a descending range"),
    (f"n[1-{'9' * 19}]", "is not a range"), ("n[1-999999999]", f"more than {MOST_NAMES} names"),
    ("r[0-255]n[0-256]", f"more than {MOST_NAMES} names"), ("n[0-65535],x", f"more than {MOST_NAMES} names"),
])  # fmt: skip
def test_invalid_host_list_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        names_of(text)
