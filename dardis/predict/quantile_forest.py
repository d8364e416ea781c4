"""Random forest that predicts quantiles, and learns from right-censored values too (Meinshausen 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesRegressor

TREES, LEAF, SHARE = 15, 20, 0.5
"""Trees of each half, rows per leaf, share of features tried."""
KEPT = 8
"""Quantiles kept per leaf."""
BEYOND = 0.5
"""Mean excess of a value censored above all predictions."""


class QuantileForest:
    """Extremely randomised trees whose leaves keep quantiles of the values.

    Half of the trees learn the values, half what they exceed `offsets` by: these follow an offset beyond its earlier
    range.
    """

    def __init__(self, rows: Floats, values: Floats, offsets: Floats, seed: int) -> None:
        from sklearn.ensemble import ExtraTreesRegressor  # imported here, so loading is no part of an estimate

        self._halves: list[tuple[ExtraTreesRegressor, list[Floats]]] = []
        for half, learned in enumerate((values, values - offsets)):
            forest = ExtraTreesRegressor(
                TREES, min_samples_leaf=LEAF, max_features=SHARE, random_state=(seed + half) % (1 << 32), n_jobs=1
            ).fit(rows, learned)
            leaves = forest.apply(rows)
            self._halves.append((forest, [_leaf_quantiles(leaves[:, tree], learned) for tree in range(TREES)]))

    def samples(self, rows: Floats, offsets: Floats) -> Floats:
        """Sorted samples of each row's distribution, shape (rows, samples)."""
        pooled = []
        for (forest, kept), added in zip(self._halves, (np.zeros_like(offsets), offsets), strict=True):
            leaves = forest.apply(rows)
            pooled += [quantiles[leaves[:, tree]] + added[:, None] for tree, quantiles in enumerate(kept)]
        samples = np.concatenate(pooled, axis=1)
        samples.sort(axis=1)
        return samples


def _leaf_quantiles(leaf: Ints, values: Floats) -> Floats:
    order = np.lexsort((values, leaf))
    count = np.bincount(leaf)
    begin = np.cumsum(count) - count
    wanted = begin[:, None] + (count[:, None] * (np.arange(KEPT) + 0.5) / KEPT).astype(np.int64)
    quantiles: Floats = values[order][np.minimum(wanted, len(values) - 1)]
    return quantiles


def impute_censored(samples: Floats, bounds: Floats, draws: np.random.Generator) -> Floats:
    """Draw a value above each row's bound from the row's sorted samples."""
    below = (samples <= bounds[:, None]).sum(axis=1)
    above = samples.shape[1] - below
    chosen = below + np.floor(draws.random(len(bounds)) * np.maximum(above, 1)).astype(np.int64)
    drawn = samples[np.arange(len(bounds)), np.minimum(chosen, samples.shape[1] - 1)]
    return np.where(above > 0, drawn, bounds + draws.exponential(BEYOND, len(bounds)))


def censored_quantiles(values: Floats, censored: Bools, weights: Floats, levels: Floats) -> Floats:
    """Weighted quantiles of right-censored values (Kaplan and Meier 1958)."""
    order = np.lexsort((censored, values))
    weight = weights[order]
    at_risk = np.cumsum(weight[::-1])[::-1]
    left = np.cumprod(np.where(censored[order], 1.0, 1 - weight / at_risk))
    place = np.searchsorted(1 - left, levels)
    return np.where(place < len(values), values[order][np.minimum(place, len(values) - 1)], 1.0)
