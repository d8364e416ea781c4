"""Rounds of many jobs in one message: asks put together for a host, and its offers taken apart again.

Nothing is decided by it: who shares a message hears what he would have heard alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dardis.model.addresses import JobId
from dardis.wire.messages import Ask, JointAsk, JointOffers, Offers


def together(asks: Sequence[Ask]) -> list[Ask | JointAsk]:
    """The asks of some jobs, one each, to a host: those for samples of the same kind in one message."""
    alike: dict[tuple[object, ...], list[Ask]] = {}
    single: list[Ask | JointAsk] = []
    for ask in asks:
        if len(ask.sample_offset) == 0:
            single.append(ask)
        else:
            kind = ask.generator, ask.grain, ask.desired_binds, ask.held_only, ask.as_if_up, ask.want
            alike.setdefault(kind, []).append(ask)
    return single + [_joined(group) for group in alike.values()]


def _joined(asks: Sequence[Ask]) -> JointAsk:
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(ask, name) for ask in asks])
        for name in (
            "job",
            "draw_key",
            "first",
            "last",
            "walltime",
            "units",
            "quota",
            "groups",
            "request",
            "needed",
            "sample",
        )
    }
    ends = np.cumsum([0, *(len(ask.sample) for ask in asks)])
    rounds = np.array([ask.round for ask in asks], dtype=np.int64)
    return JointAsk(rounds, replace(asks[0], sample_offset=ends, **columns))


def taken_apart(joint: JointOffers) -> Iterator[tuple[JobId, Offers]]:
    """Each job with the offers to it."""
    offset = joint.offset.tolist()
    about = zip(joint.job.tolist(), joint.rounds.tolist(), joint.about.tolist(), pairwise(offset), strict=True)
    for job, number, (horizon, last_end, down_until), (low, high) in about:
        mine = np.array([0, high - low])
        yield (
            job,
            Offers(number, joint.host, joint.incarnation, horizon, last_end, mine, joint.rows[low:high], down_until),
        )
