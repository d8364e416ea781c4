"""The gateway's decisions: what becomes of jobs as they are handed in, ordered, told to be over and cancelled.

Pure: what happens and the time are arguments; what is to be written and ordered is taken by whoever runs it. Nothing
may be ordered, nor acknowledged, before what was taken with it is in the journal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dardis.live.deciding import Asks, Decider, Happened, Instant, Runs
from dardis.live.dependencies import Open, meets
from dardis.live.jobs import LiveJob, State, Submission, jobs_of, new_jobs
from dardis.live.journal import Batch
from dardis.live.keeper.fates import NEVER_BEGUN, UNKNOWN
from dardis.live.machine import Free, Machine, strangers
from dardis.live.orders import EndRun, ForgetRun, Order, StartRun, Taken
from dardis.model.addresses import JobId
from dardis.model.errors import InputError

LAG_S: Final = 2
"""How long after it was ordered a job may begin, and its nodes be empty after it was killed, s."""

FORGOTTEN: Final = UNKNOWN + "what the keeper knew of it is lost"


@dataclass(slots=True)
class _News:
    """What has happened since the last instant."""

    ended: list[JobId] = field(default_factory=list)
    withdrawn: list[JobId] = field(default_factory=list)
    closed: bool = False


class Gateway:
    """All jobs that are not over, and the nodes they wait for."""

    def __init__(
        self, machine: Machine, unfinished: Iterable[tuple[Submission, Mapping[int, str]]] = (),
        drained: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Go on from what the journal has: what is not over, with what had become of it, and why nodes are drained."""
        self.machine = machine
        self.drained = {name: why for name, why in (drained or {}).items() if name in machine.names}
        self._open: dict[int, Open] = {}
        self._jobs: dict[JobId, LiveJob] = {}
        self._free = Free(machine)
        self._decider = Decider(machine.platform)
        self._anew = True
        self._news = _News(closed=bool(self.drained))
        self._to_admit: deque[LiveJob] = deque()
        self._admitted: set[JobId] = set()
        self._dependents: dict[int, list[Open]] = {}
        self._dirty: dict[JobId, LiveJob] = {}
        self._changed: dict[int, Open] = {}
        self._closing: list[int] = []
        """Submissions whose end was taken to be written."""
        self._orders: list[Order] = []
        self._instants: list[str] = []
        self._drains: dict[str, str] = {}
        self._stops = False
        self._strange: set[JobId] = set()
        """Jobs that run on what the machine does not have any more; nothing starts beside them."""
        for submission, become in unfinished:
            self._recall(submission, become)
        self._strange |= strangers(machine, self._free, self._jobs.values())
        self._news.closed |= bool(self._strange)

    # ------------------------------------------------------------------------------------------------------------------
    # What is known.

    @property
    def queued(self) -> int:
        """How many jobs have not begun."""
        return sum(job.state in (State.HELD, State.WAITING) for job in self._jobs.values())

    @property
    def running(self) -> int:
        """How many run."""
        return sum(job.state is State.RUNNING for job in self._jobs.values())

    def job(self, number: int) -> LiveJob | None:
        """A job of a submission that is open."""
        return self._jobs.get(JobId(number))

    def array(self, first: int) -> list[LiveJob]:
        """The jobs that were handed in with the first of them, if that is open."""
        return self._open[first].jobs if first in self._open else []

    def jobs(self) -> list[LiveJob]:
        """All of open submissions that are not over, by number."""
        return [job for _, one in sorted(self._open.items()) for job in one.jobs if not job.state.is_over]

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes, for those who ask."""
        running: dict[int, list[int]] = {}
        for job in self._jobs.values():
            if job.state is State.RUNNING:
                for share in job.shares:
                    running.setdefault(share.node, []).append(job.number)
        platform, told = self.machine.platform, []
        for node, name in enumerate(self.machine.names):
            holds = dict(zip(platform.kinds, platform.capacity[node].tolist(), strict=True))
            busy = sorted(running.get(node, []))
            state = "up" if name not in self.drained else "draining" if busy else "drained"
            told.append({
                "name": name, "cores": holds["cores"], "memory_mib": holds.get("memory", 0),
                "gpus": holds.get("gpu", 0), "used_cores": holds["cores"] - self._free.cores(node), "state": state,
                "jobs": busy, "why": self.drained.get(name, ""),
            })  # fmt: skip
        return told

    # ------------------------------------------------------------------------------------------------------------------
    # What happens.

    def submit(self, submission: Submission, how: Callable[[int], list[State]]) -> None:
        """Take jobs in. `how` says how a job that is over ended, or those of an array by the first; []: there is none.

        Raises InputError for what no node could hold, or what depends on a job that isn't there or can't end that way.
        """
        if refusal := self.machine.refusal(submission.asked):
            raise InputError("submit", refusal, "no more than the machine has (dardis nodes)")
        one = Open(submission, new_jobs(submission), left=submission.count)
        self._see_dependencies(one, how)
        self._open[submission.first] = self._changed[submission.first] = one
        self._jobs.update((job.number, job) for job in one.jobs)
        self._to_admit.extend(one.jobs)

    def _see_dependencies(self, one: Open, how: Callable[[int], list[State]]) -> None:
        for after in one.submission.asked.after:
            known = self._jobs.get(JobId(after.id))
            states = how(after.id) if known is None else [job.state for job in self._depended(known.of.first, after.id)]
            if not states:
                raise InputError("--after", f"there is no job {after.id}", "the number of a job of this service")
            if not all(state.is_over for state in states):
                one.waits_for.add(after.id)
            elif not meets(after.kind, states):
                raise InputError("--after", f"job {after.id} has ended otherwise: the new job would never start")
        for number in one.waits_for:
            self._dependents.setdefault(number, []).append(one)
        for job in one.jobs if one.waits_for else ():
            job.why = job.why or one.waits_in_words

    def _depended(self, first: int, number: int) -> list[LiveJob]:
        """The jobs on which those depend that depend on this number: of an array's first, all."""
        jobs = self._open[first].jobs
        return jobs if number == first else [jobs[number - first]]

    def cancel(self, job: LiveJob, now_ms: int) -> None:
        """End it, or let it never begin."""
        if job.state is State.RUNNING:
            if not job.cancelled:
                job.cancelled = True
                self._dirty[job.number] = job
            self._orders.append(EndRun(job.run))
        elif not job.state.is_over:
            self._end(job, State.CANCELLED, "cancelled before it began", now_ms)

    def hold(self, job: LiveJob) -> bool:
        """Let it not begin; whether it could still be held."""
        if job.state is not State.WAITING:
            return job.state is State.HELD
        self._withdraw(job)
        self._become(job, State.HELD, "held by its asker")
        return True

    def release(self, job: LiveJob) -> bool:
        """Let it begin that was held, or again that is unknown; whether it was any of these."""
        if job.state is State.UNKNOWN:
            one = self._open[job.of.first]
            if one.left == 0:  # the journal has it as over, or is about to
                self._changed[job.of.first] = one
            one.left += 1
        elif job.state is not State.HELD:
            return False
        self._wait_again(job)
        return True

    def drain(self, name: str, why: str) -> None:
        """Let nothing start on a node."""
        self.drained[name] = self._drains[name] = why or "drained"
        self._news.closed = True

    def resume(self, name: str) -> None:
        """Let jobs start there again."""
        self.drained.pop(name, None)
        self._drains[name] = ""
        self._news.closed = True

    def start_nothing(self) -> None:
        """Let nothing start any more."""
        self._stops = self._news.closed = True

    def began(self, run: str, started_ms: int) -> None:
        """A keeper has begun a run."""
        if (job := self.running_as(run)) is not None:
            job.started_ms = started_ms

    def told(self, record: Mapping[str, Any], now_ms: int) -> None:
        """A keeper tells of a run."""
        run, state = record["run"], record["state"]
        job = self.running_as(run)
        if job is None:
            if state != "running":
                self._orders.append(ForgetRun(run))
            else:  # it is nobody's any more
                self._orders.append(EndRun(run))
            return
        if state == "running":
            self.began(run, record["started_ms"] or now_ms)
            if job.cancelled:
                self._orders.append(EndRun(run))
            return
        self._orders.append(ForgetRun(run))
        job.started_ms = record["started_ms"] or job.started_ms
        job.code, job.signal = record["code"], record["signal"]
        self._leave(job)
        why = record["why"]
        if state == "unknown":
            self._end_unknown(job, why, record["ended_ms"] or now_ms)
        elif why == NEVER_BEGUN and not job.cancelled:
            self._wait_again(job)
        else:
            self._end(job, *_ended_how(job, why), record["ended_ms"] or now_ms)

    def missing(self, known: Iterable[str], now_ms: int, *, is_new: bool = False) -> None:
        """A keeper knows of these runs alone: no other that it was ordered to start has begun, or will.

        One that is new was ordered nothing: what has become of the runs of another, whose folder is gone, is unknown,
        and they may run yet: none is begun again by itself.
        """
        runs = set(known)
        for job in [job for job in self._jobs.values() if job.state is State.RUNNING and job.run not in runs]:
            self._leave(job)
            if is_new:
                self._end(job, State.UNKNOWN, FORGOTTEN, now_ms)
            elif job.cancelled:
                self._end(job, State.CANCELLED, "cancelled before it began", now_ms)
            else:
                self._wait_again(job)

    def running_as(self, run: str) -> LiveJob | None:
        """The job that runs by this name."""
        number, _, _ = run.partition(".")
        job = self._jobs.get(JobId(int(number)))
        return job if job is not None and job.run == run and job.state is State.RUNNING else None

    # ------------------------------------------------------------------------------------------------------------------
    # What becomes of jobs.

    def _become(self, job: LiveJob, state: State, why: str) -> None:
        job.state, job.why = state, why
        self._dirty[job.number] = job

    def _wait_again(self, job: LiveJob) -> None:
        """Wait as if it had not begun."""
        job.shares, job.started_ms, job.ended_ms, job.code, job.signal = (), None, None, None, None
        job.cancelled = False
        self._become(job, State.WAITING, "")
        self._to_admit.append(job)

    def _end_unknown(self, job: LiveJob, why: str, now_ms: int) -> None:
        """Nobody can say how it ended, or whether it began; it is over."""
        if job.of.asked.requeue and not job.cancelled:
            self._wait_again(job)
        else:
            self._end(job, State.UNKNOWN, why, now_ms)

    def _end(self, job: LiveJob, state: State, why: str, now_ms: int) -> None:
        """Let it be over, and so what can't begin any more by that: link by link, however long a chain of jobs is."""
        met = deque(self._over(job, state, why, now_ms))
        while met:
            number = met.popleft()
            for vain in self._met(number):
                why = f"depends on job {number}, which ended otherwise"
                met.extend(self._over(vain, State.CANCELLED, why, now_ms))

    def _over(self, job: LiveJob, state: State, why: str, now_ms: int) -> list[int]:
        """The numbers on which jobs depend that are over by its end."""
        if job.state is State.WAITING:
            self._withdraw(job)
        job.ended_ms = now_ms
        self._become(job, state, why)
        one = self._open[job.of.first]
        one.left -= 1
        if one.left == 0:
            self._changed[job.of.first] = one
        met: list[int] = [] if job.number == job.of.first else [job.number]
        if one.left == 0:
            met.append(job.of.first)
        return [number for number in met if number in self._dependents]

    def _met(self, number: int) -> list[LiveJob]:
        """What jobs depend on is over; those that can't begin any more."""
        in_vain: list[LiveJob] = []
        states = [job.state for job in self._depended(self._jobs[JobId(number)].of.first, number)]
        for one in self._dependents.pop(number, []):
            one.waits_for.discard(number)
            kinds = [after.kind for after in one.submission.asked.after if after.id == number]
            vain = not all(meets(kind, states) for kind in kinds)
            for job in one.jobs:
                if job.state.is_over:
                    continue
                if vain:
                    in_vain.append(job)
                elif job.state is State.WAITING:
                    job.why = one.waits_in_words
            if not vain:
                self._to_admit.extend(job for job in one.jobs if job.state is State.WAITING)
        return in_vain

    def _leave(self, job: LiveJob) -> None:
        """A run is over: its nodes are empty."""
        for share in job.shares:
            self._free.give_back(share)
        if job.number in self._strange:
            self._strange.discard(job.number)
            self._news.closed = True
        else:
            self._news.ended.append(job.number)
        self._not_admitted(job)

    def _withdraw(self, job: LiveJob) -> None:
        if job.number in self._admitted:
            self._news.withdrawn.append(job.number)
            self._not_admitted(job)

    def _not_admitted(self, job: LiveJob) -> None:
        self._admitted.discard(job.number)
        one = self._open[job.of.first]
        one.admitted -= 1
        if one.behind:
            self._to_admit.append(one.behind.popleft())

    # ------------------------------------------------------------------------------------------------------------------
    # Decisions.

    def wake(self) -> int:
        """The next time, Unix s, at which something is to be decided though nothing happens (FOREVER: never)."""
        return self._decider.wake()

    def decide(self, now: int) -> None:
        """Tell those who decide what has happened, and order what they start. `now` in Unix s."""
        submitted = self._admit()
        news = _News(closed=self._news.closed) if self._anew else self._news
        if not (news.ended or news.withdrawn or news.closed or submitted or self._anew or self.wake() <= now):
            return
        self._news = _News()
        names = self.machine.names
        beside = {share.node for number in self._strange for share in self._jobs[number].shares}
        closed = tuple(n for n, name in enumerate(names) if self._stops or name in self.drained or n in beside)
        happened = Happened(
            now, tuple(news.ended), tuple(news.withdrawn), closed if news.closed else None,
            tuple(self._runs(now)) if self._anew else (),
            tuple(map(self._asks, submitted)), self._anew,
        )  # fmt: skip
        self._anew = False
        starts, refused = self._decider.decide(happened)
        machine = self.machine.platform if happened.anew else None
        self._instants.append(Instant(happened, tuple(starts), machine).text())
        for start in starts:
            self._order(self._jobs[start.job], start.nodes)
        for number, why in refused.items():
            self._not_admitted(self._jobs[number])  # taken in on a larger machine
            self._become(self._jobs[number], State.HELD, why)

    def _admit(self) -> list[LiveJob]:
        """Jobs that may begin, and that those who decide don't have yet."""
        submitted = []
        while self._to_admit:
            job = self._to_admit.popleft()
            one = self._open.get(job.of.first)
            if one is None or one.waits_for:
                continue
            if job.state is not State.WAITING or job.number in self._admitted:
                if one.behind and not one.is_full:
                    self._to_admit.append(one.behind.popleft())
            elif one.is_full:
                one.behind.append(job)
            else:
                one.admitted += 1
                self._admitted.add(job.number)
                submitted.append(job)
        return submitted

    def _order(self, job: LiveJob, nodes: tuple[int, ...]) -> None:
        asked = job.of.asked
        job.attempt += 1
        job.shares = tuple(self._free.take(node, asked.cpus, asked.gpus) for node in nodes)
        self._become(job, State.RUNNING, "")
        self._orders.append(StartRun(job))

    def _asks(self, job: LiveJob) -> Asks:
        asked = job.of.asked
        walltime = asked.walltime_s + asked.grace + LAG_S
        return Asks(job.number, job.of.submitted_ms // 1000, walltime, asked.nodes, self.machine.request(asked))

    def _runs(self, now: int) -> Iterable[Runs]:
        for job in self._jobs.values():
            if job.state is State.RUNNING and job.number not in self._strange:
                asks = self._asks(job)
                since = now if job.started_ms is None else job.started_ms // 1000
                yield Runs(asks, tuple(share.node for share in job.shares), since + asks.walltime - now)

    # ------------------------------------------------------------------------------------------------------------------
    # The journal.

    def take(self) -> Taken:
        """What has come up since this was asked last, and is in the journal.

        Submissions that end with it are known until this is asked again: as long as the journal may not say so yet.
        """
        for first in self._closing:
            if (one := self._open[first]).left == 0:
                del self._open[first]
                for job in one.jobs:
                    del self._jobs[job.number]
        batch = Batch(instants=self._instants, drains=self._drains)
        batch.submissions = [one.submission.row(over=one.left == 0) for _, one in sorted(self._changed.items())]
        batch.jobs.extend((job.number, job.text()) for job in self._dirty.values())
        self._closing = [first for first, one in self._changed.items() if one.left == 0]
        taken = Taken(batch, self._orders, [job for job in self._dirty.values() if job.state.is_over])
        self._changed, self._dirty, self._instants, self._drains, self._orders = {}, {}, [], {}, []
        return taken

    def reopen(self, submission: Submission, become: Mapping[int, str]) -> None:
        """Take up again what was over, for a job of it that is to run again."""
        self._recall(submission, become)
        self._changed[submission.first] = self._open[submission.first]

    def _recall(self, submission: Submission, become: Mapping[int, str]) -> None:
        one = Open(submission, jobs_of(submission, become))
        self._open[submission.first] = one
        for job in one.jobs:
            self._jobs[job.number] = job
            if job.state is State.RUNNING:
                one.admitted += 1
                self._admitted.add(job.number)
                for share in job.shares:
                    self._free.hold(share)
        one.left = sum(not job.state.is_over for job in one.jobs)
        for after in submission.asked.after:
            known = self._jobs.get(JobId(after.id))
            if known is not None and not all(j.state.is_over for j in self._depended(known.of.first, after.id)):
                one.waits_for.add(after.id)
                self._dependents.setdefault(after.id, []).append(one)
        self._to_admit.extend(job for job in one.jobs if job.state is State.WAITING)


def _ended_how(job: LiveJob, why: str) -> tuple[State, str]:
    """State and reason of a job whose last run is over."""
    if why == "walltime":
        return State.TIMEOUT, f"was killed at its walltime of {job.of.asked.walltime_s} s"
    if why in ("cancelled", NEVER_BEGUN) or (job.cancelled and job.code != 0):
        return State.CANCELLED, "cancelled"
    if why != "exit":
        return State.FAILED, why
    return (State.COMPLETED, "") if job.code == 0 else (State.FAILED, "")
