"""Since when a history tells of all jobs: who asks Slurm for some weeks hears of some that came long before, too."""

from __future__ import annotations

import numpy as np

from dardis.model.arrays import Ints
from offline.site.calendar import DAY_S


def record_begins(submit: Ints, end: Ints, now: int) -> int:
    """The first submission, but no earlier than a day before the first end; what ends after `now` is not looked at.

    Of a span Slurm tells all jobs that ran or waited in it, whenever they were submitted, and none that ended before.
    """
    known = end[end <= now]
    first = int(submit.min())
    return max(first, int(known.min()) - DAY_S) if len(known) else first


def known_ends(submit: Ints, wait: Ints, runtime: Ints) -> Ints:
    """When jobs end; those whose wait is not known began at once."""
    return np.asarray(submit + np.maximum(wait, 0) + runtime)
