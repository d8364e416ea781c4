"""Fits what a node draws to what was measured of nodes at work: which figures the data tell, and how well. Pure.

A node draws the sum of its figures (W idle, W a busy core, W a busy device) times how many of each there are. What the
data can't tell stays as it was, and the others are fitted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints

LEAST_APART = 0.02
"""A column of which less than this share (of its norm) is not said by the others can't be told apart from them."""
MOST_SPREAD = 0.5
"""A figure whose standard error, by the days left out, is more than this share of it, is not told …"""
LEAST_MATTERS = 0.01
"""… if a node with most of its kind could so be off by more than this share of its usual watts."""
MOST_BLOCKS = 10
"""Parts of the days that are left out in turn."""
_BEND = 3.0
"""Huber's bend, in standard deviations of the bulk: what is farther off counts by its distance, not its square.

Jobs differ, and what a machine draws is their mean: at the usual 1.345 the figure is nearer to the median job.
"""
_ROUNDS = 50
_SETTLED = 1e-9


@dataclass(frozen=True)
class Samples:
    """What was measured of nodes of one kind: one row a sample.

    `names` are the figures, first those that take what can't be told apart; `busy` (samples, figures) how many of each
    there were (idle: 1); `watts` (W) a node, `weight` how much a sample counts, `day` the number of its day.
    """

    names: tuple[str, ...]
    busy: Floats
    watts: Floats
    weight: Floats
    day: Ints

    def __len__(self) -> int:
        """How many samples."""
        return len(self.watts)

    def take(self, rows: Bools) -> Samples:
        """Only those rows."""
        return replace(self, busy=self.busy[rows], watts=self.watts[rows], weight=self.weight[rows], day=self.day[rows])


@dataclass(frozen=True)
class Misses:
    """How far figures are off: the median (W a node), the mean and the mean of a day's energy (shares of the mean)."""

    median_w: float
    mean: float
    day: float


@dataclass(frozen=True)
class Fit:
    """Figures (W) in the order of `Samples.names`, with what is to be known of them."""

    figures: Floats
    spread: Floats
    """Standard errors (W), by leaving days out; NaN where none is known."""
    left: dict[int, str]
    """Which figures are as they were, and why."""
    unseen: Misses | None
    """On days that the figures were not fitted to; None: there is only one day."""
    before: Misses
    """Of the figures as they were."""


def fit_figures(samples: Samples, before: Floats, least: Floats) -> Fit:
    """Fit figures (W), each at least its `least`; `before` has those that are kept where the data tell nothing."""
    left = _not_told(samples)
    while True:
        kept = [index for index in range(len(before)) if index not in left]
        figures, scale = _robust(samples, before, kept)
        folds = list(_without_days(samples, figures, kept, scale))
        spread = _spread([one for one, _ in folds], len(before), kept)
        wrong = _wrong(samples, figures, least, spread, kept)
        if wrong is None:
            break
        left[wrong[0]] = wrong[1]
    told = np.zeros(len(samples))
    for one, rows in folds:
        told[rows] = samples.busy[rows] @ one
    unseen = _misses(samples, told) if folds and kept else None
    return Fit(figures, spread, left, unseen, _misses(samples, samples.busy @ before))


def _not_told(samples: Samples) -> dict[int, str]:
    """Figures that no data of this kind could tell, and why: the columns before them say the same."""
    root = np.sqrt(samples.weight)
    basis: list[Floats] = []
    left = {}
    for index in range(len(samples.names)):
        column = root * samples.busy[:, index]
        length = float(np.linalg.norm(column))
        if length == 0:
            left[index] = "none was ever busy"
            continue
        rest = column / length
        for one in basis:
            rest = rest - one * float(one @ rest)
        if (apart := float(np.linalg.norm(rest))) < LEAST_APART:
            others = " and ".join(samples.names[i] for i in range(index) if i not in left)
            left[index] = f"it can't be told apart from {others}, which has the rest"
            continue
        basis.append(rest / apart)
    return left


def _wrong(samples: Samples, figures: Floats, least: Floats, spread: Floats, kept: list[int]) -> tuple[int, str] | None:
    """The figure that makes least sense, and why; None: they all do."""
    usual = np.sqrt(np.average(samples.busy**2, axis=0, weights=samples.weight))
    low = [index for index in kept if figures[index] < least[index]]
    if low:
        index = min(low, key=lambda one: float((figures[one] - least[one]) * usual[one]))
        return index, f"the fit would make it {figures[index]:.1f} W, and it is at least {least[index]:g} W"
    most = samples.busy.max(axis=0) / np.average(samples.watts, weights=samples.weight)
    shares = {
        index: float(spread[index] / max(figures[index], 1e-9))
        for index in kept
        if spread[index] * most[index] > LEAST_MATTERS
    }
    index = max(shares, key=shares.__getitem__, default=-1)
    if index >= 0 and shares[index] > MOST_SPREAD:
        return index, f"the days do not agree on it ({figures[index]:.1f} ± {spread[index]:.1f} W)"
    return None


def _robust(
    samples: Samples, before: Floats, kept: list[int], start: Floats | None = None, scale: float | None = None
) -> tuple[Floats, float]:
    """The kept figures by Huber's rule, the others as they were, and the standard deviation (W) of the bulk.

    Without a start by least absolute deviations first, of which the scale is made.
    """
    figures = before.copy()
    if not kept:
        return figures, 0.0
    if start is None:
        for _ in range(_ROUNDS):
            off = np.abs(samples.watts - samples.busy @ figures)
            moved = _solved(samples, figures, kept, 1 / np.maximum(off, 1e-3))
            if moved < _SETTLED:
                break
        off = np.abs(samples.watts - samples.busy @ figures)
        scale = max(weighted_median(off, samples.weight) / 0.6745, 1e-3)
    else:
        figures[:] = start
    assert scale is not None
    for _ in range(_ROUNDS):
        off = np.abs(samples.watts - samples.busy @ figures)
        if _solved(samples, figures, kept, _BEND * scale / np.maximum(off, _BEND * scale)) < _SETTLED:
            break
    return figures, scale


def _solved(samples: Samples, figures: Floats, kept: list[int], trust: Floats) -> float:
    """Put least squares with these weights into the kept figures; how far they moved, as a share of them."""
    weight = samples.weight * trust
    fixed = [index for index in range(len(figures)) if index not in kept]
    wanted = samples.watts - samples.busy[:, fixed] @ figures[fixed]
    busy = samples.busy[:, kept]
    size = np.sqrt(np.average(busy**2, axis=0, weights=samples.weight))
    size[size == 0] = 1.0
    busy = busy / size
    found = np.linalg.lstsq((busy * weight[:, None]).T @ busy, busy.T @ (weight * wanted), rcond=None)[0] / size
    moved = float(np.max(np.abs(found - figures[kept]) / np.maximum(np.abs(found), 1e-6)))
    figures[kept] = found
    return moved


def _without_days(samples: Samples, figures: Floats, kept: list[int], scale: float) -> Iterator[tuple[Floats, Bools]]:
    """The figures without each part of the days in turn, and the rows that are left out; none where all is one day."""
    days = np.unique(samples.day)
    parts = min(len(days), MOST_BLOCKS)
    if parts < 2:
        return
    part_of = (np.searchsorted(days, samples.day) * parts) // len(days)
    for part in range(parts):
        rows = part_of == part
        rest = samples.take(~rows)
        yield _robust(rest, figures, kept, figures, scale)[0], rows


def _spread(folds: list[Floats], count: int, kept: list[int]) -> Floats:
    """Standard errors by the jackknife; NaN for what is not fitted, or without days to leave out."""
    spread = np.full(count, np.nan)
    if folds:
        found = np.array(folds)[:, kept]
        spread[kept] = np.sqrt((len(folds) - 1) / len(folds) * ((found - found.mean(axis=0)) ** 2).sum(axis=0))
    return spread


def _misses(samples: Samples, told: Floats) -> Misses:
    """How far what was told of each sample (W) is off."""
    off = told - samples.watts
    usual = float(np.average(samples.watts, weights=samples.weight))
    day = np.unique(samples.day, return_inverse=True)[1]
    energy = np.bincount(day, samples.weight * samples.watts)
    missed = np.abs(np.bincount(day, samples.weight * off))
    return Misses(
        median_w=weighted_median(np.abs(off), samples.weight),
        mean=float(np.average(np.abs(off), weights=samples.weight)) / usual,
        day=float(np.mean(missed / energy)),
    )


def weighted_median(values: Floats, weight: Floats) -> float:
    """The least of the values that half of the weight is not above."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(upto, upto[-1] / 2)])
