"""Queues, prime time and reservations in platform files."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dardis.config.node_fields import node_numbers, read_amounts
from dardis.config.toml_file import SpanTable, Table
from dardis.model.errors import InputError
from dardis.model.moments import united
from dardis.model.platform import Platform
from dardis.model.queues import Hours, PrimeTime, Queue, Reservation
from dardis.model.resources import MAX_GROUPS, Limit, Priority, Text

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _second_of_day(value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{2}:[0-9]{2}", value):
        second = int(value[:2]) * 3600 + int(value[3:]) * 60
        if second <= 86_400 and int(value[3:]) < 60:
            return second
    raise ValueError(f"{value!r}; expected a time of day such as 08:00")


def _weekday(value: object) -> int:
    if value not in WEEKDAYS:
        raise ValueError(f"{value!r}; expected one of {', '.join(WEEKDAYS)}")
    return WEEKDAYS.index(str(value))


def time_zone(name: str) -> str:
    """Check a time zone name. Raises ValueError."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ValueError(f"{name!r}; expected a time zone such as Europe/Rome") from None
    return name


def _hours(value: object) -> Hours:
    try:
        return Hours(str(value))
    except ValueError:
        raise ValueError(f"{value!r}; expected one of {', '.join(Hours)}") from None


class PrimeTable(Table):
    """`[prime]`: working hours."""

    start: Annotated[int, BeforeValidator(_second_of_day)] = Field(description='Start, as `"08:00"`.')
    end: Annotated[int, BeforeValidator(_second_of_day)] = Field(description="End. Before `start`: on the next day.")
    days: Annotated[list[Annotated[int, BeforeValidator(_weekday)]], Field(min_length=1)] = Field(
        default_factory=lambda: list(range(7)),
        description="Days of the week: `mon` to `sun`. Default: all.",
    )
    timezone: Annotated[str, AfterValidator(time_zone)] = Field(
        "UTC",
        description="Time zone, as `Europe/Rome`. Summer time is taken into account.",
    )

    @model_validator(mode="after")
    def _has_length(self) -> PrimeTable:
        if self.start == self.end:
            raise ValueError("start and end are the same; expected two times of day")
        return self

    def prime(self) -> PrimeTime:
        """Convert to the model, without a clock."""
        return PrimeTime(self.start, self.end, tuple(sorted({*self.days})), self.timezone)


class QueueTable(Table):
    """`[[queues]]`: a queue of the site."""

    name: Text = Field(description="Name of the queue.")
    expected_wait_s: Limit | None = Field(None, description="Expected wait, as published to users.")
    longest_wait_s: Limit | None = Field(
        None,
        description="A job that waits longer is late ([metrics.md](metrics.md)).",
    )
    priority: Priority = Field(0, description="Jobs of the queue with the higher priority go first (below).")
    groups: Annotated[list[str], Field(min_length=1)] | None = Field(
        None,
        description="Node groups (prefixes) that its jobs may use, in addition to `[partitions]`. Default: all.",
    )
    max_units: Limit | None = Field(None, description="Largest number of units of a job.")
    max_walltime_s: Limit | None = Field(None, description="Largest walltime of a job.")
    max_job: Annotated[dict[str, int], BeforeValidator(read_amounts)] = Field(
        default_factory=dict,
        description="Largest amount of each kind in all units of a job together.",
    )
    hours: Annotated[Hours, BeforeValidator(_hours)] = Field(
        Hours.ANY,
        description="Hours in which its jobs may start: `any`, `prime` or `non-prime`. Running jobs continue.",
    )
    stopped: list[SpanTable] = Field(
        default_factory=list,
        description="Spans in which none of its jobs may start: `[{ start_s = 0, end_s = 3600 }]`, on the trace's"
        " clock.",
    )


def queues_of(
    place: str, tables: list[QueueTable], group_of: Mapping[str, int], kinds: Collection[str], *, prime: bool
) -> tuple[Queue, ...]:
    """Convert queues. `prime` tells whether prime time is stated. Raises InputError."""
    found: dict[str, Queue] = {}
    for index, table in enumerate(tables):
        here = f"{place}[{index}]"
        if table.name in found:
            raise InputError(f"{here}.name", f"queue {table.name!r} again", "each queue once")
        for prefix in table.groups or ():
            if prefix not in group_of:
                raise InputError(f"{here}.groups", f"unknown node group {prefix!r}", "one of " + ", ".join(group_of))
        for kind in table.max_job:
            if kind not in kinds:
                raise InputError(f"{here}.max_job", f"no node has {kind!r}", "one of " + ", ".join(kinds))
        if table.hours is not Hours.ANY and not prime:
            raise InputError(f"{here}.hours", f"{table.hours} without prime time", "a table [prime] with start and end")
        stated = {name: getattr(table, name) for name in QueueTable.model_fields if name not in {"groups", "stopped"}}
        groups = None if table.groups is None else tuple(sorted({group_of[prefix] for prefix in table.groups}))
        stopped = tuple((span.start_s, span.end_s) for span in table.stopped)
        found[table.name] = Queue(**stated, groups=groups, stopped=stopped)
    return tuple(found.values())


MOST_TIMES = 1_000


class Repeat(StrEnum):
    """Recurrence of a reservation (thesis 4.4)."""

    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"


_PERIOD_S = {Repeat.HOURLY: 3600, Repeat.DAILY: 86_400, Repeat.WEEKLY: 7 * 86_400}


def _repeat(value: object) -> Repeat:
    try:
        return Repeat(str(value))
    except ValueError:
        raise ValueError(f"{value!r}; expected one of {', '.join(Repeat)}") from None


class ReservationTable(SpanTable):
    """`[[reservations]]`: capacity for a queue; the span is the first."""

    name: Annotated[str, Field(min_length=1, pattern=r"^\S+$")] = Field(description="Unique name, without blanks.")
    queue: Annotated[str, Field(min_length=1)] = Field(
        description="One of the `[[queues]]` without groups. Each queue has at most one reservation."
    )
    nodes: Annotated[list[int], BeforeValidator(node_numbers)] = Field(
        description='Its nodes, as `"0-3 7"` or `[0, 1, 2, 3, 7]`.'
    )
    resources: Annotated[dict[str, int], BeforeValidator(read_amounts)] | None = Field(
        None, description="Reserved amounts on each of these nodes. Default: all resources of the node."
    )
    users: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="Users who may use it. Default: all."
    )
    repeat: Annotated[Repeat, BeforeValidator(_repeat)] | None = Field(
        None, description="Period: `hourly`, `daily` or `weekly`. The span is the first one."
    )
    times: Annotated[int, Field(ge=1, le=MOST_TIMES)] = Field(
        1, description=f"Number of spans of a reservation with `repeat`, with the first: 2 to {MOST_TIMES:,}."
    )


def reservations_of(place: str, tables: list[ReservationTable]) -> tuple[Reservation, ...]:
    """Convert reservations. Raises InputError."""
    found = []
    for index, table in enumerate(tables):
        here = f"{place}[{index}]"
        if (table.repeat is None) != (table.times == 1):
            expected = f"both repeat ({', '.join(Repeat)}) and times (2 or more), or neither"
            raise InputError(f"{here}.times", f"{table.times}, repeated {table.repeat or 'never'}", expected)
        period = 0 if table.repeat is None else _PERIOD_S[table.repeat]
        if period and table.end_s - table.start_s > period:
            raise InputError(f"{here}.end_s", f"the span is longer than the period, {table.repeat}", "an earlier end")
        spans = united((table.start_s + i * period, table.end_s + i * period) for i in range(table.times))
        users = None if table.users is None else tuple(table.users)
        found.append(Reservation(table.name, table.queue, tuple(table.nodes), tuple(spans), table.resources, users))
    return tuple(found)


def places_of(place: str, platform: Platform) -> list[str]:
    """Place of each reservation."""
    return [f"{place}[{index}]" for index in range(len(platform.reservations))]


def check_reservations(platform: Platform, places: Sequence[str]) -> None:
    """Check that the machine can hold the reservations. Raises InputError."""
    names: dict[str, str] = {}
    for this, here in zip(platform.reservations, places, strict=True):
        for what, name in (("name", this.name), ("queue", this.queue)):
            if names.setdefault(f"{what} {name}", here) != here:
                raise InputError(f"{here}.{what}", f"{name!r} again", f"a different {what} for each reservation")
        if this.queue not in platform.queue_of:
            raise InputError(f"{here}.queue", f"unknown queue {this.queue!r}", "one of the [[queues]]")
        if platform.queue_of[this.queue].groups is not None:
            raise InputError(f"{here}.queue", f"queue {this.queue!r} names groups", "a queue without groups")
        if this.nodes[-1] >= platform.node_count:
            expected = f"numbers from 0 to {platform.node_count - 1}"
            raise InputError(f"{here}.nodes", f"unknown node {this.nodes[-1]}", expected)
        _check_capacity(platform, this, here)
    for this, here in zip(platform.reservations, places, strict=True):
        _check_overlaps(platform, this, here)
    groups = {(this.name, int(platform.group_of_node[node])) for this in platform.reservations for node in this.nodes}
    if len(groups) + len(platform.groups) > MAX_GROUPS:
        found = f"{len(groups)}, counted once per node group"
        raise InputError(
            places[-1], found, f"at most {MAX_GROUPS - len(platform.groups)} ({MAX_GROUPS} with [[nodes]])"
        )


def _check_capacity(platform: Platform, this: Reservation, here: str) -> None:
    for kind, amount in (this.resources or {}).items():
        if kind not in platform.kinds:
            raise InputError(f"{here}.resources", f"no node has {kind!r}", "one of " + ", ".join(platform.kinds))
        for node in this.nodes:
            has = int(platform.capacity[node, platform.kinds.index(kind)])
            if amount > has:
                raise InputError(f"{here}.resources", f"{amount} {kind}, but node {node} has {has}", f"at most {has}")
    if this.resources is not None and not any(this.resources.values()):
        raise InputError(f"{here}.resources", "nothing", "an amount of a resource kind")
    for window in platform.maintenance:
        met = set(window.nodes if window.foreseen else ()).intersection(this.nodes)
        for start, end in this.spans if met else ():
            if start < window.end and end > window.start:
                found = f"node {min(met)} is in maintenance from {window.start} to {window.end} s"
                raise InputError(f"{here}.nodes", found, "nodes without maintenance")


def _check_overlaps(platform: Platform, this: Reservation, here: str) -> None:
    others = [
        (one, [start for start, _ in one.spans])
        for one in platform.reservations
        if one is not this and not set(one.nodes).isdisjoint(this.nodes)
    ]
    for begin, _ in this.spans if others else ():
        places = [(one, bisect_right(starts, begin) - 1) for one, starts in others]
        standing = [this, *(one for one, place in places if place >= 0 and begin < one.spans[place][1])]
        if len(standing) < 2:
            continue
        kept = np.sum([one.reserved_amounts(platform.capacity, platform.kinds) for one in standing], axis=0)
        for node, kind in np.argwhere(kept > platform.capacity).tolist():
            if node in this.nodes:
                names = ", ".join(one.name for one in platform.reservations if one in standing and node in one.nodes)
                found = f"{kept[node, kind]} {platform.kinds[kind]} of node {node} at {begin} s by {names}"
                raise InputError(here, found, f"at most its {platform.capacity[node, kind]}")
