"""A trace through task managers and node managers in virtual time. Takes turns in (submit, job number) order.

The driver is the world, not a scheduler: it knows runtimes, lets time pass, and hands events to the machines. At one
instant ends come first, then those who may gain by them, then arrivals (`batched`); or arrivals, then each end
by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np

from dardis.engine.clock import cpu_ns
from dardis.model.choices import EventOrder, Switch
from dardis.model.errors import ProtocolError
from dardis.model.job import NO_TIME, Job
from dardis.node_manager.switching import Switcher
from dardis.sim.spread import hosts_of
from dardis.sim.switched import SwitchedNodes
from dardis.sim.world import Progress, World
from dardis.task_manager import SetUp, TaskManager
from dardis.task_manager.setups import BackfillScope
from dardis.transport.base import Hosts
from dardis.wire.effects import Effect, Placed, Rejected, Send, Waiting
from dardis.wire.messages import Ended, Later


class Simulation(World):
    """One run. Jobs must be in (submit, number) order; of M task managers the m-th serves jobs m, m + M and so on."""

    def __init__(
        self, jobs: Sequence[Job], setup: SetUp, managers: Sequence[TaskManager], hosts: Hosts, bounds: Sequence[int],
        switcher: Switcher | None = None,
    ) -> None:  # fmt: skip
        """`bounds` says which nodes each host holds: host h has [bounds[h], bounds[h+1]); a `switcher` who is on."""
        super().__init__(jobs, batched=setup.event_order is EventOrder.BATCHED)
        self._setup = setup
        self._managers = managers
        self._hosts = hosts
        self._bounds = np.array(bounds)
        self._nodes = SwitchedNodes(switcher, hosts, self._bounds, self.recorder)
        self._repairs = setup.backfill is Switch.ON
        self._version = [0] * len(self.jobs)
        self._pending: set[int] = set()
        self._waiting: dict[int, str] = {}
        self._moved_until = 0
        """Until when what moved jobs have left was reserved, since they last began to ask."""
        self.notices = 0
        """Messages of node managers to jobs that may gain by an early end."""

    @property
    def messages(self) -> int:
        """Messages between task managers and node managers."""
        return sum(manager.messages for manager in self._managers) + self.notices

    @property
    def renegotiations(self) -> int:
        """Asks and claims after the first, over all jobs."""
        return sum(manager.renegotiations for manager in self._managers)

    def run(self, progress: Progress | None = None) -> None:
        """Run until every job has ended or been rejected."""
        while (now := self._events.next_time()) is not None:
            self._nodes.until(now)
            while self._events.next_time() == now:
                if self._events.next_priority() == self._arrival:
                    self._arrive(self._events.pop()[3], now)
                else:
                    self._ends(now)
            if self._events.next_time() is None:
                self._give_up_waiting(now)
            self._nodes.act(now)
            if progress is not None:
                progress(self.recorder.settled, len(self.jobs))
        self._check_settled()

    def _give_up_waiting(self, now: int) -> None:
        """Nothing will change any more: who waits for a change is rejected, and who follows is submitted."""
        waiting, self._waiting = self._waiting, {}
        for place in sorted(waiting, key=self._turn):
            self._reject(place, waiting[place], now)

    def _reject(self, place: int, reason: str, now: int) -> None:
        number = self.jobs[place].number
        self.recorder.attempts[place] = self._manager(place).attempts(number)
        self._manager(place).forget(number)
        super()._reject(place, reason, now)

    def _turn(self, place: int) -> tuple[int, int]:
        """What the order of turns is by; the place in the trace is not, where jobs follow others."""
        return self.jobs[place].submit, self.jobs[place].number

    def _manager(self, place: int) -> TaskManager:
        return self._managers[place % len(self._managers)]

    def _arrive(self, place: int, now: int) -> None:
        job = self._arriving(place, now)
        self._decide(place, lambda manager: manager.submit(job, now), now)

    def _ends(self, now: int) -> None:
        """Let the next end happen, or all ends of this instant, and those ask who may gain by them."""
        later: set[int] = set()
        freed_until = NO_TIME
        priority = self._events.next_priority()
        while self._events.next_time() == now and self._events.next_priority() == priority:
            _, _, place, version = self._events.pop()
            if version == self._version[place]:
                freed_until = max(freed_until, self._end(place, now, later))
            if not self._batched:
                break
        # What one job leaves when it moves may be of use to those before it only at the next end, however on time.
        least = now if self._setup.backfill_scope is BackfillScope.ALL_NODES else now + 1
        if freed_until >= least:
            self._repair(later, freed_until, now)

    def _end(self, place: int, now: int, later: set[int]) -> int:
        """End a job; add to `later` whom its nodes tell. Return when its reservation would have ended."""
        job, recorder = self.jobs[place], self.recorder
        reserved_until = recorder.start[place] + job.walltime
        recorder.ended(place, now)
        self._nodes.ended(job.number, now)
        self._pending.discard(place)
        manager = self._manager(place)
        recorder.attempts[place] = manager.attempts(job.number)
        manager.forget(job.number)
        tells = now < reserved_until and self._repairs and self._setup.backfill_scope is BackfillScope.SAME_NODES
        message = Ended(job.number, (self._setup.backfill_depth or -1) if tells else 0)
        nodes = recorder.nodes_of(place)
        answers, spent = self._hosts.exchange([Send(host, message) for host in hosts_of(nodes, self._bounds)], now)
        recorder.upkeep_ns += spent
        for answer in answers:
            if not isinstance(answer, Later):
                raise ProtocolError(f"job {job.number}: its end was answered by {type(answer).__name__}")
            self.notices += answer.told
            later.update(self._place[number] for number in answer.jobs.tolist())
        self._submit_followers(place, now)
        return reserved_until

    def _repair(self, later: set[int], freed_until: int, now: int) -> None:
        """Let those ask again who may gain by what has been freed: who waits, then who has a later start."""
        self._ask_again(self._waiting, freed_until, now)
        if not self._repairs:
            return
        if self._setup.backfill_scope is BackfillScope.ALL_NODES:
            start = self.recorder.start
            self._pending = {place for place in self._pending if start[place] > now}
            later = self._pending
        depth = self._setup.backfill_depth if self._setup.backfill_scope is BackfillScope.ALL_NODES else 0
        self._moved_until = 0
        self._ask_again(later, 0, now, depth)
        if self._moved_until > now:
            self._ask_again(self._waiting, self._moved_until, now)

    def _ask_again(self, places: Iterable[int], freed_until: int, now: int, most: int = 0) -> None:
        """Let jobs ask again in arrival order, the first `most` of them (0: all)."""
        order = sorted(places, key=self._turn)[: most or None]
        for _, group in groupby(order, key=lambda place: place % len(self._managers)):
            mine = list(group)
            numbers = [self.jobs[place].number for place in mine]
            self._decide(mine[0], lambda manager, ask=numbers: manager.ask_again(ask, now, freed_until), now)  # type: ignore[misc]

    def _decide(self, place: int, event: Callable[[TaskManager], list[Effect]], now: int) -> None:
        """Give a task manager its turn: carry out effects and bring answers until nothing more is to be said."""
        manager = self._manager(place)
        spent = 0
        begun = cpu_ns()
        effects = event(manager)
        while True:
            spent += cpu_ns() - begun
            sends = [effect for effect in effects if isinstance(effect, Send)]
            for effect in effects:
                self._carry_out(effect, now)
            if not sends:
                break
            answers, remote = self._hosts.exchange(sends, now)
            spent += remote
            begun = cpu_ns()
            effects = [effect for answer in answers for effect in manager.handle(answer, now)]
        self.recorder.decision_ns.append(spent)

    def _carry_out(self, effect: Effect, now: int) -> None:
        match effect:
            case Placed(job=number, start=start, nodes=nodes, units=units, boot_delay=boot_delay):
                place = self._place[number]
                if self._waiting.pop(place, None) is None and self.recorder.start[place] != NO_TIME:
                    self._moved_until = max(self._moved_until, self.recorder.start[place] + self.jobs[place].walltime)
                self.recorder.placed(place, start, nodes, units)
                self.recorder.boot_delay[place] = boot_delay
                self._nodes.reserved(number, start, nodes)
                self._version[place] += 1
                self._pending.add(place)
                end = start + self.jobs[place].duration
                self._events.put(end, self._ending, place, self._version[place])
            case Rejected(job=number, reason=reason):
                place = self._place[number]
                self._reject(place, reason, now)
            case Waiting(job=number, reason=reason):
                self._waiting[self._place[number]] = reason
