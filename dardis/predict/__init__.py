"""Runtime predictors."""

from __future__ import annotations

from collections.abc import Mapping

from dardis.model.addresses import JobId
from dardis.model.choices import Expecting
from dardis.predict.base import Prediction, Predictor
from dardis.predict.learned import Learned
from dardis.predict.recent import LastAlike, LastTwoOnline, Real, Walltime

__all__ = ["Prediction", "Predictor", "new_predictor"]


def new_predictor(expecting: Expecting, durations: Mapping[JobId, int], seed: int) -> Predictor:
    """Predictor without history; only `real` uses `durations` (s)."""
    match expecting:
        case Expecting.WALLTIME:
            return Walltime()
        case Expecting.LAST_TWO:
            return LastTwoOnline()
        case Expecting.DATA_DRIVEN:
            return LastAlike()
        case Expecting.LEARNED:
            return Learned(seed)
        case Expecting.REAL:
            return Real(durations)
