"""Moments in Slurm's notation, by the examples of its manual."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.live.slurm_times import read_moment

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 10, 24, 13, 30, 20, tzinfo=ZONE)  # the night after, clocks go back


@pytest.mark.parametrize(("text", "expected"), [
    ("16:00", "2026-10-24T16:00"), ("13:30:20", "2026-10-25T13:30:20"), ("1:00 am", "2026-10-25T01:00"),
    ("12:15PM", "2026-10-25T12:15"), ("12:15 AM", "2026-10-25T00:15"), ("11:45:10pm", "2026-10-24T23:45:10"),
    ("midnight", "2026-10-25"), ("noon", "2026-10-25T12:00"), ("fika", "2026-10-24T15:00"),
    ("teatime", "2026-10-24T16:00"), ("elevenses", "2026-10-25T11:00"), ("today", "2026-10-24T13:30:20"),
    ("tomorrow", "2026-10-25"), ("2026-12-24", "2026-12-24"), ("2026-12-24T16:00", "2026-12-24T16:00"),
    ("2026-12-24t16:00:09", "2026-12-24T16:00:09"), ("12/24/26", "2026-12-24"), ("12/24", "2026-12-24"),
    ("01/20", "2027-01-20"), ("0120", "2027-01-20"), ("012030", "2030-01-20"), ("24.12.2026", "2026-12-24"),
    ("tomorrow 4:00", "2026-10-25T04:00"), ("16:00 12/24", "2026-12-24T16:00"),
    ("tomorrow noon", "2026-10-25T12:00"),
])  # fmt: skip
def test_moments_of_the_manual_are_read(text, expected):
    assert read_moment(text, "--begin", NOW) == datetime.fromisoformat(expected).replace(tzinfo=ZONE).timestamp()


@given(
    st.integers(0, 10**6),
    st.sampled_from([("", 1), ("seconds", 1), ("minute", 60), ("hours", 3600), ("weeks", 604800)]),
)
def test_spans_from_now_are_real_time(count, unit):
    assert read_moment(f"now + {count}{unit[0]}", "--begin", NOW) == NOW.timestamp() + count * unit[1]


@pytest.mark.parametrize(("text", "expected"), [
    ("today", "2026-10-24"), ("2026-10-24", "2026-10-24"), ("10/24", "2026-10-24"), ("01/20", "2026-01-20"),
    ("00:00", "2026-10-24"), ("16:00", "2026-10-24T16:00"), ("now-1hour", "2026-10-24T12:30:20"),
    ("now-2days", "2026-10-22T13:30:20"), ("2026-10-24T05:00", "2026-10-24T05:00"),
])  # fmt: skip
def test_moments_of_a_past_are_those_of_today_and_this_year(text, expected):
    moment = datetime.fromisoformat(expected).replace(tzinfo=ZONE).timestamp()
    assert read_moment(text, "--starttime", NOW, past=True) == moment


@given(st.datetimes(NOW.replace(tzinfo=None, microsecond=0), NOW.replace(tzinfo=None) + timedelta(999)))
def test_date_and_time_round_trip(moment):
    whole = moment.replace(microsecond=0)
    assert read_moment(whole.isoformat(), "--begin", NOW) == whole.replace(tzinfo=ZONE).timestamp()


@pytest.mark.parametrize("text", [
    "", "soon", "now-1fortnight", "now*2", "now+1year", "25:00", "16:60", "13:00pm", "02/30", "2026-13-01",
    "16:00 17:00", "today today",
])  # fmt: skip
def test_other_notations_are_refused(text):
    assert line_of(read_moment, text, "--begin", NOW).startswith(f"--begin: {text!r}; expected now+1hour, 16:00")
