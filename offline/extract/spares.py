"""How many idle nodes to keep on in each hour, learned from past days: as few as keep nearly all jobs from waiting.

For every past hour and every number of spares, `offline.onoff.reserve_replay` says what would have been saved and
which jobs would have waited for a boot. With a price on a delayed job each hour has a cheapest number. A small tree
finds which hours are alike; each of its leaves gets the number that is cheapest for its hours together. The price is
the one at which all aims are met with the same margin (or missed by the least), as judged on days that a tree has not
seen. If the site states a price for waits, that one counts, and there are no aims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import ceil
from typing import Any, Final

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.branch import Branch
from dardis.model.platform import NodePower, Platform
from dardis.model.step_function import StepFunction
from offline.extract.trees import HourTable, Shape, branch_of, folds, rules_of
from offline.onoff.reserve_replay import Demand, PastDemand, Replay

FALLBACK_SHARE: Final = 0.03
"""Spares as a share of the nodes while there is too little history."""
LEAST_DAYS: Final = 5
HIGH_USE: Final = 0.8
"""Share of the nodes in use above which idle time is scarce."""
SHAPES: Final = (Shape(min_samples_leaf=1 << 30), Shape(max_leaf_nodes=2), Shape(max_leaf_nodes=4))
"""Trees that are tried: one number for all hours, two, or four."""
_NODE_HOURS: Final = tuple(float(x) for x in 0.25 * 1.5 ** np.arange(19))
"""Prices of a delayed job that are tried, in hours of a node that idles rather than being off."""


@dataclass(frozen=True, slots=True)
class Aims:
    """What switching may cost jobs, and how much of what can be saved it should save."""

    mean_delay_s: float = 30.0
    delayed_share: float = 0.10
    share_of_bound: float = 0.90

    @classmethod
    def at_use(cls, use: float) -> Aims:
        """The aims for a machine of which this share is in use: more may wait at low load.

        At high load nodes stay on for jobs planned on them, which a replay leaves out: of 93 % there, 85 % come.
        """
        return cls(delayed_share=0.15 if use < 0.35 else 0.10, share_of_bound=0.93 if use > HIGH_USE else 0.90)

    def strain(self, found: Outcome) -> float:
        """How much of the room that the aims leave is used up; more than 1 means that one is missed."""
        lost = (1 - found.share_of_bound) / (1 - self.share_of_bound)
        return max(lost, found.mean_delay_s / self.mean_delay_s, found.delayed_share / self.delayed_share)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a number of spares would have done in the past; `share_of_bound` against no spares at all."""

    share_of_bound: float
    mean_delay_s: float
    delayed_share: float


@dataclass(frozen=True)
class GroupRule:
    """The rule of one node group: the spares of each leaf of a tree, or `always` where there is none."""

    always: int
    tree: Any = None
    leaves: dict[int, int] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    drawn: Branch | None = None
    """The same tree, to be drawn."""
    cv_error: float | None = None
    """Mean distance from the number that was best for each hour, on days the tree had not seen; spare nodes."""
    expected: Outcome | None = None
    """What the rule would have done on those days."""

    def spares(self, values: Floats) -> Ints:
        """Spare nodes for rows of features."""
        if self.tree is None:
            return np.full(len(values), self.always, dtype=np.int64)
        return np.array([self.leaves[leaf] for leaf in self.tree.apply(values).tolist()], dtype=np.int64)


@dataclass(frozen=True)
class SpareRule:
    """How many spares each node group keeps, by hour. Groups that are never switched have no rule."""

    groups: dict[int, GroupRule]
    prefixes: dict[int, str]
    notes: tuple[str, ...] = ()

    def predict(self, table: HourTable) -> dict[int, StepFunction]:
        """Spares by group over the hours of the table; the first and the last hour's hold before and after."""
        found = {}
        for group, rule in self.groups.items():
            spares = rule.spares(table.values).tolist()
            steps = [(when, n) for when, n, last in zip(table.edges[1:-1].tolist(), spares[1:], spares, strict=False)
                     if n != last]  # fmt: skip
            found[group] = StepFunction.from_steps(spares[0], steps)
        return found

    def rules(self) -> list[str]:
        """The rules in words, group by group."""
        one = len(self.groups) == 1
        return [
            (f"{rule}" if one else f"{self.prefixes[group]}: {rule}")
            for group, learned in self.groups.items()
            for rule in learned.rules or (f"always → {_words(learned.always)}",)
        ]

    def drawn(self) -> list[tuple[str, Branch]]:
        """The trees of the groups that have learned one, by the groups' prefixes."""
        found = ((self.prefixes[group], rule.drawn) for group, rule in self.groups.items())
        return [(prefix, branch) for prefix, branch in found if branch is not None]

    @property
    def cv_error(self) -> float | None:
        """Mean cross-validated error over the groups that have learned, spare nodes."""
        errors = [rule.cv_error for rule in self.groups.values() if rule.cv_error is not None]
        return sum(errors) / len(errors) if errors else None


def learn_spares(
    demands: dict[int, Demand],
    table: HourTable,
    platform: Platform,
    idle_s: int = 337,
    shapes: tuple[Shape, ...] = SHAPES,
    wait_j: float = 0.0,
) -> SpareRule:
    """Learn from the demand of each node group in the hours of `table`, all of them past.

    `wait_j` is what a second costs that a job waits, in joules of a node; with 0 the `Aims` say what waits may be.

    A group that is `always_on`, or whose idle nodes draw no more than those that are off, gets no rule; with fewer than
    `LEAST_DAYS` days, no job or nothing to save in them, a group keeps `FALLBACK_SHARE` of its nodes; a note says so.
    """
    groups: dict[int, GroupRule] = {}
    notes: list[str] = []
    for index, group in enumerate(platform.groups):
        power = group.power or NodePower()
        if group.stays_on:
            continue
        past = PastDemand(demands[index], power, idle_s, table.edges) if len(table.day) else None
        why = _unfit(past, len(np.unique(table.day)))
        if past is None or why:
            spares = ceil(FALLBACK_SHARE * group.count)
            notes.append(f"{group.prefix}: {why}, so it always keeps {_words(spares)} (3 %)")
            groups[index] = GroupRule(spares)
        else:
            groups[index] = _learned(past, table, shapes, wait_j)
    return SpareRule(groups, {index: group.prefix for index, group in enumerate(platform.groups)}, tuple(notes))


def _unfit(past: PastDemand | None, days: int) -> str:
    """Why nothing can be learned from a past; empty when something can."""
    if past is None or days < LEAST_DAYS:
        return f"{days} days of history"
    if len(past.start) == 0:
        return "no job in its past"
    return "nothing to save in its past" if past.replay(0).saved_j.sum() <= 0 else ""


@dataclass(frozen=True)
class _Samples:
    """What each number of spares in `grid` would have cost in each past hour; arrays (hours, numbers)."""

    grid: Ints
    lost_j: Floats
    """Energy not saved that no spares at all would have saved."""
    delayed: Floats
    """Jobs delayed: mean of their number and of their delays in boot times."""
    delay_s: Floats
    """Their delays together, s."""

    @classmethod
    def of(cls, past: PastDemand, most: int) -> _Samples:
        """Replay numbers of spares from 0 to `most`."""
        grid = np.unique(np.round(np.geomspace(1, most, 30)).astype(np.int64))
        grid = np.concatenate([[0], grid])
        hours = len(past.edges) - 1
        replays = [past.replay(int(spares)) for spares in grid]
        boot_s = max(past.power.boot_s, 1)

        def by_hour(weights: Floats) -> Floats:
            return np.bincount(past.span_of_start, weights, hours).astype(np.float64)

        saved = np.stack([r.saved_j for r in replays], axis=1)
        delayed = np.stack([by_hour((r.delay > 0) / 2 + r.delay / boot_s / 2) for r in replays], axis=1)
        delay_s = np.stack([by_hour(r.delay.astype(np.float64)) for r in replays], axis=1)
        return cls(grid, saved[:, :1] - saved, delayed, delay_s)

    def cost(self, price_j: float) -> Floats:
        """Cost (J) of each number in each hour when a delayed job costs `price_j`."""
        return self.lost_j + price_j * self.delayed


def _learned(past: PastDemand, table: HourTable, shapes: tuple[Shape, ...], wait_j: float) -> GroupRule:
    """The rule of the shape, and at the price of a delayed job, that suit the aims best.

    If waits have a price it is the rule of the shape that costs least.
    """
    count = past.demand.count
    samples = _Samples.of(past, count if wait_j > 0 else max(count // 3, 1))
    hour_j = 3600 * (past.power.idle_w - past.power.off_w)
    span = int(table.edges[-1] - table.edges[0])
    use = past.demand.busy.integral(int(table.edges[0]), int(table.edges[-1])) / (past.demand.count * span)
    aims, bound = Aims.at_use(use), float(past.replay(0).saved_j.sum())
    if wait_j > 0:
        costs = [samples.lost_j + wait_j * samples.delay_s]
    else:
        costs = [samples.cost(price * hour_j) for price in _NODE_HOURS]
    tried = []
    for shape, cost in product(shapes, costs):
        spares = _held_out_spares(cost, samples.grid, table, shape)
        outcome = outcome_of(past.replay(spares), bound)
        place = np.searchsorted(samples.grid, spares)
        spent = float(cost[np.arange(len(cost)), place].sum())
        tried.append((spent if wait_j > 0 else aims.strain(outcome), shape, cost, spares, outcome))
    _, shape, cost, spares, outcome = min(tried, key=lambda t: t[0])  # of equals the first: the smallest tree
    best = samples.grid[cost.argmin(axis=1)]
    tree = shape.regressor(table.values, best)
    leaves = _cheapest(tree.apply(table.values), cost, samples.grid)

    def say(leaf: int) -> str:
        return _words(leaves[leaf])

    return GroupRule(
        always=max(leaves.values()),
        tree=tree,
        leaves=leaves,
        rules=tuple(rules_of(tree, table.names, table.values, say)),
        drawn=branch_of(tree, table.names, table.values, say),
        cv_error=float(np.abs(spares - best).mean()),
        expected=outcome,
    )


def outcome_of(replay: Replay, bound_j: float) -> Outcome:
    """A replay in the terms of the aims; `bound_j` is all that could have been saved."""
    return Outcome(float(replay.saved_j.sum()) / bound_j, replay.mean_delay_s, replay.delayed_share)


def _held_out_spares(cost: Floats, grid: Ints, table: HourTable, shape: Shape) -> Ints:
    """What trees that never saw an hour's day would keep in it."""
    spares = np.empty(len(cost), dtype=np.int64)
    best = grid[cost.argmin(axis=1)]
    for out in folds(table.day):
        tree = shape.regressor(table.values[~out], best[~out])
        leaves = _cheapest(tree.apply(table.values[~out]), cost[~out], grid)
        spares[out] = [leaves[leaf] for leaf in tree.apply(table.values[out]).tolist()]
    return spares


def _cheapest(leaf: Ints, cost: Floats, grid: Ints) -> dict[int, int]:
    """The number of spares that is cheapest for all hours of a leaf together, by leaf."""
    return {int(k): int(grid[cost[leaf == k].sum(axis=0).argmin()]) for k in np.unique(leaf)}


def _words(spares: int) -> str:
    return f"{spares} spare node" + ("" if spares == 1 else "s")
