"""`dardis plan` told what time it is, how nodes stand, which are in maintenance, and how much power may be drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from kit.small_site import (
    DAY_S,
    HOUR_S,
    NODES,
    PLATFORM,
    POWER,
    START,
    START_UNIX,
    called,
    rows_of,
    simulated,
    summary_of,
)

from dardis.cli.main import run
from dardis.config.platform_file import load_platform
from dardis.config.target_file import load_target
from dardis.metrics.power import platform_cooling
from dardis.model.resources import CORES
from offline.folder.plan_folder import read_plan

DAY = 8


def planned(site, out, **options):
    """The folder of a plan of day 8, unless it is another."""
    assert called("plan", site, out, **({"day": DAY, "no_report": True} | options)) == 0
    return out


def nodes_of(row):
    """Those of a planned job."""
    return {int(pair.split(":")[0]) for pair in row["units_by_node"].split()}


def test_a_market_s_day_may_end_before_the_utc_day(small_site, tmp_path, capsys):
    head, *rows = (small_site / "prices.csv").read_text().splitlines()
    prices = tmp_path / "prices.csv"
    short = {"prices": prices, "date": "2023-07-11", "day": None, "now": "2023-07-10T15:00"}
    prices.write_text("\n".join([head, *(row for row in rows if row < "2023-07-11T21")]))
    assert called("plan", small_site, tmp_path / "a", **short) == 2
    assert "covers 2023-07-10T01:00Z to 2023-07-11T21:00Z; expected all of 2023-07-11" in capsys.readouterr().err
    prices.write_text("\n".join([head, *(row for row in rows if row < "2023-07-11T22")]))
    planned(small_site, tmp_path / "a", **short)
    said = capsys.readouterr().err
    note = "prices end at 2023-07-11T22:00Z, so the last one holds until 2023-07-12T00:00Z"
    assert note in said
    assert "rules ignore" not in said
    assert "--now 2023-07-10T15:00 states no offset, so it counts as UTC" in said
    assert note in str(summary_of(tmp_path / "a")["notes"])
    by_hour = rows_of(tmp_path / "a" / "profile.csv")
    assert len({row["price_eur_per_kwh"] for row in by_hour[-3:]}) == 1
    assert called("hybrid", small_site, tmp_path / "b", prices=prices, days="8-8", no_report=True) == 2, (
        "it all is past"
    )


def test_next_day_keeps_nodes_off_from_the_previous_plan(small_site, small_plan, tmp_path):
    begins = START_UNIX + 9 * DAY_S
    off = set()
    for row in rows_of(small_plan / "onoff.csv"):
        if int(row["time_s"]) + START_UNIX < begins:
            (off.add if row["action"] == "off" else off.discard)(row["name"])
    assert off
    joined = planned(small_site, tmp_path / "9", day=9, after=small_plan)
    known = [row for row in rows_of(joined / "onoff.csv") if int(row["time_s"]) + START_UNIX < begins]
    jobs = rows_of(joined / "schedule.csv")
    assert {row["name"] for row in known} == off
    known_nodes = {int(row["node"]) for row in known}
    for row in jobs:  # nobody is on a node before it can be up
        if nodes_of(row) & known_nodes:
            assert row["kind"] != "running"
            assert int(row["starting_time"]) + START_UNIX >= begins + 240
    assert f"of {NODES} nodes {len(off)} are off and 0 booting when the day begins" in summary_of(joined)["notes"]


def test_closed_nodes_are_neither_used_nor_switched(small_site, tmp_path):
    (tmp_path / "state.csv").write_text("node,state\nn3,closed\nn4,closed\nn5,off\n")
    out = planned(small_site, tmp_path / "out", state=tmp_path / "state.csv")
    for row in rows_of(out / "schedule.csv"):
        assert not nodes_of(row) & {3, 4} or int(row["starting_time"]) >= 10 * DAY_S
    assert {row["name"] for row in rows_of(out / "onoff.csv")}.isdisjoint({"n3", "n4"})
    notes = summary_of(out)["notes"]
    assert "2 nodes take no jobs (drained, down, reserved), so the plan does not use them" in notes
    assert "of 10 nodes 1 are off and 0 booting when the day begins" in notes


WINDOW = '[[maintenance]]\nnodes = "2-4"\n'
WINDOWS = {
    "dated": WINDOW + "start_utc = 2023-07-11T00:00:00Z\nend_utc = 2023-07-12T00:00:00Z\n",
    "on-clock": WINDOW + f"start_s = {8 * DAY_S}\nend_s = {9 * DAY_S}\n",
    "none": "",
}


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """The small machine with maintenance by date, on the trace's clock, and without."""
    folder = tmp_path_factory.mktemp("machines")
    for name, window in WINDOWS.items():
        (folder / f"{name}.toml").write_text(PLATFORM + POWER + window)
    return folder


def test_maintenance_by_date_is_at_a_time_of_the_trace(small_site, machines, tmp_path, capsys):
    digests = {}
    for name in WINDOWS:
        out, asked = tmp_path / name, ("--dispatcher", "easy", "--calendar-start", START)
        assert simulated(small_site, out, *asked, platform=machines / f"{name}.toml") == 0
        digests[name] = json.loads((out / "metrics.json").read_text())["schedule_digest"]
        assert run(["audit", str(out), "--platform", str(machines / "dated.toml")]) == (name == "none")
    assert digests["dated"] == digests["on-clock"] != digests["none"]
    capsys.readouterr()
    undated = tmp_path / "undated"
    assert simulated(small_site, undated, "--dispatcher", "easy", platform=machines / "dated.toml") == 2
    said = capsys.readouterr().err
    assert "states no start date, which maintenance by date needs; expected --calendar-start" in said
    assert not undated.exists()


GROUPS = {"n": (7, 8), "f": (2, 16)}
"""Nodes, and cores of a node."""
MOST_KW = 1.45
LIMIT = f"""[[tariff.limits]]
start_utc = "2023-07-11T06:00Z"
end_utc = "2023-07-12T00:00Z"
most_kw = {MOST_KW}
"""


def planned_use(plan):
    """The most cores of planned jobs in each segment of the plan's profile."""
    edges, jobs = plan.profile.edges, plan.schedule
    cores = jobs.units * jobs.req_cores
    moments = np.unique(np.concatenate([edges[:-1], jobs.start[(jobs.start > edges[0]) & (jobs.start < edges[-1])]]))
    used = [int(cores[(jobs.start <= moment) & (moment < jobs.finish)].sum()) for moment in moments.tolist()]
    most = np.zeros(len(edges) - 1, dtype=np.int64)
    np.maximum.at(most, np.searchsorted(edges, moments, side="right") - 1, used)
    return most


def test_a_cap_keeps_within_a_limit_on_power_and_has_room_in_every_group(small_site, tmp_path):
    groups = "".join(
        f'[[nodes]]\ncount = {count}\nprefix = "{name}"\nresources = {{ cores = {cores} }}\n{POWER}'
        for name, (count, cores) in GROUPS.items()
    )
    plans, targets = {}, {}
    for name, limit in (("limited", LIMIT), ("free", "")):
        path = tmp_path / f"{name}.toml"
        path.write_text(f'name = "groups"\ncooling = "air"\ncalendar_start = "{START}"\n{groups}{limit}')
        out, platform = planned(small_site, tmp_path / name, cap=True, platform=path), load_platform(path)
        plans[name] = read_plan(out)
        targets[name] = load_target(out / "target.json", platform).desired
    profile, kind = plans["limited"].profile, platform.kinds.index(CORES)
    moments = profile.edges[:-1]
    opened = targets["limited"].total(kind).at(moments)
    # Idle 100 W, off 10 W, 6.33 W a busy core.
    it_w = 100 * profile.nodes_on + 10 * (platform.node_count - profile.nodes_on) + 6.33 * opened
    limited = profile.edges[1:] > profile.edges[0] + 6 * HOUR_S
    assert (it_w + platform_cooling(platform).watts(profile.temp_c, it_w) <= 1000 * MOST_KW)[limited].all()
    target, free = (targets[name].machine[kind].at(moments) for name in ("limited", "free"))
    assert (target <= opened).all()
    assert (target < free).any()
    room = targets["free"].total(kind).at(moments)
    assert (room >= np.maximum(free, planned_use(plans["free"]))).all()
    assert (room < free + sum(cores for _, cores in GROUPS.values())).all()
    for group in range(len(GROUPS)):
        nodes = np.flatnonzero(platform.group_of_node == group).tolist()
        assert (sum(targets["free"].of_node(node, 0).at(moments) for node in nodes) > 0).all()
