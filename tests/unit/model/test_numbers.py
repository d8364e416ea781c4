import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.errors import InputError, one_line
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64, decimal_number, whole_number, whole_numbers

ODD = [
    "", " ", "1_800", "٣", "５", "²", "--5", "+-5", "0x10", "1,5", " 5", "5 ", "5\n", "5\x00", "1 2", "e5", ".", "+",
    "nan", "inf", "infinity", "True", "5L", "=1+1", "9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("text", [*ODD, "1.5", "1e3", "5.", str(LARGEST_INT64 + 1), str(LEAST_INT64 - 1)])
def test_what_is_no_whole_number_of_64_bits_is_refused(text):
    with pytest.raises(ValueError, match=r"is no whole number|is out of range"):
        whole_number(text)


@pytest.mark.parametrize("text", [*ODD, "1e400", "-1e400", "1e", "1e5.0", "1.2.3", "9" * 400])
def test_what_is_no_finite_decimal_is_refused(text):
    with pytest.raises(ValueError, match="is no number"):
        decimal_number(text)


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
