"""Decides what a platform file may say of queues and of prime time."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dardis.config.nodes import read_amounts
from dardis.config.toml_file import SpanTable, Table
from dardis.model.errors import InputError
from dardis.model.limits import Limit, Priority, Text
from dardis.model.queues import Hours, PrimeTime, Queue

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _second_of_day(value: object) -> int:
    """Read `"08:00"`; 24:00 is the day's end."""
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
    """The name of a time zone, if it is one. ValueError."""
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
    """`[prime]`: the hours of the working day."""

    start: Annotated[int, BeforeValidator(_second_of_day)] = Field(description='Start, as `"08:00"`.')
    end: Annotated[int, BeforeValidator(_second_of_day)] = Field(description="End. Before `start`: on the next day.")
    days: Annotated[list[Annotated[int, BeforeValidator(_weekday)]], Field(min_length=1)] = Field(
        default_factory=lambda: list(range(7)),
        description="Days of the week: `mon` to `sun`. Default: all.",
    )
    timezone: Annotated[str, AfterValidator(time_zone)] = Field(
        "UTC",
        description="Time zone, as `Europe/Rome`. Clocks that are put forward or back are heeded.",
    )

    @model_validator(mode="after")
    def _has_length(self) -> PrimeTable:
        if self.start == self.end:
            raise ValueError("start and end are the same; expected two times of day")
        return self

    def prime(self) -> PrimeTime:
        """It as the model has it, on no clock yet."""
        return PrimeTime(self.start, self.end, tuple(sorted({*self.days})), self.timezone)


class QueueTable(Table):
    """`[[queues]]`: a queue of the site."""

    name: Text = Field(description="Name of the queue.")
    expected_wait_s: Limit | None = Field(None, description="Wait that its users are told to expect.")
    longest_wait_s: Limit | None = Field(
        None,
        description="A job that waits longer is late ([metrics.md](metrics.md)).",
    )
    priority: Priority = Field(0, description="Jobs of the queue with the higher priority go first (below).")
    groups: Annotated[list[str], Field(min_length=1)] | None = Field(
        None,
        description="Node groups (prefixes) that its jobs may use, besides what `[partitions]` says. Default: all.",
    )
    max_units: Limit | None = Field(None, description="Largest number of units of a job.")
    max_walltime_s: Limit | None = Field(None, description="Largest walltime of a job.")
    max_job: Annotated[dict[str, int], BeforeValidator(read_amounts)] = Field(
        default_factory=dict,
        description="Most of each kind in all units of a job together.",
    )
    hours: Annotated[Hours, BeforeValidator(_hours)] = Field(
        Hours.ANY,
        description="When its jobs may start: `any`, `prime` or `non-prime`. A job that has started runs on.",
    )
    stopped: list[SpanTable] = Field(
        default_factory=list,
        description="Spans in which none of its jobs may start: `[{ start_s = 0, end_s = 3600 }]`, on the trace's"
        " clock.",
    )


def queues_of(
    place: str, tables: list[QueueTable], group_of: Mapping[str, int], kinds: Collection[str], *, prime: bool
) -> tuple[Queue, ...]:
    """The queues of a file; `place` is where they stand, `group_of` the node groups by prefix. Raises InputError.

    `kinds` are those that nodes have, `prime` says whether the file tells when prime time is.
    """
    found: dict[str, Queue] = {}
    for index, table in enumerate(tables):
        here = f"{place}[{index}]"
        if table.name in found:
            raise InputError(f"{here}.name", f"queue {table.name!r} again", "every queue once")
        for prefix in table.groups or ():
            if prefix not in group_of:
                raise InputError(f"{here}.groups", f"no node group {prefix!r}", "one of " + ", ".join(group_of))
        for kind in table.max_job:
            if kind not in kinds:
                raise InputError(f"{here}.max_job", f"no node has {kind!r}", "one of " + ", ".join(kinds))
        if table.hours is not Hours.ANY and not prime:
            raise InputError(f"{here}.hours", f"{table.hours}, and no prime time", "a table [prime] with start and end")
        stated = {name: getattr(table, name) for name in QueueTable.model_fields if name not in {"groups", "stopped"}}
        groups = None if table.groups is None else tuple(sorted({group_of[prefix] for prefix in table.groups}))
        stopped = tuple((span.start_s, span.end_s) for span in table.stopped)
        found[table.name] = Queue(**stated, groups=groups, stopped=stopped)
    return tuple(found.values())
