"""Live decisions over random events: who could start does, though a submission gives only new jobs a turn."""

import copy
import random

import pytest

from dardis.kernels import job_queue as columns
from dardis.live.live_decisions import InstantEvents, LiveDecider, SchedulingRequest, local_hosts
from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform

SMALL, LARGE = 4, 2
PLATFORM = Platform("m", (NodeGroup("a", SMALL, {"cores": 4}), NodeGroup("b", LARGE, {"cores": 8})))
NODES = SMALL + LARGE


def could_start(decider, now):
    """Who would start if all who wait had a turn beside what is reserved; a copy is asked."""
    turns = copy.deepcopy(decider)
    for manager in turns._turns._managers:
        for slot in manager._view.slots.values():
            manager._view.waiting.queue.table[slot, columns.FRESH] = 1
        manager.has_overtaking_job = lambda _: False  # no reservation is given back
    turns._starts = []
    turns._take(turns._turns.on_instant_end(now, last=True), now)
    return turns._starts


class Site:
    """Jobs that come and end at random, some of them early and some late."""

    def __init__(self, rng, bounds):
        self.rng, self.decider = rng, LiveDecider(PLATFORM, bounds, local_hosts(PLATFORM, bounds))
        self.now, self.last, self.ends, self.waiting = 1000, 0, {}, set()

    def submitted(self):
        rng, some = self.rng, []
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            self.last += 1
            walltime, nodes = rng.choice([60, 300, 1000, 5000, 20_000]), rng.choice([1, 1, 1, 2, 3, 5])
            expected = rng.choice([None, max(walltime // 10, 1)])
            asks = SchedulingRequest(self.last, self.now, walltime, nodes, (rng.randint(1, 4),), expected=expected)
            some.append(asks)
        return tuple(some)

    def step(self):
        """What happens next; whether anything has ended, and who could start then."""
        rng, wake = self.rng, self.decider.wake()
        pause = self.now + rng.choice([0, 0, 1, 5, 60, 500])
        self.now = min(pause, max(self.now, min(wake, min(self.ends.values(), default=FOREVER))))
        ended = tuple(sorted(number for number, end in self.ends.items() if end <= self.now))
        withdrawn = tuple(rng.sample(sorted(self.waiting), 1)) if self.waiting and rng.random() < 0.03 else ()
        closed = tuple(sorted(rng.sample(range(NODES), rng.randint(0, 2)))) if rng.random() < 0.03 else None
        submitted = self.submitted()
        starts, refused = self.decider.decide(InstantEvents(self.now, ended, withdrawn, closed, submitted=submitted))
        assert not refused
        for number in ended:
            del self.ends[number]
        self.waiting = (self.waiting | {asks.job for asks in submitted}) - {
            *withdrawn,
            *(start.job for start in starts),
        }
        for start in starts:
            _, _, end = self.decider._running[start.job]
            self.ends[start.job] = self.now + max(1, int((end - self.now) * rng.choice([0.1, 0.5, 1.0, 1.2])))
        return ended, could_start(self.decider, self.now)


@pytest.mark.parametrize("bounds", [(0, NODES), (0, 3, NODES)])
def test_no_startable_job_waits(bounds):
    waited = 0
    for seed in range(3):
        site = Site(random.Random(seed), bounds)  # noqa: S311 (a seed is to say it all)
        for _ in range(120):
            ended, starts = site.step()
            assert not starts, (seed, site.now, ended)
            waited += bool(site.waiting)
    assert waited > 100
