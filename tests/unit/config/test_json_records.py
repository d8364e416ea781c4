"""What our commands wrote is read back as strictly as what a user writes: one line with file and key for any damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.error_lines import line_of

from dardis.config.json_records import Metrics
from dardis.config.platform_record import MachineRecord
from dardis.config.toml_file import read_json
from dardis.model.platform import Facility, GridLimit, Maintenance, NodeGroup, NodePower, Platform, platform_to_dict

PLATFORM = Platform(
    "p",
    (
        NodeGroup("a", 2, {"cores": 2, "memory": 1024}, NodePower(idle_w=90.0)),
        NodeGroup("b", 1, {"cores": 4, "gpu": 1}, always_on=True),
    ),
    {"fat": (1,)},
    (Maintenance((0, 2), 500, 600),),
    income_by_queue={"q": 0.5},
    facility=Facility("air", cooling_design_w=1e4, prices=0.1, weather="/w.csv", calendar_start=10**9,
                      limits=(GridLimit(5, 9, 3.0, None),)),
)  # fmt: skip


def read_record(tmp_path: Path, platform: Any) -> MachineRecord:
    """A file with this platform, read."""
    (tmp_path / "run.json").write_text(json.dumps({"platform": platform, "of_a_later_version": [1]}))
    return read_json(tmp_path / "run.json", MachineRecord)


def test_platform_record_round_trips(tmp_path: Path) -> None:
    assert read_record(tmp_path, platform_to_dict(PLATFORM)).machine(tmp_path) == PLATFORM
    newer = platform_to_dict(PLATFORM) | {"of_a_later_version": 1}
    newer["groups"][0]["power"]["of_a_later_version"] = newer["facility"]["of_a_later_version"] = "x"
    assert read_record(tmp_path, newer).machine(tmp_path) == PLATFORM
    older = platform_to_dict(PLATFORM)
    del older["facility"]
    assert read_record(tmp_path, older).machine(tmp_path).facility == Facility()


@pytest.mark.parametrize(("place", "value", "message"), [
    (("groups", 0, "count"), "2", "groups[0].count: '2'; expected a valid integer"),
    (("groups", 0, "count"), 2.5, "groups[0].count: 2.5; expected a valid integer"),
    (("groups", 0, "count"), 0, "groups[0].count: 0; expected greater than or equal to 1"),
    (("groups", 0, "power", "idle_w"), "a", "groups[0].power.idle_w: 'a'; expected a valid number"),
    (("groups", 0, "power", "idle_w"), float("nan"), "groups[0].power.idle_w: nan; expected a finite number"),
    (("groups", 0, "power", "idle_w"), -1, "groups[0].power.idle_w: -1"),
    (("groups", 0, "power", "idle_w"), 1e300, "groups[0].power.idle_w: 1e+300"),
    (("groups", 0, "resources"), {"cores": 0}, "groups[0].resources: no cores"),
    (("groups", 0, "prefix"), "b", "groups[0].prefix: 'b' gives the same node names as 'b'; expected distinct"),
    (("groups", 0, "always_on"), 1, "groups[0].always_on: 1; expected a valid boolean"),
    (("groups",), [], "groups: []"),
    (("groups",), 3, "groups: 3"),
    (("partitions", "fat"), [2], ": partition 'fat' names group 2; expected numbers from 0 to 1"),
    (("maintenance", 0, "nodes"), [3], "maintenance[0].nodes: unknown node 3; expected numbers from 0 to 2"),
    (("maintenance", 0, "end"), 500, "maintenance[0]: end 500 is not after start 500"),
    (("income_by_queue", "q"), None, "income_by_queue.q: None; expected a valid number"),
    (("facility", "limits", 0, "end"), 5, "facility.limits[0]: end 5 is not after start 5"),
    (("facility", "cooling_rows"), "all", "facility.cooling_rows: 'all'"),
    (("name",), None, "name: None; expected a valid string"),
])  # fmt: skip
def test_damage_is_reported_with_file_and_key(tmp_path: Path, place: tuple[Any, ...], value: Any, message: str) -> None:
    platform = part = json.loads(json.dumps(platform_to_dict(PLATFORM)))
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    line = line_of(lambda: read_record(tmp_path, platform).machine(tmp_path / "run.json"))
    assert line.startswith(f"{tmp_path / 'run.json'}: platform")
    assert message in line


COUNTS = {"jobs": 3, "completed": 2, "killed": 1, "rejected": 0}


@pytest.mark.parametrize(("change", "message"), [
    ({"jobs": "3"}, "jobs is '3'; expected a number, or null"), ({"killed": -1}, "killed is -1; expected a number"),
    ({"rejected": None}, "rejected is None; expected a number"), ({"completed": 1.5}, "completed is 1.5"),
    ({"mean_wait_s": "a"}, "mean_wait_s is 'a'"), ({"mean_wait_s": float("nan")}, "mean_wait_s: nan"),
    ({"mean_wait_s": True}, "mean_wait_s: True"), ({"mean_wait_s": [1]}, "mean_wait_s: [1]"),
    ({"mean_wait_s": 10**30}, "mean_wait_s: 10000"), ({"schedule_digest": 5}, "schedule_digest is 5"),
])  # fmt: skip
def test_damaged_metrics_are_reported(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    (tmp_path / "metrics.json").write_text(json.dumps(COUNTS | change))
    assert f"metrics.json: {message}" in line_of(read_json, tmp_path / "metrics.json", Metrics)
