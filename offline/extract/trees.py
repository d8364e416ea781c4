"""Small decision trees, and their tables of hours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.branch import Branch
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from offline.site.calendar import DAY_S, HOUR_S

FOLDS: Final = 5
_LEAF: Final = -1

Labels = NDArray[Any]
Fit = Callable[[Floats, Labels], Any]


@dataclass(frozen=True)
class Shape:
    """Size limits of a tree, against overfitting."""

    max_leaf_nodes: int = 6
    min_samples_leaf: int = 24
    seed: int = 1

    def regressor(self, values: Floats, labels: Labels) -> Any:  # noqa: ANN401, scikit-learn has no types
        """Fit a regression tree."""
        from sklearn.tree import DecisionTreeRegressor

        return DecisionTreeRegressor(**self._settings()).fit(values, labels)

    def classifier(self, values: Floats, labels: Labels) -> Any:  # noqa: ANN401
        """Fit a classification tree."""
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(**self._settings()).fit(values, labels)

    def _settings(self) -> dict[str, int]:
        return {
            "max_leaf_nodes": max(self.max_leaf_nodes, 2),
            "min_samples_leaf": self.min_samples_leaf,
            "random_state": self.seed,
        }


def folds(day: Ints) -> Iterator[Bools]:
    """Yield held-out rows: every `FOLDS`-th whole day."""
    _, number = np.unique(day, return_inverse=True)
    for fold in range(min(FOLDS, int(number.max(initial=0)) + 1)):
        yield number % FOLDS == fold


def predict_held_out(fit: Fit, values: Floats, labels: Labels, day: Ints) -> Labels:
    """Predict rows by trees without their days. ValueError for a single day."""
    if len(np.unique(day)) <= 1:
        raise ValueError("a tree needs days for learning and for testing")
    predicted = np.empty_like(labels)
    for out in folds(day):
        predicted[out] = fit(values[~out], labels[~out]).predict(values[out])
    return predicted


@dataclass
class _Bounds:
    above: float = -np.inf
    up_to: float = np.inf

    def text(self, name: str, whole: bool, flag: bool) -> str:
        """`8 ≤ hour < 14` for integers, `0.2 < use ≤ 0.43` for reals, `no hybrid cooling` for 0 or 1."""
        if flag:
            return name if np.isinf(self.up_to) else f"no {name}"
        strict = " ≤ ", " < "
        low, high = strict if whole else strict[::-1]
        above, up_to = (np.ceil(x) if whole else x for x in (self.above, self.up_to))
        if np.isinf(above):
            return f"{name}{high}{up_to:.4g}"
        if np.isinf(up_to):
            return f"{name} {'≥' if whole else '>'} {above:.4g}"
        return f"{above:.4g}{low}{name}{high}{up_to:.4g}"


@dataclass
class _RuleWriter:
    tree: Any
    names: tuple[str, ...]
    values: Floats
    leaf_text: Callable[[int], str]
    lines: list[str] = field(default_factory=list)

    def walk(self, node: int, bounds: dict[int, _Bounds]) -> None:
        said = self.leaf_texts(node)
        if len(said) == 1:
            terms = [self.term(feature, b) for feature, b in bounds.items()]
            self.lines.append(f"{' and '.join(terms) or 'always'} → {said.pop()}")
            return
        feature, threshold = int(self.tree.feature[node]), float(self.tree.threshold[node])
        b = bounds.get(feature, _Bounds())
        left, right = int(self.tree.children_left[node]), int(self.tree.children_right[node])
        self.walk(left, bounds | {feature: _Bounds(b.above, threshold)})
        self.walk(right, bounds | {feature: _Bounds(threshold, b.up_to)})

    def branch(self, node: int) -> Branch:
        said = self.leaf_texts(node)
        if len(said) == 1:
            return Branch(said.pop())
        condition = self.term(int(self.tree.feature[node]), _Bounds(up_to=float(self.tree.threshold[node])))
        left, right = int(self.tree.children_left[node]), int(self.tree.children_right[node])
        return Branch(condition, self.branch(left), self.branch(right))

    def term(self, feature: int, bounds: _Bounds) -> str:
        column = self.values[:, feature]
        whole = bool((column == np.round(column)).all())
        return bounds.text(self.names[feature], whole, bool(np.isin(column, (0, 1)).all()))

    def leaf_texts(self, node: int) -> set[str]:
        left, right = int(self.tree.children_left[node]), int(self.tree.children_right[node])
        return {self.leaf_text(node)} if left == _LEAF else self.leaf_texts(left) | self.leaf_texts(right)


def rules_of(fitted: Any, names: tuple[str, ...], values: Floats, say: Callable[[int], str]) -> list[str]:  # noqa: ANN401
    """Rules such as `hour ≥ 8 and last day's use ≤ 0.43 → …`, with `say(leaf)` at the end.

    Features with only integers in `values` (fitted rows) are integers.
    """
    teller = _RuleWriter(fitted.tree_, names, values, say)
    teller.walk(0, {})
    return teller.lines


def branch_of(fitted: Any, names: tuple[str, ...], values: Floats, say: Callable[[int], str]) -> Branch:  # noqa: ANN401
    """Tree of `rules_of`, for drawing."""
    return _RuleWriter(fitted.tree_, names, values, say).branch(0)


EVENING_S = 6 * HOUR_S
"""Span of `last hours' arrivals`."""


@dataclass(frozen=True)
class HourTable:
    """Rows of hours `[edges[i], edges[i+1])`; `values` (hours, features).

    `day` (hours,): day number, never split by cross-validation.
    """

    names: tuple[str, ...]
    values: Floats
    edges: Ints
    day: Ints

    def rows(self, first: int, last: int) -> HourTable:
        """Hours `[first, last)`."""
        cut = slice(first, last)
        return replace(self, values=self.values[cut], edges=self.edges[first : last + 1], day=self.day[cut])


def hour_table(
    first_day: int,
    days: int,
    weekday: int,
    used: StepFunction,
    capacity: int,
    submits: Ints,
    more: dict[str, Series],
) -> HourTable:
    """Make rows for `days` days from the midnight `first_day` on, a `weekday` (0: Monday).

    `used`, `submits` (ascending): past use and submission times, read only before each day's midnight. `more`: series
    known ahead, by name in rules.
    """
    edges = first_day + HOUR_S * np.arange(24 * days + 1, dtype=np.int64)
    day = np.repeat(np.arange(days), 24)
    begins = edges[:-1]
    midnight = first_day + DAY_S * day
    daily = [
        used.integral(m - DAY_S, m) / (capacity * DAY_S) for m in range(first_day, first_day + days * DAY_S, DAY_S)
    ]

    def arrivals(since: Ints, until: Ints) -> Ints:
        return np.asarray(np.searchsorted(submits, until) - np.searchsorted(submits, since))

    columns: dict[str, NDArray[np.generic]] = {
        "hour": np.tile(np.arange(24), days),
        "weekday": (weekday + day) % 7,
        "last day's use": np.array(daily)[day],
        "last hours' arrivals": arrivals(midnight - EVENING_S, midnight),
        "arrivals at this hour yesterday": arrivals(begins - DAY_S, begins - DAY_S + HOUR_S),
    }
    columns |= {name: series.means(edges) for name, series in more.items()}
    return HourTable(tuple(columns), np.stack([c.astype(np.float64) for c in columns.values()], axis=1), edges, day)
