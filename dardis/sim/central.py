"""A trace through a central dispatcher in virtual time: it is asked after every instant at which something happened."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.dispatch.base import Dispatcher
from dardis.engine.clock import cpu_ns
from dardis.model.choices import EventOrder
from dardis.model.job import FOREVER, Job
from dardis.sim.world import Progress, World
from dardis.wire.effects import Rejected


class CentralSimulation(World):
    """One run. Jobs must be in (submit, number) order."""

    def __init__(self, jobs: Sequence[Job], event_order: EventOrder, dispatcher: Dispatcher) -> None:
        """With `batched` events the dispatcher is asked once an instant, else after every event."""
        super().__init__(jobs, batched=event_order is EventOrder.BATCHED)
        self._dispatcher = dispatcher

    def run(self, progress: Progress | None = None) -> None:
        """Run until every job has ended or been rejected."""
        events, dispatcher = self._events, self._dispatcher
        while True:
            following, wake = events.next_time(), dispatcher.wake()
            if following is None and wake == FOREVER:
                break
            now = wake if following is None or wake < following else following
            begun = cpu_ns()
            while events.next_time() == now:
                _, priority, _, place = events.pop()
                if priority == self._arrival:
                    self._arrive(place, now)
                else:
                    self._end(place, now)
                if not self._batched:
                    self._decide(now)
            self._decide(now)
            self.recorder.decision_ns.append(cpu_ns() - begun)
            if progress is not None:
                progress(self.recorder.settled, len(self.jobs))
        self._check_settled()

    def _arrive(self, place: int, now: int) -> None:
        rejected = self._dispatcher.submit(self._arriving(place, now), now)
        if rejected is not None:
            self._reject(place, rejected.reason, now)

    def _end(self, place: int, now: int) -> None:
        self._dispatcher.ended(self.jobs[place].number, now)
        self.recorder.ended(place, now)
        self._submit_followers(place, now)

    def _decide(self, now: int) -> None:
        for effect in self._dispatcher.decide(now):
            place = self._place[effect.job]
            if isinstance(effect, Rejected):
                self._reject(place, effect.reason, now)
                continue
            self.recorder.placed(place, effect.start, effect.nodes, effect.units)
            self.recorder.attempts[place] = 1
            self._events.put(now + self.jobs[place].duration, self._ending, place, place)
