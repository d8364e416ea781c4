"""Samples of queried nodes, and their growth.

Of two drawn nodes per place, the one with fewer own reserved cores is queried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dardis.kernels.chance import draw_sample
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.task_manager.layout import Layout
from dardis.task_manager.rounds import JobState
from dardis.task_manager.search_windows import Search
from dardis.wire.messages import OfferQuery

WIDER = 4
"""Growth of the next sample."""


class Sampling:
    """Samples of own jobs, and their reserved cores."""

    def __init__(self, layout: Layout, nodes_a_unit: int, seed: int) -> None:
        self._layout = layout
        self._cores = layout.cores_place
        self._nodes_a_unit = nodes_a_unit
        self._seed = seed
        self.hints: Ints = np.zeros(layout.bounds[-1], dtype=np.int64)
        """Own reserved cores by node."""
        self._placed: dict[JobId, tuple[Ints, Ints]] = {}

    def first(self, job: Job) -> int:
        """First sample's size; 0: all."""
        return self._or_all(self._nodes_a_unit * job.units, job)

    def wider(self, job: Job, size: int) -> int:
        """Next sample's size; 0: all."""
        return self._or_all(WIDER * size, job)

    def _or_all(self, size: int, job: Job) -> int:
        return size if 2 * size < self._layout.allowed_node_count(job.groups) else 0

    def nodes_of(
        self, states: Sequence[JobState], searches: Sequence[Search], *, asks_again: bool
    ) -> tuple[Ints, Ints]:
        """Samples as (offset, nodes). Moving jobs add their nodes."""
        parts = []
        for state, search in zip(states, searches, strict=True):
            job, nodes = state.job, np.empty(search.sample, dtype=np.int64)
            draw_sample(self._seed, job.number, search.draw, *self._layout.sets.spans(job.groups), self.hints, nodes)
            if asks_again and state.nodes is not None:
                nodes = np.union1d(nodes, state.nodes)
            else:
                nodes.sort()
            parts.append(nodes)
        return np.cumsum([0, *map(len, parts)]), np.concatenate(parts)

    def place(self, state: JobState) -> None:
        """Replace a reservation."""
        assert state.nodes is not None
        assert state.units is not None
        self.drop(state.job.number)
        cores = state.units * state.job.request[self._cores]
        self.hints[state.nodes] += cores
        self._placed[state.job.number] = state.nodes, cores

    def drop(self, job: JobId) -> None:
        """Drop a reservation."""
        if job in self._placed:
            nodes, cores = self._placed.pop(job)
            self.hints[nodes] -= cores


def query_for_nodes(ask: OfferQuery, first: int, last: int) -> OfferQuery:
    """Query for the nodes `[first, last)`."""
    mine = (first <= ask.sample) & (ask.sample < last)
    if mine.all():
        return ask
    before = np.concatenate([[0], np.cumsum(mine)])
    return replace(ask, sample=ask.sample[mine], sample_offset=before[ask.sample_offset])


def sample_of_job(ask: OfferQuery, place: int) -> tuple[Ints, Ints]:
    """One job's sample as (offset, nodes)."""
    if len(ask.sample_offset) == 0:
        return ask.sample_offset, ask.sample
    nodes = ask.sample[ask.sample_offset[place] : ask.sample_offset[place + 1]]
    return np.array([0, len(nodes)]), nodes
