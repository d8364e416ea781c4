"""The thesis's time segments: hours that follow each other and hardly differ become one (thesis 6.5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.series import Floats, Ints
from offline.planner.cp.money import account_of_running, price_per_j
from offline.planner.problem import Problem

ALIKE_C = 5.0
"""Temperatures of a segment lie within this many °C: the step of the thesis's table."""


@dataclass(frozen=True)
class Segments:
    """Segments `[edges[i], edges[i+1])`; values of shape (segments,). `base_w`: idle nodes and running jobs."""

    edges: Ints
    temp_c: Floats
    price_per_j: Floats
    base_w: Floats


def unmerged(problem: Problem) -> Segments:
    """The conditions' own segments, as the exact account has them.

    What merged ones cost is no bound: where cooling gets cheaper with load, hours apart cost less than their mean.
    """
    conditions = problem.conditions
    return Segments(conditions.edges, conditions.temp_c, price_per_j(problem), account_of_running(problem).it_w)


def segments_of(problem: Problem) -> Segments:
    """Merge the conditions' segments while their temperatures lie within `ALIKE_C` and their prices are the same."""
    edges, temp = problem.conditions.edges, problem.conditions.temp_c
    price, base = price_per_j(problem), account_of_running(problem).it_w
    first = [0]
    for place in range(1, len(temp)):
        span = temp[first[-1] : place + 1]
        if float(np.ptp(span)) > ALIKE_C or price[place] != price[first[-1]]:
            first.append(place)
    lengths = np.diff(edges).astype(np.float64)

    def mean(values: Floats) -> Floats:
        return np.add.reduceat(values * lengths, first) / np.add.reduceat(lengths, first)

    return Segments(edges[[*first, len(temp)]], mean(temp), price[first], mean(base))
