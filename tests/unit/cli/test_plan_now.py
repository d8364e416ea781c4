"""What `dardis plan` takes for now, and what `dardis hybrid` takes for a time of day."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.small_site import START, called, search_less, summary_of, write_site

from dardis.cli.main import run


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ("2023-07-11T00:01Z", "--now: 2023-07-11T00:01:00Z; expected 2023-07-10T00:00:00Z to 2023-07-11T00:00:00Z"),
        ("2023-07-09T23:59Z", "--now: 2023-07-09T23:59:00Z; expected 2023-07-10T00:00:00Z to 2023-07-11T00:00:00Z"),
        ("yesterday", "--now: 'yesterday'; expected a moment since 1970"),
    ],
)
def test_a_plan_is_made_in_the_day_before(site: Path, now: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("plan", site, site / "out", day=8, now=now) == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


def test_now_needs_a_calendar(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("plan", site, site / "out", day=8, now=START, calendar_start=None) == 2
    assert "--now: the trace does not say when it began" in capsys.readouterr().err


def test_what_is_not_said_is_told(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The history's last event is now, where it lies in the day before; a time without an offset is UTC."""
    search_less(monkeypatch)
    assert called("plan", site, tmp_path / "a", day=11, no_report=True) == 0
    assert "--now not given, and the history's last event is of 2023-07-1" in capsys.readouterr().err
    assert called("plan", site, tmp_path / "b", day=8, now="2023-07-11T00:00", no_report=True) == 0
    assert "--now 2023-07-11T00:00 states no offset: taken as UTC" in capsys.readouterr().err


def test_a_market_s_day_may_end_before_the_utc_day(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In summer day-ahead prices of Central Europe end at 22:00 UTC; the last one holds then, which is told."""
    search_less(monkeypatch)
    head, *rows = (site / "prices.csv").read_text().splitlines()
    prices = tmp_path / "prices.csv"
    short: dict[str, object] = {"prices": prices, "date": "2023-07-11", "now": "2023-07-10T15:00Z", "no_report": True}
    prices.write_text("\n".join([head, *(row for row in rows if row < "2023-07-11T21")]))
    assert called("plan", site, tmp_path / "a", **short) == 2
    assert "covers 2023-07-10T01:00Z to 2023-07-11T21:00Z; expected all of 2023-07-11" in capsys.readouterr().err
    prices.write_text("\n".join([head, *(row for row in rows if row < "2023-07-11T22")]))
    assert called("plan", site, tmp_path / "a", **short) == 0
    said = capsys.readouterr().err
    note = "prices end at 2023-07-11T22:00Z: until 2023-07-12T00:00Z the last one holds"
    assert note in said
    assert "rules do not look" not in said
    assert note in str(summary_of(tmp_path / "a")["notes"])
    by_hour = [row.split(",") for row in (tmp_path / "a" / "profile.csv").read_text().splitlines()]
    place = next(column for column, name in enumerate(by_hour[0]) if name.startswith("price"))
    assert len({row[place] for row in by_hour[-3:]}) == 1
    assert called("hybrid", site, tmp_path / "b", prices=prices, days="8-8", no_report=True) == 2, "it all is past"


def test_a_time_of_day_has_hours_and_minutes(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["hybrid", "--history", site / "trace.swf", "--platform", site / "small.toml", "--days", "8-8"]
    words += ["--weather", site / "weather.csv", "--prices", site / "prices.csv", "--calendar-start", START]
    assert run([str(word) for word in (*words, "--out", tmp_path / "out", "--plan-at", "25:00")]) == 2
    assert "--plan-at: '25:00'; expected a time of day as 15:00, UTC" in capsys.readouterr().err
