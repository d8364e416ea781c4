"""In which order jobs that wait are considered: the rules of the thesis (2.2.1, 5.5, 6.3) and of practice, by name.

A rule gives every job a number; the lowest goes first, ties by submission, then by job number. Where runtimes are
predicted, a job's expected duration stands for its walltime. Orders that see the clock are in `clocked`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dardis.dispatch.clocked import CLOCKED, Clocked, Weights
from dardis.model.errors import InputError
from dardis.model.job import FOREVER, Job
from dardis.model.platform import NodePower, Platform
from dardis.model.resources import CORES, POWER

Rule = Callable[[Job, Platform], float]
MOST = "most:"
"""Begins the name of a rule that puts those first that ask for most of a resource kind (thesis 4.2.1: by GPUs)."""


def _cores(job: Job, platform: Platform) -> int:
    return job.amounts[platform.kinds.index(CORES)]


def _area(job: Job, platform: Platform) -> int:
    return _cores(job, platform) * job.expected


def _watts(job: Job, platform: Platform) -> float:
    """What the job draws: what it states, or what its cores add on the nodes that may run it."""
    if POWER in platform.kinds and (stated := job.amounts[platform.kinds.index(POWER)]):
        return float(stated)
    groups = [platform.groups[place] for place in platform.sets.groups(job.groups).tolist()] or platform.groups
    a_core = np.average([(g.power or NodePower()).core_w for g in groups], weights=[g.count for g in groups])
    return float(_cores(job, platform) * a_core)


def _profit_per_cost(job: Job, platform: Platform) -> float:
    """Income over the cost of its energy; the price of energy is the same for all, so it is left out."""
    income = _cores(job, platform) * platform.income_per_core_h
    watts = _watts(job, platform)
    return income / watts if watts else float(FOREVER)


RULES: dict[str, tuple[str, Rule]] = {
    "fcfs": ("First come, first served: the earliest start time (est).", lambda job, _: job.earliest),
    "df": ("The earliest deadline: the latest start time (lst). Jobs without one come last.",
           lambda job, _: FOREVER if job.latest is None else job.latest),
    "wt": ("The shortest walltime.", lambda job, _: job.expected),
    "sjbf": ("The shortest walltime, as backfilling calls it.", lambda job, _: job.expected),
    "ljf": ("The longest walltime.", lambda job, _: -job.expected),
    "narrow": ("The fewest cores.", _cores),
    "wide": ("The most cores.", lambda job, platform: -_cores(job, platform)),
    "small": ("The least cores · walltime.", _area),
    "large": ("The most cores · walltime.", lambda job, platform: -_area(job, platform)),
    "profit": ("The most income per energy cost (thesis 6.3).",
               lambda job, platform: -_profit_per_cost(job, platform)),
}  # fmt: skip
ORDERS = {name: about for name, (about, _) in [*RULES.items(), *CLOCKED.items()]} | {
    f"{MOST}KIND": "The most of a resource kind: `most:gpu` (thesis 4.2.1)."
}
"""Every order, with the job that goes first in it."""


def order_name(text: str) -> str:
    """The text, if it names an order; else ValueError."""
    if text in RULES or text in CLOCKED or (text.startswith(MOST) and text != MOST):
        return text
    raise ValueError(text)


def order_of(name: str, platform: Platform, weights: Weights) -> Rule | Clocked:
    """The order of that name; InputError when it names a resource kind that the machine has not."""
    return CLOCKED[name][1](weights, platform) if name in CLOCKED else rule_of(name, platform)


def rule_of(name: str, platform: Platform) -> Rule:
    """The rule of that name; InputError when it names a resource kind that the machine has not."""
    if not name.startswith(MOST):
        return RULES[name][1]
    kind = name.removeprefix(MOST)
    if kind not in platform.kinds:
        raise InputError(f"order {name}", f"the platform declares no {kind!r}", "|".join(platform.kinds))
    place = platform.kinds.index(kind)
    return lambda job, _: -job.amounts[place]
