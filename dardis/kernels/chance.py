"""Chance as an argument: counter-based draws keyed by (seed, job, attempt, node, purpose, counter).

The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014), chained over the parts of the key.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import bare

PURPOSE_START, PURPOSE_PICK, PURPOSE_NODE, PURPOSE_SAMPLE, PURPOSE_PLAN = np.arange(1, 6)
"""What a draw is for: a node's start times, the choice among common starts, the order of nodes, whom a job asks, other
orders of a plan. No constants for the compiler, which would compile `draw_key` for each."""


@bare
def mix(key: int, more: int) -> int:
    """Fold `more` into the 64-bit key and scramble it; both unsigned, whoever calls it."""
    z = key ^ (more * np.uint64(0xD6E8FEB86659FD93))
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@bare
def draw_key(seed: int, job: int, attempt: int, node: int, purpose: int) -> int:
    """The 64-bit key of one decision's draws."""
    key = mix(np.uint64(0), np.uint64(seed))
    key = mix(mix(key, np.uint64(job)), np.uint64(attempt))
    return mix(mix(key, np.uint64(node)), np.uint64(purpose))


@bare
def below(key: int, counter: int, bound: int) -> int:
    """Draw number `counter` of a key: an integer in [0, bound), bound below 2^62 (bias below bound / 2^64)."""
    return np.int64(mix(np.uint64(key), np.uint64(counter)) % np.uint64(bound))


@bare
def unit(key: int, counter: int) -> float:
    """Draw number `counter` of a key: a float in [0, 1)."""
    return np.float64(mix(np.uint64(key), np.uint64(counter)) >> np.uint64(11)) * 2.0**-53
