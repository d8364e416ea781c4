"""What happens to jobs, whoever decides: they arrive, follow each other and end, in one order of events.

It is the world, not a scheduler: it alone knows runtimes, lets time pass, tells those who give turns what has happened,
and keeps the record of what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dardis.engine.clock import cpu_ns
from dardis.engine.queue import Event, EventQueue
from dardis.model.addresses import Address, JobId
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, NO_TIME, Actual, Job
from dardis.predict import Predictor
from dardis.sim.recorder import Keep, Recorder
from dardis.transport.base import Hosts
from dardis.transport.local import LocalHosts
from dardis.transport.lockstep import Lockstep
from dardis.turns import Turn, Turns
from dardis.wire.effects import Deed, Placed, Rejected, Solved, Switched

Progress = Callable[[int, int], None]
"""What is called with (jobs settled, jobs in all)."""
NO_HOSTS = LocalHosts(())
"""For turns that ask nobody."""

MOST_WAKES = 1_000_000
"""How often turns may want to be had where nothing is left to happen but what they do: a year has half as many minutes.
"""


class Simulation:
    """One run of jobs in (submit, number) order.

    At one instant ends come first, then arrivals (batched); or arrivals, then each end by itself.
    """

    def __init__(
        self, jobs: Sequence[Actual], turns: Turns, hosts: Hosts = NO_HOSTS, predictor: Predictor | None = None,
        keep: Keep | None = None, refusal: Callable[[Job], str] = lambda _: "",
    ) -> None:  # fmt: skip
        """Fill the queue of events with the arrivals of all jobs that follow no other.

        `refusal` says why a job that is submitted is not taken, whoever decides; nothing where it is.
        """
        self.jobs = list(jobs)
        self.recorder = Recorder(len(self.jobs), keep)
        self._turns = turns
        self._predictor = predictor
        self._refusal = refusal
        self._lockstep = Lockstep(hosts, self)
        self._arrival, self._ending = (1, 0) if turns.batched else (0, 1)
        self._events = EventQueue()
        self._place = {job.number: place for place, job in enumerate(self.jobs)}
        self._version = [0] * len(self.jobs)
        """How often each job was placed: an end that was expected before is void."""
        self._followers: dict[int, list[int]] = {}
        first = []
        for place, job in enumerate(self.jobs):
            leader = None if job.after is None else self._place.get(job.after)
            if leader is not None and leader < place:
                self._followers.setdefault(leader, []).append(place)
            else:
                first.append((job.submit, self._arrival, job.number, place))
        self._events.fill(first)
        self._begun = self._decided = 0
        """Since when CPU time is counted nowhere yet, in ns of the clock; what of it is the instant's decision so far.
        """

    def run(self, progress: Progress | None = None) -> None:
        """Run until every job has ended or been rejected."""
        events, turns = self._events, self._turns
        alone, last = 0, NO_TIME
        while True:
            following, wake = events.next_time(), turns.wake()
            if following is None and wake == FOREVER:
                break
            now = wake if following is None else min(following, wake)
            switches = turns.switches()
            if switches < now:
                self._begun = cpu_ns()
                self._take(turns.switch(switches), switches)
                self.recorder.upkeep_ns += self._settle()
                continue
            if wake == now:
                turns.woken(now)
            if following == now or switches != FOREVER:
                alone = 0
            else:
                alone += 1
                self._see_that_time_goes_on(alone, last, now)
            last = now
            self._begun = cpu_ns()
            self._instant(now)
            self._take(turns.over(now, last=events.next_time() is None), now)
            if turns.by_instant:
                self.recorder.decision_ns.append(self._settle())
            else:
                self.recorder.upkeep_ns += self._settle()
            if progress is not None:
                progress(self.recorder.settled, len(self.jobs))
        if self.recorder.settled != len(self.jobs):  # a machine has forgotten one: a defect, not a result
            raise ProtocolError(f"{len(self.jobs) - self.recorder.settled} jobs neither ran nor were rejected")

    def _see_that_time_goes_on(self, alone: int, last: int, now: int) -> None:
        """Raise ProtocolError for turns that want to be had for ever: so often nothing else has happened."""
        if now <= last:
            raise ProtocolError(f"asked at {last} s, it wants to be asked again at {now} s")
        if alone > MOST_WAKES:
            left = len(self.jobs) - self.recorder.settled
            raise ProtocolError(f"{left} jobs wait at {now} s: nothing has happened at the last {MOST_WAKES} wakes")

    def _instant(self, now: int) -> None:
        """Let all events of an instant happen."""
        while (event := self._events.pop_before((now + 1,))) is not None:
            if event[1] == self._arrival:
                place = event[3]
                job = self._arriving(place, now)
                if reason := self._refusal(job):
                    self._reject(place, reason, now)
                else:
                    self._take(self._turns.submitted(job, place, now), now)
            elif ended := self._ends(event, now):
                self._take(self._turns.ended(ended, now), now)

    def _take(self, turns: Iterable[Turn], now: int) -> None:
        """Take turns, each to its end.

        What comes before a turn is counted as a part of it: to read the clock costs as much as to let an event happen.
        """
        for turn in turns:
            spent, begun = self._lockstep.hold(turn.talk, now, self._begun)
            if self._turns.by_instant and not turn.upkeep:
                self._decided += spent
                self._begun = begun
                continue
            self._begun = cpu_ns()
            spent += self._begun - begun
            if turn.upkeep:
                self.recorder.upkeep_ns += spent
            else:
                self.recorder.decision_ns.append(spent)

    def _settle(self) -> int:
        """CPU ns since the instant began that are no turn's."""
        spent = self._decided + cpu_ns() - self._begun
        self._decided = 0
        return spent

    def _arriving(self, place: int, now: int) -> Job:
        """What the job asks for that arrives, with its own times if it arrives later than its trace says.

        And for how long it is expected to run, where somebody predicts that.
        """
        asked = self.jobs[place].asked
        if now > asked.submit:
            # A job that follows another is submitted when its user has seen the result.
            late = None if asked.latest is None else asked.latest + now - asked.submit
            asked = replace(asked, submit=now, earliest=max(asked.earliest, now), latest=late)
            self.jobs[place] = replace(self.jobs[place], asked=asked)
        if self._predictor is None:
            return asked
        begun = cpu_ns()
        duration, rule = self._predictor.predict(asked, now)
        self._count_prediction(begun)
        self.recorder.predicted(place, duration, rule)
        return asked if duration == asked.walltime else replace(asked, prediction=duration)

    def _ends(self, event: Event | None, now: int) -> list[JobId]:
        """Let this end happen, and where they are told together all of this instant; the jobs that have ended."""
        ended = []
        while event is not None:
            _, _, place, version = event
            if version == self._version[place]:
                self.recorder.ended(place, now)
                self._submit_followers(place, now)
                job = self.jobs[place]
                ended.append(job.number)
                if self._predictor is not None:
                    begun = cpu_ns()
                    self._predictor.observe(job.asked, job.duration, now)
                    self._count_prediction(begun)
            event = self._events.pop_before((now, self._ending + 1)) if self._turns.batched else None
        return ended

    def _count_prediction(self, begun: int) -> None:
        """Count the CPU time since then as that of predictions, and as no decision's."""
        spent = cpu_ns() - begun
        self.recorder.predictor_ns += spent
        self._begun += spent

    def _reject(self, place: int, reason: str, now: int) -> None:
        self.recorder.rejected(place, reason)
        self._submit_followers(place, now)

    def _submit_followers(self, place: int, now: int) -> None:
        for follower in self._followers.pop(place, ()):
            job = self.jobs[follower]
            self._events.put(max(job.submit, now + job.think), self._arrival, job.number, follower)

    def execute(self, who: Address, deed: Deed, now: int) -> None:  # noqa: ARG002 (whoever says it)
        """Keep the record of what becomes of jobs and nodes, and let what is placed end in its time."""
        match deed:
            case Placed():
                place = self._place[deed.job]
                self.recorder.placed(place, deed.start, deed.nodes, deed.units)
                self.recorder.boot_delay[place] = deed.boot_delay
                self.recorder.attempts[place] = deed.attempts
                self._version[place] += 1
                end = deed.start + self.jobs[place].duration
                self._events.put(end, self._ending, place, self._version[place])
            case Rejected():
                place = self._place[deed.job]
                self.recorder.attempts[place] = deed.attempts
                self._reject(place, deed.reason, now)
            case Solved():
                self.recorder.decided(now, deed)
                self._decided += round(deed.solver_cpu_s * 1e9)  # it works beside this thread, whose clock is read
            case Switched():
                self.recorder.switched(deed.nodes, deed.moments, up=deed.up)
