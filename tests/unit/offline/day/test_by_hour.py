"""The cores to aim at as a desired profile: what each day says, all cores around it, and the same when read back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import platforms

from dardis.config.target import read_profile, write_target
from dardis.model.resources import CORES
from dardis.model.target import Split, Target
from offline.day.by_hour import desired_of


@st.composite
def days(draw, most):
    """Edges and cores of up to three days (of 8 h, in a row) of any segments; no more than `most` cores."""
    found = []
    for day in range(draw(st.integers(1, 3))):
        cuts = sorted(draw(st.sets(st.integers(1, 28_799), max_size=5)))
        edges = 28_800 * day + np.array([0, *cuts, 28_800]) - 1000
        target = np.array([draw(st.integers(0, most)) for _ in edges[1:]])
        found.append((edges, target))
    return found


@examples(0.6)
@given(st.data())
def test_a_target_says_what_the_days_aim_at_and_all_cores_around_them(tmp_path_factory, data):
    platform = data.draw(platforms())
    told = data.draw(days(platform.cores))
    desired = desired_of(platform, told)
    path = tmp_path_factory.mktemp("target") / "target.json"
    write_target(path, Target(desired, None, 7), platform)
    read = read_profile(path, platform, Split.PROPORTIONAL)
    place = platform.kinds.index(CORES)
    for one in (desired, read.desired):
        wished = one.machine[place]
        assert one.split is Split.OPEN_NODES
        for edges, cores in told:
            moments = np.concatenate([edges[:-1], edges[1:] - 1])
            assert (wished.at(moments) == np.tile(cores, 2)).all()
        around = np.array([told[0][0][0] - 1, told[-1][0][-1], 10**9])
        assert (wished.at(around) == platform.cores).all()
    assert read.desired.machine[place].times.tolist() == desired.machine[place].times.tolist()
    assert read.desired.machine[place].values.tolist() == desired.machine[place].values.tolist()
    assert (read.switching, read.unix_start) == (None, 7)
