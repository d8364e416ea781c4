"""Histories that have ended before their time, and those of machines that are just quiet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.small_site import called, made_up_rows, search_less, swf, write_site

from dardis.cli.main import run
from dardis.workload.read import read_trace
from offline.site.calendar import DAY_S
from offline.site.record import record_begins
from offline.site.stale import LEAST_DAYS, freshness

NAMES = ("KTH-SP2-1996.swf.gz", "MetaCentrum-Wagap-2013.swf.gz", "CEA-Curie-2012-slice36k.swf.gz")


def daily(*counts: int) -> np.ndarray:
    """So many submissions in each day from time 0 on."""
    return np.concatenate([DAY_S * day + np.arange(count) * 60 for day, count in enumerate(counts)]).astype(np.int64)


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ([5] * 20, ""),
        ([5] * 18 + [0] * 2, "no job was submitted for 2 days, and each of 18 days before had some"),
        ([5] * 10 + [0] + [5] * 8 + [0], ""),
        ([5] * 20 + [0] + [5] * 20 + [0], "no job was submitted for a day, and 1 of 41 days before had none"),
        ([100] * 14 + [10, 0] * 3 + [110], ""),
        ([304] + [0] * 11, "no job was submitted for 11 days, after 304 jobs in 1 days"),
        ([304, 0, 304] + [0] * 12, "no job was submitted for 12 days, after 608 jobs in 3 days"),
        ([90] * 10 + [0, 0, 3] + [0] * 15, "no job was submitted for 15 days, after 903 jobs in 13 days"),
        ([100] * 13 + [0] + [10, 0] * 3 + [9], "39 jobs were submitted in the last week, and at least 600 in each of"),
    ],
)
def test_silence_is_stale_where_it_is_rare(counts: list[int], why: str) -> None:
    found = freshness(daily(*counts), DAY_S * len(counts))
    assert found.note == "" or not found.stale
    assert found.stale.startswith(why)
    assert bool(found.stale) is bool(why)


def test_what_waits_since_long_before_the_record_begins_hides_no_silence():
    """Sixty days of Slurm's accounting that ended thirteen days ago, with a job that somebody holds for months."""
    submits = np.concatenate([[0], daily(*[50] * 47) + 100 * DAY_S])
    now = 160 * DAY_S
    runtime = np.concatenate([[now + 5], np.full(len(submits) - 1, 60)])
    begins = record_begins(submits, submits + runtime, now)
    assert begins == 99 * DAY_S + 60
    found = freshness(submits, now, begins)
    assert found.stale == "no job was submitted for 13 days, and each of 47 days before had some"


@pytest.mark.parametrize("counts", [[4] + [0] * 9, [304, 0, 0], [9, 9, 9, 9, 9, 0, 0], [300] * 5 + [0] * 3])
def test_few_jobs_and_weekends_are_no_silence(counts: list[int]) -> None:
    found = freshness(daily(*counts), DAY_S * len(counts))
    assert found.stale == ""
    assert "too few to tell" in found.note


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 60), st.lists(st.integers(0, 9)))
def test_what_comes_later_is_not_looked_at(counts: list[int], day: int, later: list[int]) -> None:
    now = DAY_S * day
    submits = daily(*counts)
    known = submits[submits < now]
    assert freshness(np.concatenate([known, now + np.array(later, dtype=np.int64)]), now) == freshness(known, now)
    if day < LEAST_DAYS:
        assert "too few" in freshness(known, now).note


@pytest.mark.parametrize("name", NAMES)
def test_real_machines_are_hardly_ever_refused_and_dead_dumps_are(shared: Path, name: str) -> None:
    submits = read_trace(shared / "traces" / name).submit
    days = range(int(submits.min()) // DAY_S + 1, int(submits.max()) // DAY_S + 1)
    fresh = [day for day in days if not freshness(submits, DAY_S * day).stale]
    assert len(days) - len(fresh) <= len(days) / 100
    for day in fresh:
        early = submits[submits < DAY_S * (day - 2)]
        if len(early) == 0 or freshness(early, DAY_S * day).note:
            continue
        before = np.histogram(early, np.arange(early.min(), early.max() + 1, DAY_S))[0]
        if (before > 0).all():
            assert freshness(early, DAY_S * day).stale, day


def test_a_plan_of_a_stale_history_has_to_be_asked_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And its export once more, also if --force planned it."""
    search_less(monkeypatch)
    site = write_site(tmp_path)
    (site / "trace.swf").write_text(swf(made_up_rows(days=12)))
    out = tmp_path / "plan"
    assert called("plan", site, out, day=14) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "trace.swf: no job was submitted for 2 days" in said
    assert "--accept-stale" in said
    assert not out.exists()
    assert called("plan", site, out, day=14, force=True, no_report=True) == 0
    assert "may have ended before its time" in capsys.readouterr().err
    assert run(["export", str(out), "--format", "csv"]) == 2
    assert "stale history (no job was submitted for 2 days" in capsys.readouterr().err
    assert run(["export", str(out), "--format", "csv", "--accept-stale"]) == 0
