"""How the nodes of a host take what many jobs say to them in one wave: what frees first, then questions; then claims.

Whatever order it has come in: so what is decided does not depend on who holds which nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dardis.node_manager.pool import NodePool
from dardis.wire.effects import Effect, Tell
from dardis.wire.messages import Ask, Confirm, JointAsk, Message, Refused


def take_questions(pool: NodePool, messages: Sequence[Message], now: int) -> Iterator[list[Effect]]:
    """Let a host's nodes take questions, and before them what gives something back; what it says to each."""
    for message in sorted(messages, key=lambda message: isinstance(message, Ask | JointAsk)):
        yield pool.handle(message, now)


def take_claims(pool: NodePool, claims: Sequence[Message], now: int) -> Iterator[list[Effect]]:
    """Let a host's nodes take claims, which are in the order of jobs, one a node; what it says to each.

    A node that a job before has claimed is refused even if that one is refused elsewhere.
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
