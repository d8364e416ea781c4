# ruff: noqa: INP001 (beside a script)
"""A rule whose keys come from a small network; `launch/train-queue` trains it on `dardis/Queue-v0`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dardis

WEIGHTS = Path("out/train-queue/weights.npz")
YEAR_S = 365 * 86_400
Weights = dict[str, NDArray[np.float64]]


def scores(features: NDArray[Any], weights: Weights) -> NDArray[np.float64]:
    """Scores of jobs, highest first. `features`: wait, walltime (as in the environment) and share of the machine."""
    hidden = np.tanh(features @ weights["first"] + weights["bias"])
    return np.asarray(hidden @ weights["last"])


class LearnedRule(dardis.Rule):
    """The order of a trained network."""

    backfill = "easy"
    seeded = False

    def keys(self, jobs: Any, now: int) -> NDArray[np.float64]:  # noqa: ANN401, ARG002 (dardis.dispatch.WaitingJobs)
        """Keys of the waiting jobs, lowest first."""
        if not hasattr(self, "_weights"):
            self._weights = dict(np.load(WEIGHTS))
        times = np.log1p(np.stack([jobs.age, jobs.walltime], axis=1)) / np.log1p(YEAR_S)
        share = np.asarray(jobs.cores)[:, None] / self.platform.cores
        return -scores(np.hstack([np.minimum(times, 1), share]), self._weights)
