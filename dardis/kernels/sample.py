"""A sample of a machine's nodes: drawn without repetition, of each two draws the less loaded, in time of its size.

On a large machine it lies in a stretch of adjacent nodes that is drawn first: so it is of few hosts, however many there
are.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.chance import PURPOSE_SAMPLE, below, draw_key
from dardis.kernels.jit import bare, inlined
from dardis.model.arrays import Ints

DRAWS = 2
"""Nodes that are drawn for each place of the sample."""
NEIGHBOURHOOD, PLACES = 8192, 16
"""A sample lies in a stretch of so many nodes, or of so many for each of its places, whichever is more.

The last node is beside the first. With 1,024 mean waits on 5,040 nodes were up to half as long again.
"""


@inlined
def nth_node(place: int, first: Ints, ends: Ints) -> int:
    """The node at a place among those in spans that begin with nodes `first` and end before places `ends`."""
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
    """Fill `nodes` with different nodes of these spans, in the order drawn; there must be more than that.

    Hints are at least 0; of equal ones the first that was drawn is taken.
    """
    key = draw_key(seed, job, draw, np.int64(0), PURPOSE_SAMPLE)
    several = ends[-1]
    width = min(several, max(NEIGHBOURHOOD, PLACES * len(nodes)))
    begin = below(draw_key(seed, job, draw, np.int64(1), PURPOSE_SAMPLE), np.int64(0), several)
    counter = 0
    for place in range(len(nodes)):
        best = -1
        for _ in range(DRAWS):
            node = nth_node((begin + below(key, counter, width)) % several, first, ends)
            counter += 1
            while hints[node] < 0:
                node = nth_node((begin + below(key, counter, width)) % several, first, ends)
                counter += 1
            if best < 0 or hints[node] < hints[best]:
                best = node
        nodes[place] = best
        hints[best] = ~hints[best]  # less than 0: it is in the sample
    for place in range(len(nodes)):
        hints[nodes[place]] = ~hints[nodes[place]]
