"""The CSV and JSON exports: complete, in UTC, with units; JSON comes back as the plan that it was."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise

import pytest
from kit.plan_folder import ACTIONS, OFFSET, PLATFORM, onoff, plan, same

from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist
from offline.export.csv_plan import export_csv
from offline.export.json_plan import export_json, read_json_plan
from offline.export.steps import first_on

NAMES = [PLATFORM.node_name(node) for node in range(PLATFORM.node_count)]
UNITS = ("_utc", "_s", "_cores", "_w", "_ratio", "_per_kwh", "_c", "_count", "_nodes")


def rows(actions=None):
    example = plan() if actions is None else plan(actions=actions)
    return list(csv.DictReader(io.StringIO(export_csv(example, NAMES).text)))


def test_every_column_says_its_unit():
    assert all(name.endswith(UNITS) for name in rows()[0])


def test_rows_are_the_day_without_a_gap_and_hold_the_profile():
    table = rows()
    assert table[0]["start_utc"] == "2023-07-03T00:00:00Z"
    assert all(a["end_unix_s"] == b["start_unix_s"] for a, b in pairwise(table))
    assert int(table[-1]["end_unix_s"]) == plan().profile.end + OFFSET
    profile = plan().profile
    for row in table:
        place = (int(row["start_unix_s"]) - OFFSET - 5_000) // 3_600
        assert float(row["it_power_w"]) == profile.it_w[place]
        assert (row["power_cap_w"] == "") == (place == 1)
        assert int(row["target_cores"]) == profile.cores_target[place]


def test_switching_replayed_from_the_table_is_the_plan():
    on = first_on(onoff(), 10)
    for row in rows():
        time = int(row["start_unix_s"]) - OFFSET
        off, booted = ([n for t, n, boots in ACTIONS if t == time and boots == wanted] for wanted in (False, True))
        assert row["shut_down_nodes"] == hostlist(NAMES[n] for n in off)
        assert row["booted_nodes"] == hostlist(NAMES[n] for n in booted)
        on[off], on[booted] = False, True
        assert int(row["nodes_off_count"]) == int((~on).sum())
        assert row["off_nodes"] == hostlist(NAMES[n] for n in range(10) if not on[n])


def test_switching_before_the_day_has_its_own_row():
    early = rows(((4_000, 3, False), (5_000, 4, False)))
    assert early[0]["shut_down_nodes"] == "n3"
    assert early[0]["it_power_w"] == ""
    assert early[1]["off_nodes"] == "n[3-4]"


def test_json_comes_back_as_the_plan(tmp_path):
    for example in (plan(), plan(actions=())):
        (tmp_path / "plan.json").write_text(export_json(example, NAMES).text)
        assert same(read_json_plan(tmp_path / "plan.json"), example)


def test_json_says_what_it_is():
    value = json.loads(export_json(plan(), [f"node-{n}" for n in range(10)]).text)
    assert (value["format"], value["version"]) == ("dardis-plan", 1)
    assert value["onoff"]["name"][0] == "node-0"
    named = " ".join(value["units"])
    for name in (*value["profile"], *value["schedule"]):
        assert (
            name in named or name.endswith(("_utc", "_w", "_c", "_kwh")) or name in {"job_id", "kind", "units_by_node"}
        )


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda value: value.pop("version"), "version: missing key"),
        (lambda value: value.pop("profile"), "profile: missing key"),
        (lambda value: value["profile"].pop("it_w"), r"profile\.it_w: missing key"),
        (lambda value: value["profile"]["it_w"].pop(), "differ in length"),
        (
            lambda value: value["profile"]["it_w"].__setitem__(2, "much"),
            r"profile\.it_w\[2\]: 'much'; expected a valid number",
        ),
        (lambda value: value["onoff"]["node"].__setitem__(1, 99), "onoff:1: no node of the 10"),
        (lambda value: value.__setitem__("summary", 3), "summary: 3; expected a table"),
    ],
)
def test_damaged_json_is_named(tmp_path, damage, told):
    value = json.loads(export_json(plan(), NAMES).text)
    damage(value)
    (tmp_path / "plan.json").write_text(json.dumps(value))
    with pytest.raises(InputError, match=told):
        read_json_plan(tmp_path / "plan.json")
