"""How questions reach hosts (each, down the tree, or a sample), and which jobs ask again after something was freed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dardis.model.addresses import FIRST_HOST, HostId, ManagerAddress, all_hosts, living
from dardis.model.job import FOREVER
from dardis.task_manager.layout import Layout
from dardis.task_manager.rounds import JobState, Round
from dardis.task_manager.sampling import Sampling, part_of
from dardis.task_manager.search_windows import Search, SearchRules, in_hours
from dardis.task_manager.setups import BackfillScope, Reach
from dardis.wire import messages as say
from dardis.wire.effects import Send, SendAll, ToHosts


class Asking:
    """The questions of a task manager to hosts."""

    def __init__(self, layout: Layout, reach: Reach, address: ManagerAddress, resend: int, gone: set[HostId]) -> None:
        """Hosts of a tree ask again after `resend` s (0: never).

        Answers go to `address`. Nobody waits for hosts that are `gone`, which others add and take away.
        """
        self._layout = layout
        self._hosts = layout.hosts
        self._arity = reach.arity
        self._levels = reach.levels(layout.hosts)
        self._address = address
        self._resend = resend
        self._gone = gone
        self._questions = 0

    def whom(self, ask: say.Ask, states: Sequence[JobState]) -> tuple[HostId, ...] | None:
        """The hosts that hold nodes that are asked; None where all do."""
        if len(ask.sample_offset):
            return tuple(np.unique(self._layout.host_of(ask.sample)).tolist())
        return tuple(sorted({host for state in states for host in state.hosts})) if ask.held_only else None

    def first(self, this: Round, step: int) -> Sequence[ToHosts]:
        """What a round asks. A host of a tree waits `step` s longer for its part than the hosts below it do."""
        return self._to_all(this, step) if this.hosts is None else [self._to(host, this) for host in this.hosts]

    def again(self, this: Round, step: int) -> Sequence[ToHosts]:
        """What it asks those again who have not answered: some, or all that answer as one."""
        if this.sent.want == say.ROWS:
            return [self._to(host, this) for host in self._silent(this)]
        return [] if this.answered else self._to_all(this, step)

    def awaits(self, this: Round) -> bool:
        """Whether somebody has not answered; to look at all hosts after each answer would cost the square of them."""
        if this.sent.want != say.ROWS:
            return not this.answered
        asked = self._hosts if this.hosts is None else len(this.hosts)
        return len(this.offers) + len(self._gone) < asked or bool(self._silent(this))

    def _silent(self, this: Round) -> list[HostId]:
        """Which hosts have not answered, of those that are not known to be dead."""
        hosts = all_hosts(self._hosts) if this.hosts is None else this.hosts
        return [host for host in hosts if host not in this.offers and host not in self._gone]

    def lacks_answers(self, this: Round) -> bool:
        """Whether the answers lack those of hosts that are not known to be dead."""
        said = this.candidates or this.sums
        if said is None or not this.answered:
            return self.awaits(this)
        return said.hosts < self._hosts - this.passed_over

    def all_hosts(self, message: say.Message) -> ToHosts:
        """A message that all hosts answer, where none is lost: to each, or down the tree."""
        return Send(FIRST_HOST, self._relay_of(message, 0, FOREVER)) if self._arity else SendAll(message)

    def _to(self, host: HostId, this: Round) -> Send:
        """What a round asks a host now."""
        sampled = len(this.sent.sample_offset) > 0
        return Send(host, part_of(this.sent, *self._layout.span(host)) if sampled else this.sent)

    def _to_all(self, this: Round, step: int) -> Sequence[ToHosts]:
        """What a round asks all hosts now; the tree is asked another way once a host is gone or back."""
        if not self._arity:
            return [SendAll(this.sent)]
        if this.relay is None or this.relay.gone.tolist() != sorted(self._gone):
            this.relay = self._relay_of(this.sent, step, this.expires)
            this.passed_over = max(this.passed_over, len(this.relay.gone))
        relay = this.relay
        sends = [Send(relay.first, relay)] if relay.first < relay.last else []
        # Hosts whose places others have taken say so when they are back.
        return sends + [Send(dead, replace(relay, first=dead, last=dead)) for dead in all_hosts(relay.first)]

    def _relay_of(self, message: say.Message, step: int, expires: int) -> say.Relay:
        self._questions += 1
        gone = sorted(self._gone)
        return say.Relay(
            self._questions, self._address, self._address, living(0, self._hosts, gone), self._hosts, self._arity,
            self._levels * step, step, self._resend, np.array(gone, dtype=np.int64), [], message,
            expires,
        )  # fmt: skip


FIRST_BATCH, LARGEST_BATCH = 4, 64
"""How many jobs ask again in one message: few at first, since one that moves makes the later answers void."""


class AskingAgain:
    """The jobs of a task manager that are to ask again, in order."""

    def __init__(self, scope: BackfillScope, rules: SearchRules, sampling: Sampling | None) -> None:
        """Begin with none. With `sampling`, who moves asks some nodes of all."""
        self._scope = scope
        self._rules = rules
        self._sampling = sampling if scope is BackfillScope.ALL_NODES else None
        self._queue: deque[tuple[JobState, int]] = deque()
        """Who asks, and for starts from when on."""
        self._batch = FIRST_BATCH
        self._freed_until = 0

    def add(self, states: Iterable[JobState], freed_until: int) -> None:
        """Let these ask again, too; those without a reservation for starts before `freed_until`."""
        self._queue.extend((state, 0) for state in states)
        self._batch = FIRST_BATCH
        self._freed_until = freed_until

    def nobody_moved(self) -> None:
        """Take note that a whole message's jobs have nothing to gain."""
        self._batch = min(2 * self._batch, LARGEST_BATCH)

    def moved(self, later: Sequence[JobState]) -> None:
        """Take note that a job has moved: those that came later in its message ask again."""
        distinct = {state.job.number: state for state in later}
        self._queue.extendleft((state, 0) for state in reversed(distinct.values()))
        self._batch = FIRST_BATCH

    def next_batch(self, now: int) -> tuple[list[JobState], list[Search]]:
        """Who asks next, in one message, and for which starts."""
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
                # Those that share a message keep to the desired profile, and ask samples, either all or none.
                if searches and (searches[0].desired_binds, searches[0].sample > 0) != (search.desired_binds, size > 0):
                    break
                batch.append(state)
                searches.append(search)
            self._queue.popleft()
            if window is not None and window.last < last:  # its queue is closed in between
                self._queue.appendleft((state, window.last + 1))
        return batch, searches

    def _binds(self, state: JobState) -> bool:
        """Whether a job that asks again keeps to the desired profile: a soft one counts less than its deadline."""
        late = state.nodes is not None and state.job.latest is not None and state.start > state.job.latest
        return self._rules.desired_binds and not (late and self._rules.soft)

    def _last(self, state: JobState) -> int:
        """The last start that a job asks again for: an earlier one, or also its own, on nodes that fit better."""
        if state.nodes is None:
            return self._freed_until - 1
        return state.start - (self._scope is BackfillScope.SAME_NODES)
