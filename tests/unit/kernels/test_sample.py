"""Keyed draws, and samples of nodes made of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit import chance as oracle
from kit.chance import draw_key, uniform_below
from kit.effort import examples

from dardis.kernels import chance
from dardis.kernels.chance import NEIGHBOURHOOD, PLACES, PURPOSE_SAMPLE, draw_sample
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
def test_samples_equal_the_reference(case, seed, job, draw):
    counts, groups, hints, eligible, size = case
    nodes = sample_of(seed, job, draw, counts, groups, hints, size)
    assert len({*nodes}) == size
    assert {*nodes} <= {*eligible}
    assert nodes == slow_sample(seed, job, draw, eligible, hints, size)


def test_nodes_are_equally_likely_and_keys_independent():
    drawn = [tuple(sample_of(1, job, 1, [20], 1, [0] * 20, 3)) for job in range(4000)]
    counts = np.bincount(np.array(drawn).ravel(), minlength=20)
    assert abs(counts - 600).max() < 5 * np.sqrt(600)
    assert len({*drawn}) > 2500
    assert sample_of(1, 7, 1, [1000], 1, [0] * 1000, 5) != sample_of(2, 7, 1, [1000], 1, [0] * 1000, 5)
    assert sample_of(1, 7, 1, [1000], 1, [0] * 1000, 5) != sample_of(1, 7, 2, [1000], 1, [0] * 1000, 5)


parts = st.integers(0, 2**62)


@given(parts, parts, st.integers(0, 100), parts, st.integers(1, 3), st.integers(0, 2**20), st.integers(1, 2**61))
def test_draws_are_those_of_the_plain_mixer(seed, job, attempt, node, purpose, counter, bound):
    key = oracle.draw_key(seed, job, attempt, node, purpose)
    compiled = np.uint64(chance.draw_key(seed, job, attempt, node, purpose))
    assert int(compiled) == key
    assert chance.draw_below(compiled, counter, bound) == oracle.uniform_below(key, counter, bound)
    assert chance.draw_unit(compiled, counter) == oracle.unit(key, counter)
    signed = key & (2**63 - 1)  # as Python hands it on
    assert chance.draw_below(signed, counter, bound) == oracle.uniform_below(signed, counter, bound)
    assert chance.draw_unit(signed, counter) == oracle.unit(signed, counter)


def test_the_mixer_is_splitmix64():
    golden = 0x9E3779B97F4A7C15
    first = [oracle.mix((golden * i) & (2**64 - 1), 0) for i in range(3)]
    assert first == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
