"""Samples against a slow oracle: different nodes of the right groups, of two draws the less loaded one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.chance import draw_key, uniform_below
from kit.effort import examples

from dardis.kernels.chance import PURPOSE_SAMPLE
from dardis.kernels.sample import NEIGHBOURHOOD, PLACES, draw_sample
from dardis.model.node_sets import NodeSets


def slow_sample(seed, job, draw, eligible, hints, size) -> list[int]:
    """One list of those that may be drawn, and one of those that were."""
    key, counter, chosen = draw_key(seed, job, draw, 0, int(PURPOSE_SAMPLE)), 0, []
    width = min(len(eligible), max(NEIGHBOURHOOD, PLACES * size))
    first = uniform_below(draw_key(seed, job, draw, 1, int(PURPOSE_SAMPLE)), 0, len(eligible))
    eligible = (eligible + eligible)[first : first + width]
    while len(chosen) < size:
        two = []
        while len(two) < 2:
            node = eligible[uniform_below(key, counter, len(eligible))]
            counter += 1
            if node not in chosen:
                two.append(node)
        chosen.append(min(two, key=lambda node: hints[node]))
    return chosen


@st.composite
def cases(draw):
    """Counts of groups, those that a job may use, hints and a size below the number of nodes."""
    counts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    groups = draw(st.integers(1, 2 ** len(counts) - 1))
    hints = draw(st.lists(st.integers(0, 3), min_size=sum(counts), max_size=sum(counts)))
    member = np.repeat(np.arange(len(counts)), counts)
    eligible = [node for node, group in enumerate(member.tolist()) if groups >> group & 1]
    return counts, groups, hints, eligible, draw(st.integers(0, len(eligible) - 1))


def sample_of(seed, job, draw, counts, groups, hints, size) -> list[int]:
    nodes, loads = np.empty(size, dtype=np.int64), np.array(hints)
    sets = NodeSets(counts, np.ones((len(counts), 1), dtype=np.int64), ())
    draw_sample(seed, job, draw, *sets.spans(groups), loads, nodes)
    assert loads.tolist() == hints
    return nodes.tolist()


@given(cases(), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
@examples(1)
def test_it_is_what_the_oracle_draws(case, seed, job, draw):
    counts, groups, hints, eligible, size = case
    nodes = sample_of(seed, job, draw, counts, groups, hints, size)
    assert len({*nodes}) == size
    assert {*nodes} <= {*eligible}
    assert nodes == slow_sample(seed, job, draw, eligible, hints, size)


@given(st.lists(st.integers(1, 9000), min_size=1, max_size=3), st.integers(0, 300), st.integers(0, 99), st.data())
@examples(0.5)
def test_on_a_large_machine_it_lies_in_a_stretch_of_it(counts, size, job, data):
    groups = data.draw(st.integers(1, 2 ** len(counts) - 1))
    member = np.repeat(np.arange(len(counts)), counts)
    eligible = [node for node, group in enumerate(member.tolist()) if groups >> group & 1]
    size = min(size, (len(eligible) - 1) // 2)
    nodes = sample_of(1, job, 2, counts, groups, [0] * len(member), size)
    assert nodes == slow_sample(1, job, 2, eligible, [0] * len(member), size)
    places = np.searchsorted(eligible, sorted(nodes))
    gaps = np.diff(places, append=places[:1] + len(eligible))  # the last place is beside the first
    assert gaps.max(initial=len(eligible)) > len(eligible) - max(NEIGHBOURHOOD, PLACES * size)


def test_stretches_lie_everywhere():
    drawn = np.array([sample_of(1, job, 1, [100_000], 1, [0] * 100_000, 4) for job in range(400)])
    tenths = np.bincount(drawn[:, 0] // 10_000, minlength=10)
    assert abs(tenths - 40).max() < 5 * np.sqrt(40)


def test_every_node_is_as_likely_and_every_key_draws_anew():
    drawn = [tuple(sample_of(1, job, 1, [20], 1, [0] * 20, 3)) for job in range(4000)]
    counts = np.bincount(np.array(drawn).ravel(), minlength=20)
    assert abs(counts - 600).max() < 5 * np.sqrt(600)
    assert len({*drawn}) > 2500
    assert sample_of(1, 7, 1, [1000], 1, [0] * 1000, 5) != sample_of(2, 7, 1, [1000], 1, [0] * 1000, 5)
    assert sample_of(1, 7, 1, [1000], 1, [0] * 1000, 5) != sample_of(1, 7, 2, [1000], 1, [0] * 1000, 5)


def test_of_two_the_less_loaded_one():
    """With half of the nodes loaded a place is so with a chance of a quarter."""
    hints = [node % 2 for node in range(10_000)]
    nodes = np.array(sample_of(1, 1, 1, [10_000], 1, hints, 2000))
    assert 400 < (nodes % 2).sum() < 600
