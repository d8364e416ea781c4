"""Redfish requests: the cap is kept at every request, and others' Redfish software takes them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_folder import OFFSET, PLATFORM, actions, plan

from offline.export.exporter import initially_on
from offline.export.redfish_export import NO_LIMIT, export_redfish, node_limits

NAMES = [PLATFORM.node_name(node) for node in range(PLATFORM.node_count)]
IDLE_W, OFF_W = 100.0, 10.0
FULL_W = 8 * (100 + 32 * 6) + 2 * (100 + 64 * 6)
MASKS = st.lists(st.booleans(), min_size=10, max_size=10).map(np.array)


@given(MASKS, st.floats(0, 2 * FULL_W), st.lists(st.floats(0, 500), min_size=10, max_size=10).map(np.array))
def test_limits_keep_the_cap_and_leave_what_is_needed(on, cap_w, need_w):
    limits = node_limits(PLATFORM, on, cap_w, need_w)
    busy_w = np.where(np.arange(10) < 8, 192, 384)
    least = float(np.where(on, IDLE_W, OFF_W).sum())
    needed = least + np.ceil(np.minimum(need_w, busy_w) - 1e-3)[on].sum()
    assert (limits[on] >= IDLE_W).all()
    assert limits[on].sum() + OFF_W * (~on).sum() <= max(cap_w, least) + 0.1
    if cap_w >= needed:
        assert (limits >= IDLE_W + np.minimum(need_w, busy_w) - 1e-3)[on].all()
    full = float(np.where(on, IDLE_W + busy_w, OFF_W).sum())
    if needed <= cap_w <= full:  # nothing of the cap is lost but what rounding takes
        assert limits[on].sum() + OFF_W * (~on).sum() > cap_w - on.sum() - 0.1
    assert set(node_limits(PLATFORM, on, float("nan"), need_w).tolist()) == {NO_LIMIT}


@given(st.just(()) | actions(), st.lists(st.none() | st.integers(1_300, 4_000), min_size=4, max_size=4))
@examples(2)
def test_total_power_stays_under_the_cap_with_any_switching(found, caps):
    start = 5_000
    example = plan(actions=tuple((start + 14 * time, node, on) for time, node, on in found))
    cap_w = np.array([np.nan if cap is None else cap for cap in caps], dtype=np.float64)
    example = replace(example, profile=replace(example.profile, power_cap_w=cap_w))
    on = dict(zip(NAMES, initially_on(example.onoff, 10).tolist(), strict=True))
    on |= {NAMES[node]: boots for time, node, boots in found if time < 0}
    held = dict.fromkeys(NAMES)
    requests = json.loads(export_redfish(example, NAMES).text)["requests"]
    assert all(request["time_unix_s"] - OFFSET >= start for request in requests)  # nodes stand so when it begins
    for time, group in groupby(requests, lambda request: request["time_unix_s"] - OFFSET):
        for request in group:
            if "ResetType" in request["body"]:
                on[request["node"]] = request["body"]["ResetType"] == "On"
            else:
                held[request["node"]] = request["body"]["PowerControl"][0]["PowerLimit"]["LimitInWatts"]
                assert request["or"]["body"]["PowerLimitWatts"]["SetPoint"] == held[request["node"]]
            if found == () and start < time < example.profile.end:  # within what is changed at one time
                around = [caps[(time - start) // 3_600 - before] for before in (0, 1)]
                assert None in around or sum(held.values()) <= max(around)
        if start <= time < example.profile.end and caps[(time - start) // 3_600] is not None:
            total = sum(held[name] if on[name] else OFF_W for name in NAMES)
            assert total <= caps[(time - start) // 3_600] + 0.1


def test_nodes_go_off_before_limits_and_on_after_them():
    document = json.loads(export_redfish(plan(), NAMES).text)
    first = [r for r in document["requests"] if r["time_utc"] == "2023-07-03T00:00:00Z"]
    kinds = [r["body"].get("ResetType", "limit") for r in first]
    assert kinds == ["GracefulShutdown"] * 2 + ["limit"] * 8 + ["On"]
    hours = {r["time_utc"][11:16] for r in document["requests"] if r["method"] == "PATCH"}
    assert hours == {f"{hour:02}:00" for hour in range(5)}
    assert first[-1]["node"] == "n5"
    assert "n5" in [r["node"] for r in first[2:-1]]
    # Jobs fill n2 and half of n3. 8 nodes on, 2 off: what is left of (2000 − 800 − 20) W over what others could draw.
    share = (1_180 - 192 - 96) / (6 * 192 + 2 * 384 - 192 - 96)
    limit = {r["node"]: r["body"]["PowerControl"][0]["PowerLimit"]["LimitInWatts"] for r in first[2:-1]}
    assert (limit["n2"], limit["n3"], limit["n4"]) == (292, int(196 + share * 96), int(100 + share * 192))
    freed = [r for r in document["requests"] if r["time_utc"] == "2023-07-03T04:00:00Z"]
    assert {r["or"]["body"]["PowerLimitWatts"]["ControlMode"] for r in freed} == {"Disabled"}


def test_unreachable_cap_is_reported():
    example = plan()
    low = replace(example.profile, power_cap_w=np.array([2_000.0, 500.0, 2_000.0, 2_000.0]))
    made = export_redfish(replace(example, profile=low), NAMES)
    assert made.notes == ("the cap is below the idle power of the nodes that are on, first at 2023-07-03T01:00:00Z",)
    assert json.loads(made.text)["cap_below_idle_power_utc"] == ["2023-07-03T01:00:00Z"]
    assert export_redfish(example, NAMES).notes == ()
    short = replace(example.profile, power_cap_w=np.array([1_000.0, 2_000.0, 2_000.0, 2_000.0]))
    (note,) = export_redfish(replace(example, profile=short), NAMES).notes
    assert "below the largest power of the plan's jobs on all nodes, first at 2023-07-03T00:00:00Z" in note
