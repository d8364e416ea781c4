import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit import chance as oracle

from dardis.kernels import chance

parts = st.integers(0, 2**62)


@given(parts, parts, st.integers(0, 100), parts, st.integers(1, 3), st.integers(0, 2**20), st.integers(1, 2**61))
def test_draws_are_those_of_the_plain_mixer(seed, job, attempt, node, purpose, counter, bound):
    key = oracle.draw_key(seed, job, attempt, node, purpose)
    compiled = np.uint64(chance.draw_key(seed, job, attempt, node, purpose))
    assert int(compiled) == key
    assert chance.below(compiled, counter, bound) == oracle.uniform_below(key, counter, bound)
    assert chance.unit(compiled, counter) == oracle.unit(key, counter)
    signed = key & (2**63 - 1)  # as Python hands it on
    assert chance.below(signed, counter, bound) == oracle.uniform_below(signed, counter, bound)
    assert chance.unit(signed, counter) == oracle.unit(signed, counter)


def test_the_mixer_is_splitmix64():
    """Its first outputs for seed 0, as its authors' reference program prints them (a key of 0 mixed with 0)."""
    golden = 0x9E3779B97F4A7C15
    first = [oracle.mix((golden * i) & (2**64 - 1), 0) for i in range(3)]
    assert first == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
