"""Simulated world: jobs arrive, follow each other and end, in one order of events.

Only the simulation knows runtimes. It notifies the dispatcher's turns and records decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dardis.engine.clock import cpu_ns
from dardis.engine.event_queue import Event, EventQueue
from dardis.model.addresses import Address, JobId
from dardis.model.errors import ProtocolError
from dardis.model.events import Change, SiteEvent, Withdrawn
from dardis.model.job import FOREVER, NO_TIME, ActualJob
from dardis.model.platform import Platform
from dardis.model.resources import UNKNOWN_END
from dardis.predict import Predictor
from dardis.sim.recorder import Keep, Recorder
from dardis.sim.site_state import SiteState
from dardis.transport.base import Hosts
from dardis.transport.local_transport import LocalHosts, Lockstep
from dardis.turns import Turn, Turns
from dardis.wire.effects import ExecutorAction, Kill, Placed, Registered, Rejected, Solved, Switched

Progress = Callable[[int, int], None]
"""Called with settled and total jobs."""
NO_HOSTS = LocalHosts(())

MOST_WAKES = 1_000_000
"""Most wake-ups without events: a year has half as many minutes."""
NO_SITE = Platform("", ())
"""Site that accepts all jobs."""


class Simulation:
    """One run of jobs in (submit, number) order.

    Order within an instant, batched: ends, site events, arrivals. Otherwise: site events, arrivals, then single ends.
    """

    def __init__(
        self, jobs: Sequence[ActualJob], turns: Turns, hosts: Hosts = NO_HOSTS, predictor: Predictor | None = None,
        keep: Keep | None = None, site: Platform = NO_SITE, happens: Sequence[SiteEvent] = (), *,
        distinct: bool = False,
    ) -> None:  # fmt: skip
        """Schedule arrivals of jobs without predecessors, and site events `happens`.

        `site`: rules for users. `distinct`: units run on different nodes.
        """
        self.jobs = list(jobs)
        self.recorder = Recorder(len(self.jobs), keep)
        self._turns = turns
        self._predictor = predictor
        self.site = SiteState(site, distinct=distinct)
        self._happens = happens
        self._in: set[int] = set()
        """Accepted, unfinished jobs."""
        self._lockstep = Lockstep(hosts, self)
        self._ending, self._happening, self._lapsing, self._arrival = (0, 1, 2, 3) if turns.batched else (3, 0, 1, 2)
        self._events = EventQueue()
        self._place = {job.number: place for place, job in enumerate(self.jobs)}
        self._version = [0] * len(self.jobs)
        """Number of placements; ends of earlier ones are void."""
        self._several: dict[int, ActualJob] = {}
        """Placed jobs with alternatives, before the choice."""
        self._followers: dict[int, list[int]] = {}
        first = []
        for place, job in enumerate(self.jobs):
            leader = None if job.after is None else self._place.get(job.after)
            if leader is not None and leader < place:
                self._followers.setdefault(leader, []).append(place)
            else:
                first.append((job.submit, self._arrival, job.number, place))
        self._events.fill(first)
        self._events.fill((event.at, self._happening, place, place) for place, event in enumerate(happens))
        self._begun = self._decided = 0
        """Unassigned CPU time's start, and the decision's part, ns."""

    def run(self, progress: Progress | None = None) -> None:
        """Run until all jobs have ended or been rejected."""
        now = self._run_on(progress)
        while self._reject_waiting(now):
            now = self._run_on(progress)
        if self.recorder.settled != len(self.jobs):  # a lost job is a defect
            raise ProtocolError(f"{len(self.jobs) - self.recorder.settled} jobs neither ran nor were rejected")

    def run_until(self, end: int) -> None:
        """Run all instants before `end`."""
        self._run_on(None, end)

    def _reject_waiting(self, now: int) -> bool:
        """Reject jobs that wait in vain; return success.

        Jobs too large for the remaining nodes go first.
        """
        reasons = {place: self.site.never_reason(place, self.jobs[place].job) for place in sorted(self._in)}
        vain = [place for place, reason in reasons.items() if reason]
        held = [place for place in vain if self.site.is_held(place)]
        lacking = self.site.unplaceable_jobs({place: self.jobs[place].job for place in vain if place not in held})
        rejected = sorted([*held, *lacking]) or vain
        if not rejected:
            return False
        self.withdraw([place for place in rejected if not self.site.release_held(place)], now)
        for place in rejected:
            self._reject(place, reasons[place], now)
        self._take(self._turns.on_instant_end(now, last=False), now)
        return True

    def _run_on(self, progress: Progress | None, until: int = UNKNOWN_END) -> int:
        events, turns = self._events, self._turns
        alone, last = 0, NO_TIME
        while True:
            following, wake = events.next_time(), turns.wake()
            if min(wake, FOREVER if following is None else following) >= until:
                return last
            now = wake if following is None else min(following, wake)
            switches = turns.next_switch()
            if switches < now:
                self._begun = cpu_ns()
                self._take(turns.switch(switches), switches)
                self.recorder.upkeep_ns += self._settle()
                continue
            if wake == now:
                turns.on_wake(now)
            if following == now or switches != FOREVER:
                alone = 0
            else:
                alone += 1
                self._check_progress(alone, last, now)
            last = now
            self.run_instant(now)
            if progress is not None:
                progress(self.recorder.settled, len(self.jobs))

    def run_instant(self, now: int) -> None:
        """Run an instant, with its events if any."""
        self._begun = cpu_ns()
        self._instant(now)
        self._take(self._turns.on_instant_end(now, last=self._events.next_time() is None), now)
        if self._turns.by_instant:
            self.recorder.decision_ns.append(self._settle())
        else:
            self.recorder.upkeep_ns += self._settle()

    def _check_progress(self, alone: int, last: int, now: int) -> None:
        if now <= last:
            raise ProtocolError(f"at {last} s the dispatcher requests its next decision at {now} s")
        if alone > MOST_WAKES:
            left = len(self.jobs) - self.recorder.settled
            raise ProtocolError(f"{left} jobs wait at {now} s: the last {MOST_WAKES} wake-ups changed nothing")

    def _instant(self, now: int) -> None:
        while (event := self._events.pop_before((now + 1,))) is not None:
            if event[1] == self._arrival:
                self._arrive(event[3], now)
                self.submit(event[3], now)
            elif event[1] == self._happening:
                self.site.happen(self._happens[event[3]], self, now)
            elif event[1] == self._lapsing:
                self._lapse(event[2], now)
            elif ended := self._ends(event, now):
                self._take(self._turns.on_job_ends(ended, now), now)

    def submit(self, place: int, now: int) -> None:
        """See `SimulatedJobs.submit`."""
        asked = self.jobs[place].job
        if reason := self.site.refusal(asked):
            self._reject(place, reason, now)
            return
        self._in.add(place)
        last = self.site.last_start(asked)
        if last < FOREVER:
            self._events.put(last + 1, self._lapsing, place, 0)
        if not self.site.must_hold(place, asked):
            self.submit_to_dispatcher(place, now)

    def _lapse(self, place: int, now: int) -> None:
        asked = self.jobs[place].job
        if self.has_begun(place, now) or now <= self.site.last_start(asked):
            return
        if not self.site.release_held(place):
            self.withdraw([place], now)
        self._reject(place, self.site.too_late(asked), now)

    # ------------------------------------------------------------------------------------------------------------------
    # Effects of site events on jobs.

    def place_of(self, job: JobId) -> int:
        """Job's place."""
        return self._place[job]

    def is_in(self, place: int) -> bool:
        """See `SimulatedJobs.is_in`."""
        return place in self._in

    def has_begun(self, place: int, now: int) -> bool:
        """See `SimulatedJobs.has_begun`."""
        start = self.recorder.start[place]
        is_over = self.recorder.finish[place] != NO_TIME or place in self.recorder.reasons
        return is_over or (start != NO_TIME and start < now)

    def waiting(self, now: int) -> list[int]:
        """See `SimulatedJobs.waiting`."""
        return [place for place in sorted(self._in) if not self.site.is_held(place) and not self.has_begun(place, now)]

    def withdraw(self, places: Sequence[int], now: int) -> None:
        """See `SimulatedJobs.withdraw`."""
        for place in places:
            self._version[place] += 1
            self.recorder.drop_placement(place)
            self.jobs[place] = self._several.pop(place, self.jobs[place])
        if places:
            self.notify_dispatcher(Withdrawn(tuple(self.jobs[place].number for place in places)), now)

    def notify_dispatcher(self, change: Change, now: int) -> None:
        """Notify the dispatcher."""
        self._take(self._turns.on_change(change, now), now)

    def running(self, now: int) -> list[int]:
        """Running jobs."""
        return [place for place in sorted(self._in) if self.has_begun(place, now)]

    def kill(self, places: Sequence[int], now: int) -> None:
        """See `SimulatedJobs.kill`."""
        for place in places:
            self._version[place] += 1
            self.recorder.record_failure(place, now)
            self._in.discard(place)
            self._submit_followers(place, now)
        if places:
            self._take(self._turns.on_job_ends([self.jobs[place].number for place in places], now), now)

    def submit_to_dispatcher(self, place: int, now: int) -> None:
        """Submit a job to the dispatcher, with a prediction."""
        asked = self.jobs[place].job
        if self._predictor is not None:
            begun = cpu_ns()
            duration, rule = self._predictor.predict(asked, now)
            self._count_prediction(begun)
            self.recorder.record_prediction(place, duration, rule)
            if duration != asked.walltime:
                asked = replace(asked, prediction=duration)
        self._take(self._turns.on_submit(asked, place, now), now)

    def _take(self, turns: Iterable[Turn], now: int) -> None:
        """Perform turns.

        Time before a turn counts to it: clock reads are expensive.
        """
        for turn in turns:
            elsewhere = self._lockstep.run_turn(turn.dialogue, now)
            if self._turns.by_instant and not turn.upkeep:
                self._decided += elsewhere
                continue
            begun, self._begun = self._begun, cpu_ns()
            spent = self._begun - begun + elsewhere
            if turn.upkeep:
                self.recorder.upkeep_ns += spent
            else:
                self.recorder.decision_ns.append(spent)

    def _settle(self) -> int:
        spent = self._decided + cpu_ns() - self._begun
        self._decided = 0
        return spent

    def _register(self, job: ActualJob) -> None:
        place = self._place[job.number] = len(self.jobs)
        self.jobs.append(job)
        self._version.append(0)
        self.recorder.add_job()
        self._events.put(job.submit, self._arrival, job.number, place)

    def _arrive(self, place: int, now: int) -> None:
        asked = self.jobs[place].job
        if now > asked.submit:
            # Users submit a following job after they have seen the result.
            late = None if asked.latest is None else asked.latest + now - asked.submit
            asked = replace(asked, submit=now, earliest=max(asked.earliest, now), latest=late)
            self.jobs[place] = replace(self.jobs[place], job=asked)

    def _ends(self, event: Event | None, now: int) -> list[JobId]:
        ended = []
        while event is not None:
            _, _, place, version = event
            if version == self._version[place]:
                self.recorder.record_end(place, now)
                self._in.discard(place)
                self._submit_followers(place, now)
                job = self.jobs[place]
                ended.append(job.number)
                if self._predictor is not None:
                    begun = cpu_ns()
                    self._predictor.observe(job.job, job.duration, now)
                    self._count_prediction(begun)
            event = self._events.pop_before((now, self._ending + 1)) if self._turns.batched else None
        return ended

    def _count_prediction(self, begun: int) -> None:
        spent = cpu_ns() - begun
        self.recorder.predictor_ns += spent
        self._begun += spent

    def _reject(self, place: int, reason: str, now: int) -> None:
        self.recorder.record_rejection(place, reason)
        self._in.discard(place)
        self._submit_followers(place, now)

    def _take_shape(self, place: int, placed: Placed) -> None:
        job = self.jobs[place]
        if len(job.job.requests) > 1:
            self.recorder.taken[place] = placed.taken
            self._several[place] = job
            self.jobs[place] = job.with_request(placed.taken)
        if placed.parts:
            self.recorder.parts[place] = placed.parts

    def _submit_followers(self, place: int, now: int) -> None:
        for follower in self._followers.pop(place, ()):
            job = self.jobs[follower]
            self._events.put(max(job.submit, now + job.think), self._arrival, job.number, follower)

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:  # noqa: ARG002 (whoever says it)
        """Record a deed, and schedule ends."""
        match deed:
            case Placed():
                place = self._place[deed.job]
                if self.jobs[place].job.requests:
                    self._take_shape(place, deed)
                self.recorder.record_placement(place, deed.start, deed.nodes, deed.units)
                self.recorder.boot_delay[place] = deed.boot_delay
                self.recorder.attempts[place] = deed.attempts
                self._version[place] += 1
                end = deed.start + self.jobs[place].duration
                self._events.put(end, self._ending, place, self._version[place])
            case Rejected():
                place = self._place[deed.job]
                self.recorder.attempts[place] = deed.attempts
                self._reject(place, deed.reason + self.site.judged_by(self.jobs[place].job), now)
            case Kill():
                self.recorder.killed.append(self._place[deed.job])
                self.kill([self._place[deed.job]], now)
            case Registered():
                self._register(deed.job)
            case Solved():
                self.recorder.record_decision(now, deed)
                self._decided += round(deed.solver_cpu_s * 1e9)  # the solver runs outside the measured thread
            case Switched():
                self.recorder.record_switch(deed.nodes, deed.moments, up=deed.up)
