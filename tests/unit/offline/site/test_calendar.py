from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.past_jobs import trace_of

from dardis.config.clocks import parse_utc
from dardis.model.errors import InputError
from offline.site.calendar import DAY_S, Calendar, calendar_of

JULY_3 = 1_688_342_400  # 2023-07-03T00:00Z

calendars = st.builds(Calendar, st.integers(0, 2**33), st.integers(0, 2**33))


@given(calendars, st.integers(0, 2**34))
def test_a_moment_lies_in_its_day_and_days_are_utc(calendar, moment):
    start, end = calendar.day(calendar.day_of(moment))
    assert start <= moment < end
    assert end - start == DAY_S
    assert calendar.to_unix(start) % DAY_S == 0
    assert calendar.from_unix(calendar.to_unix(moment)) == moment


@given(calendars)
def test_day_0_holds_the_first_submit(calendar):
    assert calendar.day_of(calendar.first_submit) == 0
    assert calendar.to_unix(calendar.first_submit) == calendar.calendar_start_unix


def test_trace_time_is_unix_time_less_the_start_plus_the_first_submit():
    calendar = Calendar(43_604_796, JULY_3 + 6 * 3600)
    assert calendar.day(0) == (43_604_796 - 6 * 3600, 43_604_796 + 18 * 3600)
    assert calendar.day(2)[0] == calendar.day(1)[1]
    assert calendar.text(43_604_796) == "2023-07-03T06:00:00Z"


@pytest.mark.parametrize(
    ("text", "unix"),
    [
        ("2023-07-03T00:00Z", JULY_3),
        ("2023-07-03", JULY_3),
        ("2023-07-03 00:00:00", JULY_3),
        ("2023-07-03T02:00:00+02:00", JULY_3),
        ("1970-01-01T00:00Z", 0),
    ],
)
def test_a_moment_is_read_as_utc(text, unix):
    assert parse_utc(text) == unix


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2023-02-30", "2023-07-03T25:00Z", "2023-07-03T00:00:00.5Z", "1969-12-31", "1688342400x"]
)
def test_what_is_no_moment_is_told(text):
    with pytest.raises(InputError, match=r"--calendar-start: .*2023-07-03T00:00Z"):
        parse_utc(text)


def test_a_trace_knows_its_start_by_its_header_or_its_unix_times_or_not_at_all():
    plain = trace_of([7200, 9000], [60, 60], [1, 1])
    headed = replace(plain, comments=("Version: 2.2", f"UnixStartTime: {JULY_3}"))
    unix = trace_of(np.array([7200, 9000]) + JULY_3, [60, 60], [1, 1])
    for trace in (headed, unix):
        calendar, note = calendar_of(trace)
        assert calendar.text(int(trace.submit[0])) == "2023-07-03T02:00:00Z"
        assert note is None
    calendar, note = calendar_of(plain)
    assert calendar.day(0) == (7200, 7200 + DAY_S)
    assert "day 0 begins with its first submit" in note
    calendar, note = calendar_of(headed, JULY_3 + 3600)
    assert calendar.text(7200) == "2023-07-03T01:00:00Z"
    assert note is None
    assert calendar_of(replace(plain, comments=("UnixStartTime: 0",)))[1] is not None


def test_where_nobody_knows_dates_people_are_told_the_day_and_the_time_of_day():
    unknown, known = Calendar(500, 0, is_known=False), Calendar(500, 1_688_342_400)
    assert unknown.told(500) == "day 0, 00:00"
    assert unknown.told(500 + 3 * DAY_S + 5 * 3600 + 119) == "day 3, 05:01"
    assert known.told(500) == known.text(500) == "2023-07-03T00:00:00Z"
