"""Less than everybody: which nodes a job asks first, and how many it asks when they do not hold it.

Chance draws two nodes for each place of the sample, and the one with fewer cores reserved by this task manager's own
jobs is asked: what it knows costs no messages. Nothing here takes time of all nodes but to begin with.
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
from dardis.wire.messages import Ask

WIDER = 4
"""How many times as large the next sample is."""


class Sampling:
    """The samples of a task manager's jobs, and what it has reserved for them on each node."""

    def __init__(self, layout: Layout, nodes_a_unit: int, seed: int) -> None:
        """Begin with nothing reserved."""
        self._layout = layout
        self._cores = layout.cores_place
        self._nodes_a_unit = nodes_a_unit
        self._seed = seed
        self.hints: Ints = np.zeros(layout.bounds[-1], dtype=np.int64)
        """Cores that its own jobs have reserved on each node, for now or later."""
        self._placed: dict[JobId, tuple[Ints, Ints]] = {}

    def first(self, job: Job) -> int:
        """How many nodes a job asks first; 0 for all."""
        return self._or_all(self._nodes_a_unit * job.units, job)

    def wider(self, job: Job, size: int) -> int:
        """How many it asks when a sample of this size did not hold it; 0 for all."""
        return self._or_all(WIDER * size, job)

    def _or_all(self, size: int, job: Job) -> int:
        """Half of the nodes are not worth a sample."""
        return size if 2 * size < self._layout.asked(job.groups) else 0

    def nodes_of(
        self, states: Sequence[JobState], searches: Sequence[Search], *, asks_again: bool
    ) -> tuple[Ints, Ints]:
        """The samples of jobs that share a message, as (offset, nodes); who moves asks his own nodes, too."""
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
        """Take note of what a job has reserved, instead of what it had before."""
        assert state.nodes is not None
        assert state.units is not None
        self.drop(state.job.number)
        cores = state.units * state.job.request[self._cores]
        self.hints[state.nodes] += cores
        self._placed[state.job.number] = state.nodes, cores

    def drop(self, job: JobId) -> None:
        """Take note that a job has nothing reserved any more."""
        if job in self._placed:
            nodes, cores = self._placed.pop(job)
            self.hints[nodes] -= cores


def part_of(ask: Ask, first: int, last: int) -> Ask:
    """What the host of the nodes `[first, last)` is asked: of a sample it gets only its own nodes."""
    mine = (first <= ask.sample) & (ask.sample < last)
    if mine.all():
        return ask
    before = np.concatenate([[0], np.cumsum(mine)])
    return replace(ask, sample=ask.sample[mine], sample_offset=before[ask.sample_offset])


def only(ask: Ask, place: int) -> tuple[Ints, Ints]:
    """The sample of one of the jobs of a message, (offset, nodes); both empty where all nodes are asked."""
    if len(ask.sample_offset) == 0:
        return ask.sample_offset, ask.sample
    nodes = ask.sample[ask.sample_offset[place] : ask.sample_offset[place + 1]]
    return np.array([0, len(nodes)]), nodes
