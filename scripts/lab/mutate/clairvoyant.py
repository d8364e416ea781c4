"""Faults of what could have been done had all jobs been known: the bound, and the schedule that is made better."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

BOUND, SCHEDULE = "dardis/clairvoyant/bound.py", "dardis/clairvoyant/schedule.py"
TESTS = ("tests/unit/clairvoyant",)

CLAIRVOYANCE = (
    Mutation(
        "the machine is smaller for the bound than it is",
        BOUND,
        "return np.array(columns, dtype=np.float64).reshape(-1, steps).T.copy()",
        "return np.array(columns, dtype=np.float64).reshape(-1, steps).T.copy() / 2",
        TESTS,
    ),
    Mutation(
        "jobs of some groups need what others have",
        BOUND,
        "asks = np.where([one & ~some == 0 for one in bits], amounts[:, kind], 0)",
        "asks = amounts[:, kind]",
        TESTS,
    ),
    Mutation(
        "what the machine would pay is forgotten",
        BOUND,
        "bound = cost - machine - _ROUNDING * (cost + machine)",
        "bound = cost - _ROUNDING * (cost + machine)",
        TESTS,
    ),
    Mutation(
        "a worse order is kept",
        SCHEDULE,
        "        if left < 0:\n            for one in placed:\n",
        "        if left < -5:\n            for one in placed:\n",
        TESTS,
    ),
)
