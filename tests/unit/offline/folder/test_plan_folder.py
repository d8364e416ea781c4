"""What a plan's folder holds comes back as it was; what is damaged in it is named."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kit.plan_folder import onoff, plan, profile, same

from dardis.model.errors import InputError
from offline.folder.plan_folder import read_plan, write_plan

FILES = ("profile.csv", "onoff.csv", "schedule.csv", "summary.json", "run.json")


def test_plan_folder_round_trips(tmp_path):
    written = plan()
    write_plan(tmp_path, written)
    assert same(read_plan(tmp_path), written)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    rows = list(csv.DictReader((tmp_path / "onoff.csv").read_text().splitlines()))
    assert rows[0] == {"time_s": "5000", "time_utc": "2023-07-03T00:00:00Z", "node": "0", "name": "n0", "action": "off"}
    lines = (tmp_path / "profile.csv").read_text().splitlines()
    assert lines[1].startswith("5000,2023-07-03T00:00:00Z,")
    (tmp_path / "profile.csv").write_text("".join(f"{line},more\n" for line in lines))
    assert same(read_plan(tmp_path), written), "columns that others add do no harm"


def test_impossible_actions_and_empty_profiles_are_refused():
    for second in ((4, 1, False), (6, 0, False), (5, 0, True)):
        with pytest.raises(ValueError, match="action"):
            onoff(((5, 0, False), second))
    for edges in (np.array([0, 1]), np.zeros(5, np.int64)):
        with pytest.raises(ValueError, match="edges"):
            replace(profile(), edges=edges)


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("profile.csv", "time_s", "when", r"profile\.csv:1: not exactly one column time_s"),
        ("profile.csv", ",8600\n", ",5000\n", r"profile\.csv:2: end_s is not after time_s"),
        ("profile.csv", ",8600\n", ",999999999\n", r"profile\.csv:2: end_s is more than a year after the first"),
        ("profile.csv", "\n8600,", "\n8601,", r"profile\.csv:3: time_s is not the end_s"),
        ("profile.csv", "2023-07-03T01", "2023-07-03T02", r"profile\.csv:3: time_utc and time_s"),
        ("profile.csv", "2023-07-03T01:00:00Z", "", r"profile\.csv:3: time_utc ''; expected a moment"),
        ("profile.csv", ",200,", ",-1,", r"profile\.csv:2: cores_target is negative"),
        ("profile.csv", ",1500.0,", ",nan,", r"profile\.csv:2: it_w 'nan'; expected a number"),
        ("profile.csv", ",2000.0,", ",-2000.0,", r"profile\.csv:2: power_cap_w is negative"),
        ("onoff.csv", ",off\n", ",of\n", r"onoff\.csv:2: action 'of'; expected off or on"),
        ("onoff.csv", ",5,n5", ",10,n10", r"onoff\.csv:4: no node of the 10 of grid"),
        ("onoff.csv", "n7,off", "n7", r"onoff\.csv:5: 4 fields; expected 5"),
        ("onoff.csv", "n5,on", "n5,off", None),
        ("onoff.csv", "12200,2023-07-03T02:00:00Z,0,n0,off", "12200,2023-07-03T02:00:00Z,0,n0,on", "alternating"),
        ("schedule.csv", ",2:1 3:2,", ",2:1 3:1,", r"schedule\.csv:3: units_by_node does not add up"),
        ("schedule.csv", ",9:1,", ",10:1,", r"schedule\.csv:4: units_by_node is not of grid"),
        ("schedule.csv", "5000,5001", "5000,5000", r"schedule\.csv:3: finish_time is not after"),
        ("schedule.csv", "queued", "wished", r"schedule\.csv:3: kind 'wished'; expected one of forecast, running"),
        ("schedule.csv", "\n7,", f"\n{10**30},", r"schedule\.csv:2: job_id '10+'; expected a whole number"),
        ("summary.json", "12.5", "[1]", r"summary\.json: profit_eur: \[1\]; expected a number, a text or null"),
        ("summary.json", "{", "[", r"summary\.json: is not JSON"),
        ("run.json", '"version": 1', '"version": 2', r"run\.json: version: 2; expected 1"),
        ("run.json", '"count": 8', '"count": "x"', r"run\.json: platform\.groups\[0\]\.count: 'x'; expected a valid i"),
    ],
)
def test_damaged_file_is_named(tmp_path: Path, file, old, new, told):
    write_plan(tmp_path, plan())
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1))
    if told is None:  # another plan, but one
        assert not same(read_plan(tmp_path), plan())
        return
    with pytest.raises(InputError, match=told):
        read_plan(tmp_path)


@pytest.mark.parametrize("file", FILES)
def test_a_missing_or_empty_file_is_named(tmp_path, file):
    write_plan(tmp_path, plan())
    (tmp_path / file).write_text("")
    with pytest.raises(InputError, match=file):
        read_plan(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(InputError, match=file.replace("run.json", r"is not finished \(a plan without run\.json\)")):
        read_plan(tmp_path)
