"""A second throughput scheduler, whole and slow: what the distributed one must do, start by start and node by node.

One process, one array entry a second, no messages: earliest start by the windows of thesis 5.3.6, nodes by sorting;
after an early end all jobs that wait ask again once, in order of arrival. Events are batched; nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from kit import choices
from kit.dense import dense_nodes
from kit.replay import Decision, earliest_by_the_rules, horizon_of

from dardis.model.choices import OnOff, ProfileRule, UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.task_manager import SetUp

Claim = tuple[int, dict[int, int]]
"""Start, and node to units."""


class Reference:
    """Runs the jobs, which must be in (submit, number) order; then `claims` holds where each that ran was, by place."""

    def __init__(
        self, platform: Platform, jobs: Sequence[ActualJob], setup: SetUp, choice: int, desired: DesiredProfile | None
    ) -> None:
        self.claims: dict[int, Claim] = {}
        self._jobs, self._setup, self._choice = jobs, setup, choice
        self._until = horizon_of(platform, jobs, desired)
        self._nodes = dense_nodes(platform, desired, self._until)
        self._capacity, self._group = platform.capacity, platform.group_of_node
        self._has_desired = desired is not None
        self._starts_of = platform.starts_of
        self._waiting: list[int] = []
        self._ended: set[int] = set()
        self._run()

    def _run(self) -> None:
        for now in range(self._until):
            early = [place for place in self._ending(now) if self._end(place, now)]
            if early:
                waiting, self._waiting = self._waiting, []
                for place in waiting:
                    self._submit(place, now)
                if self._setup.backfill is OnOff.ON:
                    for place in sorted(self.claims):
                        self._gain(place, now)
            for place, job in enumerate(self._jobs):
                if job.submit == now:
                    self._submit(place, now)

    def _ending(self, now: int) -> list[int]:
        running = {place: claim for place, claim in self.claims.items() if place not in self._ended}
        return [place for place, (start, _) in sorted(running.items()) if start + self._jobs[place].duration == now]

    def _end(self, place: int, now: int) -> bool:
        self._ended.add(place)
        self._take(place, self.claims[place], now, -1)
        return self._jobs[place].duration < self._jobs[place].walltime

    def _take(self, place: int, claim: Claim, begin: int, sign: int) -> None:
        job, (start, taken) = self._jobs[place], claim
        for node, units in taken.items():
            self._nodes[node].take(begin, start + job.walltime, sign * units * np.array(job.request))

    def _decision(self, place: int) -> Decision:
        job = self._jobs[place]
        eligible = [node for node in range(len(self._nodes)) if job.groups >> int(self._group[node]) & 1]
        taken = [
            int(np.flatnonzero((node.free != capacity).any(axis=1)).max(initial=-1)) + 1
            for node, capacity in zip(self._nodes, self._capacity, strict=True)
        ]
        distinct = self._setup.units_per_node is UnitsPerNode.DISTINCT
        return Decision(job, place, self._nodes, eligible, distinct, max(taken), self._starts_of(job.queue))

    def _submit(self, place: int, now: int) -> None:
        decision = self._decision(place)
        found = earliest_by_the_rules(decision, self._setup, self._until, now=now, has_desired=self._has_desired)
        if found is None:
            self._waiting.append(place)
        else:
            self._claim(decision, now, *found)

    def _claim(self, decision: Decision, now: int, start: int, desired_binds: bool) -> None:
        job = decision.job
        asked = (now, start, start, job.walltime, np.array(job.request), desired_binds, 1)
        offers = {node: self._nodes[node].offers(*asked) for node in decision.eligible}
        key = (0, 0, 0)  # nothing is drawn
        taken = choices.choose_nodes(offers, 0, start, job.walltime, job.units, decision.distinct, self._choice, key)
        self.claims[decision.place] = (start, taken)
        self._take(decision.place, self.claims[decision.place], start, 1)

    def _gain(self, place: int, now: int) -> None:
        """Ask again for any start before its own, as if it held nothing."""
        claim, first = self.claims[place], max(now, self._jobs[place].earliest)
        if claim[0] <= first:
            return
        self._take(place, claim, claim[0], -1)
        decision = self._decision(place)
        desired_binds = self._has_desired and self._setup.profile is not ProfileRule.OFF
        start = decision.earliest(first, claim[0] - 1, desired_binds=desired_binds)
        if start is None:
            self._take(place, claim, claim[0], 1)
        else:
            self._claim(decision, now, start, desired_binds)
