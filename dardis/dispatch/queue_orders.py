"""Orders of waiting jobs: rules (thesis 2.2.1, 5.5, 6.3), and time-dependent orders.

The lowest number goes first, ties by submission and job number. Predictions replace walltimes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError, ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.model.offer_rows import CUBED, SHARE
from dardis.model.platform import NodePower, Platform
from dardis.model.resources import CORES, POWER

COLUMNS = 8
"""Columns of `WaitingJobs`."""
_EXACT = 1 << 53
"""Floats hold smaller integers exactly."""


class WaitingJobs:
    """Waiting jobs as columns, in any order, read-only. Numbers are float64; times are s on the trace's clock."""

    __slots__ = ("_first", "_jobs", "_table", "now")

    def __init__(self, table: Floats, jobs: Callable[[], Sequence[Job]], now: int | None, first: int) -> None:
        """`table`: rows of `columns_of`. `now`: None for orders that do not age. `first`: first submission."""
        table.setflags(write=False)
        self._table, self._jobs, self._first = table, jobs, first
        self.now = now

    @classmethod
    def of_jobs(cls, jobs: Sequence[Job], platform: Platform, now: int | None, first: int) -> WaitingJobs:
        """From jobs; see `__init__`."""
        table = np.array([columns_of(job, platform) for job in jobs]).reshape(-1, COLUMNS)
        return cls(table, lambda: jobs, now, first)

    def at(self, places: Ints, now: int) -> WaitingJobs:
        """Jobs at these places, at another time."""

        def jobs() -> list[Job]:
            known = self.jobs
            return [known[place] for place in places.tolist()]

        return WaitingJobs(self._table.take(places, axis=0), jobs, now, self._first)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs themselves."""
        return self._jobs()

    @property
    def number(self) -> Floats:
        """Job numbers."""
        return self._table[:, 0]

    @property
    def submit(self) -> Floats:
        """Submission times."""
        return self._table[:, 1]

    @property
    def earliest(self) -> Floats:
        """Earliest starts."""
        return self._table[:, 2]

    @property
    def walltime(self) -> Floats:
        """Requested walltimes, s."""
        return self._table[:, 3]

    @property
    def expected(self) -> Floats:
        """Expected durations, by default the walltimes, s."""
        return self._table[:, 4]

    @property
    def units(self) -> Floats:
        """Units."""
        return self._table[:, 5]

    @property
    def cores(self) -> Floats:
        """Cores of all units."""
        return self._table[:, 6]

    @property
    def level(self) -> Floats:
        """Ranks of the queues' priorities."""
        return self._table[:, 7]

    @property
    def user(self) -> NDArray[np.object_]:
        """Names of users."""
        return np.array([job.user for job in self.jobs], dtype=object)

    @property
    def age(self) -> Floats:
        """Time since submission, s. Raises ProtocolError in an order that does not age."""
        if self.now is None:
            raise ProtocolError("reads the age, which changes during a run")
        return np.maximum(self.now - self.submit, 0)

    @property
    def since(self) -> Floats:
        """Time from the first submission to the job's, s."""
        return np.maximum(self.submit - self._first, 0)


def columns_of(job: Job, platform: Platform) -> tuple[float, ...]:
    """Row of a job in `WaitingJobs`."""
    return (
        job.number, job.submit, job.earliest, job.walltime, job.expected, job.units,
        job.amounts[platform.kinds.index(CORES)], platform.level_of(job.queue),
    )  # fmt: skip


def sort_numbers(keys: Sequence[Any] | NDArray[Any], jobs: WaitingJobs) -> Floats:
    """Keys as numbers of the same order: themselves, or ranks of texts, tuples and large integers.

    Raises ProtocolError for another number of keys, None and NaN.
    """
    if not isinstance(keys, Sequence | np.ndarray) or isinstance(keys, str):
        raise ProtocolError(f"keys gives a {type(keys).__name__}, not an array or a list")
    shape = keys.shape if isinstance(keys, np.ndarray) else (len(keys),)
    if shape != (len(jobs),):
        raise ProtocolError(f"keys gives an array of shape {shape} for {len(jobs)} jobs")
    kinds = {keys.dtype.type} if isinstance(keys, np.ndarray) else {*map(type, keys)}
    if all(issubclass(kind, int | float | np.integer | np.floating | np.bool_) for kind in kinds):
        numbers = np.asarray(keys, dtype=np.float64)
        if len(wrong := np.flatnonzero(np.isnan(numbers))):
            check_key(keys[wrong[0]], int(jobs.number[wrong[0]]))
        if not any(issubclass(kind, int | np.integer) for kind in kinds) or np.abs(numbers).max(initial=0) < _EXACT:
            return numbers
    else:
        for key, number in zip(keys, jobs.number.tolist(), strict=True):
            check_key(key, int(number))
    try:
        rank = {key: place for place, key in enumerate(sorted({*keys}))}
    except TypeError as error:
        raise ProtocolError(f"keys have no order: {error}") from None
    return np.array([rank[key] for key in keys], dtype=np.float64)


def check_key(key: object, number: int) -> None:
    """Raise ProtocolError for a key with None or NaN."""
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or (isinstance(part, float | np.floating) and np.isnan(part)):
            raise ProtocolError(f"key(job {number}) gives {key!r}, which has no order")


class AgedKeys(NamedTuple):
    """Keys as functions of the age, by mode (`dardis.model.offer_rows`)."""

    mode: int
    a: Floats
    b: Floats


@dataclass(frozen=True, slots=True)
class TimedOrder:
    """Time-dependent order."""

    sort_keys: Callable[[WaitingJobs], Floats]
    """Numbers of the jobs; the lowest goes first."""
    ages: bool = True
    """Whether numbers change during the wait."""
    constants: Callable[[WaitingJobs], AgedKeys] | None = None
    """The order for compiled loops; None: unknown there."""


class MultifactorWeights(NamedTuple):
    """Weights of `multifactor`."""

    age: int = 1000
    size: int = 1000
    queue: int = 0
    max_age_s: int = 7 * 86_400
    """Age with factor 1."""
    small: bool = False
    """Whether small jobs score higher."""


def _wfp3(who: WaitingJobs) -> Floats:
    """Order `wfp3`.

    Tang, Lan, Desai, Buettner: Fault-aware, utility-based job scheduling on Blue Gene/P systems (CLUSTER 2009).
    """
    slowed = who.age / who.expected
    return -(slowed * slowed * slowed * who.cores)


def _unicef(who: WaitingJobs) -> Floats:
    return -(who.age / _unicef_share(who))


def _unicef_share(who: WaitingJobs) -> Floats:
    return np.asarray(np.log2(np.maximum(who.cores, 2)) * who.expected)


def _f1(who: WaitingJobs) -> Floats:
    """Order `f1`.

    Carastan-Santos, de Camargo: Obtaining dynamic scheduling policies with simulation and machine learning (SC 2017).
    """
    found: Floats = np.log10(who.expected) * who.cores + 870 * np.log10(np.maximum(who.since, 1))
    return found


def _multifactor(weights: MultifactorWeights, platform: Platform) -> TimedOrder:
    """Slurm's priority/multifactor with age, job size and partition.

    Slurm's size also counts the share of nodes, unknown here before the start.
    """
    priorities = np.array(sorted({0, *(queue.priority for queue in platform.queues)}))
    of_queue = priorities / max(1, np.abs(priorities).max())

    def number(who: WaitingJobs) -> Floats:
        size = who.cores / platform.cores
        priority = weights.age * np.minimum(who.age / weights.max_age_s, 1)
        priority += weights.size * (1 - size if weights.small else size)
        priority += weights.queue * of_queue[who.level.astype(np.int64)]
        return -priority

    return TimedOrder(number)


MULTIFACTOR = "multifactor"
TIMED_ORDERS: dict[str, tuple[str, Callable[[MultifactorWeights, Platform], TimedOrder]]] = {
    "wfp3": (
        "The largest (wait / walltime)³ · cores (Tang, Lan, Desai and Buettner, CLUSTER 2009).",
        lambda _weights, _platform: TimedOrder(
            _wfp3, constants=lambda jobs: AgedKeys(CUBED, jobs.expected, jobs.cores)
        ),
    ),
    "unicef": (
        "The largest wait / (log₂ cores · walltime). One core counts as two, since its logarithm is 0 (as `wfp3`).",
        lambda _weights, _platform: TimedOrder(
            _unicef, constants=lambda jobs: AgedKeys(SHARE, _unicef_share(jobs), jobs.cores)
        ),
    ),
    "f1": (
        (
            "The smallest log₁₀ walltime · cores + 870 · log₁₀ submission, in s since the first submission to the"
            " dispatcher, at least 1. It does not change while a job waits (Carastan-Santos and de Camargo,"
            " SC 2017, eq. F1)."
        ),
        lambda _weights, _platform: TimedOrder(_f1, ages=False),
    ),
    MULTIFACTOR: (
        (
            "The highest `age_weight` · min(wait / `max_age_s`, 1) + `size_weight` · cores / the machine's cores +"
            " `queue_weight` · the queue's priority / the largest (Slurm's"
            " [priority/multifactor](https://slurm.schedmd.com/priority_multifactor.html))."
        ),
        _multifactor,
    ),
}


Rule = Callable[[Job, Platform], float]
MOST = "most:"
"""Prefix of rules by a resource kind (thesis 4.2.1: by GPUs)."""


def _cores(job: Job, platform: Platform) -> int:
    return job.amounts[platform.kinds.index(CORES)]


def _area(job: Job, platform: Platform) -> int:
    return _cores(job, platform) * job.expected


def _watts(job: Job, platform: Platform) -> float:
    if POWER in platform.kinds and (stated := job.amounts[platform.kinds.index(POWER)]):
        return float(stated)
    groups = [platform.groups[place] for place in platform.sets.groups(job.groups).tolist()] or platform.groups
    a_core = np.average([(g.power or NodePower()).core_w for g in groups], weights=[g.count for g in groups])
    return float(_cores(job, platform) * a_core)


def _profit_per_cost(job: Job, platform: Platform) -> float:
    income = _cores(job, platform) * platform.income_by_queue.get(job.queue, platform.income_per_core_h)
    watts = _watts(job, platform)
    return income / watts if watts else float(FOREVER)


RULES: dict[str, tuple[str, Rule]] = {
    "fcfs": ("First come, first served: the earliest start time (est).", lambda job, _: job.earliest),
    "df": ("The earliest deadline: the latest start time (lst). Jobs without one come last.",
           lambda job, _: FOREVER if job.latest is None else job.latest),
    "wt": ("The shortest walltime.", lambda job, _: job.expected),
    "sjbf": ("The shortest walltime; the name in backfilling.", lambda job, _: job.expected),
    "ljf": ("The longest walltime.", lambda job, _: -job.expected),
    "narrow": ("The fewest cores.", _cores),
    "wide": ("The most cores.", lambda job, platform: -_cores(job, platform)),
    "small": ("The least cores · walltime.", _area),
    "large": ("The most cores · walltime.", lambda job, platform: -_area(job, platform)),
    "profit": ("The most income per energy cost (thesis 6.3).",
               lambda job, platform: -_profit_per_cost(job, platform)),
}  # fmt: skip
ORDERS = {name: about for name, (about, _) in [*RULES.items(), *TIMED_ORDERS.items()]} | {
    f"{MOST}KIND": "The most of a resource kind: `most:gpu` (thesis 4.2.1)."
}


def order_name(text: str) -> str:
    """Valid name; otherwise raise ValueError."""
    if text in RULES or text in TIMED_ORDERS or (text.startswith(MOST) and text != MOST):
        return text
    raise ValueError(text)


def order_of(name: str, platform: Platform, weights: MultifactorWeights) -> Rule | TimedOrder:
    """Order. Raises InputError for an unknown resource kind."""
    return TIMED_ORDERS[name][1](weights, platform) if name in TIMED_ORDERS else rule_of(name, platform)


def rule_of(name: str, platform: Platform) -> Rule:
    """Rule. Raises InputError for an unknown resource kind."""
    if not name.startswith(MOST):
        return RULES[name][1]
    kind = name.removeprefix(MOST)
    if kind not in platform.kinds:
        raise InputError(f"order {name}", f"the platform has no {kind!r}", "|".join(platform.kinds))
    place = platform.kinds.index(kind)
    return lambda job, _: -job.amounts[place]
