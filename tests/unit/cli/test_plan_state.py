"""`dardis plan` told how nodes stand: by a file, and by the plan of the day before."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from kit.small_site import NODES, START_UNIX, called, search_less, summary_of, write_site

DAY_S = 86_400


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(tmp_path_factory.mktemp("site"))


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def planned(site: Path, out: Path, day: int, **options: object) -> Path:
    assert called("plan", site, out, day=day, now=None, no_report=True, **options) == 0
    return out


def test_days_join(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is off at the end of a day is off at the beginning of the next, and is not shut down again."""
    search_less(monkeypatch)
    first = planned(site, tmp_path / "8", 8)
    begins = START_UNIX + 9 * DAY_S
    off: set[str] = set()
    for row in rows(first / "onoff.csv"):
        if int(row["time_s"]) + START_UNIX < begins:
            (off.add if row["action"] == "off" else off.discard)(row["name"])
    assert off
    alone, joined = planned(site, tmp_path / "9", 9), planned(site, tmp_path / "9-after", 9, after=first)
    known = [row for row in rows(joined / "onoff.csv") if int(row["time_s"]) + START_UNIX < begins]
    busy = {
        n.split(":")[0]
        for row in rows(joined / "schedule.csv")
        if row["kind"] == "running"
        for n in row["units_by_node"].split()
    }
    assert {row["name"] for row in known} == off
    assert not busy & {row["node"] for row in known}
    assert float(rows(joined / "profile.csv")[0]["nodes_on"]) <= float(rows(alone / "profile.csv")[0]["nodes_on"])
    assert summary_of(joined)["node_switches"] <= summary_of(alone)["node_switches"]
    assert f"of {NODES} nodes {len(off)} are off and 0 booting when the day begins" in summary_of(joined)["notes"]
    for row in rows(joined / "schedule.csv"):  # nobody is on a node before it can be up
        mine = {int(pair.split(":")[0]) for pair in row["units_by_node"].split()}
        if row["kind"] != "running" and mine & {int(one["node"]) for one in known}:
            assert int(row["starting_time"]) + START_UNIX >= begins + 240


def test_closed_nodes_are_left_alone(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search_less(monkeypatch)
    (tmp_path / "state.csv").write_text("node,state\nn3,closed\nn4,closed\nn5,off\n")
    out = planned(site, tmp_path / "out", 8, state=tmp_path / "state.csv")
    for row in rows(out / "schedule.csv"):
        nodes = {int(pair.split(":")[0]) for pair in row["units_by_node"].split()}
        assert not nodes & {3, 4} or int(row["starting_time"]) >= 10 * DAY_S
    assert {row["name"] for row in rows(out / "onoff.csv")}.isdisjoint({"n3", "n4"})
    notes = summary_of(out)["notes"]
    assert "2 nodes take no jobs (drained, down, reserved): the plan leaves them alone all day" in notes
    assert "of 10 nodes 1 are off and 0 booting when the day begins" in notes


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"state": "cn1,off"}, "state.csv:2: 'cn1' is no node of platform small; expected one that is called as n0"),
        ({"state": ""}, "state.csv: is empty; expected what scontrol show node -o prints, or a CSV of node,state"),
        ({"after": "."}, "holds no plan"),
    ],
)
def test_what_is_wrong_is_told(
    site: Path, tmp_path: Path, options: dict, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "state" in options:
        (tmp_path / "state.csv").write_text(f"node,state\n{options['state']}\n" if options["state"] else "")
        options = {"state": tmp_path / "state.csv"}
    elif "after" in options:
        options = {"after": tmp_path}
    assert called("plan", site, tmp_path / "out", day=8, **options) == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
