"""Asks by hand, for one job."""

from __future__ import annotations

import numpy as np

from dardis.kernels.offers import HeldReservations
from dardis.wire.messages import OfferQuery


def ask_for(
    *, job: int = 1, attempt: int = 1, first: int = 0, last: int = 0, walltime: int = 1, units: int = 1,
    quota: int = -1, groups: int = 1, request: tuple[int, ...] = (1,), generator: int = 0, grain: int = 1,
    desired_binds: bool = False, held_only: bool = False,
) -> OfferQuery:  # fmt: skip
    one = [np.array([value], dtype=np.int64) for value in (job, attempt, first, last, walltime, units, quota, groups)]
    return OfferQuery(0, *one, np.array([request], dtype=np.int64), generator, grain, desired_binds, held_only)


def nothing_held() -> HeldReservations:
    none = np.zeros(0, dtype=np.int64)
    return HeldReservations(
        np.zeros(2, dtype=np.int64), none, none, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    )
