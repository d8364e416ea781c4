"""Runtime predictors."""

from __future__ import annotations

from collections.abc import Mapping

from dardis.model.addresses import JobId
from dardis.model.choices import Expecting
from dardis.predict.base import Prediction, Predictor
from dardis.predict.learned import ForestPredictor
from dardis.predict.recent import LastTwoPredictor, RealRuntimePredictor, SimilarJobPredictor, WalltimePredictor
from dardis.predict.used_share import UsedSharePredictor

__all__ = ["Prediction", "Predictor", "new_predictor"]


def new_predictor(expecting: Expecting, durations: Mapping[JobId, int], seed: int) -> Predictor:
    """Predictor without history; only `real` uses `durations` (s)."""
    match expecting:
        case Expecting.WALLTIME:
            return WalltimePredictor()
        case Expecting.LAST_TWO:
            return LastTwoPredictor()
        case Expecting.DATA_DRIVEN:
            return SimilarJobPredictor()
        case Expecting.USED_SHARE:
            return UsedSharePredictor()
        case Expecting.LEARNED:
            return ForestPredictor(seed)
        case Expecting.REAL:
            return RealRuntimePredictor(durations)
