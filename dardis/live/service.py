"""Live service: carries decisions to journal and job supervisors, and events back.

Supervisors store intents while the journal is written; runs start once it is durable.

Crash-only: after a failed write, the service restores its state from journal and supervisors.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Final, TypeVar

from dardis.engine.clock import monotonic_s, unix_ms, unix_now
from dardis.live.admission import HostConnector
from dardis.live.client import STARTING
from dardis.live.gateway import Gateway
from dardis.live.gateway_orders import EndRun, ForgetRun, GatewayOutput, Order, StartRun, SwitchNodes
from dardis.live.job_option_texts import LARGEST_ID, UNLIMITED_S, time_text
from dardis.live.job_request import JobRequest
from dardis.live.job_steps import JobStep
from dardis.live.journal import Journal, JournalError
from dardis.live.keeper_client import SupervisorClient
from dardis.live.keeper_mailbox import LOOK_S, IntendedRuns, Mailbox, SupervisedHost, leases_end_s
from dardis.live.live_jobs import LiveJob, LiveJobState, Submission, job_of, jobs_of
from dardis.live.machine import LiveMachine
from dardis.live.node_switching import RULE, STATES, NodeSwitching, SwitchRule
from dardis.live.orphaned_runs import ORPHANS
from dardis.live.power_cap import CAP, Cap
from dardis.live.power_meter import PowerMeter
from dardis.live.service_metrics import ServiceMetrics
from dardis.live.switch_programs import NO_SWITCHING, SwitchPrograms
from dardis.model.errors import InputError

_T = TypeVar("_T")

AGAIN_S: Final = 1.0
"""Pause after a failure, s."""
GATHER_S: Final = 2.0
"""Longest wait before the first decision, s."""
LONGEST_SLEEP_S: Final = 3600.0
RECENT: Final = 1000
"""Jobs with measured power to use after a restart."""


class Service:
    """Service of one or several hosts. A single thread, except for journal writes."""

    def __init__(
        self, folder: Path, machine: LiveMachine, homes: Sequence[SupervisedHost], journal: Journal,
        reach: HostConnector | None = None,
        *, users: bool = False, max_time_s: int = UNLIMITED_S, power_program: Path | None = None,
        switching: SwitchPrograms = NO_SWITCHING,
    ) -> None:  # fmt: skip
        """`homes`: hosts in order. `reach`: to node managers; None: local.

        `users`: jobs run as their users. `power_program` prints node power.
        """
        self.folder, self.machine, self.journal, self.users = folder, machine, journal, users
        self.max_time_s = max_time_s
        self._homes, self._reach, self._switching = homes, reach, switching
        self._switches: set[asyncio.Task[None]] = set()
        self._switching_now: set[str] = set()
        self.gateway = self._restored_gateway()
        self.metrics = ServiceMetrics(lambda: self.gateway, journal.epoch, lambda: self.unreachable_hosts)
        self.watchers: list[Callable[[GatewayOutput], None]] = []
        self.trouble = STARTING
        """Why not ready; empty: ready."""
        self.stopping = asyncio.Event()
        self.stopped = False
        """Stopped by a client, not by a signal."""
        self._ending = False
        self._posts: dict[str, Mailbox] = {}
        self._writer = ThreadPoolExecutor(1, "journal")
        self._due = asyncio.Event()
        self._unwritten: list[asyncio.Future[None]] = []
        self._keys: dict[tuple[int, str], range] = {}
        self._waiting: dict[int, list[asyncio.Future[LiveJob]]] = {}
        self._following: dict[str, list[asyncio.Event]] = {}
        self._next = journal.next_job()
        self.meter = PowerMeter(power_program, lambda: self.gateway, lambda: self.supervisors, self._due.set)
        self._gone_s = leases_end_s()
        """End of leases on removed hosts, monotonic s; inf: handled."""

    def _restored_gateway(self) -> Gateway:
        rows = [(Submission.from_row(row), become) for row, become in self.journal.unfinished()]
        leased = {home.name for home in self._homes if home.leased}
        gateway = Gateway(
            self.machine,
            rows,
            self.journal.drains(),
            self._reach,
            leased,
            self._ended_jobs,
            *self._restored_rules(),
            self.journal.setting(ORPHANS),
        )
        for row, become in reversed(self.journal.history(LARGEST_ID, RECENT, None, None)[0]):
            submission = Submission.from_row(row)
            for number, text in become.items():
                gateway.account.remember(job_of(submission, number, text))
        return gateway

    def _restored_rules(self) -> tuple[Cap | None, NodeSwitching]:
        settings, cap, rule = self._switching.settings, None, None
        states = json.loads(self.journal.setting(STATES) or "{}")
        if states and not settings.has_programs:
            line = f"{len(states)} nodes were off, booting or down; without programs they count as on"
            print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (for the operator)
        try:
            told = self.journal.setting(RULE)
            rule = SwitchRule.from_dict(json.loads(told)) if told else None
            switching = NodeSwitching(self.machine, settings, rule, states, self._switching_now)
        except InputError as error:
            _print_ignored("switching", error)
            switching = NodeSwitching(self.machine, settings, None, states, self._switching_now)
        try:
            cap = Cap.from_text(self.journal.setting(CAP))
            if cap is not None:
                cap.check(self.machine, switching.switchable)
        except InputError as error:
            _print_ignored("cap", error)
            cap = None
        return cap, switching

    # ------------------------------------------------------------------------------------------------------------------
    # Requests.

    async def submit(self, submission: Submission, may: Callable[[], None]) -> range:
        """Submit jobs; return durable numbers. A known key returns the same numbers.

        Raises InputError, errors of `may` for new jobs, and JournalError.
        """
        named = None if submission.key is None else (submission.user.uid, submission.key)
        if named is not None:
            if named in self._keys:
                numbers = self._keys[named]
                await self.wait_until_written()
                return numbers
            if found := self.journal.find(*named):
                return range(found[0], found[0] + found[1])
        self.check_ready()
        may()
        request = self.machine.settle(self._with_walltime(submission.request))
        submission = replace(submission, first=self._next, request=request)
        self.gateway.submit(submission, unix_ms())
        self._next += submission.count
        numbers = range(submission.first, self._next)
        if named is not None:
            self._keys[named] = numbers
        await self.wait_until_written()
        self.metrics.on_submission(submission.count)
        return numbers

    def _with_walltime(self, asked: JobRequest) -> JobRequest:
        if asked.walltime_s == UNLIMITED_S:
            return replace(asked, walltime_s=self.max_time_s)
        if asked.walltime_s > self.max_time_s:
            raise InputError(
                "--time", time_text(asked.walltime_s), f"at most {time_text(self.max_time_s)} in this service"
            )
        return asked

    async def wait_until_written(self) -> None:
        """Wait until all requests are in the journal. Raises JournalError."""
        self.check_ready()
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unwritten.append(waiting)
        self._due.set()
        await waiting

    def check_ready(self) -> None:
        """Raise JournalError unless ready."""
        if self.trouble:
            raise JournalError(self.trouble)

    @property
    def unreachable_hosts(self) -> dict[str, str]:
        """Unreachable hosts with reasons, except those switched off."""
        is_switched = self.gateway.switching.is_switched
        return {host: post.trouble for host, post in self._posts.items() if post.trouble and not is_switched(host)}

    @property
    def supervisors(self) -> Mapping[str, SupervisorClient]:
        """Connections to reachable hosts."""
        return {host: post.supervisor for host, post in self._posts.items() if post.supervisor is not None}

    def find(self, number: int) -> LiveJob | None:
        """Job, unfinished or finished."""
        if (job := self.gateway.job(number)) is not None or (found := self.journal.find_job(number)) is None:
            return job
        return job_of(Submission.from_row(found[0]), number, found[1])

    def _finished_jobs(self, number: int) -> list[LiveJob]:
        found = self.journal.find_job(number)
        if found is None:
            return []
        submission = Submission.from_row(found[0])
        return jobs_of(submission, self.journal.job_states(submission.first, submission.count))

    def array(self, first: int) -> list[LiveJob]:
        """Submission's jobs, by its first job."""
        return self.gateway.array(first) or self._finished_jobs(first)

    def _ended_jobs(self, number: int) -> Sequence[LiveJob]:
        jobs = self._finished_jobs(number)
        return jobs if jobs and jobs[0].number == number else [job for job in jobs if job.number == number]

    def history(self, before: int, most: int, user: str | None, since_ms: int | None) -> tuple[list[LiveJob], int]:
        """As `Journal.history`, with all of the gateway's jobs."""
        told: list[LiveJob] = []
        rows, begin = self.journal.history(before, most, user, since_ms)
        for row, become in rows:
            submission = Submission.from_row(row) if become else None
            for number in range(min(row.first + row.count, before) - 1, max(row.first, begin) - 1, -1):
                if (job := self.gateway.job(number)) is not None:
                    told.append(job)
                elif submission is not None and number in become:
                    told.append(job_of(submission, number, become[number]))
        return told, begin

    def release(self, job: LiveJob) -> bool:
        """See `Gateway.release`."""
        return self._again(job, {LiveJobState.UNKNOWN}, self.gateway.release)

    def retry(self, job: LiveJob) -> bool:
        """Run a failed or unknown job again. Return whether possible."""
        return self._again(job, {LiveJobState.FAILED, LiveJobState.TIMEOUT, LiveJobState.UNKNOWN}, self.gateway.retry)

    def _again(self, job: LiveJob, ended: Container[LiveJobState], change: Callable[[LiveJob], bool]) -> bool:
        mine = self.gateway.job(job.number)
        if mine is None and job.state in ended:
            self.gateway.reopen(job.submission, self.journal.job_states(job.submission.first, job.submission.count))
            mine = self.gateway.job(job.number)
        return mine is not None and change(mine)

    async def wait_for_end(self, number: int, patience_s: float | None) -> LiveJob | None:
        """Wait for a durable end, up to `patience_s`. None: no such job."""
        job = self.find(number)
        if job is None or job.state.is_over:
            if job is not None and self.gateway.job(number) is not None:
                await self.wait_until_written()
            return job
        waiting: asyncio.Future[LiveJob] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(number, []).append(waiting)
        try:
            async with asyncio.timeout(patience_s):  # `wait_for` may miss a cancellation
                return await waiting
        except TimeoutError:
            return self.find(number)
        finally:
            if (others := self._waiting.get(number)) is not None:
                others[:] = [one for one in others if one is not waiting]
                if not others:
                    del self._waiting[number]

    def mailbox(self, host: str) -> Mailbox | None:
        """Host's mailbox, or None."""
        return self._posts.get(host)

    @contextmanager
    def subscribe_step(self, run: str) -> Iterator[asyncio.Event]:
        """Event set by news of a job step."""
        news = asyncio.Event()
        self._following.setdefault(run, []).append(news)
        try:
            yield news
        finally:
            others = self._following[run] = [one for one in self._following[run] if one is not news]
            if not others:
                del self._following[run]

    def send_signal(self, runs: Iterable[tuple[str, str]], number: int, *, first_only: bool) -> None:
        """Send a signal to runs, by host, as far as reachable."""
        for run, host in runs:
            if (mailbox := self.mailbox(host)) is not None:
                mailbox.order("signal", [run], number=number, first_only=first_only)

    def release_step(self, part: JobStep) -> None:
        """Release a job step no longer needed."""
        self.gateway.steps.discard(part)
        self._due.set()

    # ------------------------------------------------------------------------------------------------------------------
    # Main loop.

    async def run(self) -> None:
        """Serve until stopped."""
        stopping = asyncio.create_task(self.stopping.wait())
        measuring = asyncio.create_task(self.meter.keep_measuring())
        while not stopping.done():
            serving = asyncio.create_task(self._serve())
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                serving.cancel()  # a running write completes; the next service gives its orders
                await asyncio.wait([serving])
                break
            error = serving.exception()
            if not isinstance(error, JournalError):
                stopping.cancel()
                assert error is not None
                raise error
            await self._close_mailboxes(stop=False)
            self._fail(error)
            await asyncio.wait([stopping], timeout=AGAIN_S)
        for task in [measuring, *self._switches]:
            task.cancel()
        await self._close()

    def _new_mailbox(self, home: SupervisedHost) -> Mailbox:
        return Mailbox(home, self.gateway, self.journal, self._due.set, as_root=self.users)

    def _fail(self, error: JournalError) -> None:
        self.trouble = str(error)
        for waiting in self._unwritten:
            if not waiting.done():
                waiting.set_exception(JournalError(str(error)))
        self._unwritten = []
        self._keys = {}
        self._restore()

    def _restore(self) -> None:
        self.gateway, self._gone_s = self._restored_gateway(), leases_end_s()
        if self._ending:
            self.gateway.disable_starts()
        # Clients may have seen unwritten numbers; never reuse these.
        self._next = max(self._next, self.journal.next_job())

    async def _serve(self) -> None:
        if await self.between_writes(self.journal.resolve_pending_write):
            self._restore()
        self._posts = {home.name: self._new_mailbox(home) for home in self._homes}
        await self._gather()
        self.trouble = ""
        while True:
            now_ms = unix_ms()
            for post in self._posts.values():
                post.raise_errors()
                post.deliver_records(now_ms)
            if monotonic_s() >= self._gone_s:
                self._gone_s = inf
                for host in self.gateway.removed_hosts:
                    self.gateway.on_leases_expired(host)
            self.gateway.end_unattended_steps(monotonic_s())
            self.gateway.decide(now_ms // 1000)
            for host in self.gateway.liveness.unreachable:
                self._posts[host].drop()
            taken = self.gateway.take_output()
            unwritten, self._unwritten = self._unwritten, []
            intended: list[tuple[Mailbox, IntendedRuns]] = []
            begun_s = monotonic_s()
            try:
                if taken.batch:
                    writing = self.between_writes(self.journal.write, taken.batch)
                    intended = self._intend(taken.orders)
                    await writing
            except JournalError:
                self._unwritten = [*unwritten, *self._unwritten]
                raise
            self.metrics.on_output(taken, monotonic_s() - begun_s)
            for watch in self.watchers:
                watch(taken)
            self._acknowledge(taken, unwritten)
            self._order(taken.orders, intended)
            for switch in taken.switches:
                task = asyncio.create_task(self._switch(switch))
                self._switches.add(task)
                task.add_done_callback(self._switches.discard)
            if not (self._due.is_set() or any(post.has_records for post in self._posts.values())):
                await self._sleep()
            self._due.clear()

    async def _gather(self) -> None:
        tried = [asyncio.create_task(post.tried.wait()) for post in self._posts.values()]
        try:
            await asyncio.wait(tried, timeout=GATHER_S)
        finally:
            for task in tried:
                task.cancel()

    async def _sleep(self) -> None:
        longest = LOOK_S if any(self.gateway.steps.live_steps()) else LONGEST_SLEEP_S
        patience = min(self.gateway.wake() - unix_now(), self._gone_s - monotonic_s(), longest)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(patience, 0.0)):  # `wait_for` may miss a cancellation
                await self._due.wait()

    def _acknowledge(self, taken: GatewayOutput, unwritten: list[asyncio.Future[None]]) -> None:
        for waiting in unwritten:
            if not waiting.done():
                waiting.set_result(None)
        for row in taken.batch.submissions:
            if row.key is not None:
                self._keys.pop((row.asker, row.key), None)
        for job in taken.finished_jobs:
            for ends in self._waiting.pop(job.number, ()):
                if not ends.done():
                    ends.set_result(job)
        for run in taken.changed_steps:
            for news in self._following.get(run, ()):
                news.set()

    def _intend(self, orders: list[Order]) -> list[tuple[Mailbox, IntendedRuns]]:
        starts: dict[str, list[LiveJob]] = {}
        for order in orders:
            if isinstance(order, StartRun):
                starts.setdefault(order.host, []).append(order.job)
        told = [(self._posts[host], self._posts[host].intend(jobs)) for host, jobs in starts.items()]
        return [(post, intended) for post, intended in told if intended is not None]

    def _order(self, orders: list[Order], intended: list[tuple[Mailbox, IntendedRuns]]) -> None:
        ends: dict[str, list[str]] = {}
        known: dict[str, list[str]] = {}
        for order in orders:
            if isinstance(order, EndRun):
                ends.setdefault(order.host, []).append(order.run)
            elif isinstance(order, ForgetRun):
                known.setdefault(order.host, []).append(order.run)
        for host, runs in known.items():
            self._posts[host].order("forget", runs)
        for post, begin in intended:
            post.start_runs(begin)
        for host, runs in ends.items():
            self._posts[host].order("end", runs, why="cancelled")

    async def _switch(self, switch: SwitchNodes) -> None:
        self._switching_now.update(switch.names)
        try:
            error = await self._switching.run(switch)
        finally:
            self._switching_now.difference_update(switch.names)
        if error:
            print(f"dardis: {error}", file=sys.stderr, flush=True)  # noqa: T201 (for the operator)
        self.gateway.switching.on_program_end(switch.names, on=switch.on, error=error, now=unix_ms() // 1000)
        self._due.set()

    def between_writes(self, work: Callable[..., _T], *more: object) -> asyncio.Future[_T]:
        """Run work on the journal between writes."""
        return asyncio.get_running_loop().run_in_executor(self._writer, work, *more)

    async def stop(self, *, kill: bool) -> None:
        """Stop the service; with `kill`, first end all runs and supervisors.

        Ignores unreachable hosts. Raises JournalError for unwritten cancellations.
        """
        if kill:
            self.check_ready()
            self.gateway.disable_starts()
            running = [job for job in self.gateway.jobs() if job.state is LiveJobState.RUNNING]
            for job in running:
                self.gateway.cancel(job, unix_ms())
            await self.wait_until_written()
            self._ending = True
            await asyncio.gather(*(self._wait_until_over_or_lost(job.number) for job in running))
            while self.trouble or self.gateway.has_steps_or_orphans:  # noqa: ASYNC110 (rare)
                await asyncio.sleep(AGAIN_S / 10)
        self.stopped = True
        self.stopping.set()

    async def _wait_until_over_or_lost(self, number: int) -> None:
        while (job := self.gateway.job(number)) is not None and job.state is LiveJobState.RUNNING:
            if not self.trouble and self.gateway.liveness.lost_reason(job):
                return
            with suppress(JournalError):  # the cancellation is durable
                await self.wait_for_end(number, LOOK_S)

    async def _close_mailboxes(self, *, stop: bool) -> None:
        posts, self._posts = self._posts, {}
        await asyncio.gather(*(post.end(stop=stop) for post in posts.values()))

    async def _close(self) -> None:
        await self._close_mailboxes(stop=True)
        self._writer.shutdown()
        self.journal.close()


def _print_ignored(what: str, error: InputError) -> None:
    print(f"dardis: the {what} of the journal is ignored: {error}", file=sys.stderr, flush=True)  # noqa: T201
