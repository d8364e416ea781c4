"""Fits node power figures to measurements.

Node power: sum of figures (W idle, per busy core or device) times counts. Unidentifiable figures stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints

LEAST_INDEPENDENT_SHARE = 0.02
MOST_SPREAD = 0.5
"""Largest relative standard error accepted …"""
LEAST_MATTERS = 0.01
"""… if the error can exceed this share of usual power."""
MOST_BLOCKS = 10
"""Jackknife blocks of days."""
_BEND = 3.0
"""Huber's bend, in standard deviations of the bulk.

Machine power is a mean over jobs; the usual 1.345 fits the median job.
"""
_ROUNDS = 50
_SETTLED = 1e-9


@dataclass(frozen=True)
class Samples:
    """Measurements of nodes of one kind.

    `names`: figures, by precedence; `busy` (samples, figures): counts (idle: 1); `watts` (W) per node; `weight`: sample
    weight; `day`: day number.
    """

    names: tuple[str, ...]
    busy: Floats
    watts: Floats
    weight: Floats
    day: Ints

    def __len__(self) -> int:
        return len(self.watts)

    def take(self, rows: Bools) -> Samples:
        """Select rows."""
        return replace(self, busy=self.busy[rows], watts=self.watts[rows], weight=self.weight[rows], day=self.day[rows])


@dataclass(frozen=True)
class FitErrors:
    """Errors: median (W per node); mean and daily energy (relative)."""

    median_w: float
    mean: float
    day: float


@dataclass(frozen=True)
class Fit:
    """Fitted figures (W), ordered as `Samples.names`."""

    figures: Floats
    spread: Floats
    """Standard errors (W); NaN if unknown."""
    unfitted: dict[int, str]
    """Unchanged figures and reasons."""
    held_out_errors: FitErrors | None
    original_errors: FitErrors


def fit_figures(samples: Samples, before: Floats, least: Floats) -> Fit:
    """Fit figures (W), at least `least`; unidentifiable figures keep `before`."""
    left = _unidentifiable(samples)
    while True:
        kept = [index for index in range(len(before)) if index not in left]
        figures, scale = _fit_robustly(samples, before, kept)
        folds = list(_leave_out_days(samples, figures, kept, scale))
        spread = _spread([one for one, _ in folds], len(before), kept)
        wrong = _least_plausible(samples, figures, least, spread, kept)
        if wrong is None:
            break
        left[wrong[0]] = wrong[1]
    told = np.zeros(len(samples))
    for one, rows in folds:
        told[rows] = samples.busy[rows] @ one
    unseen = _fit_errors(samples, told) if folds and kept else None
    return Fit(figures, spread, left, unseen, _fit_errors(samples, samples.busy @ before))


def _unidentifiable(samples: Samples) -> dict[int, str]:
    root = np.sqrt(samples.weight)
    basis: list[Floats] = []
    left = {}
    for index in range(len(samples.names)):
        column = root * samples.busy[:, index]
        length = float(np.linalg.norm(column))
        if length == 0:
            left[index] = "no device was ever busy"
            continue
        rest = column / length
        for one in basis:
            rest = rest - one * float(one @ rest)
        if (apart := float(np.linalg.norm(rest))) < LEAST_INDEPENDENT_SHARE:
            others = " and ".join(samples.names[i] for i in range(index) if i not in left)
            left[index] = f"it cannot be separated from {others}, which gets the rest"
            continue
        basis.append(rest / apart)
    return left


def _least_plausible(
    samples: Samples, figures: Floats, least: Floats, spread: Floats, kept: list[int]
) -> tuple[int, str] | None:
    usual = np.sqrt(np.average(samples.busy**2, axis=0, weights=samples.weight))
    low = [index for index in kept if figures[index] < least[index]]
    if low:
        index = min(low, key=lambda one: float((figures[one] - least[one]) * usual[one]))
        return index, f"the fit gives {figures[index]:.1f} W, below the least value, {least[index]:g} W"
    most = samples.busy.max(axis=0) / np.average(samples.watts, weights=samples.weight)
    shares = {
        index: float(spread[index] / max(figures[index], 1e-9))
        for index in kept
        if spread[index] * most[index] > LEAST_MATTERS
    }
    index = max(shares, key=shares.__getitem__, default=-1)
    if index >= 0 and shares[index] > MOST_SPREAD:
        return index, f"its values differ between days ({figures[index]:.1f} ± {spread[index]:.1f} W)"
    return None


def _fit_robustly(
    samples: Samples, before: Floats, kept: list[int], start: Floats | None = None, scale: float | None = None
) -> tuple[Floats, float]:
    """Huber fit of `kept` figures, and scale (W).

    Without `start`, begin with least absolute deviations.
    """
    figures = before.copy()
    if not kept:
        return figures, 0.0
    if start is None:
        for _ in range(_ROUNDS):
            off = np.abs(samples.watts - samples.busy @ figures)
            moved = _solve_step(samples, figures, kept, 1 / np.maximum(off, 1e-3))
            if moved < _SETTLED:
                break
        off = np.abs(samples.watts - samples.busy @ figures)
        scale = max(_weighted_median(off, samples.weight) / 0.6745, 1e-3)
    else:
        figures[:] = start
    assert scale is not None
    for _ in range(_ROUNDS):
        off = np.abs(samples.watts - samples.busy @ figures)
        if _solve_step(samples, figures, kept, _BEND * scale / np.maximum(off, _BEND * scale)) < _SETTLED:
            break
    return figures, scale


def _solve_step(samples: Samples, figures: Floats, kept: list[int], trust: Floats) -> float:
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


def _leave_out_days(samples: Samples, figures: Floats, kept: list[int], scale: float) -> Iterator[tuple[Floats, Bools]]:
    days = np.unique(samples.day)
    parts = min(len(days), MOST_BLOCKS)
    if parts < 2:
        return
    part_of = (np.searchsorted(days, samples.day) * parts) // len(days)
    for part in range(parts):
        rows = part_of == part
        rest = samples.take(~rows)
        yield _fit_robustly(rest, figures, kept, figures, scale)[0], rows


def _spread(folds: list[Floats], count: int, kept: list[int]) -> Floats:
    spread = np.full(count, np.nan)
    if folds:
        found = np.array(folds)[:, kept]
        spread[kept] = np.sqrt((len(folds) - 1) / len(folds) * ((found - found.mean(axis=0)) ** 2).sum(axis=0))
    return spread


def _fit_errors(samples: Samples, told: Floats) -> FitErrors:
    off = told - samples.watts
    usual = float(np.average(samples.watts, weights=samples.weight))
    day = np.unique(samples.day, return_inverse=True)[1]
    energy = np.bincount(day, samples.weight * samples.watts)
    missed = np.abs(np.bincount(day, samples.weight * off))
    return FitErrors(
        median_w=_weighted_median(np.abs(off), samples.weight),
        mean=float(np.average(np.abs(off), weights=samples.weight)) / usual,
        day=float(np.mean(missed / energy)),
    )


def _weighted_median(values: Floats, weight: Floats) -> float:
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(upto, upto[-1] / 2)])
