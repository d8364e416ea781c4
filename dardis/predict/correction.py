"""Raises the prediction of a job that has outlived it, by published steps (Tsafrir, Etsion and Feitelson 2007)."""

from __future__ import annotations

from itertools import accumulate

_MINUTE, _HOUR = 60, 3_600
STEPS = (
    *(minutes * _MINUTE for minutes in (1, 5, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 5, 10, 20, 50, 100)),
)
"""By how many seconds the first, the second, … correction raises a prediction; after the last the walltime stands."""


def corrected(predicted: int, walltime: int, elapsed: int) -> int:
    """How long a job is expected to run that has run for `elapsed` s, in s, at most its walltime.

    A prediction that has not expired stands. Each that has is raised by the next step at the instant at which it
    expired, so the answer does not depend on how often or when it is asked for.
    """
    for duration in accumulate(STEPS, initial=predicted):
        if duration > elapsed:
            return min(duration, walltime)
    return walltime
