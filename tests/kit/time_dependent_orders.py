"""What the orders that see the clock say of one job at one time, as their sources have it; the lowest goes first."""

from __future__ import annotations

import numpy as np

from dardis.dispatch import CentralSetUp
from dardis.dispatch.queue_orders import TIMED_ORDERS, rule_of
from dardis.model.choices import OnOff
from dardis.model.job import Job
from dardis.model.platform import Platform


def number_of(name: str, job: Job, now: int, first: int, platform: Platform, setup: CentralSetUp) -> float:
    """`first` is the first submission. Also of rules, which don't see the clock."""
    if name not in TIMED_ORDERS:
        return rule_of(name, platform)(job, platform)
    cores, wait, walltime = job.amounts[platform.kinds.index("cores")], now - job.submit, job.expected
    match name:
        case "wfp3":
            slowed = wait / walltime
            return -(slowed * slowed * slowed * cores)
        case "unicef":
            return -(wait / (np.log2(cores if cores > 1 else 2) * walltime))
        case "f1":
            return np.log10(walltime) * cores + 870 * np.log10(max(job.submit - first, 1))
    assert name == "multifactor"
    size = cores / sum(group.count * group.resources.get("cores", 0) for group in platform.groups)
    priority = setup.age_weight * min(wait / setup.max_age_s, 1)
    priority += setup.size_weight * (1 - size if setup.favor_small is OnOff.ON else size)
    stated = {queue.name: queue.priority for queue in platform.queues}
    largest = max([1, *map(abs, stated.values())])
    return -(priority + setup.queue_weight * (stated.get(job.queue, 0) / largest))
