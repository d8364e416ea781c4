"""Where a task manager looks next when a window brought no start (thesis 5.3.6, and DESIGN's windows that double)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dardis.model.job import SHORTEST_WINDOW_S, Job
from dardis.model.queues import ALWAYS, Starts

SHIFTS = 3
"""Shifted windows that are tried before the one after the last reservation's end (thesis 5.3.6)."""


@dataclass(frozen=True, slots=True)
class Search:
    """One window `[first, last]` of starts, as a step in the search for the first window that holds a start.

    `earliest` and `latest` bound the attempt's whole window; `latest` is None without a deadline: as far as anything
    changes. `quota` says that nodes offer a few start times, not all.
    """

    attempt: int
    earliest: int
    latest: int | None
    first: int
    last: int
    desired_binds: bool
    quota: bool
    once: bool = False
    """Whether no other window is tried."""
    hears: bool = False
    """Whether nothing is offered: it is asked from when on nothing changes any more."""
    sample: int = 0
    """How many nodes are asked; 0: all."""
    draw: int = 0
    """Keys the draw of the sample."""
    is_last: bool = False
    """Whether it begins where nothing changes any more, as the last window of an attempt in hours does."""


@dataclass(frozen=True, slots=True)
class SearchRules:
    """What of a set-up and a machine the search depends on.

    `drawn`: nodes offer a quota, out of the whole window at once; else all they have, in windows that double.
    `desired_binds`: the desired profile binds; `soft`: until no start is left that does.
    """

    drawn: bool
    desired_binds: bool
    soft: bool
    grain: int = 1
    """Distance of the start times that are considered, in s."""
    hours: Mapping[str, Starts] = field(default_factory=dict)
    """When jobs may start, by queue, for those that are not always open."""

    def starts_of(self, job: Job) -> Starts:
        """When the job's queue lets it start."""
        return self.hours.get(job.queue, ALWAYS)

    @property
    def hard(self) -> bool:
        """Whether no start is ever taken that the desired profile does not allow."""
        return self.desired_binds and not self.soft

    def binds_at(self, job: Job, now: int) -> bool:
        """Whether the desired profile binds a start at `now`: a soft one counts less than the job's deadline."""
        return self.desired_binds and not (self.soft and job.latest is not None and now >= job.latest)


def _limit(search: Search, job: Job, rules: SearchRules, horizon: int) -> int:
    """Last start of the attempt's whole window; without a deadline the first of the grid after all changes."""
    if search.latest is not None:
        return search.latest
    return rules.starts_of(job).opens(max(horizon, search.earliest)) + rules.grain - 1


def in_hours(search: Search, job: Job, rules: SearchRules) -> Search | None:
    """Return the first part of the window in which the job's queue lets it start; None: there is none."""
    starts = rules.starts_of(job)
    first = starts.opens(search.first)
    if first > search.last:
        return None
    return replace(search, first=first, last=min(search.last, starts.changes(first) - 1))


def open_window(search: Search, job: Job, rules: SearchRules, horizon: int) -> Search:
    """Return the search at the first window of its attempt in which the job may start, or of the next that has one."""
    found = _opened(_whole_window(search, job, rules, horizon), job, rules, horizon, search.earliest)
    assert found is not None, "the last window of all holds an instant at which the job may start"
    return found


def _opened(search: Search | None, job: Job, rules: SearchRules, horizon: int, last_end: int) -> Search | None:
    """Return the window, or where the job may not start in it the first after it in which it may."""
    while search is not None and (found := in_hours(search, job, rules)) is None:
        search = _next(replace(search, quota=False), job, rules, horizon, last_end)
    return None if search is None else found


def _whole_window(search: Search, job: Job, rules: SearchRules, horizon: int) -> Search:
    """Return the search at the first window of its attempt, at whatever hour."""
    span = max(job.walltime, SHORTEST_WINDOW_S)
    limit = _limit(search, job, rules, horizon)
    if rules.drawn:
        last = limit if search.latest is not None else max(limit, search.earliest + span - 1)
    else:
        last = search.earliest + span - 1
        last = last if search.latest is None else min(last, search.latest)
    return replace(search, first=search.earliest, last=last, quota=rules.drawn, is_last=False)


def begin(job: Job, now: int, rules: SearchRules, horizon: int) -> Search:
    """Return the first window that a job asks for. A deadline in the past is a window of one instant."""
    earliest = max(job.earliest, now)
    latest = None if job.latest is None else max(job.latest, earliest)
    blank = Search(0, earliest, latest, earliest, earliest, rules.desired_binds, rules.drawn)
    return open_window(blank, job, rules, horizon)


def first_search(job: Job, soonest: int, now: int, rules: SearchRules, sample: int, draw: int) -> Search:
    """Return what a job asks first, of so many nodes (0: of all).

    A drawn window without a deadline ends where nothing changes any more: the job hears first when that is. A sample is
    asked for the soonest start alone, which none of the other nodes could better, unless it draws.
    """
    if rules.drawn and job.latest is None:
        search = Search(0, max(job.earliest, now), None, now, now, rules.desired_binds, quota=True, hears=True)
    else:
        search = begin(job, soonest, rules, now)
    last = search.first if sample and not rules.drawn else search.last
    return replace(search, last=last, sample=sample, draw=draw)


def advance(search: Search, job: Job, rules: SearchRules, horizon: int, last_end: int) -> Search | None:
    """Return the window to ask for after `search` brought no start; None when no window is left."""
    return _opened(_next(search, job, rules, horizon, last_end), job, rules, horizon, last_end)


def _next(search: Search, job: Job, rules: SearchRules, horizon: int, last_end: int) -> Search | None:
    """Return the window after `search`, at whatever hour."""
    if search.once:
        return None
    if search.quota:
        return replace(search, quota=False)
    limit = _limit(search, job, rules, horizon)
    if search.last < limit:
        first = search.last + 1
        return replace(search, first=first, last=min(limit, first + 2 * (first - search.first) - 1), quota=rules.drawn)
    # In hours windows begin anew, and so does the grid: the last of all begins where nothing changes any more.
    if rules.starts_of(job).edges and not search.is_last and (search.latest is None or search.attempt > SHIFTS):
        first = rules.starts_of(job).opens(max(horizon, last_end, search.earliest))
        return replace(search, first=first, last=first + rules.grain - 1, quota=rules.drawn, is_last=True)
    if search.desired_binds and rules.soft:
        return _whole_window(replace(search, desired_binds=False), job, rules, horizon)
    # Where others claim between two rounds, the last reservation may end later than the last window was to begin.
    if search.latest is None or (search.attempt > SHIFTS and last_end <= search.earliest):
        return None
    length = search.latest - search.earliest
    if search.attempt < SHIFTS:
        earliest, latest = search.latest, search.latest + 2 * max(length, 1)
    else:
        earliest = max(last_end, search.earliest)
        # A hard profile may allow the job only when it changes for the last time.
        free = max(earliest, horizon) if rules.hard else earliest
        latest = max(free + max(length, rules.grain - 1), rules.starts_of(job).opens(free) + rules.grain - 1)
    shifted = replace(
        search, attempt=search.attempt + 1, earliest=earliest, latest=latest, desired_binds=rules.desired_binds
    )
    return _whole_window(shifted, job, rules, horizon)
