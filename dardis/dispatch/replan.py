"""Plans anew whoever waits whenever something has happened, and starts who is to start now by the plan."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dardis.dispatch.gone_over import see_done
from dardis.dispatch.orders import RULES, Rule
from dardis.kernels import replan
from dardis.kernels.placer import Placer
from dardis.kernels.queue import Queue
from dardis.model.arrays import Ints


@dataclass(slots=True)
class Replan:
    """A plan of those who wait longest, or matter most, on machine-wide sums."""

    planning: replan.Planning
    keys: tuple[Rule, Rule] = (RULES["fcfs"][1], RULES["fcfs"][1])
    strict: bool = False
    backfill: bool = True
    depth: int = 1
    _ahead: replan.Ahead | None = field(default=None, init=False)
    _slots: int = field(default=0, init=False)

    def go_over(self, placer: Placer, jobs: Queue, now: int) -> None:
        """Plan, and start whoever is to start now."""
        if self._ahead is None:
            self._ahead = self._room(*_sums(placer), len(jobs.table))
        elif len(jobs.table) > self._slots:
            self._ahead = self._room(self._ahead.base_time, self._ahead.base_value, len(jobs.table))
        see_done(placer.run(replan.pass_over, jobs, self.planning, self._ahead, now))

    def _room(self, base_time: Ints, base_value: Ints, slots: int) -> replan.Ahead:
        self._slots = slots
        return replan.make_ahead(base_time, base_value, self.planning.jobs, slots)


def _sums(placer: Placer) -> tuple[Ints, Ints]:
    """What all nodes have together, of each column, and from when on; nobody must run yet."""
    rows = placer.nodes.profiles
    spans = list(zip(rows.head.tolist(), rows.size.tolist(), strict=True))
    times = np.unique(np.concatenate([rows.time[head : head + size] for head, size in spans]))
    total = np.zeros((len(times), rows.value.shape[1]), dtype=np.int64)
    for head, size in spans:
        at = np.maximum(np.searchsorted(rows.time[head : head + size], times, side="right") - 1, 0)
        total += rows.value[head + at]
    return times, total
