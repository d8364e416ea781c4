"""A host as inner node of a tree of hosts, and its order of simultaneous messages.

Summable answers are combined. Each request names its hosts and the dead ones. If messages may be lost, a host repeats
requests until a deadline, then answers without missing children. The answer is kept while repeats may arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.kernels.relay_blocks import adds_up, join_blocks
from dardis.model.addresses import HostId, ManagerAddress, parts_of
from dardis.node_manager.pool import NodePool
from dardis.wire import messages as say
from dardis.wire.codec import opened, written
from dardis.wire.effects import Effect, Return, Send, SetTimer, Tell, TellAll
from dardis.wire.messages import Ask, Confirm, JointAsk, Message, Refused

Key = tuple[ManagerAddress, int]
"""Request id: origin and serial."""


@dataclass(slots=True)
class Question:
    """Open request."""

    relay: say.Relay
    until: int
    missing: dict[HostId, int]
    """End of each missing part, by first host."""
    answers: dict[HostId, list[say.Message | say.Written]]
    answer: say.Gathered | None = None


class RelayingHost:
    """Host with a pool and a place in the tree."""

    def __init__(self, pool: NodePool) -> None:
        """Use the pool's address."""
        self.pool = pool
        self._host = pool.host
        self._open: dict[Key, Question] = {}

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Process a message; return effects."""
        match message:
            case say.Relay():
                return self._relay(message, now)
            case say.Gathered():
                return self._gathered(message)
            case say.Reminder(origin=origin, serial=serial):
                return self._go_on((origin, serial), now)
        return self.pool.handle(message, now)

    def _relay(self, relay: say.Relay, now: int) -> list[Effect]:
        if relay.expires <= now:  # late copies would go all the way down
            return []
        if relay.first == relay.last:
            return [Return(relay.origin, self._for_all(relay, []))]
        if relay.parent == self._host:
            return self._own_share(relay, now)
        known = self._open.get((relay.origin, relay.serial))
        if known is not None:  # duplicated or repeated
            return [] if known.answer is None else [self._up(relay, known.answer)]
        parts = parts_of(self._host + 1, relay.last, relay.arity, relay.gone.tolist())
        effects: list[Effect] = [
            Send(host, self._share(relay, host, host, 0, relay.expires)) for host in self._left_out(relay, parts)
        ]
        if not parts:
            return effects + self._own_share(relay, now)
        # Others first, as they work meanwhile. The common message is encoded once.
        relay = replace(relay, message=written(relay.message))
        until = min(now + relay.patience, relay.expires)
        question = Question(relay, until, dict([*parts, (self._host, self._host + 1)]), {})
        self._open[relay.origin, relay.serial] = question
        return effects + self._ask_the_silent(question, now)

    def _own_share(self, relay: say.Relay, now: int) -> list[Effect]:
        effects: list[Effect] = []
        for host, at, parcel in relay.parcels:
            if host == self._host:
                effects += self.pool.handle(parcel, at)
        if isinstance(relay.message, say.Written) and adds_up(relay.message.block):
            answer = self.pool.answer_unread(relay.message.block, now)
            if len(answer):
                return [*effects, self._up(relay, self._for_all(relay, [say.Written(answer)]))]
        own = self.pool.handle(opened(relay.message), now)
        effects += [effect for effect in own if not isinstance(effect, (Tell, TellAll))]
        said = [effect.message for effect in own if isinstance(effect, (Tell, TellAll))]
        return [*effects, self._up(relay, self._for_all(relay, said))]

    def _left_out(self, relay: say.Relay, parts: Sequence[tuple[HostId, int]]) -> list[HostId]:
        """Dead hosts with replaced places; they may be back."""
        if not len(relay.gone):
            return []
        gone = [host for host in relay.gone.tolist() if self._host < host < relay.last]
        return [host for host in gone if not any(first <= host < last for first, last in parts)]

    def _ask_the_silent(self, question: Question, now: int) -> list[Effect]:
        """Request missing parts; each level waits one step less."""
        relay = question.relay
        patience, expires, reminder = 0, relay.expires, list[Effect]()
        if relay.patience:
            patience, expires = max(question.until - now - relay.step, 1), question.until
            reminder = [self._remind(relay, min(now + relay.resend, question.until))]
        asked = [
            (first, self._share(relay, first, last, patience, expires)) for first, last in question.missing.items()
        ]
        return [*(Send(first, share) for first, share in asked), *reminder]

    def _share(self, relay: say.Relay, first: HostId, last: int, patience: int, expires: int) -> say.Relay:
        parcels = relay.parcels and [parcel for parcel in relay.parcels if first <= parcel[0] < last]
        return say.Relay(
            relay.serial, relay.origin, self._host, first, last, relay.arity, patience, relay.step, relay.resend,
            relay.gone, parcels, relay.message, expires,
        )  # fmt: skip

    @staticmethod
    def _remind(relay: say.Relay, at: int) -> SetTimer:
        return SetTimer(at, say.Reminder(relay.origin, relay.serial))

    def _go_on(self, key: Key, now: int) -> list[Effect]:
        """Repeat requests, answer after the deadline, or forget."""
        question = self._open[key]
        if question.answer is None and now < question.until:
            return self._ask_the_silent(question, now)
        forgotten_at = question.relay.expires  # no repeats are accepted from then on
        effects = [] if question.answer is not None else [self._answer(question)]
        if now >= forgotten_at:
            del self._open[key]
            return effects
        return [*effects, self._remind(question.relay, forgotten_at)]

    def _gathered(self, gathered: say.Gathered) -> list[Effect]:
        question = self._open.get((gathered.origin, gathered.serial))
        if question is None or question.answer is not None or gathered.first not in question.missing:
            return []
        del question.missing[gathered.first]
        question.answers[gathered.first] = gathered.answers
        return [] if question.missing else [self._answer(question)]

    def _answer(self, question: Question) -> Effect:
        relay = question.relay
        said = [message for first in sorted(question.answers) for message in question.answers[first]]
        question.answer = self._for_all(relay, joined_answers(relay.message, said))
        question.answers = {}
        if not relay.patience:  # nothing is lost, so no repeats arrive
            del self._open[relay.origin, relay.serial]
        return self._up(relay, question.answer)

    @staticmethod
    def _up(relay: say.Relay, answer: say.Gathered) -> Send | Return:
        return Return(relay.origin, answer) if relay.parent == relay.origin else Send(HostId(relay.parent), answer)

    def _for_all(self, relay: say.Relay, answers: Sequence[say.Message | say.Written]) -> say.Gathered:
        return say.Gathered(relay.serial, relay.origin, self._host, self.pool.incarnation, list(answers))


def joined_answers(
    asked: say.Message | say.Written, said: Sequence[say.Message | say.Written]
) -> Sequence[say.Message | say.Written]:
    """Answers of several hosts, combined if summable."""
    question = written(asked).block
    if len(said) < 2 or not adds_up(question):
        return said
    together = join_blocks(question, np.concatenate([written(one).block for one in said]))
    return [say.Written(together)] if len(together) else said


def take_questions(pool: NodePool, messages: Sequence[Message], now: int) -> Iterator[list[Effect]]:
    """Process requests after messages that free capacity; yield effects."""
    for message in sorted(messages, key=lambda message: isinstance(message, Ask | JointAsk)):
        yield pool.handle(message, now)


def take_claims(pool: NodePool, claims: Sequence[Message], now: int) -> Iterator[list[Effect]]:
    """Process claims in job order, one per node; yield effects.

    A node claimed by an earlier job is refused, even if that job fails elsewhere.
    """
    claimed: set[int] = set()
    for claim in claims:
        assert isinstance(claim, Confirm)
        nodes = claim.nodes.tolist()
        if claimed.isdisjoint(nodes):
            yield pool.handle(claim, now)
        else:
            yield [Tell(claim.job, Refused(claim.job, claim.attempt, pool.host))]
        claimed.update(nodes)
