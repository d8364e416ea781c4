"""Decisions of the gateway about jobs.

Pure: events and times are arguments. The caller writes each batch to the journal before its orders and answers leave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from dardis.live.admission import Admission, Reach
from dardis.live.dependencies import Dependencies, Open, Reruns
from dardis.live.gateway_orders import EndRun, ForgetRun, Order, StartRun, Taken
from dardis.live.host_liveness import Hearing
from dardis.live.job_steps import Part, Parts
from dardis.live.journal import Batch
from dardis.live.keeper.log_records import LEASE, NEVER_BEGUN, UNKNOWN
from dardis.live.live_jobs import Led, LiveJob, State, Submission, jobs_of, new_jobs
from dardis.live.machine import Free, Machine, strangers, told_nodes
from dardis.live.orphaned_runs import Strays, is_part, job_and_attempt, job_run
from dardis.model.addresses import JobId
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.transport.base import HostDownError

FORGOTTEN: Final = UNKNOWN + "what the keeper knew of it is lost"


class Gateway:
    """All unfinished jobs, and the nodes."""

    def __init__(
        self, machine: Machine, unfinished: Iterable[tuple[Submission, Mapping[int, str]]] = (),
        drained: Mapping[str, str] | None = None, reach: Reach | None = None, leased: AbstractSet[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Restore journal state: unfinished submissions and drained nodes.

        `reach` connects to hosts; None: all local. Hosts in `leased` get leases for jobs that may rerun. All hosts are
        unreachable until their first report.
        """
        self.machine, self._leased = machine, leased
        self.drained = {name: why for name, why in (drained or {}).items() if name in machine.names}
        self._open: dict[int, Open] = {}
        self._jobs: dict[JobId, LiveJob] = {}
        self._free = Free(machine)
        self._admission = Admission(machine, self._open, reach)
        self._dependencies = Dependencies(self._open, self._jobs)
        self._strays = Strays(machine)
        self.hearing = Hearing(machine.hosts)
        self._orders: list[Order] = []
        self.parts = Parts(self._strays, self._orders.append)
        self._reruns = Reruns(self._strays, self.hearing, FORGOTTEN)
        self._dirty: dict[JobId, LiveJob] = {}
        self._changed: dict[int, Open] = {}
        self._closing: list[int] = []
        """Finished submissions, being written."""
        self._instants: list[str] = []
        self._drains: dict[str, str] = {}
        self._stops = False
        self._strange: set[JobId] = set()
        """Running jobs on removed nodes or cores."""
        for submission, become in unfinished:
            self._recall(submission, become)
        self._strange |= strangers(machine, self._free, self._jobs.values())

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def hosts_gone(self) -> set[str]:
        """Removed hosts that may still run jobs."""
        running = {host for job in self._running(lambda _: True) for host in (job.host, *job.hosts)}
        return (running | self._reruns.hosts()).difference(self.machine.hosts)

    @property
    def queued(self) -> int:
        """Number of held and waiting jobs."""
        return sum(job.state in (State.HELD, State.WAITING) for job in self._jobs.values())

    @property
    def running(self) -> int:
        """Number of running jobs."""
        return sum(job.state is State.RUNNING for job in self._jobs.values())

    def job(self, number: int) -> LiveJob | None:
        """Job of an open submission."""
        return self._jobs.get(JobId(number))

    def array(self, first: int) -> list[LiveJob]:
        """Jobs of an open submission, by its first job."""
        return self._open[first].jobs if first in self._open else []

    def jobs(self) -> list[LiveJob]:
        """Unfinished jobs by number."""
        return [job for _, one in sorted(self._open.items()) for job in one.jobs if not job.state.is_over]

    def nodes(self) -> list[dict[str, Any]]:
        """Nodes as JSON values."""
        return told_nodes(self.machine, self._free, self._running(lambda _: True), self.drained, self.hearing.silent)

    def why_waits(self, job: LiveJob) -> str:
        """Why a waiting job does not start; empty: not waiting."""
        if job.state is not State.WAITING:
            return ""
        if refusing := ", ".join(sorted(self.hearing.refusing)):
            return f"nothing starts: {refusing} was led by another service"
        one = self._open.get(job.of.first)
        is_behind = one is not None and one.is_full and not self._admission.has(job)
        if is_behind:
            return "waits for others of its array"
        return "waits for nodes" + (": all are drained" if len(self.drained) == len(self.machine.names) else "")

    @property
    def goes_on(self) -> bool:
        """Whether reachable hosts run job steps or orphaned runs."""
        return any(map(self.hearing.is_heard, self._strays.hosts() | {part.host for part in self.parts.going()}))

    # Events.

    def submit(self, submission: Submission, how: Callable[[int], list[State]]) -> None:
        """Accept a submission. Raises InputError for an impossible request or dependency.

        `how` returns end states of a finished job or array; []: unknown.
        """
        if refusal := self.machine.refusal(submission.asked):
            raise InputError("submit", refusal, "no more than the machine has (dardis nodes)")
        one = Open(submission, new_jobs(submission), left=submission.count)
        self._dependencies.see(one, how)
        self._open[submission.first] = self._changed[submission.first] = one
        self._jobs.update((job.number, job) for job in one.jobs)
        self._admission.may_begin(one.jobs)

    def cancel(self, job: LiveJob, now_ms: int) -> None:
        """Cancel a job."""
        if job.state is State.RUNNING:
            if not job.cancelled:
                job.cancelled = True
                self._dirty[job.number] = job
            self._orders.append(EndRun(job.run, job.host))
            self.parts.cancel(job)
        elif not job.state.is_over:
            self._end(job, State.CANCELLED, "cancelled before it began", now_ms)

    def hold(self, job: LiveJob) -> bool:
        """Hold a job. Return whether held."""
        if job.state is not State.WAITING:
            return job.state is State.HELD
        self._admission.withdraw(job)
        self._become(job, State.HELD, "held by its asker")
        return True

    def release(self, job: LiveJob) -> bool:
        """Release a held job or requeue an unknown job. Return whether possible."""
        if job.state is State.UNKNOWN:
            one = self._open[job.of.first]
            if one.left == 0:  # the journal records the end, or soon will
                self._changed[job.of.first] = one
            one.left += 1
        elif job.state is not State.HELD:
            return False
        self._wait_again(job)
        return True

    def drain(self, name: str, why: str) -> None:
        """Close a node to new jobs."""
        self.drained[name] = self._drains[name] = why or "drained"
        self._admission.close()

    def resume(self, name: str) -> None:
        """Reopen a drained node."""
        self.drained.pop(name, None)
        self._drains[name] = ""
        self._admission.close()

    def start_nothing(self) -> None:
        """Start no more jobs."""
        self._stops = True
        self._admission.close()

    def began(self, run: str, started_ms: int) -> None:
        """Record the start of a run."""
        if (job := self.running_as(run)) is not None:
            job.started_ms = started_ms

    def told(self, record: Mapping[str, Any], now_ms: int, host: str) -> None:
        """Handle a run record of a reachable host, perhaps not the ordered host."""
        run, state = record["run"], record["state"]
        marks = self.hearing.marks[host]
        if is_part(run) and (job := self._has_part(run, marks)) is not None:
            self.parts.told(record, job, host, marks[-1])
            return
        job = self.running_as(run)
        if job is None or job.mark not in marks:
            of = self._jobs.get(job_and_attempt(run)[0])
            self._orders.append(self._strays.told(run, host, of, over=state != "running"))
            self._admission.close()
            return
        moved = job.host != host
        if (job.host, job.mark) != (host, marks[-1]):
            led = job.hosts.pop(job.host)
            job.host, job.hosts[host] = host, Led(marks[-1], led.leased)
            if moved:
                self._admission.close()
            self._dirty[job.number] = job
        if state == "running":
            self.began(run, record["started_ms"] or now_ms)
            if job.cancelled:
                self._orders.append(EndRun(run, host))
            return
        self._orders.append(ForgetRun(run, host))
        job.started_ms = record["started_ms"] or job.started_ms
        job.code, job.signal = record["code"], record["signal"]
        self._leave(job)
        why = record["why"]
        if moved and (state == "unknown" or why == NEVER_BEGUN):  # the folder may be a copy
            self._end(job, State.UNKNOWN, why, record["ended_ms"] or now_ms)
        elif state == "unknown":
            self._end_unknown(job, why, record["ended_ms"] or now_ms)
        elif (why == NEVER_BEGUN or (why == LEASE and job.leased)) and not job.cancelled:
            self._wait_again(job)
        else:
            how = job.ended_how(why, lacked_memory="memory" in record)
            self._end(job, *how, record["ended_ms"] or now_ms)

    def heard(self, records: Iterable[Mapping[str, Any]], now_ms: int, host: str, marks: Sequence[str]) -> None:
        """Handle the first report of a host: all runs and incarnations known to its supervisor.

        Missing runs ordered on this host and incarnation never start: their jobs wait again. Other missing runs, e.g.
        after a folder was lost or copied, may still run: their jobs end as unknown.
        """
        told = list(records)
        runs = {record["run"] for record in told}
        self.hearing.knows(host, marks)
        self._reruns.heard(host)
        self._strays.drop(lambda there, _: there == host)
        self.parts.heard(host, runs, marks, FORGOTTEN)  # first, so a step not started is not taken for orphaned
        for record in told:
            self.told(record, now_ms, host)
        self._follow(host, marks)
        for job in self._running(lambda job: job.host == host or job.mark in marks):
            if job.mark in marks and job.run in runs:
                continue
            is_its = job.mark in marks and job.host == host  # a copied folder lacks orders for another host
            self._leave(job)
            if not is_its:
                self._end(job, State.UNKNOWN, FORGOTTEN, now_ms)
            elif job.cancelled:
                self._end(job, State.CANCELLED, "cancelled before it began", now_ms)
            else:
                self._wait_again(job)
        self.hearing.is_back(host)
        self._admission.begin_anew()

    def _follow(self, host: str, marks: Sequence[str]) -> None:
        for job in [*self._running(lambda _: True), *self._reruns.waiting()]:
            for there, led in [*job.hosts.items()]:
                runs_there = job.state is State.RUNNING and there == job.host
                if led.mark in marks and (there, led.mark) != (host, marks[-1]) and not runs_there:
                    del job.hosts[there]
                    job.hosts[host] = Led(marks[-1], led.leased)
                    self._dirty[job.number] = job

    def fell_silent(self, host: str) -> None:
        """Mark a host as unreachable."""
        if self.hearing.falls_silent(host):
            self._admission.begin_anew()

    def led_otherwise(self, host: str) -> None:
        """Handle a refusal: the supervisor accepted a higher epoch, so jobs may run elsewhere.

        Nothing starts until this host reports or is given up.
        """
        if self.hearing.refuses(host):
            self._admission.close()

    def give_up(self, name: str, now_ms: int) -> int:
        """Give up an unreachable host or node. Return the number of affected jobs.

        Jobs there end as unknown and rerun only on request. Other jobs lose their steps there; reruns stop waiting.
        """
        is_heard = self.hearing.is_heard
        is_lost = not is_heard(self.machine.host(name) or name)

        def is_meant(host: str, nodes: Iterable[str]) -> bool:
            return not is_heard(host) and (host == name or (is_lost and name in nodes))

        lost = self._running(lambda job: is_meant(job.host, (share.node for share in job.shares)))
        for job in lost:
            self._leave(job)
            self._end(job, State.UNKNOWN, UNKNOWN + f"{name} was given up", now_ms)
        without = 0
        for job in [*self._running(lambda _: True), *self._reruns.waiting()]:
            nodes = {host: [share.node for share in job.shares if self.machine.host(share.node) == host]
                     for host in job.hosts if host != job.host}  # fmt: skip
            gone = [host for host, there in nodes.items() if is_meant(host, there)]
            for host in gone:
                self.parts.give_up(job, host, UNKNOWN + f"{name} was given up")
                del job.hosts[host]
                self._dirty[job.number] = job
            without += bool(gone)
        self._strays.drop(is_meant)
        self.hearing.excuse(name)
        self._admission.close()
        return len(lost) + without

    def lease_is_over(self, host: str) -> int:
        """Handle the end of all leases on an unreachable host. Return the number of requeued jobs."""
        if self.hearing.is_heard(host):
            return 0
        self._reruns.leases_are_over(host)
        again = self._running(lambda job: job.host == host and job.leased and not job.cancelled)
        for job in again:
            self._leave(job)
            self._wait_again(job)
        return len(again)

    def _running(self, is_meant: Callable[[LiveJob], bool]) -> list[LiveJob]:
        return [job for job in self._jobs.values() if job.state is State.RUNNING and is_meant(job)]

    def running_as(self, run: str) -> LiveJob | None:
        """Running job of a run."""
        job = self._jobs.get(job_and_attempt(run)[0])
        return job if job is not None and job.run == run and job.state is State.RUNNING else None

    def _has_part(self, run: str, marks: Sequence[str]) -> LiveJob | None:
        job = self.running_as(job_run(run))
        return job if job is not None and any(led.mark in marks for led in job.hosts.values()) else None

    def begin_part(self, job: LiveJob, run: str, host: str, mark: str | None) -> Part | None:
        """Start a step of a running job on a reachable host. Raises InputError.

        `mark` is the incarnation of an earlier request. None: unknown step, after loss of the host or its supervisor.
        """
        marks = self.hearing.marks[host]
        if host not in job.hosts or {job.hosts[host].mark, mark or marks[-1]}.difference(marks):
            return None
        return self.parts.begin(job, run, host, marks[-1])

    def end_parts_alone(self, now_s: float) -> None:
        """End steps without clients, if all hosts of the job are reachable."""

        def may_follow(part: Part) -> bool:
            job = self.running_as(job_run(part.run))
            return job is not None and all(map(self.hearing.is_heard, job.hosts))

        self.parts.end_alone(now_s, may_follow)

    # ------------------------------------------------------------------------------------------------------------------

    def _become(self, job: LiveJob, state: State, why: str) -> None:
        job.state, job.why = state, why
        self._dirty[job.number] = job

    def _wait_again(self, job: LiveJob) -> None:
        job.host, job.shares, job.cancelled = "", (), False
        job.started_ms, job.ended_ms, job.code, job.signal = None, None, None, None
        self._become(job, State.WAITING, "")
        self._reruns.add(job)

    def _end_unknown(self, job: LiveJob, why: str, now_ms: int) -> None:
        if job.of.asked.requeue and not job.cancelled:
            self._wait_again(job)
        else:
            self._end(job, State.UNKNOWN, why, now_ms)

    def _end(self, job: LiveJob, state: State, why: str, now_ms: int) -> None:
        """End a job and jobs that depend in vain. A loop, because chains may be long."""
        met = deque(self._over(job, state, why, now_ms))
        while met:
            number = met.popleft()
            in_vain, free = self._dependencies.met(number)
            self._admission.may_begin(free)
            for vain in in_vain:
                first = self._open.get(number)
                what = "job" if first is None or first.submission.indices is None else "array"
                why = f"depends on {what} {number}, which ended otherwise"
                met.extend(self._over(vain, State.CANCELLED, why, now_ms))

    def _over(self, job: LiveJob, state: State, why: str, now_ms: int) -> list[int]:
        if job.state is State.WAITING:
            self._admission.withdraw(job)
        job.ended_ms, job.hosts = now_ms, {}
        self._become(job, state, why)
        one = self._open[job.of.first]
        one.left -= 1
        if one.left == 0:
            self._changed[job.of.first] = one
        return self._dependencies.met_by(job)

    def _leave(self, job: LiveJob) -> None:
        if self.parts.leave(job):
            self._admission.close()
        for share in job.shares:
            self._free.give_back(share)
        if job.number in self._strange:
            self._strange.discard(job.number)
            self._admission.leave(job)
            self._admission.close()
        else:
            self._admission.ended(job)

    # ------------------------------------------------------------------------------------------------------------------

    def wake(self) -> int:
        """Next decision without an event, Unix s (FOREVER: never)."""
        return FOREVER if self.hearing.all_silent else self._admission.wake()

    def decide(self, now: int) -> None:
        """Pass events to the decider and order starts. `now` in Unix s.

        Hosts without an answer become unreachable. Raises HostDownError if none is left.
        """
        while not self.hearing.all_silent:
            try:
                return self._decide(now)
            except HostDownError as down:
                if not (missed := self.hearing.missed(down.hosts)):
                    raise
                for host in missed:
                    self.fell_silent(host)
        return None

    def _decide(self, now: int) -> None:
        self._look_at_reruns(now * 1000)
        running = (job for job in self._jobs.values() if job.state is State.RUNNING and job.number not in self._strange)
        decided = self._admission.decide(now, self._closed, running, self.hearing.silent_numbers)
        if decided is None:
            return
        self._instants.append(decided.text)
        for start in decided.starts:
            self._order(self._jobs[start.job], start.nodes)
        for number, why in decided.refused.items():
            self._admission.leave(self._jobs[number])  # accepted on a larger machine
            self._become(self._jobs[number], State.HELD, why)

    def _look_at_reruns(self, now_ms: int) -> None:
        for job, why in self._reruns.looked_at():
            if why == FORGOTTEN:
                self._end(job, State.UNKNOWN, why, now_ms)
            elif why != job.why:
                self._become(job, State.WAITING, why)
            if not why:
                job.hosts = {}
                self._dirty[job.number] = job
                self._admission.may_begin([job])

    def _closed(self) -> tuple[int, ...]:
        if self._stops or self.hearing.refusing:
            return tuple(range(len(self.machine.names)))
        beside = self._strays.nodes.union(*(self._beside(self._jobs[number]) for number in self._strange))
        return tuple(
            node for node, name in enumerate(self.machine.names)
            if name in self.drained or name in beside or self.machine.host(name) in self.hearing.silent
        )  # fmt: skip

    def _beside(self, job: LiveJob) -> set[str]:
        """Possible nodes of a job on removed nodes; a renamed host may have renamed nodes."""
        nodes = {share.node for share in job.shares}
        hosts = job.hosts.keys() & set(self.machine.hosts) if not nodes.issubset(self.machine.names) else ()
        return nodes.union(*map(self.machine.nodes, hosts))

    def _order(self, job: LiveJob, nodes: tuple[int, ...]) -> None:
        asked = job.of.asked
        job.attempt = self._strays.next_attempt(job)
        names = self.machine.names
        job.shares = tuple(self._free.take(names[node], asked.cpus, asked.gpus) for node in nodes)
        hosts = [host for share in job.shares if (host := self.machine.host(share.node)) is not None]
        job.host = hosts[0]
        job.hosts = {host: Led(self.hearing.marks[host][-1], asked.requeue and host in self._leased) for host in hosts}
        self._become(job, State.RUNNING, "")
        self._orders.append(StartRun(job, job.host, job.run))

    # ------------------------------------------------------------------------------------------------------------------

    def take(self) -> Taken:
        """New batches and orders. The last result must be in the journal.

        Submissions that end here stay known until the next call.
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
        orders = [order for order in self._orders if self._stands(order)]
        over = [job for job in self._dirty.values() if job.state.is_over]
        taken = Taken(batch, orders, over, self.parts.news.copy())
        self.parts.news.clear()
        self._changed, self._dirty, self._instants, self._drains = {}, {}, [], {}
        self._orders.clear()
        return taken

    def _stands(self, order: Order) -> bool:
        """Whether to send an order. Unreachable hosts report first."""
        stale = isinstance(order, StartRun) and self.running_as(order.run) is None
        return self.hearing.is_heard(order.host) and not stale

    def reopen(self, submission: Submission, become: Mapping[int, str]) -> None:
        """Reopen a finished submission."""
        self._recall(submission, become)
        self._changed[submission.first] = self._open[submission.first]

    def _recall(self, submission: Submission, become: Mapping[int, str]) -> None:
        one = Open(submission, jobs_of(submission, become))
        self._open[submission.first] = one
        for job in one.jobs:
            self._jobs[job.number] = job
            if job.state is State.RUNNING:
                for share in job.shares:
                    self._free.hold(share)
            elif job.rests:
                self._reruns.add(job)
        one.left = sum(not job.state.is_over for job in one.jobs)
        self._dependencies.recall(one)
        self._admission.may_begin(job for job in one.jobs if job.state is State.WAITING)
