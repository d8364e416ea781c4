"""A host as an inner node of a tree: it hands on what is asked of its part, and answers for all of it in one message.

What can be added is added: steps of offers, and the best candidates. A pure machine around a pool: nothing of the tree
is stored but the questions that are open; every question says which hosts it is for and which of them are dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.kernels.ranked import best_of
from dardis.kernels.selection import MIN_START
from dardis.kernels.sums import add_up
from dardis.model.host_tree import parts_of
from dardis.node_manager.pool import NodePool
from dardis.wire import messages as say
from dardis.wire.effects import Effect, Forward, Send, SetTimer

PATIENCE = 200
"""Token of timers: a question's patience is over."""


@dataclass(slots=True)
class Question:
    """A question that is open: who has not answered for his part, and what was answered so far, by first host."""

    relay: say.Relay
    missing: set[int]
    answers: dict[int, list[say.Message]]


class RelayingHost:
    """A host that holds a pool and a place in the tree."""

    def __init__(self, pool: NodePool) -> None:
        """Take the pool's address."""
        self.pool = pool
        self._host = pool.host
        self._open: dict[tuple[int, int], Question] = {}

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Take a message at time `now`; return what is to be done."""
        match message:
            case say.Relay():
                return self._relay(message, now)
            case say.Gathered():
                return self._gathered(message)
            case say.Timer(job=origin, attempt=serial, token=token) if token == PATIENCE:
                question = self._open.get((origin, serial))
                return [] if question is None else [self._answer(question)]
        return self.pool.handle(message, now)

    def _relay(self, relay: say.Relay, now: int) -> list[Effect]:
        key = relay.origin, relay.serial
        if key in self._open:  # doubled on its way
            return []
        parts = parts_of(self._host + 1, relay.last, relay.arity, relay.gone.tolist())
        effects: list[Effect] = [Forward(low, self._share(relay, low, high)) for low, high in parts]
        for host, at, parcel in relay.parcels:
            if host == self._host:
                effects += self.pool.handle(parcel, at)
        own = self.pool.handle(relay.message, now)
        effects += [effect for effect in own if not isinstance(effect, Send)]
        said = [effect.message for effect in own if isinstance(effect, Send)]
        question = self._open[key] = Question(relay, {low for low, _ in parts}, {self._host: said})
        if not parts:
            effects.append(self._answer(question))
        elif relay.patience:
            effects.append(SetTimer(now + relay.patience, say.Timer(*key, PATIENCE)))
        return effects

    def _share(self, relay: say.Relay, first: int, last: int) -> say.Relay:
        """What the hosts `[first, last)` are to take of it. Each level is patient for one step less."""
        parcels = [parcel for parcel in relay.parcels if first <= parcel[0] < last]
        patience = relay.patience - relay.step if relay.patience else 0
        return replace(relay, parent=self._host, first=first, last=last, parcels=parcels, patience=patience)

    def _gathered(self, gathered: say.Gathered) -> list[Effect]:
        question = self._open.get((gathered.origin, gathered.serial))
        if question is None or gathered.first not in question.missing:
            return []
        question.missing.discard(gathered.first)
        question.answers[gathered.first] = gathered.answers
        return [] if question.missing else [self._answer(question)]

    def _answer(self, question: Question) -> Effect:
        relay = question.relay
        del self._open[relay.origin, relay.serial]
        said = [message for first in sorted(question.answers) for message in question.answers[first]]
        joined = joined_answers(relay.message, said)
        return Forward(relay.parent, say.Gathered(relay.serial, relay.origin, self._host, joined))


def joined_answers(asked: say.Message, said: Sequence[say.Message]) -> list[say.Message]:
    """What several hosts have said to a question, added up where it can be."""
    if not isinstance(asked, say.Ask) or len(said) < 2:
        return list(said)
    if asked.want == say.SUMS:
        return [_sum_of(asked, [one for one in said if isinstance(one, say.Sums)])]
    if asked.want == say.CANDIDATES:
        return [_best_of(asked, [one for one in said if isinstance(one, say.Candidates)])]
    return list(said)


def _sum_of(ask: say.Ask, sums: Sequence[say.Sums]) -> say.Sums:
    blocks, offset = [], np.zeros(len(ask.job) + 1, dtype=np.int64)
    for i, units in enumerate(ask.units.tolist()):
        steps = np.concatenate([one.rows[one.offset[i] : one.offset[i + 1]] for one in sums])
        blocks.append(steps[: add_up(steps, 0, len(steps), units, ask.policy == MIN_START)])
        offset[i + 1] = offset[i] + len(blocks[i])
    return say.Sums(
        ask.round, sum(one.hosts for one in sums), max(one.horizon for one in sums),
        max(one.last_end for one in sums), max(one.down_until for one in sums), offset, np.concatenate(blocks),
    )  # fmt: skip


def _best_of(ask: say.Ask, ranked: Sequence[say.Candidates]) -> say.Candidates:
    blocks, offset = [], np.zeros(len(ask.job) + 1, dtype=np.int64)
    for i, units in enumerate(ask.units.tolist()):
        rows = np.concatenate([one.rows[one.offset[i] : one.offset[i + 1]] for one in ranked])
        blocks.append(rows[: best_of(rows, 0, len(rows), units, ask.choice)])
        offset[i + 1] = offset[i] + len(blocks[i])
    return say.Candidates(ask.round, offset, np.concatenate(blocks))
