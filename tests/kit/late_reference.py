"""A second late scheduler, central, whole and slow: what the late managers must do, start by start and node by node.

One array entry a second, one list of all waiting jobs, no messages. The rule: at every instant at which something
happens, ends first, then arrivals, jobs are tried in the order of their keys, the oldest of the old before all others;
who fits beside the reservation starts, the first that can't reserves its earliest start. All are tried, and the
reservation is worked out anew, when a job has ended, a static change, a reserved start, an earliest start or a soft
deadline is reached, or a new job goes before the one that holds it; else only new ones are tried. A job is old a while
that depends on the work at its arrival, or the largest so far of jobs that had waited for a while, which now counts
less, in the time that the machine needs for it at the rate at which jobs have used theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import sqrt

import numpy as np
from kit import choices
from kit.actual import asking
from kit.dense import dense_nodes
from kit.replay import Decision

from dardis.model.arrays import Ints
from dardis.model.choices import EventOrder, ProfileRule, UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.offer_rows import NODE_CHOICES
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile, Split
from dardis.predict import new_predictor
from dardis.task_manager import LateSetUp

Claim = tuple[int, dict[int, int]]
"""Start, and node to units."""
Key = tuple[bool, int, float, int, int]


def key_of(job: ActualJob, now: int, oldest: int | None, kinds: Sequence[str], level: int = 0) -> Key:
    """What orders the waiting jobs; the least goes first."""
    aged = job.number == oldest
    level = 0 if aged else level
    cores = max(job.units * job.request[list(kinds).index("cores")], 1)
    key = 0.0 if aged else -(now - job.submit + 21_600) / (job.job.expected * sqrt(cores * sqrt(cores)))
    return not aged, -level, key, job.submit, job.number


def backlog_s(
    now: int, waits: list[ActualJob], runs: list[tuple[ActualJob, int]], over: list[tuple[ActualJob, int]],
    kinds: Sequence[str], machine: int,
) -> int:  # fmt: skip
    """Seconds of work: `runs` has who is bound since when, `over` who has ended, and after what time."""

    def cores(one: ActualJob) -> int:
        return one.units * one.request[list(kinds).index("cores")]

    work = sum(cores(one) * one.walltime for one in waits)
    work += max(sum(cores(one) * (start + one.walltime - now) for one, start in runs), 0)
    asked = sum(cores(one) * one.walltime for one, _ in over)
    used = sum(cores(one) * seconds for one, seconds in over)
    return int(Fraction(work * used, machine * asked) if asked else Fraction(work, machine))


@dataclass
class Waiting:
    """A job that waits, and whether it has had no turn yet."""

    job: ActualJob
    fresh: bool = True


class SlowLate:
    """Runs the jobs, in (submit, number) order; then `claims` holds where each that ran was, by number."""

    def __init__(
        self, platform: Platform, jobs: Sequence[ActualJob], setup: LateSetUp, desired: DesiredProfile | None
    ) -> None:
        self.claims: dict[int, Claim] = {}
        self._setup, self._kinds = setup, platform.kinds
        self._binds = desired is not None and setup.profile is not ProfileRule.OFF
        self._soft = setup.profile is ProfileRule.SOFT
        self._distinct = setup.units_per_node is UnitsPerNode.DISTINCT
        self._batched = setup.event_order is EventOrder.BATCHED
        self._group = platform.group_of_node
        self._starts_of, self._level_of = platform.starts_of, platform.level_of
        self._edges = sorted(edge for starts in platform.hours.values() for edge in starts.edges)
        last = [job.earliest for job in jobs] + [job.latest or 0 for job in jobs]
        last += [window.end for window in platform.maintenance] + [(desired and desired.last_breakpoint) or 0]
        last += self._edges
        self._until = max(last) + sum(2 * job.walltime + job.think for job in jobs) + 1
        self._nodes = dense_nodes(platform, desired, self._until)
        self._shared = self._binds and desired is not None and desired.split is Split.SHARED
        self._left = self._shared_at_first(platform, desired) if self._shared and desired is not None else None
        """What the nodes share, by second and kind, and milliwatts."""
        self._empty = [node.copy() for node in self._nodes]
        self._static = sorted({*self._changes(platform, desired)})
        self._jobs = {job.number: job for job in jobs}
        self._later: list[tuple[int, Waiting]] = []
        """From when on jobs have turns that may not start yet, or find no start before something changes."""
        self._lost: set[int] = set()
        """Who finds no start at any time."""
        self._queue: list[Waiting] = []
        self._held: tuple[ActualJob, Claim] | None = None
        """Who holds the reservation."""
        self._machine = platform.cores
        self._there: dict[int, ActualJob] = {}
        """Who is in the system, and may run."""
        self._over: list[tuple[ActualJob, int]] = []
        """Who has ended, after what time."""
        self._old_at: dict[int, int] = {}
        self._works: list[tuple[int, int]] = []
        """Seconds of work at each arrival, and when."""
        self._predictor = new_predictor(setup.expected, {job.number: job.duration for job in jobs}, 1)
        self._oldest: int | None = None
        self._followers: dict[int, list[int]] = {}
        self._events: list[tuple[int, int, int, bool]] = []
        """Time, ends before arrivals or after, number, whether it arrives."""
        self._run(jobs)

    def _changes(self, platform: Platform, desired: DesiredProfile | None) -> Iterator[int]:
        """When capacity changes, or the desired profile is stated anew."""
        if desired is not None:
            functions = [*desired.machine.values(), *([desired.watts] if desired.watts is not None else [])]
            yield from (time for function in functions for time in function.times[1:].tolist())
        for number, node in enumerate(self._nodes):
            yield from (np.flatnonzero((node.free[1:] != node.free[:-1]).any(axis=1)) + 1).tolist()
            for kind in range(len(platform.kinds)) if desired is not None else ():
                yield from desired.of_node(number, kind).times[1:].tolist()

    def _shared_at_first(self, platform: Platform, desired: DesiredProfile) -> Ints:
        seconds = np.arange(2 * self._until)  # runs may end after the last start
        left = np.full((len(seconds), len(platform.kinds) + 1), 1 << 60)
        for kind, function in desired.machine.items():
            left[:, kind] = np.minimum(function.at(seconds), platform.capacity[:, kind].sum())
        if desired.watts is not None:
            left[:, -1] = 1000 * desired.watts.at(seconds)
        return left

    def _need(self, job: ActualJob) -> Ints:
        """What the job takes of what is shared; the machine states no power, so a core takes the thesis's 9.455 W."""
        return job.units * np.array([*job.request, 9455 * job.request[list(self._kinds).index("cores")]])

    def _earliest(self, decision: Decision, first: int, last: int, *, desired_binds: bool) -> int | None:
        while first <= last and (start := decision.earliest(first, last, desired_binds=desired_binds)) is not None:
            need, job = self._need(decision.job), decision.job
            if not desired_binds or self._left is None:
                return start
            during = self._left[start : start + max(job.walltime, 1)]
            if (during >= need)[:, need > 0].all():
                return start
            first = start + 1
        return None

    def _run(self, jobs: Sequence[ActualJob]) -> None:
        place = {job.number: place for place, job in enumerate(jobs)}
        for job in jobs:
            if job.after is not None and place.get(job.after, len(jobs)) < place[job.number]:
                self._followers.setdefault(job.after, []).append(job.number)
            else:
                self._put(job.submit, job.number, arrives=True)
        heapify(self._events)
        now = -1
        while True:
            wake = self._wake(now)
            ahead = [time for time in (self._events[0][0] if self._events else None, wake) if time is not None]
            if not ahead:
                assert not self._queue
                assert not self._later
                return
            now = min(ahead)
            whole = now == wake
            while self._events and self._events[0][0] == now:
                _, _, number, arrives = heappop(self._events)
                if arrives:
                    self._arrive(number, now)
                else:
                    self._end(number, now)
                    whole = True
                if not self._batched:
                    self._wake_up(now, whole=True)
            if self._batched or now == wake:
                self._wake_up(now, whole=whole)

    def _put(self, time: int, number: int, *, arrives: bool) -> None:
        heappush(self._events, (time, arrives if self._batched else not arrives, number, arrives))

    def _settle(self, number: int, now: int) -> bool:
        """A job has ended or will never run: whether any follows it."""
        followers = self._followers.pop(number, [])
        for follower in followers:
            job = self._jobs[follower]
            self._put(max(job.submit, now + job.think), follower, arrives=True)
        return bool(followers)

    def _arrive(self, number: int, now: int) -> None:
        job = self._jobs[number]
        late = None if job.latest is None else job.latest + now - job.submit
        job = self._jobs[number] = asking(job, submit=now, earliest=max(job.earliest, now), latest=late)
        # Whether the machine holds it when nothing is reserved, wished or closed.
        fit = [
            min(int(node.free.max(axis=0)[k]) // need for k, need in enumerate(job.request) if need)
            for node, group in zip(self._empty, self._group.tolist(), strict=True)
            if job.groups >> group & 1
        ]
        if sum(min(f, 1) if self._distinct else f for f in fit) < job.units:
            self._settle(number, now)
            return
        expected = self._predictor.predict(job.job, now).duration
        job = self._jobs[number] = asking(job, prediction=expected)
        self._there[number] = job
        if (opens := self._starts_of(job.queue).opens(max(job.earliest, now))) > now:
            self._later.append((opens, Waiting(job)))
        else:
            self._queue.append(Waiting(job))

    def _end(self, number: int, now: int) -> None:
        self._take(self._jobs[number], self.claims[number], now, -1)
        job = self._there.pop(number)
        self._over.append((job, now - self.claims[number][0]))
        self._predictor.observe(job.job, job.duration, now)
        self._settle(number, now)

    def _wake(self, now: int) -> int | None:
        times = [time for time, _ in self._later]
        if self._queue:
            times += [time for time in (*self._static, *self._edges) if time > now]
            times += [self._held[1][0]] if self._held else []
            if self._binds and self._soft:
                latest = [waiting.job.latest for waiting in self._queue]
                times += [time for time in latest if time is not None and time > now]
        return min(times, default=None)

    def _key(self, job: ActualJob, now: int) -> Key:
        return key_of(job, now, self._oldest, self._kinds, self._level_of(job.queue))

    def _wake_up(self, now: int, *, whole: bool) -> None:
        self._queue += [waiting for time, waiting in self._later if time <= now]
        self._later = [(time, waiting) for time, waiting in self._later if time > now]
        self._oldest = min(
            (
                (self._old_at[w.job.number], w.job.submit, w.job.number)
                for w in self._queue
                if self._old_at.get(w.job.number, now) < now and self._starts_of(w.job.queue).opens(now) == now
            ),
            default=(0, 0, None),
        )[-1]
        self._date(now)
        self._queue.sort(key=lambda waiting: self._key(waiting.job, now))
        worst = self._key(self._held[0], now) if self._held else None
        open_now = [w for w in self._queue if self._starts_of(w.job.queue).opens(now) == now]
        if worst is not None and any(self._key(w.job, now) < worst for w in open_now if w.fresh):
            whole = True
        if whole and open_now:
            if self._held:
                job, claim = self._held
                self._take(job, claim, claim[0], -1)
            self._held = None
        for waiting in open_now:
            if waiting.fresh or whole:
                self._try(waiting.job, now)
        asleep = {waiting.job.number for _, waiting in self._later} | self._lost
        self._queue = [w for w in self._queue if w.job.number not in self.claims and w.job.number not in asleep]
        for waiting in self._queue:
            waiting.fresh = False

    def _date(self, now: int) -> None:
        """Fix from when on those are old of whom that is not known."""
        waits = [job for number, job in self._there.items() if number not in self.claims]
        runs = [(job, self.claims[number][0]) for number, job in self._there.items() if number in self.claims]
        new = [number for number in self._there if number not in self._old_at]
        last = [job for job in waits if now - job.submit >= self._setup.aged_after_s // 24]

        def work_s(jobs: list[ActualJob]) -> int:
            return min(backlog_s(now, jobs, runs, self._over, self._kinds, self._machine), 864_000)

        if new:
            self._works.append((work_s(last), now))
        for number in new:
            others = work_s([job for job in waits if job.number != number])
            most = max([10 * min(work_s(waits), 3 * others), *(10 * work - (now - at) for work, at in self._works)])
            after = int(min(self._setup.aged_after_s, most / 10) + (self._setup.longest_wait - 0.25) * most / 10)
            self._old_at[number] = self._there[number].submit + after

    def _try(self, job: ActualJob, now: int) -> None:
        """Let the job start, or reserve where it may."""
        eligible = [node for node in range(len(self._nodes)) if job.groups >> int(self._group[node]) & 1]
        decision = Decision(job, 0, self._nodes, eligible, self._distinct, 0, self._starts_of(job.queue))
        binds = self._binds and not (self._soft and job.latest is not None and now >= job.latest)
        if self._earliest(decision, now, now, desired_binds=binds) is not None:
            self._claim(decision, now, now, binds)
            return
        if self._held:
            return
        start = self._earliest(decision, now, self._until, desired_binds=binds)
        if binds and self._soft and (start is None or (job.latest is not None and start > job.latest)):
            binds, start = False, self._earliest(decision, now, self._until, desired_binds=False)
        if start is not None:
            self._claim(decision, now, start, binds)
        else:
            change = min((time for time in self._static if time > now), default=None)
            if change is None:
                self._lost.add(job.number)
                del self._there[job.number]
                self._settle(job.number, now)
            else:
                self._later.append((change, Waiting(job)))

    def _claim(self, decision: Decision, now: int, start: int, desired_binds: bool) -> None:
        job = decision.job
        asked = (now, start, start, job.walltime, np.array(job.request), desired_binds, 1)
        offers = {node: self._nodes[node].offers(*asked) for node in decision.eligible}
        choice = NODE_CHOICES[self._setup.node_choice]
        taken = choices.choose_nodes(offers, 0, start, job.walltime, job.units, self._distinct, choice, (0, 0, 0))
        claim = (start, taken)
        self._take(job, claim, start, 1)
        if start > now:
            self._held = job, claim
        else:
            self.claims[job.number] = claim
            self._put(now + job.duration, job.number, arrives=False)

    def _take(self, job: ActualJob, claim: Claim, begin: int, sign: int) -> None:
        start, taken = claim
        if self._left is not None:
            self._left[begin : start + job.walltime] -= sign * self._need(job)
        for node, units in taken.items():
            self._nodes[node].take(begin, start + job.walltime, sign * units * np.array(job.request))
