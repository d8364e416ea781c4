"""Next window after a window without a start (thesis 5.3.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dardis.model.job import SHORTEST_WINDOW_S, Job
from dardis.model.queues import ALWAYS, PermittedStarts


@dataclass(frozen=True, slots=True)
class Search:
    """Window `[first, last]` of starts: one step of a search.

    `earliest` and `latest` bound the attempt; `latest` is None without a deadline: up to the last change. `quota`:
    nodes offer a few starts, not all.
    """

    attempt: int
    earliest: int
    latest: int | None
    first: int
    last: int
    desired_binds: bool
    quota: bool
    is_only_window: bool = False
    is_horizon_query: bool = False
    """Whether nodes report only their last change."""
    sample: int = 0
    """Queried nodes; 0: all."""
    draw: int = 0
    is_last: bool = False
    """Whether the window begins after the last change."""


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Search's settings.

    `drawn`: nodes offer a quota from the whole window; else all starts, in doubling windows. `desired_binds`: the
    desired profile binds. `soft`: while a start satisfies the profile.
    """

    drawn: bool
    desired_binds: bool
    soft: bool
    grain: int = 1
    """Step of starts, in s."""
    hours: Mapping[str, PermittedStarts] = field(default_factory=dict)
    """As `Layout.hours`."""
    further_windows: int = 3
    """Shifted windows before that after the last reservation (thesis 5.3.6); each is twice as long."""

    def starts_of(self, job: Job) -> PermittedStarts:
        """Queue's start hours."""
        return self.hours.get(job.queue, ALWAYS)

    @property
    def hard(self) -> bool:
        """Whether the desired profile always binds."""
        return self.desired_binds and not self.soft

    def binds_at(self, job: Job, now: int) -> bool:
        """Whether the desired profile binds at `now`. Deadlines outrank soft profiles."""
        return self.desired_binds and not (self.soft and job.latest is not None and now >= job.latest)


def _limit(search: Search, job: Job, rules: SearchRules, horizon: int) -> int:
    if search.latest is not None:
        return search.latest
    return rules.starts_of(job).opens(max(horizon, search.earliest)) + rules.grain - 1


def in_hours(search: Search, job: Job, rules: SearchRules) -> Search | None:
    """First part of the window within queue hours, or None."""
    starts = rules.starts_of(job)
    first = starts.opens(search.first)
    if first > search.last:
        return None
    return replace(search, first=first, last=min(search.last, starts.changes(first) - 1))


def open_window(search: Search, job: Job, rules: SearchRules, horizon: int) -> Search:
    """Attempt's first window within queue hours, or a later one."""
    found = _opened(_whole_window(search, job, rules, horizon), job, rules, horizon, search.earliest)
    assert found is not None, "the last window contains a possible start of the job"
    return found


def _opened(search: Search | None, job: Job, rules: SearchRules, horizon: int, last_end: int) -> Search | None:
    while search is not None and (found := in_hours(search, job, rules)) is None:
        search = _next(replace(search, quota=False), job, rules, horizon, last_end)
    return None if search is None else found


def _whole_window(search: Search, job: Job, rules: SearchRules, horizon: int) -> Search:
    span = max(job.walltime, SHORTEST_WINDOW_S)
    limit = _limit(search, job, rules, horizon)
    if rules.drawn:
        last = limit if search.latest is not None else max(limit, search.earliest + span - 1)
    else:
        last = search.earliest + span - 1
        last = last if search.latest is None else min(last, search.latest)
    return replace(search, first=search.earliest, last=last, quota=rules.drawn, is_last=False)


def first_window(job: Job, now: int, rules: SearchRules, horizon: int) -> Search:
    """First window. A past deadline allows one instant."""
    earliest = max(job.earliest, now)
    latest = None if job.latest is None else max(job.latest, earliest)
    blank = Search(0, earliest, latest, earliest, earliest, rules.desired_binds, rules.drawn)
    return open_window(blank, job, rules, horizon)


def first_search(job: Job, soonest: int, now: int, rules: SearchRules, sample: int, draw: int) -> Search:
    """First query, to `sample` nodes (0: all).

    A drawn window without a deadline ends at the last change, reported by nodes first. A sample without draws asks only
    for the earliest start.
    """
    if rules.drawn and job.latest is None:
        search = Search(
            0, max(job.earliest, now), None, now, now, rules.desired_binds, quota=True, is_horizon_query=True
        )
    else:
        search = first_window(job, soonest, rules, now)
    last = search.first if sample and not rules.drawn else search.last
    return replace(search, last=last, sample=sample, draw=draw)


def next_window(search: Search, job: Job, rules: SearchRules, horizon: int, last_end: int) -> Search | None:
    """Next window, or None."""
    return _opened(_next(search, job, rules, horizon, last_end), job, rules, horizon, last_end)


def _next(search: Search, job: Job, rules: SearchRules, horizon: int, last_end: int) -> Search | None:
    if search.is_only_window:
        return None
    if search.quota:
        return replace(search, quota=False)
    limit = _limit(search, job, rules, horizon)
    if search.last < limit:
        first = search.last + 1
        return replace(search, first=first, last=min(limit, first + 2 * (first - search.first) - 1), quota=rules.drawn)
    # Queue hours restart windows and their grid. The last window begins after the last change.
    if (
        rules.starts_of(job).edges
        and not search.is_last
        and (search.latest is None or search.attempt > rules.further_windows)
    ):
        first = rules.starts_of(job).opens(max(horizon, last_end, search.earliest))
        return replace(search, first=first, last=first + rules.grain - 1, quota=rules.drawn, is_last=True)
    if search.desired_binds and rules.soft:
        return _whole_window(replace(search, desired_binds=False), job, rules, horizon)
    # With claims of other jobs between two rounds, the last reservation may end after the planned window.
    if search.latest is None or (search.attempt > rules.further_windows and last_end <= search.earliest):
        return None
    length = search.latest - search.earliest
    if search.attempt < rules.further_windows:
        earliest, latest = search.latest, search.latest + 2 * max(length, 1)
    else:
        earliest = max(last_end, search.earliest)
        # A hard profile may allow the job only after its last change.
        free = max(earliest, horizon) if rules.hard else earliest
        latest = max(free + max(length, rules.grain - 1), rules.starts_of(job).opens(free) + rules.grain - 1)
    shifted = replace(
        search, attempt=search.attempt + 1, earliest=earliest, latest=latest, desired_binds=rules.desired_binds
    )
    return _whole_window(shifted, job, rules, horizon)
