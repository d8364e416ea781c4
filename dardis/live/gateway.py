"""Decisions of the gateway about jobs.

Pure. The caller writes each batch to the journal before its orders and answers leave.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from dardis.live.admission import LAG_S, Admission, ClosedNodes, HostConnector
from dardis.live.cap_account import CapAccount
from dardis.live.dependencies import Dependencies, EndedJobs, OpenSubmission, Reruns
from dardis.live.gateway_orders import EndRun, ForgetRun, GatewayOutput, Order, StartRun, SwitchNodes
from dardis.live.host_liveness import HostLiveness
from dardis.live.job_option_texts import MOST_RETRY_DELAY_S
from dardis.live.job_steps import JobStep, JobSteps
from dardis.live.journal import Batch
from dardis.live.keeper.log_records import LEASE, NEVER_BEGUN, UNKNOWN
from dardis.live.latest_starts import Deadlines
from dardis.live.live_decisions import InstantEvents
from dardis.live.live_jobs import HostIncarnation, LiveJob, LiveJobState, Submission, jobs_of, new_jobs
from dardis.live.machine import FreeResources, LiveMachine, jobs_on_removed_nodes, nodes_as_json
from dardis.live.node_switching import (
    RULE,
    STATES,
    NodeState,
    NodeSwitching,
    SeenNodes,
    SwitchRule,
    SwitchSettings,
    WaitingNeed,
)
from dardis.live.orphaned_runs import ORPHANS, OrphanedRuns, is_step, job_and_attempt, job_run
from dardis.live.power_cap import CAP, Cap
from dardis.model.addresses import JobId
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.moments import utc_text
from dardis.transport.base import HostDownError

_TELLING: Final = (LiveJobState.COMPLETED, LiveJobState.FAILED, LiveJobState.TIMEOUT)
"""Ends that tell how long similar jobs run."""
FORGOTTEN: Final = UNKNOWN + "its job supervisor lost its record"


class Gateway:
    """All unfinished jobs, and the nodes."""

    def __init__(
        self, machine: LiveMachine, unfinished: Iterable[tuple[Submission, Mapping[int, str]]] = (),
        drained: Mapping[str, str] | None = None, reach: HostConnector | None = None,
        leased: AbstractSet[str] = frozenset(), how: EndedJobs = lambda _: (), cap: Cap | None = None,
        switching: NodeSwitching | None = None, orphans: str = "",
    ) -> None:  # fmt: skip
        """Restore journal state. All hosts are unreachable until their first report.

        `how` finds finished jobs. `reach` connects to hosts; None: all local. Hosts in `leased` get leases for jobs
        that may rerun.
        """
        self.machine, self._leased = machine, leased
        self.drained = {name: why for name, why in (drained or {}).items() if name in machine.names}
        self._open: dict[int, OpenSubmission] = {}
        self._jobs: dict[JobId, LiveJob] = {}
        self._free = FreeResources(machine)
        self._how = how
        self._dependencies = Dependencies(self._open, self._jobs)
        self._deadlines = Deadlines()
        self.account = CapAccount(machine, cap)
        self._admission = Admission(machine, self._open, self._dependencies, reach, self.account)
        self._strays = OrphanedRuns(machine, orphans)
        self.liveness = HostLiveness(machine.hosts)
        self.switching = switching or NodeSwitching(machine, SwitchSettings())
        self._switches: list[SwitchNodes] = []
        self._orders: list[Order] = []
        self.steps = JobSteps(self._strays, self._orders.append)
        self._reruns = Reruns(self._strays, self.liveness, FORGOTTEN)
        self._dirty: dict[JobId, LiveJob] = {}
        self._changed: dict[int, OpenSubmission] = {}
        self._closing: list[int] = []
        self._instants: list[str] = []
        self._drains: dict[str, str] = {}
        self._ended_jobs: dict[JobId, LiveJob | None] = {}
        self._begun: set[JobId] = set()
        self._settings: dict[str, str] = {}
        self._now = 0
        self._switch_at = 0
        self._stops = False
        self._strange: set[JobId] = set()
        """Running jobs on removed nodes or cores."""
        for submission, become in unfinished:
            self._restore(submission, become)
        self._strange |= jobs_on_removed_nodes(machine, self._free, self._jobs.values())
        self.switching.keep_on(share.node for job in self._running(lambda _: True) for share in job.shares)

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def removed_hosts(self) -> set[str]:
        """Removed hosts that may still run jobs."""
        running = {host for job in self._running(lambda _: True) for host in (job.host, *job.hosts)}
        return (running | self._reruns.hosts() | self._strays.hosts()).difference(self.machine.hosts)

    @property
    def queued(self) -> int:
        """Number of held and waiting jobs."""
        return sum(job.state in (LiveJobState.HELD, LiveJobState.WAITING) for job in self._jobs.values())

    @property
    def running(self) -> int:
        """Number of running jobs."""
        return sum(job.state is LiveJobState.RUNNING for job in self._jobs.values())

    def job(self, number: int) -> LiveJob | None:
        """Job of an open submission."""
        return self._jobs.get(JobId(number))

    def array(self, first: int) -> list[LiveJob]:
        """Jobs of an open submission, by its first job."""
        return self._open[first].jobs if first in self._open else []

    def counts(self, first: int, last: int) -> dict[str, int]:
        """Number of jobs by state, `first` to `last`, of arrays with unfinished jobs."""
        found = Counter(job.state for number, job in self._jobs.items() if first <= number <= last)
        return {state: found[state] for state in LiveJobState}

    def jobs(self) -> list[LiveJob]:
        """Unfinished jobs by number."""
        return [job for _, one in sorted(self._open.items()) for job in one.jobs if not job.state.is_over]

    def all_events(self, now: int) -> InstantEvents:
        """Present state as events of a new decider."""
        running = (job for job in self._running(lambda _: True) if job.number not in self._strange)
        return self._admission.all_events(now, self._closed_nodes_and_others(), running)

    def waiting_jobs(self) -> Iterator[LiveJob]:
        """Yield waiting jobs by number."""
        for _, one in sorted(self._open.items()):
            yield from (job for job in one.jobs if job.state is LiveJobState.WAITING)

    def nodes(self) -> list[dict[str, Any]]:
        """Nodes as JSON values."""
        told = nodes_as_json(
            self.machine, self._free, self._running(lambda _: True), self.drained, self.liveness.unreachable
        )
        for node in told:
            if (state := self.switching.state(node["name"])) is not NodeState.ON:
                node |= {"state": state, "silent": False}
            node["why"] = node["why"] or self.switching.why(node["name"])
        return told

    def wait_reason(self, job: LiveJob) -> str:
        """Why a waiting job does not start; empty: not waiting."""
        if job.state is not LiveJobState.WAITING:
            return ""
        if refusing := ", ".join(sorted(self.liveness.refusing)):
            return f"nothing starts: {refusing} was led by another service"
        one = self._open.get(job.submission.first)
        if one is not None and not self._admission.has(job):
            if self._admission.is_early(job):
                return f"begins at {utc_text(job.begin_ms // 1000, seconds=True)} or later"
            if one.is_full:
                return "waits for jobs of its array"
        if why := self.account.wait_reason(job, self._now):
            return why
        if len(self.drained) == len(self.machine.names):
            return "waits for nodes: all are drained"
        closed = len(self.switching.closed)
        return "waits for nodes" + (f": {closed} are off, booting or down" if closed else "")

    @property
    def has_steps_or_orphans(self) -> bool:
        """Whether reachable hosts run job steps or orphaned runs."""
        return any(
            map(self.liveness.is_reachable, self._strays.hosts() | {part.host for part in self.steps.live_steps()})
        )

    # Events.

    def submit(self, submission: Submission, now_ms: int) -> None:
        """Accept a submission. Raises InputError for an impossible request, dependency or deadline."""
        asked = submission.request
        if refusal := self.machine.refusal(asked):
            raise InputError("submit", refusal, "no more than the machine has (dardis nodes)")
        if (
            asked.deadline_ms is not None
            and max(now_ms, asked.begin_ms or 0) + asked.walltime_s * 1000 > asked.deadline_ms
        ):
            raise InputError(
                "--deadline",
                utc_text(asked.deadline_ms // 1000, seconds=True),
                "a time that leaves the walltime to the job",
            )
        one = OpenSubmission(submission, new_jobs(submission), unfinished_count=submission.count)
        self._open[submission.first] = one
        self._jobs.update((job.number, job) for job in one.jobs)
        try:
            in_vain = self._dependencies.add(one, self._how)
        except InputError:
            del self._open[submission.first]
            for job in one.jobs:
                del self._jobs[job.number]
            raise
        self._changed[submission.first] = one
        self._deadlines.add(one.jobs)
        self._admission.add_startable(one.jobs)
        for job in in_vain:
            if not job.state.is_over:
                self._end(job, LiveJobState.CANCELLED, "its dependency failed", now_ms)

    def cancel(self, job: LiveJob, now_ms: int) -> None:
        """Cancel a job."""
        if job.state is LiveJobState.RUNNING:
            if not job.cancelled:
                job.cancelled = True
                self._dirty[job.number] = job
            self._orders.append(EndRun(job.run, job.host))
            self.steps.cancel(job)
        elif not job.state.is_over:
            self._end(job, LiveJobState.CANCELLED, "cancelled before it began", now_ms)

    def hold(self, job: LiveJob) -> bool:
        """Hold a job. Return whether held."""
        if job.state is not LiveJobState.WAITING:
            return job.state is LiveJobState.HELD
        self._admission.withdraw(job)
        self._set_state(job, LiveJobState.HELD, "held by its user")
        return True

    def release(self, job: LiveJob) -> bool:
        """Release a held or requeue an unknown job. Return whether possible."""
        if job.state is LiveJobState.UNKNOWN:
            self._count_again(job)
        elif job.state is not LiveJobState.HELD:
            return False
        self._requeue(job)
        return True

    def drain(self, name: str, why: str) -> None:
        """Close a node to new jobs."""
        self.drained[name] = self._drains[name] = why or "drained"
        self._admission.on_closed_nodes_change()

    def resume(self, name: str) -> None:
        """Reopen a drained node, or one that is down."""
        self.drained.pop(name, None)
        self.switching.resume(name)
        self._drains[name] = ""
        self._admission.on_closed_nodes_change()

    def set_cap(self, cap: Cap | None) -> None:
        """Set or remove the cap. Until a new one begins, the earlier one holds.

        Raises InputError for a cap that the machine cannot keep.
        """
        if cap is not None:
            cap = cap.after(self.account.cap, self._now)
            cap.check(self.machine, self.switching.switchable)
        self.account.cap = cap
        self._settings[CAP] = "" if cap is None else cap.text()
        self._admission.discard_decider()

    def set_switching(self, rule: SwitchRule | None) -> None:
        """Follow a plan's switching, or none. Raises InputError as `NodeSwitching.set_rule`."""
        self.switching.set_rule(rule, self._now)
        self._switch_at = 0
        self._settings[RULE] = "" if rule is None else json.dumps(rule.as_dict())

    def on_power(self, watts: Mapping[str, float], now_ms: int) -> None:
        """See `CapAccount.on_power`."""
        used = {node["name"]: node["used_cores"] for node in self.nodes()} if watts else {}
        is_on = {name for name in watts if self.switching.state(name) is NodeState.ON}
        self.account.on_power({name: one for name, one in watts.items() if name in is_on}, used, now_ms)
        if self.account.cap is not None and self.account.cap.is_measured:
            self._admission.on_closed_nodes_change()
        if self.account.cap is not None and self.account.has_news(self.waiting_jobs(), now_ms):
            self._admission.discard_decider()

    def disable_starts(self) -> None:
        """Start no more jobs."""
        self._stops = True
        self._admission.on_closed_nodes_change()

    def on_run_start(self, run: str, started_ms: int) -> None:
        """Record a run's start."""
        if (job := self.job_of_run(run)) is not None and job.started_ms != started_ms:
            job.started_ms = started_ms
            self._begun.add(job.number)

    def on_run_record(self, record: Mapping[str, Any], now_ms: int, host: str) -> None:
        """Handle a run record of a reachable host, perhaps not the ordered one."""
        run, state = record["run"], record["state"]
        marks = self.liveness.incarnations[host]
        if is_step(run) and (job := self._job_of_step(run, marks)) is not None:
            self.steps.on_step_record(record, job, host, marks[-1])
            return
        job = self.job_of_run(run)
        if job is None or job.incarnation not in marks:
            of = self._jobs.get(job_and_attempt(run)[0])
            self._orders.append(self._strays.on_run_record(run, host, of, over=state != "running"))
            self._admission.on_closed_nodes_change()
            return
        moved = job.host != host
        if (job.host, job.incarnation) != (host, marks[-1]):
            led = job.hosts.pop(job.host)
            job.host, job.hosts[host] = host, HostIncarnation(marks[-1], led.leased)
            if moved:
                self._admission.on_closed_nodes_change()
            self._dirty[job.number] = job
        if state == "running":
            self.on_run_start(run, record["started_ms"] or now_ms)
            if job.cancelled:
                self._orders.append(EndRun(run, host))
            return
        self._orders.append(ForgetRun(run, host))
        job.started_ms = record["started_ms"] or job.started_ms
        job.code, job.signal = record["code"], record["signal"]
        self._release_resources(job)
        why = record["why"]
        if moved and (state == "unknown" or why == NEVER_BEGUN):  # the folder may be a copy
            self._end(job, LiveJobState.UNKNOWN, why, record["ended_ms"] or now_ms)
        elif state == "unknown":
            self._end_unknown(job, why, record["ended_ms"] or now_ms)
        elif (why == NEVER_BEGUN or (why == LEASE and job.leased)) and not job.cancelled:
            self._requeue(job)
        else:
            job.state, text = job.end_state(why, lacked_memory="memory" in record)
            if job.may_retry:
                self._retry(job, text, now_ms)
            else:
                self._end(job, job.state, text, record["ended_ms"] or now_ms)

    def on_host_report(
        self, records: Iterable[Mapping[str, Any]], now_ms: int, host: str, marks: Sequence[str]
    ) -> None:
        """Handle a host's first report: all runs and incarnations known to its supervisor.

        Jobs of missing runs ordered on this incarnation wait again. Jobs of other missing runs end as unknown.
        """
        told = list(records)
        runs = {record["run"] for record in told}
        self.liveness.set_incarnations(host, marks)
        self._reruns.on_host_back(host)
        self._strays.drop(lambda _, there, __: there == host)
        self.steps.on_host_report(
            host, runs, marks, FORGOTTEN
        )  # first, so a step not started is not taken for orphaned
        for record in told:
            self.on_run_record(record, now_ms, host)
        self._follow(host, marks)
        for job in self._running(lambda job: job.host == host or job.incarnation in marks):
            if job.incarnation in marks and job.run in runs:
                continue
            is_its = job.incarnation in marks and job.host == host  # a copied folder lacks orders for another host
            self._release_resources(job)
            if not is_its:
                self._end(job, LiveJobState.UNKNOWN, FORGOTTEN, now_ms)
            elif job.cancelled:
                self._end(job, LiveJobState.CANCELLED, "cancelled before it began", now_ms)
            else:
                self._requeue(job)
        self.liveness.on_host_back(host)
        self._strays.drop_possible(host)
        self._admission.discard_decider()

    def _follow(self, host: str, marks: Sequence[str]) -> None:
        for job in [*self._running(lambda _: True), *self._reruns.waiting()]:
            for there, led in [*job.hosts.items()]:
                runs_there = job.state is LiveJobState.RUNNING and there == job.host
                if led.incarnation in marks and (there, led.incarnation) != (host, marks[-1]) and not runs_there:
                    del job.hosts[there]
                    job.hosts[host] = HostIncarnation(marks[-1], led.leased)
                    self._dirty[job.number] = job

    def on_host_lost(self, host: str) -> None:
        """Mark a host as unreachable."""
        if self.liveness.on_host_lost(host):
            self._admission.discard_decider()

    def on_epoch_refused(self, host: str) -> None:
        """Handle a refusal: the supervisor accepted a higher epoch.

        Nothing starts until this host reports or is given up.
        """
        if self.liveness.on_epoch_refused(host):
            self._admission.on_closed_nodes_change()

    def give_up(self, name: str, now_ms: int) -> int:
        """Give up an unreachable host or node. Return the number of affected jobs.

        Its jobs end as unknown and rerun only on request. Other jobs lose steps there; reruns stop waiting.
        """
        is_heard = self.liveness.is_reachable
        is_lost = not is_heard(self.machine.host(name) or name)

        def is_meant(host: str, nodes: Iterable[str]) -> bool:
            return not is_heard(host) and (host == name or (is_lost and name in nodes))

        lost = self._running(lambda job: is_meant(job.host, (share.node for share in job.shares)))
        affected = {job.number for job in lost}
        for job in lost:
            self._release_resources(job)
            self._end(job, LiveJobState.UNKNOWN, UNKNOWN + f"{name} was declared lost", now_ms)
        for job in [*self._running(lambda _: True), *self._reruns.waiting()]:
            nodes = {host: [share.node for share in job.shares if self.machine.host(share.node) == host]
                     for host in job.hosts if host != job.host}  # fmt: skip
            gone = [host for host, there in nodes.items() if is_meant(host, there)]
            for host in gone:
                self.steps.give_up(job, host, UNKNOWN + f"{name} was declared lost")
                del job.hosts[host]
                self._dirty[job.number] = job
            affected |= {job.number} if gone else set()
        affected |= self._strays.drop(lambda _, host, nodes: is_meant(host, nodes))
        self.liveness.ignore_refusal(name)
        self._admission.on_closed_nodes_change()
        return len(affected)

    def on_leases_expired(self, host: str) -> int:
        """Handle the end of all leases on an unreachable host. Return the number of requeued jobs."""
        if self.liveness.is_reachable(host):
            return 0
        self._reruns.on_leases_expired(host)
        self._strays.drop(lambda job, there, _: there == host and self._has_lease(job, host))
        again = self._running(lambda job: job.host == host and job.leased and not job.cancelled)
        for job in again:
            self._release_resources(job)
            self._requeue(job)
        return len(again)

    def _has_lease(self, number: JobId, host: str) -> bool:
        job = self._find(number)
        return job is not None and job.submission.request.requeue and host in self._leased

    def _running(self, is_meant: Callable[[LiveJob], bool]) -> list[LiveJob]:
        return [job for job in self._jobs.values() if job.state is LiveJobState.RUNNING and is_meant(job)]

    def job_of_run(self, run: str) -> LiveJob | None:
        """Running job of a run."""
        job = self._jobs.get(job_and_attempt(run)[0])
        return job if job is not None and job.run == run and job.state is LiveJobState.RUNNING else None

    def _job_of_step(self, run: str, marks: Sequence[str]) -> LiveJob | None:
        job = self.job_of_run(job_run(run))
        return job if job is not None and any(led.incarnation in marks for led in job.hosts.values()) else None

    def start_step(self, job: LiveJob, run: str, host: str, mark: str | None) -> JobStep | None:
        """Start a step of a running job on a reachable host. Raises InputError.

        `mark`: incarnation of an earlier request. None: step lost with host or supervisor.
        """
        marks = self.liveness.incarnations[host]
        if host not in job.hosts or {job.hosts[host].incarnation, mark or marks[-1]}.difference(marks):
            return None
        return self.steps.add(job, run, host, marks[-1])

    def end_unattended_steps(self, now_s: float) -> None:
        """End steps without clients, if all hosts of the job are reachable."""

        def may_follow(part: JobStep) -> bool:
            job = self.job_of_run(job_run(part.run))
            return job is not None and all(map(self.liveness.is_reachable, job.hosts))

        self.steps.end_unattended(now_s, may_follow)

    # ------------------------------------------------------------------------------------------------------------------

    def _set_state(self, job: LiveJob, state: LiveJobState, why: str) -> None:
        job.state, job.why = state, why
        self._dirty[job.number] = job

    def _requeue(self, job: LiveJob, why: str = "") -> None:
        job.host, job.shares, job.cancelled = "", (), False
        job.started_ms, job.ended_ms, job.code, job.signal = None, None, None, None
        self._set_state(job, LiveJobState.WAITING, why)
        self._reruns.add(job)
        self._on_pending_reruns_change()
        self._deadlines.add([job])

    def _retry(self, job: LiveJob, why: str, now_ms: int) -> None:
        asked = job.submission.request
        pause_s = min(asked.retry_delay_s << min(job.retried, 20), MOST_RETRY_DELAY_S)
        failure = why or (f"signal {job.signal}" if job.code is None else f"exit code {job.code}")
        job.retried, job.retry_ms = job.retried + 1, now_ms + pause_s * 1000
        self._requeue(job, f"retry {job.retried} of {asked.retries} after {failure}")

    def retry(self, job: LiveJob) -> bool:
        """Run a failed job again. Return whether possible."""
        if job.state not in (LiveJobState.FAILED, LiveJobState.TIMEOUT, LiveJobState.UNKNOWN):
            return False
        job.retry_ms = None
        self._count_again(job)
        self._requeue(job)
        return True

    def _count_again(self, job: LiveJob) -> None:
        one = self._open[job.submission.first]
        if one.unfinished_count == 0:  # the journal records the end, or soon will
            self._changed[job.submission.first] = one
        one.unfinished_count += 1
        self._dependencies.on_reopen(job)

    def _end_unknown(self, job: LiveJob, why: str, now_ms: int) -> None:
        if job.submission.request.requeue and not job.cancelled:
            self._requeue(job)
        else:
            self._end(job, LiveJobState.UNKNOWN, why, now_ms)

    def _end(self, job: LiveJob, state: LiveJobState, why: str, now_ms: int) -> None:
        self._end_one(job, state, why, now_ms)
        ended = deque([job])
        while ended:
            job = ended.popleft()
            in_vain, free = self._dependencies.on_change(job)
            self._admission.add_startable(free)
            for vain in (one for one in in_vain if not one.state.is_over):
                self._end_one(vain, LiveJobState.CANCELLED, self._failed_dependency(vain, job), now_ms)
                ended.append(vain)

    def _failed_dependency(self, job: LiveJob, ended: LiveJob) -> str:
        of_array = any(after.id == ended.submission.first for after in job.submission.request.after)
        is_array = of_array and ended.submission.indices is not None
        number = ended.submission.first if of_array else ended.number
        return f"its dependency on {'array' if is_array else 'job'} {number} failed"

    def _end_one(self, job: LiveJob, state: LiveJobState, why: str, now_ms: int) -> None:
        if job.state is LiveJobState.WAITING:
            self._admission.withdraw(job)
        for host, led in job.hosts.items():
            if not (self.liveness.is_reachable(host) or self._reruns.is_over(host, led)):
                self._strays.add_possible(job, host)
                self._admission.on_closed_nodes_change()
        job.ended_ms, job.hosts = now_ms, {}
        if state in _TELLING and job.started_ms is not None:
            self._admission.learn(job, (now_ms - job.started_ms) // 1000, now_ms // 1000)
        self._set_state(job, state, why)
        one = self._open[job.submission.first]
        one.unfinished_count -= 1
        if one.unfinished_count == 0:
            self._changed[job.submission.first] = one

    def _release_resources(self, job: LiveJob) -> None:
        if self.steps.orphan_steps(job):
            self._admission.on_closed_nodes_change()
        for share in job.shares:
            self._free.release(share)
        self.account.on_end(job)
        if job.number in self._strange:
            self._strange.discard(job.number)
            self._admission.remove(job)
            self._admission.on_closed_nodes_change()
        else:
            self._admission.on_run_end(job)

    # ------------------------------------------------------------------------------------------------------------------

    def wake(self) -> int:
        """As `LiveDecider.wake`."""
        wake = FOREVER if self.liveness.are_all_unreachable else self._admission.wake()
        return min(wake, self._deadlines.wake(), self.switching.wake(self._now))

    def decide(self, now: int) -> None:
        """Pass events to the decider and order starts. `now` in Unix s.

        Hosts without an answer become unreachable; HostDownError if none is left.
        """
        self._now = now
        for job in self._deadlines.take_missed(now * 1000):
            self._end(job, LiveJobState.CANCELLED, "cannot end before its deadline", now * 1000)
        if self.switching.update(self._reachable_nodes, now):
            self._admission.on_closed_nodes_change()
        while not self.liveness.are_all_unreachable:
            try:
                if (self._decide(now) or self._switch_at <= now) and self._switch(now):
                    self._decide(now)  # booting nodes take of the cap at once
                return
            except HostDownError as down:
                if not (missed := self.liveness.unresponsive_hosts(down.hosts)):
                    raise
                for host in missed:
                    self.on_host_lost(host)
        return

    def _decide(self, now: int) -> bool:
        self._check_reruns(now * 1000)
        running = (
            job for job in self._jobs.values() if job.state is LiveJobState.RUNNING and job.number not in self._strange
        )
        decided = self._admission.decide(now, self._closed_nodes_and_others, running, self.liveness.unreachable_ids)
        if decided is None:
            return False
        self._instants.append(decided.text)
        for start in decided.starts:
            self._order(self._jobs[start.job], start.nodes)
        for number, why in decided.refused.items():
            self._admission.remove(self._jobs[number])  # accepted on a larger machine
            self._set_state(self._jobs[number], LiveJobState.HELD, why)
        return True

    @property
    def _reachable_nodes(self) -> list[bool]:
        return [self.liveness.is_reachable(self.machine.host(name) or "") for name in self.machine.names]

    def _switch(self, now: int) -> bool:
        if not self.switching.settings.has_programs or self._stops:
            return False
        machine, closed = self.machine, {*self._closed_nodes()}
        free = machine.platform.capacity.copy()
        for job in self._running(lambda _: True):
            request = np.array(machine.request(job.submission.request), dtype=np.int64)
            for share in job.shares:
                if (node := machine.node(share.node)) is not None:
                    free[node] -= request
        is_open = [node not in closed for node in range(len(machine.names))]
        drained = [name in self.drained for name in machine.names]
        busy = {share.node for job in [*self._running(lambda _: True), *self._reruns.waiting()] for share in job.shares}
        idle = [one and name not in busy for one, name in zip(is_open, machine.names, strict=True)]
        seen = SeenNodes(free, idle, is_open, drained)
        waiting = (
            WaitingNeed(
                asked.nodes, machine.request(asked), asked.walltime_s + asked.grace + LAG_S,
                asked.nodes * self.account.node_mw(job),
            )
            for job in self.waiting_jobs() if self._admission.has(job)
            for asked in [job.submission.request]
        )  # fmt: skip
        orders = self.switching.decide(seen, waiting, self.account.left_mw(now), now)
        self._switch_at = self.switching.wake(now)
        if orders:
            self._switches += orders
            self._admission.on_closed_nodes_change()
        return bool(orders)

    def _check_reruns(self, now_ms: int) -> None:
        for job, why in self._reruns.check_jobs():
            if why == FORGOTTEN:
                self._end(job, LiveJobState.UNKNOWN, why, now_ms)
            elif why != job.why:
                self._set_state(job, LiveJobState.WAITING, why)
            if not why:
                job.hosts = {}
                self._dirty[job.number] = job
                self._admission.add_startable([job])
                self._on_pending_reruns_change()

    def _on_pending_reruns_change(self) -> None:
        if self.account.cap is not None:  # runs that may still go on take of the cap
            self._admission.on_closed_nodes_change()

    def _closed_nodes_and_others(self) -> ClosedNodes:
        unknown = [self._jobs[number] for number in self._strange]
        orphans = [(nodes, self._find(number)) for number, nodes in self._strays.runs()] if self.account.cap else []
        others = self.account.others(orphans, [*unknown, *self._reruns.waiting()], self.switching.saved_mw())
        return self._closed_nodes(), others

    def _find(self, number: JobId) -> LiveJob | None:
        if (job := self._jobs.get(number)) is None:
            if number not in self._ended_jobs:
                self._ended_jobs[number] = next((one for one in self._how(number) if one.number == number), None)
            return self._ended_jobs[number]
        return job

    def _closed_nodes(self) -> tuple[int, ...]:
        if self._stops or self.liveness.refusing:
            return tuple(range(len(self.machine.names)))
        beside = self._strays.nodes.union(
            self.switching.closed, *(self._possible_nodes(self._jobs[number]) for number in self._strange)
        )
        return tuple(
            node for node, name in enumerate(self.machine.names)
            if name in self.drained or name in beside or self.machine.host(name) in self.liveness.unreachable
        )  # fmt: skip

    def _possible_nodes(self, job: LiveJob) -> set[str]:
        nodes = {share.node for share in job.shares}
        hosts = job.hosts.keys() & set(self.machine.hosts) if not nodes.issubset(self.machine.names) else ()
        return nodes.union(*map(self.machine.nodes, hosts))

    def _order(self, job: LiveJob, nodes: tuple[int, ...]) -> None:
        asked = job.submission.request
        job.attempt = self._strays.next_attempt(job)
        names = self.machine.names
        job.shares = tuple(
            self._free.take_node(names[node])
            if asked.exclusive
            else self._free.take(names[node], asked.cpus, asked.gpus)
            for node in nodes
        )
        hosts = [host for share in job.shares if (host := self.machine.host(share.node)) is not None]
        job.host = hosts[0]
        job.hosts = {
            host: HostIncarnation(self.liveness.incarnations[host][-1], asked.requeue and host in self._leased)
            for host in hosts
        }
        self._set_state(job, LiveJobState.RUNNING, "")
        job.node_mw, job.measured_mw = self.account.node_mw(job), None  # as the decider was told
        self.account.on_start(job)
        self._orders.append(StartRun(job, job.host, job.run))
        self._admission.add_startable(self._dependencies.on_change(job)[1])

    # ------------------------------------------------------------------------------------------------------------------

    def take_output(self) -> GatewayOutput:
        """New batches and orders. The last result must be in the journal.

        Ended submissions stay known until the next call.
        """
        for first in self._closing:
            if (one := self._open[first]).unfinished_count == 0:
                del self._open[first]
                for job in one.jobs:
                    del self._jobs[job.number]
        if (states := self.switching.take_changed_states()) is not None:
            self._settings[STATES] = states
        if (orphans := self._strays.take_changes()) is not None:
            self._ended_jobs.clear()
            self._settings[ORPHANS] = orphans
        batch = Batch(instants=self._instants, drains=self._drains, settings=self._settings)
        batch.submissions = [
            one.submission.row(over=one.unfinished_count == 0) for _, one in sorted(self._changed.items())
        ]
        batch.jobs.extend((job.number, job.text()) for job in self._dirty.values())
        self._closing = [first for first, one in self._changed.items() if one.unfinished_count == 0]
        orders = [order for order in self._orders if self._is_sendable(order)]
        over = [job for job in self._dirty.values() if job.state.is_over]
        taken = GatewayOutput(batch, orders, over, self.steps.changed.copy(), self._switches, self._begun)
        self.steps.changed.clear()
        self._changed, self._dirty, self._instants, self._drains = {}, {}, [], {}
        self._settings, self._switches, self._begun = {}, [], set()
        self._orders.clear()
        return taken

    def _is_sendable(self, order: Order) -> bool:
        stale = isinstance(order, StartRun) and self.job_of_run(order.run) is None
        return self.liveness.is_reachable(order.host) and not stale

    def reopen(self, submission: Submission, become: Mapping[int, str]) -> None:
        """Reopen a finished submission."""
        self._restore(submission, become)
        self._changed[submission.first] = self._open[submission.first]

    def _restore(self, submission: Submission, become: Mapping[int, str]) -> None:
        one = OpenSubmission(submission, jobs_of(submission, become))
        self._open[submission.first] = one
        for job in one.jobs:
            self._jobs[job.number] = job
            if job.state is LiveJobState.RUNNING:
                for share in job.shares:
                    self._free.reserve(share)
                self.account.on_start(job)
            elif job.is_pending_rerun:
                self._reruns.add(job)
        one.unfinished_count = sum(not job.state.is_over for job in one.jobs)
        self._dependencies.restore(one, self._how)
        self._deadlines.add(one.jobs)
        self._admission.add_startable(job for job in one.jobs if job.state is LiveJobState.WAITING)
