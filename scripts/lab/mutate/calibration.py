"""Faults of how power figures are fitted to what was measured, and put into a platform file."""

from __future__ import annotations

from scripts.lab.mutate.mutation import Mutation

FIT = ("tests/unit/power/test_fit.py",)
SITE = ("tests/unit/offline/calibrate/test_calibrate.py",)
FILES = ("tests/unit/config/test_measured.py",)
EDIT = ("tests/unit/config/test_power_edit.py",)

CALIBRATION = (
    Mutation(
        "what is far off counts by its square",
        "dardis/power/fit.py",
        "_BEND * scale / np.maximum(off, _BEND * scale)",
        "np.ones_like(off)",
        FIT,
    ),
    Mutation(
        "days not seen are told by figures that have seen them",
        "dardis/power/fit.py",
        "rest = samples.take(~rows)",
        "rest = samples",
        FIT,
    ),
    Mutation(
        "idle power is made up where all jobs have whole nodes",
        "dardis/power/fit.py",
        "LEAST_APART = 0.02",
        "LEAST_APART = -1.0",
        FIT,
    ),
    Mutation(
        "figures that are kept as they were count for nothing beside those that are fitted",
        "dardis/power/fit.py",
        "wanted = samples.watts - samples.busy[:, fixed] @ figures[fixed]",
        "wanted = samples.watts",
        FIT,
    ),
    Mutation(
        "a job whose node nobody knows spoils no sample",
        "offline/calibrate/samples.py",
        "rows &= ~_unclear(ran, placed, group, slots)",
        "pass",
        SITE,
    ),
    Mutation(
        "nodes that are off are idle ones",
        "offline/calibrate/samples.py",
        "_OFF = 1.5",
        "_OFF = 0.0",
        SITE,
    ),
    Mutation(
        "jobs that may be on either group are the first one's",
        "offline/calibrate/samples.py",
        "usable = matched & ran.is_certain",
        "usable = matched",
        SITE,
    ),
    Mutation(
        "milliseconds are seconds",
        "dardis/config/measured.py",
        "number / 1000 if number >= _MILLISECONDS_FROM else number",
        "number",
        FILES,
    ),
    Mutation(
        "what else a platform file says may change when figures are put in",
        "dardis/config/power_edit.py",
        "if said != wanted:",
        "if said is None:",
        EDIT,
    ),
)
