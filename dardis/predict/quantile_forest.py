"""Random forest that predicts quantiles, and learns from right-censored values too (Meinshausen 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesRegressor

TREES, LEAF, SHARE = 30, 20, 0.5
"""Trees, rows per leaf, and share of the features tried at a split."""
KEPT = 8
"""Quantiles kept per leaf."""
BEYOND = 0.5
"""Mean excess of a censored value that exceeds all predicted values."""


class QuantileForest:
    """Extremely randomised trees whose leaves keep quantiles of the values."""

    def __init__(self, rows: Floats, values: Floats, weights: Floats, seed: int) -> None:
        from sklearn.ensemble import ExtraTreesRegressor  # imported here, so loading is no part of an estimate

        self._forest: ExtraTreesRegressor = ExtraTreesRegressor(
            TREES, min_samples_leaf=LEAF, max_features=SHARE, random_state=seed % (1 << 32), n_jobs=1
        ).fit(rows, values, sample_weight=weights)
        leaves = self._forest.apply(rows)
        self._leaves = [_leaf_quantiles(leaves[:, tree], values, weights) for tree in range(TREES)]

    def samples(self, rows: Floats) -> Floats:
        """Sorted samples of each row's distribution, shape (rows, trees × quantiles)."""
        leaves = self._forest.apply(rows)
        pooled = np.concatenate([kept[leaves[:, tree]] for tree, kept in enumerate(self._leaves)], axis=1)
        pooled.sort(axis=1)
        return pooled


def _leaf_quantiles(leaf: Ints, values: Floats, weights: Floats) -> Floats:
    order = np.lexsort((values, leaf))
    total = np.bincount(leaf, weights)
    begin = np.concatenate([[0.0], np.cumsum(total)[:-1]])
    reached = np.cumsum(weights[order])
    wanted = begin[:, None] + total[:, None] * (np.arange(KEPT) + 0.5) / KEPT
    quantiles: Floats = values[order][np.minimum(np.searchsorted(reached, wanted), len(values) - 1)]
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
