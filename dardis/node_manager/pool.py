"""Node-manager machine of a pool: (state, message, now) to effects.

Offers reserve nothing. Confirmations are tested again, and refused if the claim no longer fits: capacity is never
exceeded, in any order of messages. No request waits: no deadlock.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from dardis.kernels.common_starts import NONE
from dardis.kernels.offers import HeldReservations
from dardis.kernels.relay_blocks import jobs_of
from dardis.model.addresses import FIRST_HOST, HostId, JobId, ManagerAddress
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER
from dardis.model.local_queries import (
    BIND_COLUMNS,
    BindQuery,
    BindResponse,
    ImproveQuery,
    ImproveResponse,
    SeekQuery,
    SeekResponse,
)
from dardis.model.placements import offsets_of
from dardis.model.platform import Maintenance, Platform
from dardis.model.target import DesiredProfile
from dardis.node_manager.pool_buffers import check_query
from dardis.node_manager.pool_state import Claim, PoolState, VirtualHosts
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Kill, Launch, SendToManager, SendToManagers, SetTimer

LAPSE, REPORT, FORGET = range(3)
"""Timer tokens: a tentative reservation lapses; repeat `Finished`; forget a release."""
LARGEST = 1 << 31
"""Above 32-bit amounts."""
_EMPTY = np.zeros(0, dtype=np.int64)
_ZEROS = np.zeros(2, dtype=np.int64)


class NodePool:
    """Node managers of the nodes `[first, last)`; answers as `host`."""

    def __init__(
        self,
        platform: Platform,
        first: int,
        last: int,
        *,
        desired: DesiredProfile | None = None,
        host: HostId = FIRST_HOST,
        seed: int = 1,
        incarnation: int = 0,
        report_every: int = 0,
        virtual_hosts: VirtualHosts | None = None,
    ) -> None:
        """With `report_every` s, messages may be lost, and ends are repeated."""
        self._platform = platform
        self._desired = None if desired is None else desired.by_node
        self.state = PoolState(platform, first, last, self._desired, virtual_hosts)
        self.host = host
        self._seed = seed
        self.incarnation = incarnation
        self._report_every = report_every
        self._claims: dict[JobId, Claim] = {}
        self._closed: dict[JobId, tuple[int, int]] = {}
        """By job: last released attempt, and expiry of its claims; for late messages."""
        self._finished: dict[JobId, int] = {}
        self._heads: dict[JobId, Ints] = {}
        self._backlogs: dict[ManagerAddress, say.BacklogReport] = {}
        self._refusers: dict[JobId, int] = {}
        """Place of the job's node that last refused an earlier start; -1: unknown."""
        self._publishes = False

    @property
    def idle(self) -> bool:
        """Whether no claim and no report is left."""
        return not self._claims and not self._finished

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Process a message; return effects."""
        match message:
            case say.OfferQuery():
                return [self._offer(message, now)]
            case say.JointQuery():
                return [self._offer_jointly(message, now)]
            case say.Confirm():
                return self._confirm(message, now)
            case say.UnitsEnded():
                return self._on_units_end(message, now)
            case say.Release():
                return self._release(message, now)
            case say.Commit():
                return self._commit(message, now)
            case say.Timer():
                return self._timer(message, now)
            case say.FinishedAck():
                return self._on_report_noted(message)
            case say.PublishRequest():
                self._publishes = self._report_every > 0
                return [self._publish(now)]
            case say.Announce() | say.BacklogReport():
                return self._on_announce(message, now)
            case say.Switch() | say.Closures():
                return self._nodes_change(message, now)
            case _:
                raise ProtocolError(f"a node manager got {type(message).__name__}")

    def answer_encoded(self, ask: Ints, now: int) -> Ints:
        """Answer to a summable ask, both in wire form; empty: decode the ask."""
        return self.state.answer_block(ask, self._held(jobs_of(ask)), self._seed, now, self.incarnation)

    def _nodes_change(self, message: say.Switch | say.Closures, now: int) -> list[Effect]:
        if isinstance(message, say.Switch):
            self.state.switch(message)
        else:
            self._rebuild_layout(message, now)
        return []

    def _rebuild_layout(self, closures: say.Closures, now: int) -> None:
        rows = zip(closures.node.tolist(), closures.span.tolist(), closures.less.tolist(), strict=True)
        windows = tuple(
            Maintenance((node,), start, end, tuple(less) if min(less) >= 0 else None)
            for node, (start, end), less in rows
        )
        old, claims = self.state, self._claims
        machine = replace(self._platform, maintenance=windows)
        self.state = PoolState(machine, old.first, old.first + old.count, self._desired, old.virtual_hosts)
        self._claims = {}
        for job, claim in claims.items():
            self._hold(job, replace(claim, start=max(claim.start, now)), now)

    def _check_query(self, ask: say.OfferQuery) -> None:
        state = self.state
        check_query(ask, state.first, state.first + state.count, state.capacity.shape[1])

    def _offer(self, ask: say.OfferQuery, now: int) -> Effect:
        self._check_query(ask)
        held = self._held(ask.job)
        answer: say.Message
        if ask.want == say.CANDIDATES:
            rows, offset = self.state.candidates(ask, held, self._seed, now, self.incarnation)
            return SendToManager(JobId(int(ask.job[0])), say.Candidates(ask.round, offset, rows))
        asked = ask.sample - self.state.first
        down_until = self.state.down_until(asked, now)
        horizon, last_end = (max(end, down_until) for end in self.state.ends(asked))
        if ask.want == say.SUMS:
            rows, offset = self.state.sums(ask, held, self._seed, now)
            answer = say.Sums(ask.round, 1, horizon, last_end, down_until, offset, rows)
        else:
            rows, offset = self.state.offers(ask, held, self._seed, now)
            answer = say.Offers(ask.round, self.host, self.incarnation, horizon, last_end, offset, rows, down_until)
        return SendToManager(JobId(int(ask.job[0])), answer)

    def _offer_jointly(self, asks: say.JointQuery, now: int) -> Effect:
        ask = asks.query
        self._check_query(ask)
        rows, offset = self.state.offers(ask, self._held(ask.job), self._seed, now)
        about = []
        for low, high in pairwise(ask.sample_offset.tolist()):
            nodes = ask.sample[low:high] - self.state.first
            down_until = self.state.down_until(nodes, now)
            about.append([*(max(end, down_until) for end in self.state.ends(nodes)), down_until])
        table = np.array(about, dtype=np.int64)
        answer = say.JointOffers(asks.rounds, ask.job, self.host, self.incarnation, table, offset, rows)
        return SendToManager(JobId(int(ask.job[0])), answer)

    # ------------------------------------------------------------------------------------------------------------------
    # Direct calls by a task manager of this process.

    def seek(self, seek: SeekQuery, now: int) -> SeekResponse:
        """Reserve a job's earliest start."""
        start, nodes, units, rounds = self.state.seek(seek, self._seed, now)
        if len(nodes):
            attempt = seek.attempt + rounds - 1
            claim = Claim(attempt, nodes - self.state.first, units, seek.request, start, start + seek.walltime, True)
            self._claims[seek.job] = claim
        return SeekResponse(start, nodes, units, rounds)

    def improve(self, improve: ImproveQuery, now: int) -> ImproveResponse:
        """Move jobs to earlier starts on their nodes."""
        numbers, attempts = improve.job.tolist(), improve.attempt.tolist()
        if not self._claims.keys() >= set(numbers):
            raise ProtocolError("a job without a reservation asks for an earlier start on its nodes")
        refuser = np.array([self._refusers.get(number, -1) for number in numbers], dtype=np.int64)
        found = self.state.improve(improve, self._held(improve.job), refuser, self._seed, now)
        moved = np.flatnonzero(found.start != NONE)
        nodes, units, offset = [_EMPTY], [_EMPTY], [0]
        starts = found.start[moved]
        for i, start, low, count in zip(
            moved.tolist(), starts.tolist(), found.at[moved].tolist(), found.count[moved].tolist(), strict=True
        ):
            nodes.append(found.nodes[low : low + count])
            units.append(found.units[low : low + count])
            offset.append(offset[-1] + count)
            old = self._claims[numbers[i]]
            self._claims[numbers[i]] = Claim(
                attempts[i], nodes[-1] - self.state.first, units[-1], old.request, start, start + old.end - old.start,
                committed=True,
            )  # fmt: skip
            refuser[i] = -1
        self._refusers.update(zip(numbers, refuser.tolist(), strict=True))
        return ImproveResponse(
            moved, starts, np.array(offset, dtype=np.int64), np.concatenate(nodes), np.concatenate(units)
        )

    def bind(self, bind: BindQuery, now: int) -> BindResponse:
        """Give late-binding jobs turns; nodes are numbered from 0."""
        told = 0
        if bind.dropped >= 0:
            told = self.state.count_due(now)
            if bind.dropped not in self._claims:
                raise ProtocolError(f"job {bind.dropped}: it gives back a reservation that it does not hold")
            self._withdraw_claim(bind.dropped, self._claims[bind.dropped], now)
        bound = self.state.bind(bind, told, self._seed, now)
        low = 0
        for place, number, start, end, count in bound.jobs.tolist():
            mine = slice(low, low + count)
            request = bind.jobs[place, BIND_COLUMNS:]
            self._claims[number] = Claim(0, bound.nodes[mine], bound.units[mine], request, start, end, committed=True)
            low += count
        return bound

    # ------------------------------------------------------------------------------------------------------------------

    def _on_announce(self, news: say.Announce | say.BacklogReport, now: int) -> list[Effect]:
        if isinstance(news, say.BacklogReport):
            known = self._backlogs.get(news.manager)
            if known is None or known.number < news.number:
                self._backlogs[news.manager] = news
            return []
        number = JobId(int(news.head[0]))
        if news.standing and news.head[-1] >= now:
            self._heads[number] = news.head
        else:
            self._heads.pop(number, None)
        return []

    def _publish(self, now: int) -> Effect:
        self._heads = {number: head for number, head in self._heads.items() if head[-1] >= now}
        heads = [self._heads[number] for number in sorted(self._heads)]
        standing = np.array(heads, dtype=np.int64).reshape(-1, say.HEAD_COLUMNS)
        state = self.state
        nodes = state.published(now, whole=self._report_every > 0)
        rows = [[manager, told.number, *told.totals.tolist()] for manager, told in sorted(self._backlogs.items())]
        backlogs = np.array(rows, dtype=np.int64).reshape(-1, say.BACKLOG_COLUMNS)
        answer = say.Published(self.host, self.incarnation, now, state.next_change(now), standing, backlogs, *nodes)
        return SendToManagers(answer)

    def _held(self, jobs: Ints) -> HeldReservations:
        claims = [self._claims.get(job) for job in jobs.tolist()]
        some = [claim for claim in claims if claim is not None]
        if not some:
            zero = _ZEROS if len(claims) == 1 else np.zeros(len(claims) + 1, dtype=np.int64)
            return HeldReservations(zero, _EMPTY, _EMPTY, zero, zero)
        sizes = [0 if claim is None else len(claim.nodes) for claim in claims]
        return HeldReservations(
            offsets_of(sizes),
            np.concatenate([claim.nodes for claim in some]),
            np.concatenate([claim.units for claim in some]),
            np.array([0 if claim is None else claim.start for claim in claims], dtype=np.int64),
            np.array([0 if claim is None else claim.end for claim in claims], dtype=np.int64),
        )

    def _confirm(self, confirm: say.Confirm, now: int) -> list[Effect]:
        job, attempt = confirm.job, confirm.attempt
        refused = SendToManager(job, say.Refused(job, attempt, self.host))
        old = self._claims.get(job)
        if self._finished.get(job) == attempt or (old is not None and old.attempt == attempt):
            return [SendToManager(job, say.Reserved(job, attempt, self.host))] if confirm.tentative else []
        expired = confirm.start < now or confirm.expires <= now
        stale = confirm.incarnation != self.incarnation or attempt <= self._closed.get(job, (-1, 0))[0]
        if stale or expired or (old is not None and old.attempt > attempt) or not self._is_sound(confirm):
            return [refused]
        effects: list[Effect] = []
        if old is not None and confirm.tentative:
            # A later claim revokes the earlier, even if the release arrives late.
            effects, old = self._close(job, old.attempt, old.start, now), None
        elif old is not None:
            self._withdraw_claim(job, old, now)
        nodes = confirm.nodes - self.state.first
        end = confirm.start + confirm.walltime
        if not self.state.reserve(nodes, confirm.units, confirm.request, confirm.start, end, now):
            if old is not None:
                self._hold(job, old, now)
            return [*effects, refused]
        claim = Claim(attempt, nodes, confirm.units, confirm.request, confirm.start, end, not confirm.tentative)
        self._claims[job] = claim
        self.state.book(nodes, job, claim.start, now)
        if confirm.tentative:
            lapse = SetTimer(claim.start, say.Timer(job, attempt, LAPSE))
            return [*effects, SendToManager(job, say.Reserved(job, attempt, self.host)), lapse]
        return [self._launch(job, claim)]

    def _is_sound(self, confirm: say.Confirm) -> bool:
        nodes, units, request, first = confirm.nodes, confirm.units, confirm.request, self.state.first
        return bool(
            0 < len(nodes) == len(units) and len(request) == self.state.capacity.shape[1] and confirm.walltime > 0
            and first <= nodes[0] and nodes[-1] < first + self.state.count and (nodes[1:] > nodes[:-1]).all()
            and units.min() > 0 and request.min() >= 0 and int(units.max()) * int(request.max()) < LARGEST
        )  # fmt: skip

    def _launch(self, job: JobId, claim: Claim) -> Launch:
        return Launch(job, claim.attempt, claim.nodes + self.state.first, claim.units, claim.start, claim.end)

    def _hold(self, job: JobId, claim: Claim, now: int) -> None:
        over = claim.start >= claim.end
        if not over and not self.state.reserve(claim.nodes, claim.units, claim.request, claim.start, claim.end, now):
            raise ProtocolError(f"job {job}: a reservation does not fit again after its release")
        self._claims[job] = claim
        self.state.book(claim.nodes, job, claim.start, now)

    def _withdraw_claim(self, job: JobId, claim: Claim, now: int) -> None:
        del self._claims[job]
        self._refusers.pop(job, None)
        self.state.unbook(claim.nodes, job, claim.start)
        start = max(claim.start, now)
        if start < claim.end:
            self.state.release(claim.nodes, claim.units, claim.request, start, claim.end, now)

    def _on_units_end(self, ended: say.UnitsEnded, now: int) -> list[Effect]:
        claim = self._claims.get(ended.job)
        if claim is None:
            return [SendToManager(ended.job, say.CapacityFreed(self.host, _EMPTY, 0))] if ended.depth else []
        self._withdraw_claim(ended.job, claim, now)
        effects: list[Effect] = []
        if ended.depth:
            later = self.state.later_jobs(claim.nodes, now, ended.depth)
            effects.append(SendToManager(ended.job, say.CapacityFreed(self.host, *later)))
        if self._report_every:
            self._finished[ended.job] = claim.attempt
            effects += self._report(ended.job, claim.attempt, now)
            effects += [self._publish(now)] if self._publishes else []
        return effects

    def _report(self, job: JobId, attempt: int, now: int) -> list[Effect]:
        again = SetTimer(now + self._report_every, say.Timer(job, attempt, REPORT))
        return [SendToManager(job, say.Finished(job, attempt, self.host)), again]

    def _on_report_noted(self, noted: say.FinishedAck) -> list[Effect]:
        if self._finished.get(noted.job) == noted.attempt:  # a late one must not silence a later attempt's report
            del self._finished[noted.job]
        return []

    def _close(self, job: JobId, attempt: int, expires: int, now: int) -> list[Effect]:
        # Expired confirmations are refused anyway and need no entry.
        effects: list[Effect] = []
        known = self._closed.get(job, (-1, now))
        closed = max(attempt, known[0]), max(expires, known[1])
        if now < closed[1] and closed != known and self._report_every:  # elsewhere messages are never late
            self._closed[job] = closed
            effects.append(SetTimer(closed[1], say.Timer(job, attempt, FORGET)))
        claim = self._claims.get(job)
        if claim is None or claim.attempt > attempt:
            return effects
        self._withdraw_claim(job, claim, now)
        effects.append(Kill(job, claim.attempt))
        return [*effects, self._publish(now)] if self._publishes else effects

    def _release(self, release: say.Release, now: int) -> list[Effect]:
        effects = self._close(release.job, release.attempt, release.expires, now)
        if self._finished.get(release.job, FOREVER) <= release.attempt:
            del self._finished[release.job]
        if not self._report_every:
            return effects
        return [*effects, SendToManager(release.job, say.Released(release.job, release.attempt, self.host))]

    def _commit(self, commit: say.Commit, now: int) -> list[Effect]:
        job, attempt = commit.job, commit.attempt
        claim = self._claims.get(job)
        if self._finished.get(job) == attempt:
            return [SendToManager(job, say.Committed(job, attempt, self.host))]
        if claim is None or claim.attempt != attempt:
            return [SendToManager(job, say.Refused(job, attempt, self.host))]
        done = SendToManager(job, say.Committed(job, attempt, self.host))
        if claim.committed:
            return [done]
        if now > claim.start:
            return [
                *self._close(job, attempt, claim.start, now),
                SendToManager(job, say.Refused(job, attempt, self.host)),
            ]
        claim = Claim(attempt, claim.nodes, claim.units, claim.request, claim.start, claim.end, committed=True)
        self._claims[job] = claim
        return [done, self._launch(job, claim)]

    def _timer(self, timer: say.Timer, now: int) -> list[Effect]:
        if timer.token == REPORT:
            return self._report(timer.job, timer.attempt, now) if self._finished.get(timer.job) == timer.attempt else []
        if timer.token == FORGET:
            if self._closed.get(timer.job, (0, FOREVER))[1] <= now:
                del self._closed[timer.job]
            return []
        claim = self._claims.get(timer.job)
        if claim is None or claim.attempt != timer.attempt or claim.committed:
            return []
        return self._close(timer.job, timer.attempt, claim.start, now)
