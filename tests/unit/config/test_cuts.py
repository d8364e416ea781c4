"""Parts of a trace, told by seconds, dates, or from its first submission on."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.config.cuts import Clock, cut_of, seconds_of, trim_of, trim_seconds
from dardis.model.errors import InputError

UNIX_START = 1_328_227_200 - 50
"""2012-02-03 is second 50 of the trace."""
DATED, UNDATED = Clock(Path("t.swf"), 7, UNIX_START), Clock(Path("t.swf"), 7, None)


@given(st.integers(-(2**62), 2**62))
def test_whole_seconds_are_what_they_are(seconds):
    assert seconds_of("--from", cut_of("--from", str(seconds)), UNDATED) == seconds


@given(st.integers(0, 10**6), st.sampled_from([("", 1), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400), ("w", 604800)]))
def test_spans_count_from_the_first_submission(many, unit):
    name, seconds = unit
    assert seconds_of("--from", cut_of("--from", f"+{many}{name}"), UNDATED) == 7 + many * seconds
    assert trim_seconds("--trim", trim_of("--trim", f"{many}{name},0"), UNDATED, 10**12) == (many * seconds, 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2012-02-03", 50), ("2012-02-03T10:00Z", 36_050), ("2012-02-03T10:00+01:00", 32_450), ("2012-02-02", -86_350)],
)
def test_dates_are_of_utc(text, seconds):
    assert seconds_of("--to", cut_of("--to", text), DATED) == seconds


def test_a_date_needs_to_know_when_the_trace_began():
    with pytest.raises(InputError, match=r"--to 2012-02-03: t\.swf does not say when it began; .*--calendar-start"):
        seconds_of("--to", cut_of("--to", "2012-02-03"), UNDATED)


@pytest.mark.parametrize(
    "text", ["", "2d", "+", "+d", "++2d", "+2x", "-2d", "yesterday", "2012-13-01", "1.5", "+9999999999w"]
)
def test_other_texts_are_refused_in_one_line(text):
    with pytest.raises(InputError, match=r"^--from: .*; expected whole seconds on the trace's clock, a UTC date"):
        cut_of("--from", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60,0", (60, 0)),
        ("2d,12h", (172_800, 43_200)),
        ("+1m,+2m", (60, 1000 - 127 + 1)),  # who comes at 127 s is not before it
        ("2012-02-03,0", (43, 0)),
        ("0,2012-02-03", (0, 1000 - 50 + 1)),
        ("2012-02-01, 2012-03-01", (0, 0)),
    ],
)
def test_warm_up_and_cool_down(text, expected):
    assert trim_seconds("--trim", trim_of("--trim", text), DATED, 1000) == expected


@pytest.mark.parametrize("text", ["60", "60,", "-1,0", "a,b", "1,2,3", "9999999999999,0"])
def test_what_trims_nothing(text):
    with pytest.raises(InputError, match=r"^--trim: .*; expected WARMUP,COOLDOWN"):
        trim_of("--trim", text)
