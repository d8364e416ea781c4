"""The queues of a site and its reservations: limits of jobs, their nodes, and when they may start."""

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
"""Unix s of the year 9000: what begins later has no calendar."""
PRIME_YEARS = 20
"""For how long after the first submission prime time is kept apart; later all hours are alike."""
_DAY = timedelta(days=1)
SecondOfDay = Annotated[int, Ge(0), Le(86_400)]


class Hours(StrEnum):
    """In which hours jobs of a queue may start."""

    ANY = "any"
    PRIME = "prime"
    NON_PRIME = "non-prime"


@dataclass(frozen=True, slots=True)
class PrimeTime:
    """The hours of the working day, `[start, end)` in s from midnight of a time zone, on these weekdays (0: Monday).

    An end before the start is on the next day.
    """

    start: SecondOfDay
    end: SecondOfDay
    days: Annotated[tuple[Annotated[int, Ge(0), Le(6)], ...], MinLen(1)] = (0, 1, 2, 3, 4, 5, 6)
    timezone: str = "UTC"

    unix_start: Time | None = None
    """Unix s of second 0 of a trace's clock (None: nobody has said it)."""
    first: Time = 0
    """The first submission on that clock; nothing is asked of what was before."""

    def closed(self, hours: Hours) -> list[tuple[int, int]]:
        """When no job of a queue with such hours may start: spans on the trace's clock, ascending and apart.

        ValueError where nobody has said when the clock began.
        """
        if hours is Hours.ANY:
            return []
        if self.unix_start is None:
            raise ValueError("prime time on a clock of which nobody knows when it began")
        last = self.first + PRIME_YEARS * 366 * 86_400
        spans = self._spans(self.first, last, self.unix_start)
        if hours is Hours.NON_PRIME:
            return spans
        edges = [self.first, *(edge for span in spans for edge in span), last]
        gaps = zip(edges[::2], edges[1::2], strict=True)
        return [(begin, end) for begin, end in gaps if begin < end]

    def _spans(self, first: int, last: int, unix_start: int) -> list[tuple[int, int]]:
        """When it is prime time: spans that meet `[first, last)`, on the trace's clock, ascending and apart."""
        zone = ZoneInfo(self.timezone)
        day = datetime.fromtimestamp(first + unix_start, zone).date() - _DAY
        until = datetime.fromtimestamp(last + unix_start, zone).date()
        spans = []
        while day <= until:
            if day.weekday() in self.days:
                following = day if self.end > self.start else day + _DAY
                begin, end = _moment(day, self.start, zone), _moment(following, self.end, zone)
                if begin < end:  # else clocks are put forward over all of it
                    spans.append((begin - unix_start, end - unix_start))
            day += _DAY
        return [span for span in united(spans) if span[0] < last and span[1] > first]


def _moment(day: date, second: int, zone: ZoneInfo) -> int:
    """Unix s of a time of day that clocks there show."""
    shown = datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(seconds=second)
    return int(shown.astimezone(UTC).timestamp())


class Starts:
    """When jobs of a queue may start: always but in some spans `[start, end)`, on the trace's clock."""

    def __init__(self, closed: Iterable[tuple[int, int]]) -> None:
        """The spans may touch and overlap."""
        self.edges = [edge for span in united(closed) for edge in span]
        """When it is closed and opened in turn, ascending."""

    def opens(self, time: int) -> int:
        """The first time at which one may start, from `time` on (FOREVER: none)."""
        place = bisect_right(self.edges, time)
        return self.edges[place] if place % 2 else time

    def open_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of `[start, end)` in which one may start, ascending."""
        spans, time = [], self.opens(start)
        while time < end:
            closes = self.changes(time)
            spans.append((time, min(closes, end)))
            time = self.opens(closes)
        return spans

    def longest_closed(self, time: int) -> int:
        """How long one has to wait at most until it is open, from `time` on, in s."""
        pairs = zip(self.edges[::2], self.edges[1::2], strict=True)
        return max((opened - max(closed, time) for closed, opened in pairs if opened > time), default=0)

    def changes(self, time: int) -> int:
        """When it is next open after being closed, or closed after being open, after `time` (FOREVER: never)."""
        place = bisect_right(self.edges, time)
        return self.edges[place] if place < len(self.edges) else FOREVER


ALWAYS = Starts(())


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of a site. Nothing is limited that is not stated (None); spans are on the trace's clock."""

    name: Text
    expected_wait_s: Limit | None = None
    """What its jobs are told to expect (ewt, thesis 4.1)."""
    longest_wait_s: Limit | None = None
    """Whoever waits longer is late (thesis 4.5)."""
    priority: Priority = 0
    """Jobs of the queue with the higher go first."""
    groups: Annotated[tuple[Count, ...], MinLen(1)] | None = None
    """Node groups that its jobs may use, by index."""
    max_units: Limit | None = None
    max_walltime_s: Limit | None = None
    max_job: dict[str, Count] = field(default_factory=dict)
    """What all units of a job may ask for together, by kind."""
    hours: Hours = Hours.ANY
    stopped: tuple[tuple[Edge, Edge], ...] = ()
    """When none of its jobs may start."""

    @property
    def is_closed_at_times(self) -> bool:
        """Whether there are times at which none of its jobs may start."""
        return self.hours is not Hours.ANY or bool(self.stopped)

    def refusal(self, job: Job, kinds: tuple[str, ...]) -> str:
        """Why it takes no such job, whose request is of these kinds; empty if it does. No request may be too much."""
        if len(job.requests) > 1:
            return next(filter(None, (self.refusal(job.taking(i), kinds) for i in range(len(job.requests)))), "")
        if self.max_units is not None and job.units > self.max_units:
            return f"asks for {job.units} units, queue {self.name} takes {self.max_units} at most"
        if self.max_walltime_s is not None and job.walltime > self.max_walltime_s:
            return f"asks for {job.walltime} s, queue {self.name} takes {self.max_walltime_s} s at most"
        for kind, amount in zip(kinds, job.amounts, strict=True):
            most = self.max_job.get(kind)
            if most is not None and amount > most:
                asks, takes = amount_in_words(kind, amount), amount_in_words(kind, most)
                return f"asks for {asks}, queue {self.name} takes {takes} at most"
        return ""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for the jobs of a queue, who have no other; a standing one has several spans. On the trace's clock."""

    name: Text
    queue: Text
    nodes: Annotated[tuple[Count, ...], MinLen(1)]
    """Ascending."""
    spans: Annotated[tuple[tuple[Time, Time], ...], MinLen(1)]
    """When, `[start, end)` each, ascending and apart."""
    resources: dict[str, Count] | None = None
    """What is kept on each node, by kind; None: all that it has."""
    users: tuple[str, ...] | None = None
    """Who may use it; None: everybody."""
    stands: bool = True
    """Whether it has been made."""

    def last_start(self, walltime: int) -> int:
        """The last start of a job that ends in time by its walltime (NO_TIME: it is longer than each span)."""
        return max((end - walltime for start, end in self.spans if end - start >= walltime), default=NO_TIME)

    def refusal(self, job: Job) -> str:
        """Why it takes no such job; empty if it does."""
        if not self.stands:
            return f"reservation {self.name} does not stand"
        if self.users is not None and job.user not in self.users:
            return f"user {job.user or '(none)'} may not use reservation {self.name}"
        if self.last_start(job.least_walltime) < job.earliest:
            return f"asks for {job.least_walltime} s, and reservation {self.name} is not free for so long any more"
        return ""

    def kept(self, capacity: Ints, kinds: tuple[str, ...]) -> Ints:
        """What it keeps of each node, shape (nodes, kinds), of what the nodes have of these kinds."""
        found = np.zeros_like(capacity)
        nodes = list(self.nodes)
        if self.resources is None:
            found[nodes] = capacity[nodes]
        else:
            found[nodes] = [self.resources.get(kind, 0) for kind in kinds]
        return found
