"""Learns the number of idle nodes to keep on by hour.

`offline.onoff.reserve_replay` gives past savings and boot delays for numbers of spares. A small tree assigns groups of
similar hours the cheapest number at a price on delayed jobs: the site's, or the one that best meets all aims on
held-out days.
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
from offline.onoff.reserve_replay import NodeDemand, PastDemand, Replay

FALLBACK_SHARE: Final = 0.03
"""Share of nodes as spares, with too little history."""
LEAST_DAYS: Final = 5
HIGH_USE: Final = 0.8
"""Use above which idle time is scarce."""
SHAPES: Final = (Shape(min_samples_leaf=1 << 30), Shape(max_leaf_nodes=2), Shape(max_leaf_nodes=4))
"""Candidate trees: one, two or four numbers."""
_NODE_HOURS: Final = tuple(float(x) for x in 0.25 * 1.5 ** np.arange(19))


@dataclass(frozen=True, slots=True)
class ReserveGoals:
    """Most delay, and least share of possible savings."""

    mean_delay_s: float = 30.0
    delayed_share: float = 0.10
    share_of_bound: float = 0.90

    @classmethod
    def at_use(cls, use: float) -> ReserveGoals:
        """Aims at this share of nodes in use: more delay at low load.

        At high load replays overestimate savings.
        """
        return cls(delayed_share=0.15 if use < 0.35 else 0.10, share_of_bound=0.93 if use > HIGH_USE else 0.90)

    def strain(self, found: ReserveOutcome) -> float:
        """Used share of the aims' margins; missed above 1."""
        lost = (1 - found.share_of_bound) / (1 - self.share_of_bound)
        return max(lost, found.mean_delay_s / self.mean_delay_s, found.delayed_share / self.delayed_share)


@dataclass(frozen=True, slots=True)
class ReserveOutcome:
    """Past result; `share_of_bound`: savings relative to no spares."""

    share_of_bound: float
    mean_delay_s: float
    delayed_share: float


@dataclass(frozen=True)
class GroupRule:
    """Spares by leaf of a tree, or `always`."""

    always: int
    tree: Any = None
    leaves: dict[int, int] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    branch: Branch | None = None
    cv_error: float | None = None
    """Mean error from the best numbers on held-out days, nodes."""
    expected: ReserveOutcome | None = None

    def spares(self, values: Floats) -> Ints:
        """Spare nodes for rows of features."""
        if self.tree is None:
            return np.full(len(values), self.always, dtype=np.int64)
        return np.array([self.leaves[leaf] for leaf in self.tree.apply(values).tolist()], dtype=np.int64)


@dataclass(frozen=True)
class ReserveRule:
    """Spares of each switchable node group, by hour."""

    groups: dict[int, GroupRule]
    prefixes: dict[int, str]
    notes: tuple[str, ...] = ()

    def predict(self, table: HourTable) -> dict[int, StepFunction]:
        """Spares by group over the table's hours, extended outside."""
        found = {}
        for group, rule in self.groups.items():
            spares = rule.spares(table.values).tolist()
            steps = [(when, n) for when, n, last in zip(table.edges[1:-1].tolist(), spares[1:], spares, strict=False)
                     if n != last]  # fmt: skip
            found[group] = StepFunction.from_steps(spares[0], steps)
        return found

    def rules(self) -> list[str]:
        """Rules in words, by group."""
        one = len(self.groups) == 1
        return [
            (f"{rule}" if one else f"{self.prefixes[group]}: {rule}")
            for group, learned in self.groups.items()
            for rule in learned.rules or (f"always → {_spares_text(learned.always)}",)
        ]

    def branches(self) -> list[tuple[str, Branch]]:
        """Learned trees, by the groups' prefixes."""
        found = ((self.prefixes[group], rule.branch) for group, rule in self.groups.items())
        return [(prefix, branch) for prefix, branch in found if branch is not None]

    @property
    def cv_error(self) -> float | None:
        """Mean cross-validated error of learned groups, nodes."""
        errors = [rule.cv_error for rule in self.groups.values() if rule.cv_error is not None]
        return sum(errors) / len(errors) if errors else None


def learn_reserve(
    demands: dict[int, NodeDemand],
    table: HourTable,
    platform: Platform,
    idle_s: int = 337,
    shapes: tuple[Shape, ...] = SHAPES,
    wait_j: float = 0.0,
) -> ReserveRule:
    """Learn from each group's demand in the past hours of `table`.

    `wait_j`: cost of a job's wait second, J; 0: use `ReserveGoals`. Groups that stay on get no rule; without enough
    days, jobs or savings: `FALLBACK_SHARE` of the nodes.
    """
    groups: dict[int, GroupRule] = {}
    notes: list[str] = []
    for index, group in enumerate(platform.groups):
        power = group.power or NodePower()
        if group.stays_on:
            continue
        past = PastDemand(demands[index], power, idle_s, table.edges) if len(table.day) else None
        why = _fallback_reason(past, len(np.unique(table.day)))
        if past is None or why:
            spares = ceil(FALLBACK_SHARE * group.count)
            notes.append(f"{group.prefix}: {why}, so its reserve is always {_spares_text(spares)} (3 %)")
            groups[index] = GroupRule(spares)
        else:
            groups[index] = _learn_group(past, table, shapes, wait_j)
    return ReserveRule(groups, {index: group.prefix for index, group in enumerate(platform.groups)}, tuple(notes))


def _fallback_reason(past: PastDemand | None, days: int) -> str:
    if past is None or days < LEAST_DAYS:
        return f"{days} days of history"
    if len(past.start) == 0:
        return "no job in the past"
    return "no savings in the past" if past.replay(0).saved_j.sum() <= 0 else ""


@dataclass(frozen=True)
class _Samples:
    """Cost of each number of spares in `grid`, by past hour; arrays (hours, numbers)."""

    grid: Ints
    lost_j: Floats
    """Compared to no spares."""
    delayed: Floats
    """Mean of delayed jobs and their delays in boot times."""
    delay_s: Floats

    @classmethod
    def of(cls, past: PastDemand, most: int) -> _Samples:
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
        return self.lost_j + price_j * self.delayed


def _learn_group(past: PastDemand, table: HourTable, shapes: tuple[Shape, ...], wait_j: float) -> GroupRule:
    count = past.demand.count
    samples = _Samples.of(past, count if wait_j > 0 else max(count // 3, 1))
    hour_j = 3600 * (past.power.idle_w - past.power.off_w)
    span = int(table.edges[-1] - table.edges[0])
    use = past.demand.busy.integral(int(table.edges[0]), int(table.edges[-1])) / (past.demand.count * span)
    aims, bound = ReserveGoals.at_use(use), float(past.replay(0).saved_j.sum())
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
    _, shape, cost, spares, outcome = min(tried, key=lambda t: t[0])  # the smallest tree of equals
    best = samples.grid[cost.argmin(axis=1)]
    tree = shape.regressor(table.values, best)
    leaves = _cheapest(tree.apply(table.values), cost, samples.grid)

    def say(leaf: int) -> str:
        return _spares_text(leaves[leaf])

    return GroupRule(
        always=max(leaves.values()),
        tree=tree,
        leaves=leaves,
        rules=tuple(rules_of(tree, table.names, table.values, say)),
        branch=branch_of(tree, table.names, table.values, say),
        cv_error=float(np.abs(spares - best).mean()),
        expected=outcome,
    )


def outcome_of(replay: Replay, bound_j: float) -> ReserveOutcome:
    """Convert a replay; `bound_j`: all possible savings."""
    return ReserveOutcome(float(replay.saved_j.sum()) / bound_j, replay.mean_delay_s, replay.delayed_share)


def _held_out_spares(cost: Floats, grid: Ints, table: HourTable, shape: Shape) -> Ints:
    spares = np.empty(len(cost), dtype=np.int64)
    best = grid[cost.argmin(axis=1)]
    for out in folds(table.day):
        tree = shape.regressor(table.values[~out], best[~out])
        leaves = _cheapest(tree.apply(table.values[~out]), cost[~out], grid)
        spares[out] = [leaves[leaf] for leaf in tree.apply(table.values[out]).tolist()]
    return spares


def _cheapest(leaf: Ints, cost: Floats, grid: Ints) -> dict[int, int]:
    return {int(k): int(grid[cost[leaf == k].sum(axis=0).argmin()]) for k in np.unique(leaf)}


def _spares_text(spares: int) -> str:
    return f"{spares} spare node" + ("" if spares == 1 else "s")
