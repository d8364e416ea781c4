"""The thesis's classification tree (6.8): whether to optimise the cooling tomorrow, or to maximise the use.

The PUE curve of a day is, for each IT load, the mean over the day's time of the PUE at that load and the temperature
then. The *slope-change load* is the one after which this curve has its largest increment over equal steps of load:
there chillers come on for much of the day; the curve there is the slope-change PUE. A near-optimal plan whose own PUE
(also the mean over time) is above it was right to maximise the use; one at or below it optimised the cooling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.power.cooling import Cooling
from offline.extract.trees import Shape, predict_held_out, rules_of

THESIS_ACCURACY: Final = 0.9628
"""On the 538 days that the thesis's tree was fitted on."""
STEP_W: Final = 500.0
LEAST_SHARE: Final = 0.05
"""Loads below this share of the largest are left out: no plant is modelled or measured there."""
FEATURES: Final = ("hybrid cooling", "last day's use")
CLASSES: Final = ("optimise the cooling", "maximise the use")


def slope_change(cooling: Cooling, temps_c: Floats, lengths: Ints, most_w: float) -> tuple[float, float]:
    """Slope-change load (W) and PUE of a day with these temperatures, each so long, on loads up to `most_w`.

    Loads go in steps of 500 W. The load is the one before the largest increment, the lowest of equals; the largest load
    where the PUE never rises.
    """
    first = max(np.ceil(LEAST_SHARE * most_w / STEP_W), 1) * STEP_W
    loads = np.arange(first, most_w + STEP_W / 2, STEP_W)
    cooling_w = cooling.watts(temps_c[:, np.newaxis], loads[np.newaxis, :])
    pue = 1 + np.average(cooling_w, axis=0, weights=lengths) / loads
    rise = np.diff(pue)
    place = int(rise.argmax()) if rise.max() > 0 else len(loads) - 1
    return float(loads[place]), float(pue[place])


def day_above_slope(cooling: Cooling, temps_c: Floats, it_w: Floats, lengths: Ints, most_w: float) -> float:
    """How far the PUE of a day lies above its slope-change PUE (below 0: beneath it).

    Arrays have one value for each piece of the day. Pieces without IT power have no PUE and don't count. ValueError
    where no piece has any.
    """
    some = it_w > 0
    if not some.any():
        raise ValueError("a day without any IT power has no PUE")
    pue = 1 + cooling.watts(temps_c[some], it_w[some]) / it_w[some]
    _, change = slope_change(cooling, temps_c, lengths, most_w)
    return float(np.average(pue, weights=lengths[some])) - change


@dataclass(frozen=True)
class DayRecords:
    """Near-optimal days as arrays of shape (days,). `day` numbers dates: records of one date are never split."""

    hybrid: Bools
    last_use: Floats
    """Mean use of the day before, from 0 to 1."""
    above_slope: Floats
    """`day_above_slope` of the plan of the day."""
    day: Ints

    @property
    def features(self) -> Floats:
        """Rows for the tree, shape (days, 2)."""
        return np.stack([self.hybrid.astype(np.float64), self.last_use], axis=1)

    @property
    def classes(self) -> Ints:
        """Index into `CLASSES` of what was right."""
        return (self.above_slope > 0).astype(np.int64)


@dataclass(frozen=True)
class ClassTree:
    """Tells what to do the next day."""

    fitted: Any
    rules: tuple[str, ...]
    accuracy: float
    """Share of the days that it was fitted on that it gets right, as the thesis counts."""
    cv_accuracy: float
    """The same on days that it had not seen."""
    days: int

    def predict(self, hybrid: bool, last_use: float) -> str:
        """One of `CLASSES`."""
        return CLASSES[int(self.fitted.predict([[float(hybrid), last_use]])[0])]

    def summary(self) -> str:
        """The accuracies beside the thesis's, in one line."""
        return (
            f"{100 * self.accuracy:.2f} % of {self.days} days right, {100 * self.cv_accuracy:.2f} % of days not seen; "
            f"thesis: {100 * THESIS_ACCURACY:.2f} % of 538"
        )


def learn_classes(records: DayRecords, shape: Shape | None = None) -> ClassTree:
    """Fit the tree to past days. ValueError for records of a single date."""
    fit = (shape or Shape(max_leaf_nodes=4, min_samples_leaf=5)).classifier
    values, right = records.features, records.classes
    tree = fit(values, right)

    def say(leaf: int) -> str:
        return CLASSES[int(tree.classes_[tree.tree_.value[leaf, 0].argmax()])]

    return ClassTree(
        fitted=tree,
        rules=tuple(rules_of(tree, FEATURES, values, say)),
        accuracy=float((tree.predict(values) == right).mean()),
        cv_accuracy=float((predict_held_out(fit, values, right, records.day) == right).mean()),
        days=len(right),
    )
