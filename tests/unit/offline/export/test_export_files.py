"""`dardis export` of every format; CSV, JSON and OpenMetrics are complete, and JSON comes back as the plan."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.plan_folder import ACTIONS, OFFSET, PLATFORM, actions, onoff, plan, same

from dardis.cli.main import run
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist
from offline.export.exporter import absences, initially_on
from offline.export.json_plan import export_csv, export_json, export_openmetrics, read_json_plan
from offline.folder.plan_folder import write_plan

UNITS = ("_utc", "_s", "_cores", "_w", "_ratio", "_per_kwh", "_c", "_count", "_nodes")


NAMES = [PLATFORM.node_name(node) for node in range(PLATFORM.node_count)]


def rows(actions=None):
    example = plan() if actions is None else plan(actions=actions)
    return list(csv.DictReader(io.StringIO(export_csv(example, NAMES).text)))


def test_switching_replayed_from_the_table_is_the_plan():
    on = initially_on(onoff(), 10)
    for row in rows():
        time = int(row["start_unix_s"]) - OFFSET
        off, booted = ([n for t, n, boots in ACTIONS if t == time and boots == wanted] for wanted in (False, True))
        assert row["shut_down_nodes"] == hostlist(NAMES[n] for n in off)
        assert row["booted_nodes"] == hostlist(NAMES[n] for n in booted)
        on[off], on[booted] = False, True
        assert int(row["nodes_off_count"]) == int((~on).sum())
        assert row["off_nodes"] == hostlist(NAMES[n] for n in range(10) if not on[n])


def test_json_plan_round_trips(tmp_path):
    for example in (plan(), plan(actions=())):
        (tmp_path / "plan.json").write_text(export_json(example, NAMES).text)
        assert same(read_json_plan(tmp_path / "plan.json"), example)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda value: value.pop("version"), "version: missing key"),
        (lambda value: value.pop("profile"), "profile: missing key"),
        (lambda value: value["profile"].pop("it_w"), "profile:1: not exactly one column it_w"),
        (lambda value: value["profile"]["it_w"].pop(), "differ in length"),
        (lambda value: value["profile"]["it_w"].__setitem__(2, "much"), "profile:2: it_w 'much'; expected a number"),
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


@given(actions(), st.integers(0, 80))
def test_absences_cover_times_without_jobs(found, boot_s):
    table, start, end = onoff(found), 0, 1_000
    down = np.zeros((PLATFORM.node_count, end), dtype=bool)
    for node in range(5):
        own = [(time, on) for time, n, on in found if n == node]
        off_since = -(10**6) if own and own[0][1] else None
        for time, on in own:
            if not on:
                off_since = time
            else:
                down[node, max(off_since, start) : max(min(time + boot_s, end), 0)] = True
                off_since = None
        if off_since is not None:
            down[node, max(off_since, start) :] = True
    told = np.zeros_like(down)
    for since, back, node in absences(table, np.full(PLATFORM.node_count, boot_s), start, end):
        assert start <= since < back <= end
        told[node, since:back] = True
    np.testing.assert_array_equal(told, down)


def families(text):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def test_prometheus_reads_every_value():
    silent = families(export_openmetrics(plan(), NAMES).text)
    odd = 'a "big" \\ machine\n'
    stated = replace(plan(), summary=plan().summary | {"co2_kg": 3.5}, platform=replace(PLATFORM, name=odd))
    found = families(export_openmetrics(stated, NAMES).text)
    assert len(found) == 9
    assert {*found} - {*silent} == {"dardis_plan_co2_grams_per_kwh"}, "nobody has said anything of CO2"
    for family in found.values():
        assert family.type == "gauge"
        assert family.name.startswith("dardis_plan_")
        assert family.name.endswith(family.unit)
        assert family.documentation
    cap = {int(float(s.timestamp)) - OFFSET - 5_000: s.value for s in found["dardis_plan_power_cap_watts"].samples}
    assert set(cap) == {*range(0, 3_600, 60), *range(7_200, 14_400, 60)}  # the second hour has no cap
    assert cap[0] == cap[3_540] == 2_000.0
    assert cap[7_200] == 2_100.0
    price = found["dardis_plan_price_eur_per_kwh"].samples
    assert price[0].labels == {"platform": odd}
    assert [s.value for s in price[::60]] == plan().profile.price_per_kwh.tolist()
    assert found["dardis_plan_target_cores"].samples[0].value == 200


def test_promtool_makes_a_block_of_it(tmp_path):
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian's package prometheus)")
    (tmp_path / "plan.om").write_text(export_openmetrics(plan(), NAMES).text)
    made = subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", "plan.om", "data"],
        cwd=tmp_path, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert list((tmp_path / "data").iterdir())


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "plan"
    path.mkdir()
    write_plan(path, plan())
    return path


def told(capsys, *arguments):
    assert run(["export", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_mistakes_are_one_line_and_exit_2(folder, tmp_path, capsys):
    assert "--format 'yaml'; expected" in told(capsys, "--format", "yaml", str(folder)).replace(":", "")
    assert "has no plan" in told(capsys, "--format", "csv", str(tmp_path))
    assert "does not exist" in told(capsys, "--format", "csv", str(tmp_path / "absent"))
    assert "folder does not exist" in told(capsys, "--format", "csv", str(folder), "--out", str(tmp_path / "x" / "y"))
    (tmp_path / "names").write_text("a b\n")
    assert "2 names; expected 10" in told(capsys, "--format", "csv", str(folder), "--names", str(tmp_path / "names"))
    (tmp_path / "names").write_text("a " * 10)
    assert "a occurs twice" in told(capsys, "--format", "csv", str(folder), "--names", str(tmp_path / "names"))
    (folder / "profile.csv").write_text("rubbish\n")
    assert "profile.csv" in told(capsys, "--format", "csv", str(folder))
    told(capsys, str(folder))


def test_limits_only_export_has_no_switching(folder, capsys):
    assert run(["export", "--format", "redfish", "--limits-only", str(folder)]) == 0
    assert {request["method"] for request in json.loads(capsys.readouterr().out)["requests"]} == {"PATCH"}
    assert run(["export", "--format", "slurm", "--limits-only", str(folder)]) == 2
    assert "--limits-only: --format slurm has no power limits of nodes" in capsys.readouterr().err


def test_rows_are_the_day_without_a_gap_and_hold_the_profile_in_columns_that_say_their_units():
    table = rows()
    assert all(name.endswith(UNITS) for name in table[0])
    assert table[0]["start_utc"] == "2023-07-03T00:00:00Z"
    assert all(a["end_unix_s"] == b["start_unix_s"] for a, b in pairwise(table))
    assert int(table[-1]["end_unix_s"]) == plan().profile.end + OFFSET
    profile = plan().profile
    for row in table:
        place = (int(row["start_unix_s"]) - OFFSET - 5_000) // 3_600
        assert float(row["it_power_w"]) == profile.it_w[place]
        assert (row["power_cap_w"] == "") == (place == 1)
        assert int(row["target_cores"]) == profile.cores_target[place]
