"""Routing of queries to hosts, and repeated queries."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dardis.model.addresses import FIRST_HOST, HostId, ManagerAddress, all_hosts, first_living_host
from dardis.model.job import FOREVER
from dardis.task_manager.layout import Layout
from dardis.task_manager.rounds import JobState, Round
from dardis.task_manager.sampling import Sampling, query_for_nodes
from dardis.task_manager.search_windows import Search, SearchRules, in_hours
from dardis.task_manager.setups import BackfillScope, Reach
from dardis.wire import messages as say
from dardis.wire.effects import Send, SendAll, ToHosts


class QueryRouter:
    """Queries to hosts, direct, by tree or to samples."""

    def __init__(self, layout: Layout, reach: Reach, address: ManagerAddress, resend: int, gone: set[HostId]) -> None:
        """`resend`: s until tree hosts ask again (0: never). `gone`: dead hosts, updated by the caller."""
        self._layout = layout
        self._hosts = layout.hosts
        self._arity = reach.arity
        self._levels = reach.levels(layout.hosts)
        self._address = address
        self._resend = resend
        self._gone = gone
        self._questions = 0

    def queried_hosts(self, ask: say.OfferQuery, states: Sequence[JobState]) -> tuple[HostId, ...] | None:
        """Queried hosts (None: all)."""
        if len(ask.sample_offset):
            return tuple(np.unique(self._layout.host_of(ask.sample)).tolist())
        return tuple(sorted({host for state in states for host in state.hosts})) if ask.held_only else None

    def first_messages(self, this: Round, step: int) -> Sequence[ToHosts]:
        """Round's messages. Each tree level waits `step` s longer than the level below."""
        return self._to_all(this, step) if this.hosts is None else [self._to(host, this) for host in this.hosts]

    def repeat_messages(self, this: Round, step: int) -> Sequence[ToHosts]:
        """Messages to silent hosts, or to all for joint answers."""
        if this.sent_query.want == say.ROWS:
            return [self._to(host, this) for host in self._missing_hosts(this)]
        return [] if this.is_answered else self._to_all(this, step)

    def is_incomplete(self, this: Round) -> bool:
        """Whether answers are missing."""
        if this.sent_query.want != say.ROWS:
            return not this.is_answered
        asked = self._hosts if this.hosts is None else len(this.hosts)
        return len(this.offers) + len(self._gone) < asked or bool(self._missing_hosts(this))

    def _missing_hosts(self, this: Round) -> list[HostId]:
        hosts = all_hosts(self._hosts) if this.hosts is None else this.hosts
        return [host for host in hosts if host not in this.offers and host not in self._gone]

    def lacks_answers(self, this: Round) -> bool:
        """Whether reachable hosts have not answered."""
        said = this.candidates or this.sums
        if said is None or not this.is_answered:
            return self.is_incomplete(this)
        return said.hosts < self._hosts - this.dead_host_count

    def message_to_all(self, message: say.Message) -> ToHosts:
        """Message that all hosts answer."""
        return Send(FIRST_HOST, self._relay_of(message, 0, FOREVER)) if self._arity else SendAll(message)

    def _to(self, host: HostId, this: Round) -> Send:
        sampled = len(this.sent_query.sample_offset) > 0
        return Send(host, query_for_nodes(this.sent_query, *self._layout.span(host)) if sampled else this.sent_query)

    def _to_all(self, this: Round, step: int) -> Sequence[ToHosts]:
        if not self._arity:
            return [SendAll(this.sent_query)]
        if this.relay is None or this.relay.dead_hosts.tolist() != sorted(self._gone):
            this.relay = self._relay_of(this.sent_query, step, this.expires)
            this.dead_host_count = max(this.dead_host_count, len(this.relay.dead_hosts))
        relay = this.relay
        sends = [Send(relay.first, relay)] if relay.first < relay.last else []
        # Dead hosts with replacements in the tree report when they are back.
        return sends + [Send(dead, replace(relay, first=dead, last=dead)) for dead in all_hosts(relay.first)]

    def _relay_of(self, message: say.Message, step: int, expires: int) -> say.Relay:
        self._questions += 1
        gone = sorted(self._gone)
        return say.Relay(
            self._questions, self._address, self._address, first_living_host(0, self._hosts, gone), self._hosts,
            self._arity,
            self._levels * step, step, self._resend, np.array(gone, dtype=np.int64), [], message,
            expires,
        )  # fmt: skip


FIRST_BATCH, LARGEST_BATCH = 4, 64
"""Jobs in one message: few at first, since a move voids later answers."""


class RenegotiationQueue:
    """Jobs that query again after nodes became free, in order."""

    def __init__(self, scope: BackfillScope, rules: SearchRules, sampling: Sampling | None) -> None:
        self._scope = scope
        self._rules = rules
        self._sampling = sampling if scope is BackfillScope.ALL_NODES else None
        self._queue: deque[tuple[JobState, int]] = deque()
        self._batch = FIRST_BATCH
        self._freed_until = 0

    def add(self, states: Iterable[JobState], freed_until: int) -> None:
        """Add jobs. Unreserved jobs query starts before `freed_until`."""
        self._queue.extend((state, 0) for state in states)
        self._batch = FIRST_BATCH
        self._freed_until = freed_until

    def on_no_move(self) -> None:
        """Record a message without moves."""
        self._batch = min(2 * self._batch, LARGEST_BATCH)

    def on_move(self, later: Sequence[JobState]) -> None:
        """Record a move: later jobs query again."""
        distinct = {state.job.number: state for state in later}
        self._queue.extendleft((state, 0) for state in reversed(distinct.values()))
        self._batch = FIRST_BATCH

    def next_batch(self, now: int) -> tuple[list[JobState], list[Search]]:
        """Jobs and windows of the next message."""
        batch: list[JobState] = []
        searches: list[Search] = []
        while self._queue and len(batch) < self._batch:
            state, since = self._queue[0]
            first, last = max(now, state.job.earliest, since), self._last(state)
            window = in_hours(
                Search(0, first, last, first, last, self._binds(state), quota=False), state.job, self._rules
            )
            if window is not None:
                size = self._sampling.first(state.job) if self._sampling and state.nodes is not None else 0
                search = replace(window, sample=size, draw=window.first)
                # Jobs in one message agree on the desired profile and on sampling.
                if searches and (searches[0].desired_binds, searches[0].sample > 0) != (search.desired_binds, size > 0):
                    break
                batch.append(state)
                searches.append(search)
            self._queue.popleft()
            if window is not None and window.last < last:  # the queue is closed in between
                self._queue.appendleft((state, window.last + 1))
        return batch, searches

    def _binds(self, state: JobState) -> bool:
        late = state.nodes is not None and state.job.latest is not None and state.start > state.job.latest
        return self._rules.desired_binds and not (late and self._rules.soft)

    def _last(self, state: JobState) -> int:
        if state.nodes is None:
            return self._freed_until - 1
        return state.start - (self._scope is BackfillScope.SAME_NODES)
