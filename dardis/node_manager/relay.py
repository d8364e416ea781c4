"""Host as inner node of a tree of hosts, and its order of simultaneous messages.

Summable answers are combined. Each request names its hosts and the dead ones. If messages may be lost, a host repeats
requests until a deadline, then answers without missing children, again at each repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.kernels.relay_blocks import is_summable, join_blocks
from dardis.model.addresses import HostId, ManagerAddress, split_hosts
from dardis.node_manager.pool import NodePool
from dardis.wire import messages as say
from dardis.wire.codec import decode_nested, encode_nested
from dardis.wire.effects import Effect, Reply, Send, SendToManager, SendToManagers, SetTimer
from dardis.wire.messages import Confirm, JointQuery, Message, OfferQuery, Refused

Key = tuple[ManagerAddress, int]
"""Request id: origin and serial."""


@dataclass(slots=True)
class RelayQuery:
    """Open request."""

    relay: say.Relay
    until: int
    missing: dict[HostId, int]
    """End of each missing part, by first host."""
    answers: dict[HostId, list[say.Message | say.EncodedMessage]]
    answer: say.GatheredAnswers | None = None


class RelayingHost:
    """Host with a pool and a place in the tree."""

    def __init__(self, pool: NodePool) -> None:
        self.pool = pool
        self._host = pool.host
        self._open: dict[Key, RelayQuery] = {}

    def handle(self, message: say.Message, now: int) -> list[Effect]:
        """Process a message; return effects."""
        match message:
            case say.Relay():
                return self._relay(message, now)
            case say.GatheredAnswers():
                return self._gathered(message)
            case say.Reminder(origin=origin, serial=serial):
                return self._on_reminder((origin, serial), now)
        return self.pool.handle(message, now)

    def _relay(self, relay: say.Relay, now: int) -> list[Effect]:
        if relay.expires <= now:  # late copies would go all the way down
            return []
        if relay.first == relay.last:
            return [Reply(relay.origin, self._for_all(relay, []))]
        if relay.parent == self._host:
            return self._own_answers(relay, now)
        known = self._open.get((relay.origin, relay.serial))
        if known is not None:  # duplicated or repeated
            return [] if known.answer is None else [self._up(relay, known.answer)]
        parts = split_hosts(self._host + 1, relay.last, relay.arity, relay.dead_hosts.tolist())
        effects: list[Effect] = [
            Send(host, self._forward(relay, host, host, 0, relay.expires))
            for host in self._replaced_hosts(relay, parts)
        ]
        if not parts:
            return effects + self._own_answers(relay, now)
        # Others first, as they work meanwhile. The common message is encoded once.
        relay = replace(relay, message=encode_nested(relay.message))
        until = min(now + relay.patience, relay.expires)
        question = RelayQuery(relay, until, dict([*parts, (self._host, self._host + 1)]), {})
        self._open[relay.origin, relay.serial] = question
        return effects + self._request_missing(question, now)

    def _own_answers(self, relay: say.Relay, now: int) -> list[Effect]:
        effects: list[Effect] = []
        for host, at, parcel in relay.parcels:
            if host == self._host:
                effects += self.pool.handle(parcel, at)
        if isinstance(relay.message, say.EncodedMessage) and is_summable(relay.message.block):
            answer = self.pool.answer_encoded(relay.message.block, now)
            if len(answer):
                return [*effects, self._up(relay, self._for_all(relay, [say.EncodedMessage(answer)]))]
        own = self.pool.handle(decode_nested(relay.message), now)
        effects += [effect for effect in own if not isinstance(effect, (SendToManager, SendToManagers))]
        said = [effect.message for effect in own if isinstance(effect, (SendToManager, SendToManagers))]
        return [*effects, self._up(relay, self._for_all(relay, said))]

    def _replaced_hosts(self, relay: say.Relay, parts: Sequence[tuple[HostId, int]]) -> list[HostId]:
        if not len(relay.dead_hosts):
            return []
        gone = [host for host in relay.dead_hosts.tolist() if self._host < host < relay.last]
        return [host for host in gone if not any(first <= host < last for first, last in parts)]

    def _request_missing(self, question: RelayQuery, now: int) -> list[Effect]:
        """Each level waits one step less."""
        relay = question.relay
        patience, expires, reminder = 0, relay.expires, list[Effect]()
        if relay.patience:
            patience, expires = max(question.until - now - relay.step, 1), question.until
            reminder = [self._remind(relay, min(now + relay.resend, question.until))]
        asked = [
            (first, self._forward(relay, first, last, patience, expires)) for first, last in question.missing.items()
        ]
        return [*(Send(first, share) for first, share in asked), *reminder]

    def _forward(self, relay: say.Relay, first: HostId, last: int, patience: int, expires: int) -> say.Relay:
        parcels = relay.parcels and [parcel for parcel in relay.parcels if first <= parcel[0] < last]
        return say.Relay(
            relay.serial, relay.origin, self._host, first, last, relay.arity, patience, relay.step, relay.resend,
            relay.dead_hosts, parcels, relay.message, expires,
        )  # fmt: skip

    @staticmethod
    def _remind(relay: say.Relay, at: int) -> SetTimer:
        return SetTimer(at, say.Reminder(relay.origin, relay.serial))

    def _on_reminder(self, key: Key, now: int) -> list[Effect]:
        question = self._open[key]
        if question.answer is None and now < question.until:
            return self._request_missing(question, now)
        forgotten_at = question.relay.expires  # no repeats are accepted from then on
        effects = [] if question.answer is not None else [self._answer(question)]
        if now >= forgotten_at:
            del self._open[key]
            return effects
        return [*effects, self._remind(question.relay, forgotten_at)]

    def _gathered(self, gathered: say.GatheredAnswers) -> list[Effect]:
        question = self._open.get((gathered.origin, gathered.serial))
        if question is None or question.answer is not None or gathered.first not in question.missing:
            return []
        del question.missing[gathered.first]
        question.answers[gathered.first] = gathered.answers
        return [] if question.missing else [self._answer(question)]

    def _answer(self, question: RelayQuery) -> Effect:
        relay = question.relay
        said = [message for first in sorted(question.answers) for message in question.answers[first]]
        question.answer = self._for_all(relay, join_answers(relay.message, said))
        question.answers = {}
        if not relay.patience:  # nothing is lost, so no repeats arrive
            del self._open[relay.origin, relay.serial]
        return self._up(relay, question.answer)

    @staticmethod
    def _up(relay: say.Relay, answer: say.GatheredAnswers) -> Send | Reply:
        return Reply(relay.origin, answer) if relay.parent == relay.origin else Send(HostId(relay.parent), answer)

    def _for_all(self, relay: say.Relay, answers: Sequence[say.Message | say.EncodedMessage]) -> say.GatheredAnswers:
        return say.GatheredAnswers(relay.serial, relay.origin, self._host, self.pool.incarnation, list(answers))


def join_answers(
    asked: say.Message | say.EncodedMessage, said: Sequence[say.Message | say.EncodedMessage]
) -> Sequence[say.Message | say.EncodedMessage]:
    """Answers of several hosts, combined if summable."""
    question = encode_nested(asked).block
    if len(said) < 2 or not is_summable(question):
        return said
    together = join_blocks(question, np.concatenate([encode_nested(one).block for one in said]))
    return [say.EncodedMessage(together)] if len(together) else said


def process_queries(pool: NodePool, messages: Sequence[Message], now: int) -> Iterator[list[Effect]]:
    """Process requests after messages that free capacity; yield effects."""
    for message in sorted(messages, key=lambda message: isinstance(message, OfferQuery | JointQuery)):
        yield pool.handle(message, now)


def process_claims(pool: NodePool, claims: Sequence[Message], now: int) -> Iterator[list[Effect]]:
    """Process claims in job order, one per node; yield effects.

    A node claimed by an earlier job is refused, even if that job fails.
    """
    claimed: set[int] = set()
    for claim in claims:
        assert isinstance(claim, Confirm)
        nodes = claim.nodes.tolist()
        if claimed.isdisjoint(nodes):
            yield pool.handle(claim, now)
        else:
            yield [SendToManager(claim.job, Refused(claim.job, claim.attempt, pool.host))]
        claimed.update(nodes)
