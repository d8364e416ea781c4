"""The machine: groups of equal nodes, numbered from 0 in the order of the groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le, MaxLen, MinLen

from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.job import FOREVER, Job
from dardis.model.moments import united
from dardis.model.node_sets import MAX_DIRECT, NodeSets, bits_of
from dardis.model.pue_table import Rows
from dardis.model.queues import ALWAYS, Hours, PrimeTime, Queue, Reservation, Starts
from dardis.model.resources import (
    CORES,
    MAX_GROUPS,
    MOST_NODES,
    Above0,
    Amount,
    Count,
    Edge,
    Seconds,
    Text,
    Time,
    Watts,
    amount_in_words,
)

MODELLED_PLANTS = ("air", "hybrid")
"""Names of cooling plants that are no file of a measured one."""


@dataclass(frozen=True, slots=True)
class NodePower:
    """What a node draws: W idle, W added by a busy core, W when off, and boot and shut-down (s, W).

    `idle_w` has its devices in it, and `device_w` is what a busy one adds, by resource kind.
    """

    idle_w: Watts = 0.0
    core_w: Watts = 9.455
    off_w: Watts = 0.0
    boot_s: Seconds = 0
    boot_w: Watts = 0.0
    shutdown_s: Seconds = 0
    shutdown_w: Watts = 0.0
    device_w: dict[str, Amount] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Equal nodes: how many, what each holds by kind, and what it draws (None: not stated)."""

    prefix: Text
    count: Annotated[int, Ge(1), Le(MOST_NODES)]
    resources: dict[str, Count]
    power: NodePower | None = None
    always_on: bool = False

    @property
    def stays_on(self) -> bool:
        """Whether there is nothing to switch: its nodes must be on, or draw no more idle than off."""
        power = self.power or NodePower()
        return self.always_on or power.idle_w <= power.off_w


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Nodes that hold nothing during `[start, end)`, or so much less, by kind in the platform's order."""

    nodes: Annotated[tuple[Count, ...], MinLen(1)]
    start: Edge
    end: Edge
    less: tuple[Count, ...] | None = None
    """Of each node; None: they hold nothing."""
    foreseen: bool = True
    """Whether that was known before; else they failed, and what ran on them was killed."""


@dataclass(frozen=True, slots=True)
class GridLimit:
    """The grid's wish of at most `most_kw` (IT and cooling) in `[start, end)`, Unix s; None: never to be exceeded."""

    start: Time
    end: Time
    most_kw: Amount
    penalty_per_kwh: Amount | None = None


@dataclass(frozen=True, slots=True)
class Facility:
    """What surrounds the machine: cooling, contract, weather, calendar. None: not stated. Files are named in full."""

    cooling: Text | None = None
    """`air`, `hybrid`, or the file of a PUE table."""
    cooling_rows: Rows = Rows.NEAREST
    cooling_design_w: Above0 | None = None
    """IT power that a modelled plant was built for."""
    prices: Text | float | None = None
    """File, or one price per kWh for all the time."""
    weather: Text | float | None = None
    """File, or one outdoor temperature (°C)."""
    carbon: Text | float | None = None
    """File, or one CO2 intensity (g/kWh)."""
    calendar_start: Count | None = None
    """Unix s of the trace's first submission."""
    demand_per_kw: Amount = 0.0
    """Price of the highest mean power over a quarter of an hour."""
    co2_per_t: Amount = 0.0
    contracted_kw: Amount | None = None
    contract_penalty_per_kwh: Amount | None = None
    limits: tuple[GridLimit, ...] = ()

    def begins(self, stated: int | None) -> int | None:
        """Unix s of the trace's first submission: as an option states it, else as the platform does."""
        return self.calendar_start if stated is None else stated

    @property
    def stated(self) -> bool:
        """Whether the platform says anything of it."""
        return self != Facility()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it names."""
        plant = self.cooling if self.cooling not in MODELLED_PLANTS else None
        return tuple(x for x in (plant, self.prices, self.weather, self.carbon) if isinstance(x, str))


def missing_calendar(key: str) -> InputError:
    """The error of a key of the platform that needs to know when the trace begins."""
    return InputError(f"platform: {key}", "no calendar", "calendar_start = the trace's first submission, UTC")


@dataclass(frozen=True)
class Money:
    """What amounts are in, and what one unit of each other currency is worth in it."""

    currency: str = "EUR"
    exchange: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Platform:
    """A machine. `partitions` maps a trace's partition to the groups (by index) its jobs may use."""

    name: Text
    groups: Annotated[tuple[NodeGroup, ...], MinLen(1), MaxLen(MAX_GROUPS)]
    partitions: dict[str, Annotated[tuple[Count, ...], MinLen(1)]] = field(default_factory=dict)
    maintenance: tuple[Maintenance, ...] = ()
    currency: Text = "EUR"
    income_per_core_h: Amount = 0.013
    income_by_queue: dict[str, Amount] = field(default_factory=dict)
    """What a core-hour of a queue's jobs earns; others earn `income_per_core_h`."""
    facility: Facility = field(default_factory=Facility)
    queues: tuple[Queue, ...] = ()
    """Those of the site; where none is declared a job's queue is only a name."""
    prime: PrimeTime | None = None
    reservations: tuple[Reservation, ...] = ()
    kept_groups: Count = 0
    """How many of the groups, the last ones, stand for what is reserved: only jobs of its queue may use such a one."""
    ends: Edge | None = None
    """When the last span of the reservation is over that the whole machine stands for (None: it stands for none)."""
    exchange: dict[str, Above0] = field(default_factory=dict)
    """What one unit of another currency, in which prices may be, is worth in this one."""
    dated: tuple[Maintenance, ...] = ()
    """Maintenance in Unix s, until `on_clock` puts it on a trace's clock."""
    flop_per_s: Above0 | None = None
    """Floating-point operations a second of a core, as jobs of Batsim need them (None: not stated)."""
    more_sets: tuple[tuple[Count, ...], ...] = field(default=(), compare=False)
    """Sets of groups that jobs name beside those of partitions and queues; they are of the jobs, not of the machine."""
    states_income: bool = field(default=True, compare=False)
    """Whether somebody has said what a core-hour earns; else `income_per_core_h` is the thesis's."""

    @property
    def money(self) -> Money:
        """What its amounts are in."""
        return Money(self.currency, self.exchange)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Resource kinds of the machine: cores first, the rest in the order they are declared."""
        names = {CORES: None}
        for group in self.groups:
            names.update(dict.fromkeys(group.resources))
        return tuple(names)

    @property
    def says_of_power(self) -> bool:
        """Whether it says anything of power or money."""
        return self.facility.stated or any(group.power is not None for group in self.groups)

    @cached_property
    def node_count(self) -> int:
        """Number of nodes."""
        return sum(group.count for group in self.groups)

    @cached_property
    def group_of_node(self) -> Ints:
        """Group index of every node, shape (nodes,)."""
        return np.repeat(np.arange(len(self.groups)), [group.count for group in self.groups])

    @cached_property
    def group_capacity(self) -> Ints:
        """What one node of each group holds, shape (groups, kinds)."""
        return np.array(
            [[group.resources.get(kind, 0) for kind in self.kinds] for group in self.groups],
            dtype=np.int64,
        ).reshape(len(self.groups), len(self.kinds))

    @cached_property
    def capacity(self) -> Ints:
        """What every node holds, shape (nodes, kinds)."""
        return self.group_capacity[self.group_of_node]

    @cached_property
    def cores(self) -> int:
        """Cores of the whole machine."""
        return int(sum(group.count * group.resources.get(CORES, 0) for group in self.groups))

    @property
    def all_groups(self) -> int:
        """The bit set of every group that stands for nothing reserved."""
        return (1 << (len(self.groups) - self.kept_groups)) - 1

    @cached_property
    def sets(self) -> NodeSets:
        """The sets of groups that jobs may be confined to: by partition, by queue, by both, or not at all."""
        free = [self.all_groups, *map(bits_of, [*self.partitions.values(), *self.more_sets])]
        queues = [bits_of(queue.groups) for queue in self.queues if queue.groups is not None]
        both = (some & queue for queue in dict.fromkeys(queues) for some in dict.fromkeys(free))
        return NodeSets([group.count for group in self.groups], self.group_capacity, [*free, *queues, *both])

    def with_partitions(self, names: Iterable[str]) -> Platform:
        """It, with a set for each list `a,b` of partitions that jobs name, where that needs one to have a code."""
        lists = [name.split(",") for name in sorted({*names}) if "," in name and name not in self.partitions]
        known = [parts for parts in lists if all(part in self.partitions for part in parts)]
        return self.with_sets([group for part in parts for group in self.partitions[part]] for parts in known)

    def with_sets(self, sets: Iterable[Iterable[int]]) -> Platform:
        """It, with these sets of groups, where not every set has a code: reservations add groups."""
        kept = {(one.name, int(self.group_of_node[node])) for one in self.reservations for node in one.nodes}
        if len(self.groups) + len(kept) <= MAX_DIRECT:
            return self
        more = dict.fromkeys([*self.more_sets, *(tuple(sorted({*groups})) for groups in sets)])
        return replace(self, more_sets=tuple(more))

    @cached_property
    def queue_of(self) -> dict[str, Queue]:
        """The queues by name."""
        return {queue.name: queue for queue in self.queues}

    def on_clock(self, unix_start: int | None, first: int) -> Platform:
        """It, with prime time and dated maintenance on a trace's clock.

        `unix_start` is Unix s of its second 0 (None: unknown), `first` its first submission.
        """
        prime = None if self.prime is None else replace(self.prime, unix_start=unix_start, first=first)
        if unix_start is None or not self.dated:
            return self if prime is None else replace(self, prime=prime)
        moved = (replace(window, start=window.start - unix_start, end=window.end - unix_start) for window in self.dated)
        return replace(self, prime=prime, maintenance=(*self.maintenance, *moved), dated=())

    @property
    def needs_calendar(self) -> bool:
        """Whether nobody can tell when jobs may start, as there is no telling when the clock began."""
        unknown = self.prime is not None and self.prime.unix_start is None
        return bool(self.dated) or (unknown and any(queue.hours is not Hours.ANY for queue in self.queues))

    @cached_property
    def reservation_of(self) -> dict[str, Reservation]:
        """The reservations by the names of their queues."""
        return {reservation.queue: reservation for reservation in self.reservations}

    def refusal(self, job: Job) -> str:
        """Why the job's queue takes no such job; empty if it does."""
        queue, reservation = self.queue_of.get(job.queue), self.reservation_of.get(job.queue)
        refused = "" if queue is None else queue.refusal(job, self.kinds)
        return refused or ("" if reservation is None else reservation.refusal(job))

    def last_start(self, job: Job) -> int:
        """The last time at which the job may start, which is not refused (FOREVER: it may at any)."""
        reservation = self.reservation_of.get(job.queue)
        return FOREVER if reservation is None else reservation.last_start(job.least_walltime)

    def too_late(self, job: Job) -> str:
        """Why a job that has not started by then never does."""
        return f"has not started in time to end within reservation {self.reservation_of[job.queue].name}"

    def judged_by(self, job: Job) -> str:
        """What to add to why those who decide reject a job: that it has less than the machine; else empty."""
        reservation = self.reservation_of.get(job.queue)
        return "" if reservation is None else f"; it has only what reservation {reservation.name} keeps"

    @cached_property
    def hours(self) -> dict[str, Starts]:
        """When jobs may start, by queue, for those that are not always open.

        ValueError where nobody can tell (`needs_calendar`).
        """
        closed = {}
        for queue in self.queues:
            out_of_hours = self.prime.closed(queue.hours) if self.prime is not None else ()
            if queue.stopped or out_of_hours:
                closed[queue.name] = Starts((*queue.stopped, *out_of_hours))
        return closed

    def hours_of(self, queue: str) -> int:
        """Which of the `hours` are a queue's, from 1 on; 0: it is always open."""
        return [*self.hours].index(queue) + 1 if queue in self.hours else 0

    def starts_of(self, queue: str) -> Starts:
        """When jobs of a queue may start."""
        return self.hours.get(queue, ALWAYS)

    @cached_property
    def levels(self) -> dict[str, int]:
        """How many lower priorities there are, by queue; jobs of no queue (`""`) have priority 0."""
        found = sorted({0, *(queue.priority for queue in self.queues)})
        return {"": found.index(0)} | {queue.name: found.index(queue.priority) for queue in self.queues}

    def level_of(self, queue: str) -> int:
        """How many lower priorities there are than that of a queue's jobs."""
        return self.levels.get(queue, self.levels[""])

    def closed_spans(self, node: int) -> list[tuple[int, int]]:
        """When the node is in maintenance: spans `[start, end)` that neither touch nor overlap, ascending."""
        return self._closed_spans.get(node, [])

    @cached_property
    def _closed_spans(self) -> dict[int, list[tuple[int, int]]]:
        """The same of all nodes that are ever in maintenance."""
        found: dict[int, list[tuple[int, int]]] = {}
        for window in self.maintenance:
            for node in window.nodes if window.less is None else ():
                found.setdefault(node, []).append((window.start, window.end))
        return {node: united(spans) for node, spans in found.items()}

    def open_spans(self, node: int, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of `[start, end)` in which the node is not in maintenance, ascending."""
        spans = []
        for closed, opened in (*self.closed_spans(node), (end, end)):
            if start < min(closed, end):
                spans.append((start, min(closed, end)))
            start = max(start, opened)
        return spans

    def node_name(self, node: int) -> str:
        """Name of a node: its group's prefix and its place in the group."""
        group = int(self.group_of_node[node])
        first = sum(g.count for g in self.groups[:group])
        return f"{self.groups[group].prefix}{node - first}"

    def describe(self) -> str:
        """One line for people: nodes and what they hold."""
        parts = []
        for group in self.groups:
            what = ", ".join(amount_in_words(kind, amount) for kind, amount in group.resources.items() if amount)
            parts.append(f"{group.count} nodes × ({what})")
        return " + ".join(parts)


def platform_to_dict(platform: Platform) -> dict[str, Any]:
    """Every field of the platform on a trace's clock, nested ones too."""
    told = asdict(replace(platform, groups=()))
    told["groups"] = tuple(map(_of_group, platform.groups))
    del told["dated"]
    if not platform.more_sets:
        del told["more_sets"]
    return told


def _of_group(group: NodeGroup) -> dict[str, Any]:
    """The same of a group. To let `asdict` copy thousands of groups takes a tenth of a second."""
    told = {one.name: getattr(group, one.name) for one in fields(NodeGroup)}
    return told | {"resources": dict(group.resources), "power": group.power and asdict(group.power)}
