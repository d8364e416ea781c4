"""Maintenance by date: the same schedules as on the trace's clock, and nothing where nobody knows the date."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from kit.small_site import DAY_S, PLATFORM, POWER, START, START_UNIX, called, search_less, write_site

from dardis.cli.main import run

WINDOW = '[[maintenance]]\nnodes = "2-4"\n'
DATED = WINDOW + "start_utc = 2023-07-11T00:00:00Z\nend_utc = 2023-07-12T00:00:00Z\n"
ON_CLOCK = WINDOW + f"start_s = {8 * DAY_S}\nend_s = {9 * DAY_S}\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_site(tmp_path_factory.mktemp("site"))
    for name, window in (("dated", DATED), ("on-clock", ON_CLOCK)):
        (folder / f"{name}.toml").write_text(PLATFORM + POWER + window)
    return folder


def simulated(site: Path, name: str, out: Path, *more: str) -> int:
    words = ["simulate", str(site / "trace.swf"), "--platform", str(site / f"{name}.toml"), "--out", str(out)]
    return run([*words, "--dispatcher", "easy", "--no-report", *more])


def test_a_date_is_a_time_of_the_trace(site: Path, tmp_path: Path) -> None:
    for name in ("dated", "on-clock"):
        assert simulated(site, name, tmp_path / name, "--calendar-start", START) == 0
    digests = {
        json.loads((tmp_path / name / "metrics.json").read_text())["schedule_digest"] for name in ("dated", "on-clock")
    }
    assert len(digests) == 1
    assert run(["audit", str(tmp_path / "dated")]) == 0
    assert run(["audit", str(tmp_path / "on-clock"), "--platform", str(site / "dated.toml")]) == 0
    assert simulated(site, "small", tmp_path / "open", "--calendar-start", START) == 0
    assert run(["audit", str(tmp_path / "open"), "--platform", str(site / "dated.toml")]) == 1


def test_without_a_calendar_nobody_knows(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulated(site, "dated", tmp_path / "out") == 2
    assert (
        "does not say when it began; maintenance by date needs it; expected --calendar-start" in capsys.readouterr().err
    )
    assert not (tmp_path / "out").exists()


def test_a_plan_keeps_away_from_nodes_in_maintenance(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_less(monkeypatch)
    assert called("plan", site, tmp_path / "out", day=8, platform=site / "dated.toml", no_report=True) == 0
    assert {row["node"] for row in rows(tmp_path / "out" / "onoff.csv")}.isdisjoint({"2", "3", "4"})
    for row in rows(tmp_path / "out" / "schedule.csv"):
        nodes = {int(pair.split(":")[0]) for pair in row["units_by_node"].split()}
        inside = int(row["finish_time"]) > 8 * DAY_S and int(row["starting_time"]) < 9 * DAY_S
        assert not inside or not nodes & {2, 3, 4}
    record = json.loads((tmp_path / "out" / "run.json").read_text())["platform"]["maintenance"]
    assert [(window["start"] + START_UNIX) % DAY_S for window in record] == [0]


def test_the_audit_of_a_loop_knows_the_date(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Days lived with all nodes open, looked at on the machine whose nodes 2 to 4 were in maintenance by date."""
    search_less(monkeypatch)
    options = {"days": "7-8", "switching": "off", "dispatcher": "easy"}
    for name in ("small", "dated"):
        platform = site / f"{name}.toml"
        assert called("hybrid", site, tmp_path / name, platform=platform, no_report=True, **options) == 0
    assert run(["audit", str(tmp_path / "dated"), "--platform", str(site / "dated.toml")]) == 0
    assert run(["audit", str(tmp_path / "small"), "--platform", str(site / "dated.toml")]) == 1
    assert "maintenance" in capsys.readouterr().out


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))
