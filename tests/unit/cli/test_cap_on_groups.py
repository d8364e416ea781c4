"""The cap of a plan on unlike node groups: online may use what the plan does, in each, within limits on power."""

from __future__ import annotations

import numpy as np
import pytest
from kit.small_site import HOUR_S, POWER, START, called, search_less

from dardis.config.platform import load_platform
from dardis.config.target import load_target
from dardis.metrics.facility import platform_cooling
from dardis.model.resources import CORES
from offline.folder.plan import read_plan

DAY = 8
GROUPS = {"n": (7, 8), "f": (2, 16)}
"""Nodes, and cores of a node."""
MOST_KW = 1.45
LIMITS = {
    "none": "",
    "contract": f"[tariff]\ncontracted_kw = {MOST_KW}\n",
    "lax contract": "[tariff]\ncontracted_kw = 50\n",
    "limit": "[[tariff.limits]]\n"
    f'start_utc = "2023-07-11T06:00Z"\nend_utc = "2023-07-12T00:00Z"\nmost_kw = {MOST_KW}\n',
}


@pytest.fixture(scope="module")
def plans(small_site, tmp_path_factory):
    """The same day of a machine of two groups under each limit: platform, plan and target."""
    folder = tmp_path_factory.mktemp("groups")
    groups = "".join(
        f'[[nodes]]\ncount = {count}\nprefix = "{name}"\nresources = {{ cores = {cores} }}\n{POWER}'
        for name, (count, cores) in GROUPS.items()
    )
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        search_less(patch)
        for name, limit in LIMITS.items():
            path, out = folder / f"{name}.toml", folder / name
            path.write_text(f'name = "groups"\ncooling = "air"\ncalendar_start = "{START}"\n{groups}{limit}')
            assert called("plan", small_site, out, day=DAY, cap=True, platform=path, no_report=True) == 0
            platform = load_platform(path)
            found[name] = platform, read_plan(out), load_target(out / "target.json", platform).desired
    return found


def in_use(plan):
    """The most cores of planned jobs in each segment."""
    edges, jobs = plan.profile.edges, plan.schedule
    cores = jobs.units * jobs.req_cores
    moments = np.unique(np.concatenate([edges[:-1], jobs.start[(jobs.start > edges[0]) & (jobs.start < edges[-1])]]))
    used = [int(cores[(jobs.start <= moment) & (moment < jobs.finish)].sum()) for moment in moments.tolist()]
    segment = np.searchsorted(edges, moments, side="right") - 1
    most = np.zeros(len(edges) - 1, dtype=np.int64)
    np.maximum.at(most, segment, used)
    return most


@pytest.mark.parametrize("limit", ["none", "lax contract"])
def test_what_is_open_has_room_for_the_plan_and_for_every_group(plans, limit):
    platform, plan, desired = plans[limit]
    moments = plan.profile.edges[:-1]
    target = desired.machine[platform.kinds.index(CORES)].at(moments)
    opened = desired.total(platform.kinds.index(CORES)).at(moments)
    assert (opened >= np.maximum(in_use(plan), target)).all()
    assert (opened < target + sum(cores for _, cores in GROUPS.values())).all()
    assert 0 < target.min() < target.max()
    for group in range(len(GROUPS)):
        nodes = np.flatnonzero(platform.group_of_node == group).tolist()
        assert (sum(desired.of_node(node, 0).at(moments) for node in nodes) > 0).all()


@pytest.mark.parametrize("limit", ["contract", "limit"])
def test_what_is_open_keeps_within_a_limit_on_power(plans, limit):
    platform, plan, desired = plans[limit]
    cooling = platform_cooling(platform)
    profile = plan.profile
    opened = desired.total(platform.kinds.index(CORES)).at(profile.edges[:-1])
    # Idle 100 W, off 10 W, 6.33 W a busy core.
    it_w = 100 * profile.nodes_on + 10 * (platform.node_count - profile.nodes_on) + 6.33 * opened
    limited = profile.edges[1:] > profile.edges[0] + (6 * HOUR_S if limit == "limit" else 0)
    assert (it_w + cooling.watts(profile.temp_c, it_w) <= 1000 * MOST_KW)[limited].all()
    target, free = (
        plans[name][2].machine[platform.kinds.index(CORES)].at(profile.edges[:-1]) for name in (limit, "none")
    )
    assert (target <= opened).all()
    assert (target < free).any()


def test_a_limit_that_never_binds_changes_nothing(plans):
    assert (plans["lax contract"][1].profile.cores_target == plans["none"][1].profile.cores_target).all()
