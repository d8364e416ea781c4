"""A trace through late-binding task managers in virtual time: turns go in the agreed order of their jobs' keys.

The driver stands for what takes time where messages do: a better key speaks earlier, and all see what was taken before
the next speaks. At every instant at which something happened, nodes publish and the waiting jobs have their turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dardis.engine.clock import cpu_ns
from dardis.model.choices import EventOrder
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Job
from dardis.node_manager.switching import Switcher
from dardis.sim.spread import hosts_of
from dardis.sim.switched import SwitchedNodes
from dardis.sim.world import Progress, World
from dardis.task_manager import LateManager
from dardis.transport.base import Hosts
from dardis.wire.effects import Effect, Placed, Rejected, Send
from dardis.wire.messages import Ended, Look, Message, Published, Release


class LateSimulation(World):
    """One run. Jobs must be in (submit, number) order; of M task managers the m-th serves jobs m, m + M and so on."""

    def __init__(
        self, jobs: Sequence[Job], event_order: EventOrder, managers: Sequence[LateManager], hosts: Hosts,
        bounds: Sequence[int], switcher: Switcher | None = None,
    ) -> None:  # fmt: skip
        """`bounds` says which nodes each host holds: host h has [bounds[h], bounds[h+1]); a `switcher` who is on."""
        super().__init__(jobs, batched=event_order is EventOrder.BATCHED)
        self._managers = managers
        self._hosts = hosts
        self._bounds = np.array(bounds)
        self._nodes = SwitchedNodes(switcher, hosts, self._bounds, self.recorder)
        self._told = True
        """Whether nodes may have something to publish."""
        self._spent = 0
        """CPU ns inside the machines in this instant."""

    @property
    def messages(self) -> int:
        """Messages between task managers and node managers."""
        return sum(manager.messages for manager in self._managers)

    @property
    def renegotiations(self) -> int:
        """Asks and claims after the first, over all jobs."""
        return sum(manager.renegotiations for manager in self._managers)

    def run(self, progress: Progress | None = None) -> None:
        """Run until every job has ended or been rejected."""
        events = self._events
        while True:
            following = events.next_time()
            wake = min(manager.wake() for manager in self._managers)
            if following is None and wake == FOREVER:
                break
            now = wake if following is None else min(following, wake)
            switches = self._nodes.wake()
            if switches is not None and switches < now:
                self._switch(switches)
                continue
            self._spent = 0
            whole = wake == now
            self._told |= whole
            while events.next_time() == now:
                if events.next_priority() == self._arrival:
                    self._arrive(events.pop()[3], now)
                else:
                    self._end(events.pop()[3], now)
                    whole = True
                if not self._batched:
                    self._wake_up(now, whole=True)
            if self._batched or wake == now:
                self._wake_up(now, whole=whole)
            self._switch(now)
            self.recorder.decision_ns.append(self._spent)
            if progress is not None:
                progress(self.recorder.settled, len(self.jobs))
        self._check_settled()

    def _switch(self, now: int) -> None:
        """Switch the nodes that are due, and tell those who wait: nodes that are booted will wake them."""
        if self._nodes.act(now):
            self._told = True
            if any(manager.anybody_waits for manager in self._managers):
                self._publish(now)

    def _arrive(self, place: int, now: int) -> None:
        job = self._arriving(place, now)
        self._let(self._managers[place % len(self._managers)], lambda manager: manager.submit(job, now), now)

    def _end(self, place: int, now: int) -> None:
        """End a job on its nodes."""
        job, nodes = self.jobs[place], self.recorder.nodes_of(place)
        self.recorder.ended(place, now)
        self._nodes.ended(job.number, now)
        manager = self._managers[place % len(self._managers)]
        self.recorder.attempts[place] = manager.attempts(job.number)
        manager.forget(job.number)
        self._exchange([Send(host, Ended(job.number, 0)) for host in hosts_of(nodes, self._bounds)], now)
        self._told = True
        self._submit_followers(place, now)

    def _wake_up(self, now: int, *, whole: bool) -> None:
        """Give all waiting jobs their turn, or, where nothing was freed, the new ones."""
        for manager in self._managers:
            manager.open(now, whole=whole)
        if self._told and any(manager.next_key() for manager in self._managers):
            self._publish(now)
        if not whole and any(manager.overtakes(now) for manager in self._managers):
            whole = True
            for manager in self._managers:
                manager.open(now, whole=True)
        if whole and any(manager.next_key() for manager in self._managers):
            for manager in self._managers:
                self._let(manager, LateManager.drop_reservations, now)
        while True:
            keys = sorted((key, m) for m, manager in enumerate(self._managers) if (key := manager.next_key()))
            if not keys:
                break
            if self._told:
                self._publish(now)
            until = keys[1][0] if len(keys) > 1 else None
            self._let(self._managers[keys[0][1]], lambda m, until=until: m.turn(until, now), now)  # type: ignore[misc]
        for manager in self._managers:
            manager.close()

    def _publish(self, now: int) -> None:
        """Let nodes tell everybody what they can hold."""
        self._told = False
        for answer in self._exchange([self._managers[0].to_all(Look())], now):
            if not isinstance(answer, Published):
                raise ProtocolError(f"a look was answered by {type(answer).__name__}")
            begun = cpu_ns()
            for manager in self._managers:
                manager.handle(answer, now)
            self._spent += cpu_ns() - begun

    def _let(self, manager: LateManager, event: Callable[[LateManager], list[Effect]], now: int) -> None:
        """Give a task manager a turn: carry out effects and bring answers until nothing more is to be said."""
        begun = cpu_ns()
        effects = event(manager)
        while True:
            self._spent += cpu_ns() - begun
            sends = [effect for effect in effects if isinstance(effect, Send)]
            for send in sends:
                if isinstance(send.message, Release):
                    self._nodes.dropped(send.message.job)
            for effect in effects:
                self._carry_out(effect, now)
            if not sends:
                break
            self._told = True
            answers = self._exchange(sends, now)
            begun = cpu_ns()
            effects = [effect for answer in answers for effect in manager.handle(answer, now)]

    def _exchange(self, sends: list[Send], now: int) -> list[Message]:
        answers, spent = self._hosts.exchange(sends, now)
        self._spent += spent
        return answers

    def _carry_out(self, effect: Effect, now: int) -> None:
        match effect:
            case Placed(job=number, start=start, nodes=nodes, units=units, boot_delay=boot_delay):
                self._nodes.reserved(number, start, nodes)
                place = self._place[number]
                if self._managers[place % len(self._managers)].waits(number):
                    return
                self.recorder.placed(place, start, nodes, units)
                self.recorder.boot_delay[place] = boot_delay
                self._events.put(start + self.jobs[place].duration, self._ending, place, place)
            case Rejected(job=number, reason=reason):
                self._managers[self._place[number] % len(self._managers)].forget(number)
                self._reject(self._place[number], reason, now)
