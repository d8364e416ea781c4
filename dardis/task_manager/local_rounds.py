"""Complete rounds in one call of a local pool, and joint messages.

Saved messages are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dardis.model import offer_rows
from dardis.model.addresses import FIRST_HOST, JobId
from dardis.model.arrays import Ints
from dardis.model.choices import UnitsPerNode
from dardis.model.job import SHORTEST_WINDOW_S
from dardis.model.local_queries import ImproveQuery, ImproveResponse, LocalNodes, SeekQuery
from dardis.model.node_sets import NodeSets
from dardis.task_manager.negotiation import Negotiation
from dardis.task_manager.questions import FIRST_BATCH, LARGEST_BATCH
from dardis.task_manager.rounds import JobState
from dardis.task_manager.selection import Selection
from dardis.task_manager.setups import BackfillScope, SetUp
from dardis.wire.effects import Effect, Placed
from dardis.wire.messages import JointOffers, JointQuery, OfferQuery, Offers


class LocalRounds:
    """Rounds of a local pool, for earliest starts and final claims."""

    def __init__(self, setup: SetUp, negotiation: Negotiation, sets: NodeSets, pool: LocalNodes) -> None:
        self._pool = pool
        self._negotiation = negotiation
        self._sets = sets
        rules = negotiation.rules
        self._serves = (
            setup.selection is Selection.MIN_START and not rules.drawn and not rules.desired_binds and not rules.hours
        )
        self._improves = self._serves and setup.backfill_scope is BackfillScope.SAME_NODES
        self._choice = offer_rows.NODE_CHOICES[setup.node_choice]
        self._distinct = setup.units_per_node is UnitsPerNode.DISTINCT

    # ------------------------------------------------------------------------------------------------------------------
    # Jobs without a reservation.

    def may_seek(self, state: JobState) -> bool:
        """Whether the pool may search: no deadline."""
        return self._serves and state.job.latest is None

    def seek(self, state: JobState, now: int) -> list[Effect]:
        """Reserve the earliest start."""
        job = state.job
        request = np.array(job.request, dtype=np.int64)
        span = max(job.walltime, SHORTEST_WINDOW_S)
        seek = SeekQuery(
            job.number, state.round_count + 1, max(job.earliest, now), span, job.walltime, job.units,
            self._sets.code(job.groups), request, self._choice, self._distinct,
        )  # fmt: skip
        found = self._pool.seek(seek, now)
        if len(found.nodes) == 0:
            return []
        self._negotiation.count_rounds(state, found.rounds, found.rounds * self._negotiation.nodes)
        return [self._take(state, found.start, found.nodes, found.units)]

    # ------------------------------------------------------------------------------------------------------------------
    # Jobs with a reservation that may start earlier on the same nodes.

    def may_improve(self, states: Iterable[JobState]) -> bool:
        """Whether the pool may find earlier starts for these reserved jobs."""
        return self._improves and all(state.nodes is not None for state in states)

    def improve(self, states: Iterable[JobState], now: int) -> list[Effect]:
        """Move jobs to earlier starts."""
        asking = [state for state in states if max(now, state.job.earliest) < state.start]
        if not asking:
            return []
        jobs = [state.job for state in asking]
        columns = (
            [job.number for job in jobs], [state.round_count + 1 for state in asking], [job.earliest for job in jobs],
            [state.start - 1 for state in asking], [job.units for job in jobs],
            [self._sets.code(job.groups) for job in jobs],
        )  # fmt: skip
        job, attempt, earliest, last, units, groups = np.array(columns, dtype=np.int64)
        first = np.maximum(earliest, now)
        request = np.array([job.request for job in jobs], dtype=np.int64)
        improve = ImproveQuery(job, attempt, first, last, units, groups, request, self._choice, self._distinct)
        return self._improved(asking, self._pool.improve(improve, now))

    def _improved(self, asking: Sequence[JobState], found: ImproveResponse) -> list[Effect]:
        moved = dict(zip(found.place.tolist(), range(len(found.place)), strict=True))
        effects: list[Effect] = []
        begin, batch = 0, FIRST_BATCH
        while begin < len(asking):
            end = min(begin + batch, len(asking))
            self._negotiation.count_round_of(asking[begin:end])
            mover = next((place for place in range(begin, end) if place in moved), None)
            if mover is None:
                begin, batch = end, min(2 * batch, LARGEST_BATCH)
                continue
            row = moved[mover]
            low, high = found.offset[row], found.offset[row + 1]
            effects.append(
                self._take(asking[mover], int(found.start[row]), found.nodes[low:high], found.units[low:high])
            )
            begin, batch = mover + 1, FIRST_BATCH
        return effects

    def _take(self, state: JobState, start: int, nodes: Ints, units: Ints) -> Placed:
        self._negotiation.count_claim(state, len(nodes))
        state.start, state.nodes, state.units, state.fills_nodes = start, nodes, units, None
        state.hosts, state.claim = (FIRST_HOST,), state.round_count
        return Placed(state.job.number, start, nodes, units, 0, max(state.window_count, 1))


def join_queries(asks: Sequence[OfferQuery]) -> list[OfferQuery | JointQuery]:
    """Join queries for samples of the same kind in one message."""
    alike: dict[tuple[object, ...], list[OfferQuery]] = {}
    single: list[OfferQuery | JointQuery] = []
    for ask in asks:
        if len(ask.sample_offset) == 0:
            single.append(ask)
        else:
            kind = ask.generator, ask.grain, ask.desired_binds, ask.held_only, ask.as_if_up, ask.want
            alike.setdefault(kind, []).append(ask)
    return single + [_joined(group) for group in alike.values()]


def _joined(asks: Sequence[OfferQuery]) -> JointQuery:
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
    return JointQuery(rounds, replace(asks[0], sample_offset=ends, **columns))


def split_offers(joint: JointOffers) -> Iterator[tuple[JobId, Offers]]:
    """Split an answer by job."""
    offset = joint.offset.tolist()
    about = zip(joint.job.tolist(), joint.rounds.tolist(), joint.about.tolist(), pairwise(offset), strict=True)
    for job, number, (horizon, last_end, down_until), (low, high) in about:
        mine = np.array([0, high - low])
        yield (
            job,
            Offers(number, joint.host, joint.incarnation, horizon, last_end, mine, joint.rows[low:high], down_until),
        )
