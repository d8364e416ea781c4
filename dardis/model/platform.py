"""Machine: groups of equal nodes, numbered from 0."""

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
from dardis.model.pue_table import RowChoice
from dardis.model.queues import ALWAYS, Hours, PermittedStarts, PrimeTime, Queue, Reservation
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
"""Other names are files."""


@dataclass(frozen=True, slots=True)
class NodePower:
    """Node power: W idle, per busy core, off; duration (s) and W of boot and shut-down.

    `idle_w` includes devices. `device_w`: per busy device, by kind.
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
    """Equal nodes with resources per node, and power (None: unstated)."""

    prefix: Text
    count: Annotated[int, Ge(1), Le(MOST_NODES)]
    resources: dict[str, Count]
    power: NodePower | None = None
    always_on: bool = False

    @property
    def stays_on(self) -> bool:
        """Whether nodes stay on: required, or idle power at most the off power."""
        power = self.power or NodePower()
        return self.always_on or power.idle_w <= power.off_w


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Nodes without capacity during `[start, end)`, or with `less`, by kind."""

    nodes: Annotated[tuple[Count, ...], MinLen(1)]
    start: Edge
    end: Edge
    less: tuple[Count, ...] | None = None
    """Loss per node; None: all."""
    foreseen: bool = True
    """False for failures, which killed jobs."""


@dataclass(frozen=True, slots=True)
class GridLimit:
    """Grid limit (IT and cooling) in `[start, end)`, Unix s. Without penalty: a hard limit."""

    start: Time
    end: Time
    most_kw: Amount
    penalty_per_kwh: Amount | None = None


@dataclass(frozen=True, slots=True)
class Facility:
    """Cooling, contract, weather and calendar. None: unstated."""

    cooling: Text | None = None
    """`air`, `hybrid`, or a PUE table file."""
    cooling_rows: RowChoice = RowChoice.NEAREST
    cooling_design_w: Above0 | None = None
    prices: Text | float | None = None
    """File, or price per kWh."""
    weather: Text | float | None = None
    """File, or temperature (°C)."""
    carbon: Text | float | None = None
    """File, or CO2 intensity (g/kWh)."""
    calendar_start: Count | None = None
    """Unix s of the trace's first submission."""
    demand_per_kw: Amount = 0.0
    """Price of the highest quarter-hour mean."""
    co2_per_t: Amount = 0.0
    contracted_kw: Amount | None = None
    contract_penalty_per_kwh: Amount | None = None
    limits: tuple[GridLimit, ...] = ()

    def begins(self, stated: int | None) -> int | None:
        """Unix s of the first submission: `stated`, or the platform's."""
        return self.calendar_start if stated is None else stated

    @property
    def stated(self) -> bool:
        """Whether any value is stated."""
        return self != Facility()

    @property
    def files(self) -> tuple[str, ...]:
        """Referenced files."""
        plant = self.cooling if self.cooling not in MODELLED_PLANTS else None
        return tuple(x for x in (plant, self.prices, self.weather, self.carbon) if isinstance(x, str))


def missing_calendar(key: str) -> InputError:
    """Error for a key that requires a calendar."""
    return InputError(f"platform: {key}", "no start date", "calendar_start = the trace's first submission, UTC")


@dataclass(frozen=True)
class Money:
    """Currency, and values of other currencies."""

    currency: str = "EUR"
    exchange: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Platform:
    """Machine. `partitions` maps trace partitions to permitted group indices."""

    name: Text
    groups: Annotated[tuple[NodeGroup, ...], MinLen(1), MaxLen(MAX_GROUPS)]
    partitions: dict[str, Annotated[tuple[Count, ...], MinLen(1)]] = field(default_factory=dict)
    maintenance: tuple[Maintenance, ...] = ()
    currency: Text = "EUR"
    income_per_core_h: Amount = 0.013
    income_by_queue: dict[str, Amount] = field(default_factory=dict)
    """Default: `income_per_core_h`."""
    facility: Facility = field(default_factory=Facility)
    queues: tuple[Queue, ...] = ()
    """Without any, a job's queue is only a name."""
    prime: PrimeTime | None = None
    reservations: tuple[Reservation, ...] = ()
    kept_groups: Count = 0
    """Last groups that hold reserved capacity."""
    ends: Edge | None = None
    """Of the last span, if the machine is a reservation."""
    exchange: dict[str, Above0] = field(default_factory=dict)
    dated: tuple[Maintenance, ...] = ()
    flop_per_s: Above0 | None = None
    """Per core, for Batsim jobs (None: unstated)."""
    more_sets: tuple[tuple[Count, ...], ...] = field(default=(), compare=False)
    """Sets of groups named by jobs."""
    states_income: bool = field(default=True, compare=False)
    """If not, `income_per_core_h` is from the thesis."""

    @property
    def money(self) -> Money:
        """Currency and exchange rates."""
        return Money(self.currency, self.exchange)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Resource kinds, cores first."""
        names = {CORES: None}
        for group in self.groups:
            names.update(dict.fromkeys(group.resources))
        return tuple(names)

    @property
    def has_power_data(self) -> bool:
        """Whether power or money data exist."""
        return self.facility.stated or any(group.power is not None for group in self.groups)

    @cached_property
    def node_count(self) -> int:
        """Number of nodes."""
        return sum(group.count for group in self.groups)

    @cached_property
    def group_of_node(self) -> Ints:
        """Group index of each node, (nodes,)."""
        return np.repeat(np.arange(len(self.groups)), [group.count for group in self.groups])

    @cached_property
    def group_capacity(self) -> Ints:
        """Node capacity by group, (groups, kinds)."""
        return np.array(
            [[group.resources.get(kind, 0) for kind in self.kinds] for group in self.groups],
            dtype=np.int64,
        ).reshape(len(self.groups), len(self.kinds))

    @cached_property
    def capacity(self) -> Ints:
        """Capacity of each node, (nodes, kinds)."""
        return self.group_capacity[self.group_of_node]

    @cached_property
    def cores(self) -> int:
        """Machine's cores."""
        return int(sum(group.count * group.resources.get(CORES, 0) for group in self.groups))

    @property
    def all_groups(self) -> int:
        """Bit set of unreserved groups."""
        return (1 << (len(self.groups) - self.kept_groups)) - 1

    @cached_property
    def sets(self) -> NodeSets:
        """Node sets of jobs: all, by partition, by queue, and intersections."""
        free = [self.all_groups, *map(bits_of, [*self.partitions.values(), *self.more_sets])]
        queues = [bits_of(queue.groups) for queue in self.queues if queue.groups is not None]
        both = (some & queue for queue in dict.fromkeys(queues) for some in dict.fromkeys(free))
        return NodeSets([group.count for group in self.groups], self.group_capacity, [*free, *queues, *both])

    def with_partitions(self, names: Iterable[str]) -> Platform:
        """Platform with sets for lists `a,b` of partitions, if codes require them."""
        lists = [name.split(",") for name in sorted({*names}) if "," in name and name not in self.partitions]
        known = [parts for parts in lists if all(part in self.partitions for part in parts)]
        return self.with_sets([group for part in parts for group in self.partitions[part]] for parts in known)

    def with_sets(self, sets: Iterable[Iterable[int]]) -> Platform:
        """Platform with more sets of groups, if codes require them."""
        kept = {(one.name, int(self.group_of_node[node])) for one in self.reservations for node in one.nodes}
        if len(self.groups) + len(kept) <= MAX_DIRECT:
            return self
        more = dict.fromkeys([*self.more_sets, *(tuple(sorted({*groups})) for groups in sets)])
        return replace(self, more_sets=tuple(more))

    @cached_property
    def queue_of(self) -> dict[str, Queue]:
        """Queues by name."""
        return {queue.name: queue for queue in self.queues}

    def on_clock(self, unix_start: int | None, first: int) -> Platform:
        """Platform on a trace's clock.

        `unix_start`: Unix time of second 0 (None: unknown); `first`: first submission.
        """
        prime = None if self.prime is None else replace(self.prime, unix_start=unix_start, first=first)
        if unix_start is None or not self.dated:
            return self if prime is None else replace(self, prime=prime)
        moved = (replace(window, start=window.start - unix_start, end=window.end - unix_start) for window in self.dated)
        return replace(self, prime=prime, maintenance=(*self.maintenance, *moved), dated=())

    @property
    def needs_calendar(self) -> bool:
        """Whether start times depend on an unknown calendar."""
        unknown = self.prime is not None and self.prime.unix_start is None
        return bool(self.dated) or (unknown and any(queue.hours is not Hours.ANY for queue in self.queues))

    @cached_property
    def reservation_of(self) -> dict[str, Reservation]:
        """Reservations by queue."""
        return {reservation.queue: reservation for reservation in self.reservations}

    def refusal(self, job: Job) -> str:
        """Queue's reason for refusing the job, or ""."""
        queue, reservation = self.queue_of.get(job.queue), self.reservation_of.get(job.queue)
        refused = "" if queue is None else queue.refusal(job, self.kinds)
        return refused or ("" if reservation is None else reservation.refusal(job))

    def last_start(self, job: Job) -> int:
        """Last permitted start of an accepted job (FOREVER: no limit)."""
        reservation = self.reservation_of.get(job.queue)
        return FOREVER if reservation is None else reservation.last_start(job.least_walltime)

    def too_late(self, job: Job) -> str:
        """Rejection reason of a job without a start before `last_start`."""
        return f"did not start in time to end within reservation {self.reservation_of[job.queue].name}"

    def reservation_note(self, job: Job) -> str:
        """Addition to rejection reasons of jobs limited to a reservation, or ""."""
        reservation = self.reservation_of.get(job.queue)
        return "" if reservation is None else f"; it may use only reservation {reservation.name}"

    @cached_property
    def hours(self) -> dict[str, PermittedStarts]:
        """Permitted starts by queue, unless always open. Raises ValueError if `needs_calendar`."""
        closed = {}
        for queue in self.queues:
            out_of_hours = self.prime.closed(queue.hours) if self.prime is not None else ()
            if queue.stopped or out_of_hours:
                closed[queue.name] = PermittedStarts((*queue.stopped, *out_of_hours))
        return closed

    def hours_of(self, queue: str) -> int:
        """Number of a queue in `hours`, from 1; 0: always open."""
        return [*self.hours].index(queue) + 1 if queue in self.hours else 0

    def starts_of(self, queue: str) -> PermittedStarts:
        """Permitted starts of a queue."""
        return self.hours.get(queue, ALWAYS)

    @cached_property
    def levels(self) -> dict[str, int]:
        """Number of lower priorities by queue; `""` (no queue) has priority 0."""
        found = sorted({0, *(queue.priority for queue in self.queues)})
        return {"": found.index(0)} | {queue.name: found.index(queue.priority) for queue in self.queues}

    def level_of(self, queue: str) -> int:
        """Number of lower priorities."""
        return self.levels.get(queue, self.levels[""])

    def closed_spans(self, node: int) -> list[tuple[int, int]]:
        """Maintenance spans `[start, end)` of a node, ascending and separate."""
        return self._closed_spans.get(node, [])

    @cached_property
    def _closed_spans(self) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        for window in self.maintenance:
            for node in window.nodes if window.less is None else ():
                found.setdefault(node, []).append((window.start, window.end))
        return {node: united(spans) for node, spans in found.items()}

    def open_spans(self, node: int, start: int, end: int) -> list[tuple[int, int]]:
        """Parts of `[start, end)` outside maintenance, ascending."""
        spans = []
        for closed, opened in (*self.closed_spans(node), (end, end)):
            if start < min(closed, end):
                spans.append((start, min(closed, end)))
            start = max(start, opened)
        return spans

    def node_name(self, node: int) -> str:
        """Node name: group prefix and index in the group."""
        group = int(self.group_of_node[node])
        first = sum(g.count for g in self.groups[:group])
        return f"{self.groups[group].prefix}{node - first}"

    def describe(self) -> str:
        """Summarise nodes and resources in one line."""
        parts = []
        for group in self.groups:
            what = ", ".join(amount_in_words(kind, amount) for kind, amount in group.resources.items() if amount)
            parts.append(f"{group.count} nodes × ({what})")
        return " + ".join(parts)


def platform_to_dict(platform: Platform) -> dict[str, Any]:
    """All fields, nested."""
    told = asdict(replace(platform, groups=()))
    told["groups"] = tuple(map(_of_group, platform.groups))
    del told["dated"]
    if not platform.more_sets:
        del told["more_sets"]
    return told


def _of_group(group: NodeGroup) -> dict[str, Any]:
    told = {one.name: getattr(group, one.name) for one in fields(NodeGroup)}
    return told | {"resources": dict(group.resources), "power": group.power and asdict(group.power)}
