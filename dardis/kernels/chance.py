"""Random draws by key, and samples of nodes.

The mixer is SplitMix64's finaliser (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import bare, inlined
from dardis.model.arrays import Ints

# An array, as constants would compile `draw_key` for each.
PURPOSE_START, PURPOSE_PICK, PURPOSE_NODE, PURPOSE_SAMPLE, PURPOSE_PLAN = np.arange(1, 6)
"""Purposes: start times, common start, order of nodes, sample, orders of a plan."""


@bare
def mix(key: int, more: int) -> int:
    """Mix `more` into the unsigned 64-bit key."""
    z = key ^ (more * np.uint64(0xD6E8FEB86659FD93))
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@bare
def draw_key(seed: int, job: int, attempt: int, node: int, purpose: int) -> int:
    """Key for draws of a decision."""
    key = mix(np.uint64(0), np.uint64(seed))
    key = mix(mix(key, np.uint64(job)), np.uint64(attempt))
    return mix(mix(key, np.uint64(node)), np.uint64(purpose))


@bare
def draw_below(key: int, counter: int, bound: int) -> int:
    """Draw `counter` in [0, bound), bound below 2^62 (bias below bound / 2^64)."""
    return np.int64(mix(np.uint64(key), np.uint64(counter)) % np.uint64(bound))


@bare
def draw_unit(key: int, counter: int) -> float:
    """Draw `counter` in [0, 1)."""
    return np.float64(mix(np.uint64(key), np.uint64(counter)) >> np.uint64(11)) * 2.0**-53


DRAWS = 2
"""Draws per place of the sample."""
# With 1,024, mean waits on 5,040 nodes were up to half as long again.
NEIGHBOURHOOD, PLACES = 8192, 16
"""Window of a sample in nodes: at least the first number, and the second per place; cyclic."""


@inlined
def nth_node(place: int, first: Ints, ends: Ints) -> int:
    """Node at a place in the spans."""
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if place < ends[middle]:
            high = middle
        else:
            low = middle + 1
    return first[low] + place - (ends[low - 1] if low > 0 else 0)


@bare
def draw_sample(seed: int, job: int, draw: int, first: Ints, ends: Ints, hints: Ints, nodes: Ints) -> None:
    """Fill `nodes` with distinct nodes of the spans, in draw order.

    Places take the draw with the lowest hint (at least 0). The spans must hold more nodes.
    """
    key = draw_key(seed, job, draw, np.int64(0), PURPOSE_SAMPLE)
    several = ends[-1]
    width = min(several, max(NEIGHBOURHOOD, PLACES * len(nodes)))
    begin = draw_below(draw_key(seed, job, draw, np.int64(1), PURPOSE_SAMPLE), np.int64(0), several)
    counter = 0
    for place in range(len(nodes)):
        best = -1
        for _ in range(DRAWS):
            node = nth_node((begin + draw_below(key, counter, width)) % several, first, ends)
            counter += 1
            while hints[node] < 0:
                node = nth_node((begin + draw_below(key, counter, width)) % several, first, ends)
                counter += 1
            if best < 0 or hints[node] < hints[best]:
                best = node
        nodes[place] = best
        hints[best] = ~hints[best]  # negative: in the sample
    for place in range(len(nodes)):
        hints[nodes[place]] = ~hints[nodes[place]]
