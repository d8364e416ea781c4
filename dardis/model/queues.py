"""Queues and reservations: job limits, nodes and start times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

import numpy as np
from annotated_types import Ge, Le, MinLen

from dardis.model.arrays import Ints
from dardis.model.job import FOREVER, NO_TIME, Job
from dardis.model.moments import united
from dardis.model.resources import Count, Edge, Limit, Priority, Text, Time, amount_in_words

LATEST_BEGIN = 221_845_392_000
"""Unix s of the year 9000."""
PRIME_YEARS = 20
_DAY = timedelta(days=1)
SecondOfDay = Annotated[int, Ge(0), Le(86_400)]


class Hours(StrEnum):
    """Permitted start hours of a queue."""

    ANY = "any"
    PRIME = "prime"
    NON_PRIME = "non-prime"


@dataclass(frozen=True, slots=True)
class PrimeTime:
    """Working hours `[start, end)` in s from local midnight, on weekdays (0: Monday).

    An end before the start is on the next day.
    """

    start: SecondOfDay
    end: SecondOfDay
    days: Annotated[tuple[Annotated[int, Ge(0), Le(6)], ...], MinLen(1)] = (0, 1, 2, 3, 4, 5, 6)
    timezone: str = "UTC"

    unix_start: Time | None = None
    """Unix s of the clock's second 0 (None: unknown)."""
    first: Time = 0

    def closed(self, hours: Hours) -> list[tuple[int, int]]:
        """Closed spans, ascending and separate. Raises ValueError if `unix_start` is unknown."""
        if hours is Hours.ANY:
            return []
        if self.unix_start is None:
            raise ValueError("prime time on a clock without a start date")
        last = self.first + PRIME_YEARS * 366 * 86_400
        spans = self._spans(self.first, last, self.unix_start)
        if hours is Hours.NON_PRIME:
            return spans
        edges = [self.first, *(edge for span in spans for edge in span), last]
        gaps = zip(edges[::2], edges[1::2], strict=True)
        return [(begin, end) for begin, end in gaps if begin < end]

    def _spans(self, first: int, last: int, unix_start: int) -> list[tuple[int, int]]:
        zone = ZoneInfo(self.timezone)
        day = datetime.fromtimestamp(first + unix_start, zone).date() - _DAY
        until = datetime.fromtimestamp(last + unix_start, zone).date()
        spans = []
        while day <= until:
            if day.weekday() in self.days:
                following = day if self.end > self.start else day + _DAY
                begin, end = _moment(day, self.start, zone), _moment(following, self.end, zone)
                if begin < end:  # otherwise skipped by a clock change
                    spans.append((begin - unix_start, end - unix_start))
            day += _DAY
        return [span for span in united(spans) if span[0] < last and span[1] > first]


def _moment(day: date, second: int, zone: ZoneInfo) -> int:
    shown = datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(seconds=second)
    return int(shown.astimezone(UTC).timestamp())


class PermittedStarts:
    """Permitted starts: all times outside some spans `[start, end)`, on the trace's clock."""

    def __init__(self, closed: Iterable[tuple[int, int]]) -> None:
        self.edges = [edge for span in united(closed) for edge in span]
        """Alternating closings and openings, ascending."""

    def opens(self, time: int) -> int:
        """First permitted start from `time` on (FOREVER: none)."""
        place = bisect_right(self.edges, time)
        return self.edges[place] if place % 2 else time

    def open_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """Open parts of `[start, end)`, ascending."""
        spans, time = [], self.opens(start)
        while time < end:
            closes = self.changes(time)
            spans.append((time, min(closes, end)))
            time = self.opens(closes)
        return spans

    def longest_closed(self, time: int) -> int:
        """Longest wait in s for an opening, from `time` on."""
        pairs = zip(self.edges[::2], self.edges[1::2], strict=True)
        return max((opened - max(closed, time) for closed, opened in pairs if opened > time), default=0)

    def changes(self, time: int) -> int:
        """Next opening or closing after `time` (FOREVER: none)."""
        place = bisect_right(self.edges, time)
        return self.edges[place] if place < len(self.edges) else FOREVER


ALWAYS = PermittedStarts(())


@dataclass(frozen=True, slots=True)
class Queue:
    """Site's queue. None: no limit. Spans are on the trace's clock."""

    name: Text
    expected_wait_s: Limit | None = None
    """Expected waiting time (ewt, thesis 4.1)."""
    longest_wait_s: Limit | None = None
    """Limit before jobs are late (thesis 4.5)."""
    priority: Priority = 0
    """Higher goes first."""
    groups: Annotated[tuple[Count, ...], MinLen(1)] | None = None
    max_units: Limit | None = None
    max_walltime_s: Limit | None = None
    max_job: dict[str, Count] = field(default_factory=dict)
    hours: Hours = Hours.ANY
    stopped: tuple[tuple[Edge, Edge], ...] = ()
    """Spans without job starts."""

    @property
    def is_closed_at_times(self) -> bool:
        """Whether the queue is sometimes closed."""
        return self.hours is not Hours.ANY or bool(self.stopped)

    def refusal(self, job: Job, kinds: tuple[str, ...]) -> str:
        """Reason for refusing a job, or "". All requests must fit."""
        if len(job.requests) > 1:
            return next(filter(None, (self.refusal(job.with_request(i), kinds) for i in range(len(job.requests)))), "")
        if self.max_units is not None and job.units > self.max_units:
            return f"requests {job.units} units; queue {self.name} allows at most {self.max_units}"
        if self.max_walltime_s is not None and job.walltime > self.max_walltime_s:
            return f"requests {job.walltime} s; queue {self.name} allows at most {self.max_walltime_s} s"
        for kind, amount in zip(kinds, job.amounts, strict=True):
            most = self.max_job.get(kind)
            if most is not None and amount > most:
                requested, allowed = amount_in_words(kind, amount), amount_in_words(kind, most)
                return f"requests {requested}; queue {self.name} allows at most {allowed}"
        return ""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Exclusive capacity for a queue's jobs, on the trace's clock."""

    name: Text
    queue: Text
    nodes: Annotated[tuple[Count, ...], MinLen(1)]
    spans: Annotated[tuple[tuple[Time, Time], ...], MinLen(1)]
    """Ascending and separate."""
    resources: dict[str, Count] | None = None
    """Amounts per node; None: all."""
    users: tuple[str, ...] | None = None
    """None: all."""
    stands: bool = True

    def last_start(self, walltime: int) -> int:
        """Last start of a job that ends in time (NO_TIME: too long)."""
        return max((end - walltime for start, end in self.spans if end - start >= walltime), default=NO_TIME)

    def refusal(self, job: Job) -> str:
        """Reason for refusing the job, or ""."""
        if not self.stands:
            return f"reservation {self.name} does not exist now"
        if self.users is not None and job.user not in self.users:
            return f"user {job.user or '(none)'} may not use reservation {self.name}"
        if self.last_start(job.least_walltime) < job.earliest:
            return f"requests {job.least_walltime} s, but reservation {self.name} ends earlier"
        return ""

    def reserved_amounts(self, capacity: Ints, kinds: tuple[str, ...]) -> Ints:
        """Reserved amounts, (nodes, kinds)."""
        found = np.zeros_like(capacity)
        nodes = list(self.nodes)
        if self.resources is None:
            found[nodes] = capacity[nodes]
        else:
            found[nodes] = [self.resources.get(kind, 0) for kind in kinds]
        return found
