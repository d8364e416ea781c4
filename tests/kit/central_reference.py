"""A second central dispatcher, whole and slow: what the one in the package must do, start by start and node by node.

One array entry a second, every job tried again at every instant at which anything changes. Events are batched. Where
durations are predicted, nobody looks again when a reservation begins, only when somebody has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from kit import choices
from kit.actual import asking
from kit.dense import ONE, DenseNode, Offer, dense_nodes
from kit.replay import Decision
from kit.shapes_reference import Pieces, ShapeSearch
from kit.time_dependent_orders import number_of

from dardis.dispatch import CentralSetUp
from dardis.dispatch.setups import Ordering, ProfileCheck
from dardis.model.choices import Correction, OnOff, ProfileRule, UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.offer_rows import NODE_CHOICES
from dardis.model.platform import Platform
from dardis.model.queues import ALWAYS
from dardis.model.target import DesiredProfile
from dardis.predict.base import raise_prediction

Claim = tuple[int, dict[int, int]]
"""Start, and node to units."""


@dataclass
class Waiting:
    """A job in the queue, what it has reserved, and whether the desired profile no longer binds it."""

    job: ActualJob
    span: int
    """For how long it is to hold its nodes."""
    reserved: Claim | None = None
    ignores: bool = False
    taken: int = 0
    """Which of its requests it has reserved for."""

    @property
    def spanned(self) -> ActualJob:
        """The job as if that were its walltime."""
        return asking(self.job, walltime=self.span)


class SlowDispatcher:
    """Runs the jobs, in (submit, number) order; then `claims` holds where each that ran was, by number."""

    def __init__(
        self, platform: Platform, jobs: Sequence[ActualJob], setup: CentralSetUp, desired: DesiredProfile | None,
        seed: int, expected: Mapping[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.claims: dict[int, Claim] = {}
        self.pieces: dict[int, Pieces] = {}
        """Where each part is of a job that has requests, and which of them it runs as."""
        self.taken: dict[int, int] = {}
        self._shapes = ShapeSearch(platform, setup.node_choice, distinct=setup.units_per_node is UnitsPerNode.DISTINCT)
        self._setup, self._seed = setup, seed
        self._jobs = {job.number: job for job in jobs}
        self._predicts, self._expected = expected is not None, expected or {job.number: job.walltime for job in jobs}
        self._by_steps = self._predicts and setup.correction is Correction.STEPS
        self._binds = desired is not None and setup.profile is not ProfileRule.OFF
        self._soft = setup.profile is ProfileRule.SOFT
        self._instant = setup.profile_check is ProfileCheck.INSTANT
        self._group = platform.group_of_node
        last = [job.earliest for job in jobs] + [job.latest or 0 for job in jobs]
        last += [window.end for window in platform.maintenance] + [(desired and desired.last_breakpoint) or 0]
        self._starts_of = platform.starts_of
        self._edges = {edge for starts in platform.hours.values() for edge in starts.edges}
        self._keeps_closed = setup.backfill is OnOff.ON and setup.backfill_depth == 0 and setup.backfill_window == 0
        last += [*self._edges]
        longest = [max([job.walltime, *(request.walltime for request in job.job.requests)]) for job in jobs]
        self._until = max(last) + sum(longest) + 1
        self._nodes = dense_nodes(platform, desired, self._until)
        self._alone = dense_nodes(platform, desired, self._until)
        self._platform = platform
        self._first = min(job.submit for job in jobs)
        self._weighs = setup.rule == "multifactor" and setup.queue_weight > 0
        self._held_until: dict[int, int] = {}
        """Until when the nodes of each running job are taken."""
        everybody = self._binds and not self._soft and not self._instant
        self._bounds = {window.start for window in platform.maintenance}
        self._bounds |= {second + 1 for node in self._alone for second in _changes(node)} if everybody else set()
        self._queue: list[Waiting] = []
        self._running: dict[int, Claim] = {}
        self._run(jobs)

    def _run(self, jobs: Sequence[ActualJob]) -> None:
        changes = {second + 1 for node in self._alone for second in _changes(node)}
        changes |= self._edges
        arrivals = {job.earliest for job in jobs}
        now = -1
        while True:
            ends = {self._end(number) for number in self._running}
            reserved = {w.reserved[0] for w in self._queue if w.reserved and not self._predicts}
            lapses = self._soft and self._binds
            latest = {w.job.latest for w in self._queue if w.job.latest is not None and lapses}
            expiries = {*self._held_until.values()} if self._by_steps and self._queue else set()
            ahead = [time for time in changes | arrivals | ends | reserved | latest | expiries if time > now]
            if not ahead:
                return
            now = min(ahead)
            ended = [
                number for number, (start, _) in self._running.items() if start + self._jobs[number].duration == now
            ]
            for number in ended:
                self._take(self._jobs[number], self._running.pop(number)[1], now, self._held_until.pop(number), -1)
            if now in changes:
                self._queue = [waiting for waiting in self._queue if self._has_hope(waiting, now)]
            new = [Waiting(job, job.walltime) for job in jobs if job.earliest == now]
            new = [waiting for waiting in new if self._has_hope(waiting, now)]
            self._queue += new
            if new or ended or now in changes | reserved | latest | expiries:
                self._decide(now, freed=self._learn(now) or bool(ended))

    def _learn(self, now: int) -> bool:
        """See for how long who waits and who runs holds nodes; whether reservations may improve by it."""
        learned = False
        for waiting in self._queue:
            if waiting.job.job.requests:
                continue
            expected, walltime = self._expected[waiting.job.number], waiting.job.walltime
            span = walltime if any(now < bound < now + walltime for bound in self._bounds) else expected
            if span != waiting.span:
                learned |= waiting.reserved is not None
                self._give_back(waiting, now)
                waiting.span = span
        outrun = [number for number, until in self._held_until.items() if until <= now]
        for waiting in self._queue if outrun else ():
            self._give_back(waiting, now)
        for number in outrun:
            start, taken = self._running[number]
            until = now + 1
            if self._by_steps:
                until = start + raise_prediction(self._expected[number], self._jobs[number].walltime, now - start)
            self._take(self._jobs[number], taken, now, until, 1)
            self._held_until[number] = until
        return learned or bool(outrun)

    def _end(self, number: int) -> int:
        return self._running[number][0] + self._jobs[number].duration

    def _has_hope(self, waiting: Waiting, now: int) -> bool:
        """Whether the job, were it alone, would ever start; a soft profile gives way to it if it would not."""
        if waiting.job.job.requests:
            return any(map(self._shapes.order, waiting.job.job.requests))
        if self._decision(waiting.job, self._alone).earliest(now, self._until, desired_binds=False) is None:
            return False
        if not self._binds or waiting.ignores:
            return True
        job = asking(waiting.job, walltime=1) if self._instant else waiting.job
        fits = self._decision(job, self._alone).earliest(now, self._until, desired_binds=True) is not None
        waiting.ignores = not fits and self._soft
        return fits or self._soft

    def _decision(self, job: ActualJob, nodes: list[DenseNode]) -> Decision:
        eligible = [node for node in range(len(nodes)) if job.groups >> int(self._group[node]) & 1]
        starts = self._starts_of(job.queue) if nodes is self._nodes else ALWAYS
        return Decision(job, 0, nodes, eligible, self._setup.units_per_node is UnitsPerNode.DISTINCT, 0, starts)

    def _key(self, waiting: Waiting, order: str, now: int) -> tuple[float, ...]:
        """Where the job stands in that order."""
        job = replace(waiting.job.job, prediction=self._expected[waiting.job.number])
        level = 0 if self._weighs else self._platform.level_of(job.queue)
        number = number_of(order, job, now, self._first, self._platform, self._setup)
        return -level, number, job.submit, job.number

    def _decide(self, now: int, *, freed: bool) -> None:
        backfill = self._setup.backfill is OnOff.ON
        window = self._setup.backfill_window
        for waiting in self._queue if self._setup.backfill_depth > 0 or self._predicts or window else ():
            self._give_back(waiting, now)
        waiting_now = []
        for waiting in self._queue:
            if self._keeps_closed or self._is_open(waiting, now):
                waiting_now.append(waiting)
            elif waiting.reserved is not None:
                self._give_back(waiting, now)
                freed = True
        in_order = sorted(waiting_now, key=lambda waiting: self._key(waiting, self._setup.rule, now))
        blocked = None
        for waiting in in_order:
            if not self._try(waiting, now, freed) and self._setup.ordering is Ordering.STRICT:
                blocked = waiting
                break
        if blocked is not None and backfill:
            first = in_order.index(blocked)
            looked_at = in_order[first : first + window] if window else in_order
            for waiting in sorted(looked_at, key=lambda waiting: self._key(waiting, self._setup.order, now)):
                if waiting is not blocked and waiting in self._queue:
                    self._try(waiting, now, freed)

    def _is_open(self, waiting: Waiting, now: int) -> bool:
        return self._starts_of(waiting.job.queue).opens(now) == now

    def _give_back(self, waiting: Waiting, now: int) -> None:
        if waiting.reserved is not None:
            start, taken = waiting.reserved
            self._take(waiting.job, taken, max(now, start), start + waiting.span, -1)
            waiting.reserved = None

    def _try(self, waiting: Waiting, now: int, freed: bool) -> bool:
        """Whether the job starts now; else it keeps, improves or gets a reservation, where it may have one."""
        if waiting.reserved is not None and waiting.reserved[0] > now and not freed:
            return False
        if waiting.reserved is not None and waiting.reserved[0] == now and not (self._binds and self._instant):
            return self._begin(waiting, waiting.reserved, now)
        self._give_back(waiting, now)
        if waiting.job.job.requests:
            return self._try_shape(waiting, now)
        job, decision = waiting.job, self._decision(waiting.spanned, self._nodes)
        late = job.latest is not None and now >= job.latest
        binds = self._binds and not (self._soft and (waiting.ignores or late))
        offers = self._offers_now(decision, now, binds)
        fits = len(choices.starts_that_count(offers, job.units, decision.distinct)) > 0
        if fits and self._is_open(waiting, now):
            return self._begin(waiting, self._claim(waiting, offers, 0, now), now)
        held = sum(other.reserved is not None for other in self._queue)
        if self._setup.backfill is OnOff.ON and (self._setup.backfill_depth == 0 or held < self._setup.backfill_depth):
            self._reserve(waiting, decision, now, spans=binds and not self._instant)
        return False

    def _try_shape(self, waiting: Waiting, now: int) -> bool:
        """The same of a job with requests: as the first that finds nodes now, else as that which ends first."""
        requests = waiting.job.job.requests
        held = [place for place, request in enumerate(requests) if self._shapes.order(request)]
        for place in held if self._is_open(waiting, now) else ():
            if self._shapes.place(requests[place], self._nodes, now) is not None:
                return self._begin(waiting, self._claim_shape(waiting, place, now), now)
        reserved = sum(other.reserved is not None for other in self._queue)
        if self._setup.backfill is OnOff.OFF or 0 < self._setup.backfill_depth <= reserved:
            return False
        starts = self._starts_of(waiting.job.queue)
        ends = []
        for place in held:
            start = self._shapes.earliest(requests[place], self._nodes, starts, now, self._until)
            if start is not None:
                ends.append((start + requests[place].walltime, place, start))
        if ends:
            self._claim_shape(waiting, *min(ends)[1:])
        return False

    def _claim_shape(self, waiting: Waiting, place: int, start: int) -> Claim:
        request = waiting.job.job.requests[place]
        pieces = self._shapes.place(request, self._nodes, start)
        assert pieces is not None
        self.pieces[waiting.job.number] = pieces
        where: Counter[int] = Counter()
        for _, units in pieces:
            where.update(units)
        waiting.span, waiting.taken = request.walltime, place
        waiting.reserved = claim = (start, dict(sorted(where.items())))
        self._take(waiting.job, claim[1], start, start + waiting.span, 1)
        return claim

    def _begin(self, waiting: Waiting, claim: Claim, now: int) -> bool:
        """It starts where it has reserved."""
        self.taken[waiting.job.number] = waiting.taken
        self._jobs[waiting.job.number] = waiting.job.with_request(waiting.taken)
        self._running[waiting.job.number] = self.claims[waiting.job.number] = claim
        self._held_until[waiting.job.number] = now + waiting.span
        self._queue = [other for other in self._queue if other is not waiting]
        return True

    def _offers_now(self, decision: Decision, now: int, binds: bool) -> choices.Offers:
        request = np.array(decision.job.request)
        asked = (now, now, now, decision.job.walltime, request, binds and not self._instant, 1)
        offers = {node: self._nodes[node].offers(*asked) for node in decision.eligible}
        if binds and self._instant:
            for node, mine in offers.items():
                limit = int(self._nodes[node].index_of_seconds(request, True)[now])
                mine.update({at: replace(offer, index=min(offer.index, limit)) for at, offer in mine.items()})
        return {node: {at: o for at, o in mine.items() if o.index >= ONE} for node, mine in offers.items()}

    def _reserve(self, waiting: Waiting, decision: Decision, now: int, *, spans: bool) -> None:
        job = waiting.spanned
        last = job.latest if self._soft and spans and job.latest is not None else self._until
        start = decision.earliest(now, last, desired_binds=spans)
        if start is None and last != self._until:
            spans, start = False, decision.earliest(now, self._until, desired_binds=False)
        if start is not None:
            asked = (now, start, start, job.walltime, np.array(job.request), spans, 1)
            offers: dict[int, dict[int, Offer]] = {n: self._nodes[n].offers(*asked) for n in decision.eligible}
            self._claim(waiting, offers, 0, start)

    def _claim(self, waiting: Waiting, offers: choices.Offers, instant: int, start: int) -> Claim:
        job, distinct = waiting.spanned, self._setup.units_per_node is UnitsPerNode.DISTINCT
        key = (self._seed, job.number, 0)
        choice = NODE_CHOICES[self._setup.node_choice]
        taken = choices.choose_nodes(offers, instant, start, job.walltime, job.units, distinct, choice, key)
        waiting.reserved = claim = (start, taken)
        self._take(job, taken, start, start + job.walltime, 1)
        return claim

    def _take(self, job: ActualJob, taken: dict[int, int], begin: int, end: int, sign: int) -> None:
        for request, where in self.pieces.get(job.number, [(job.request, taken)]) if begin < end else ():
            for node, units in where.items():
                self._nodes[node].take(begin, end, sign * units * np.array(request))


def _changes(node: DenseNode) -> list[int]:
    """The seconds after which what is free or wished on a node changes."""
    arrays = [node.free] if node.wished is None else [node.free, node.wished]
    rows = np.concatenate(arrays, axis=1)
    seconds: list[int] = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)).tolist()
    return seconds
