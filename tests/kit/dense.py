"""Oracle of node profiles, fitting indices and offers: one array entry a second, as the thesis writes it (5.3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from kit.chance import draw_key, uniform_below, unit

from dardis.model.arrays import Ints
from dardis.model.job import FOREVER
from dardis.model.offer_rows import EXPONENTIAL, FIRST
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile

ONE = 1 << 20
PURPOSE_START = 1


@dataclass(frozen=True)
class Offer:
    """What a node offers at one instant of the grid."""

    index: int
    free_from: int
    free_to: int


class DenseNode:
    """Free and wished amounts of each second from 0 on, shape (seconds, kinds); the last second holds for ever."""

    def __init__(self, capacity: Ints, seconds: int, wished: Ints | None = None) -> None:
        self.free = np.tile(np.asarray(capacity, dtype=np.int64), (seconds, 1))
        self.wished = None if wished is None else np.array(wished, dtype=np.int64)

    def copy(self) -> DenseNode:
        other = DenseNode(self.free[0], 1)
        other.free = self.free.copy()
        other.wished = None if self.wished is None else self.wished.copy()
        return other

    def take(self, start: int, end: int, amounts: Ints) -> None:
        """Reserve `amounts` over [start, end); negative ones give back."""
        self.free[start:end] -= amounts
        if self.wished is not None:
            self.wished[start:end] -= amounts

    def holds(self, start: int, end: int, amounts: Ints) -> bool:
        return bool((self.free[start:end] >= amounts).all())

    def index_of_seconds(self, request: Ints, desired_binds: bool) -> Ints:
        """The fitting index of a run of one second, in fixed point (floor), never less than 0."""
        asked = np.flatnonzero(request > 0)
        whole = (self.free[:, asked] // request[asked]).min(axis=1)
        index = np.maximum(whole, 0) << 20
        if desired_binds and self.wished is not None:
            index = np.minimum(index, ((self.wished[:, asked] << 20) // request[asked]).min(axis=1))
        return np.maximum(index, 0)

    def index_of_starts(self, first: int, last: int, walltime: int, request: Ints, desired_binds: bool) -> Ints:
        """I(s) for s from first to last: the least over [s, s + walltime)."""
        per_second = self.index_of_seconds(request, desired_binds)
        beyond = max(0, last + walltime - len(per_second))
        per_second = np.pad(per_second, (0, beyond), mode="edge")[first : last + walltime]
        return np.lib.stride_tricks.sliding_window_view(per_second, walltime).min(axis=1)

    def offers(
        self, now: int, first: int, last: int, walltime: int, request: Ints, desired_binds: bool, grain: int
    ) -> dict[int, Offer]:
        """Every feasible instant of the window's grid."""
        index = self.index_of_starts(first, last, walltime, request, desired_binds)
        fits = np.append(self.index_of_seconds(request, desired_binds) >= ONE, True)  # a sentinel: never asked for
        found = {}
        for instant in range((last - first) // grain + 1):
            start = first + instant * grain
            if index[start - first] < ONE:
                continue
            free_from = start
            while free_from > now and fits[min(free_from - 1, len(fits) - 2)]:
                free_from -= 1
            blocked = np.flatnonzero(~fits[start:-1])
            free_to = start + int(blocked[0]) if len(blocked) else FOREVER
            found[instant] = Offer(int(index[start - first]), free_from, free_to)
        return found

    def quota_offers(
        self, feasible: dict[int, Offer], quota: int, kind: int, weights: list[float], key: tuple[int, int, int, int]
    ) -> dict[int, Offer]:
        """At most `quota` of the feasible instants: the first, or drawn by the `weights` of all instants."""
        instants = sorted(feasible)
        if quota < 0 or len(instants) <= quota:
            return feasible
        if kind == FIRST:
            return {instant: feasible[instant] for instant in instants[:quota]}
        free = list(instants)
        chosen = []
        seed, job, attempt, node = key
        key64 = draw_key(seed, job, attempt, node, PURPOSE_START)
        for draw in range(quota):
            instant = draw_instant(weights, kind, key64, draw)
            following = [i for i in instants if i >= instant] + [i for i in instants if i < instant]
            taken = next(i for i in following if i in free)
            free.remove(taken)
            chosen.append(taken)
        return {instant: feasible[instant] for instant in sorted(chosen)}


def weights_of(index: Ints, kind: int, grain: int) -> list[float]:
    """Weights of the instants of a window's grid, of the indices of all its seconds (thesis 5.3.4, 5.3.5, 7.5)."""
    decay = grain / len(index) if kind == EXPONENTIAL else 0.0
    return [value * math.exp(-decay * i) if decay else value for i, value in enumerate(index[::grain].tolist())]


def draw_instant(weights: list[float], kind: int, key64: int, draw: int) -> int:
    """Draw number `draw` of an instant, in proportion to the weights."""
    total = sum(weights)
    place = unit(key64, draw) * total if kind == EXPONENTIAL else uniform_below(key64, draw, int(total))
    for instant, mass in enumerate(weights):
        if place < mass:
            return instant
        place -= mass
    return max(i for i, weight in enumerate(weights) if weight)


def dense_nodes(platform: Platform, desired: DesiredProfile | None, seconds: int) -> list[DenseNode]:
    """The machine when nothing is reserved but its maintenance."""
    nodes = []
    for node in range(platform.node_count):
        wished = None
        if desired is not None:
            kinds = range(len(platform.kinds))
            wished = np.stack([desired.of_node(node, kind).at(np.arange(seconds)) for kind in kinds], axis=1)
        nodes.append(DenseNode(platform.capacity[node], seconds, wished))
    for node, dense in enumerate(nodes):
        mine = [window for window in platform.maintenance if node in window.nodes]
        for second in {second for window in mine for second in range(window.start, window.end)}:
            dense.take(second, second + 1, platform.capacity[node])
    return nodes
