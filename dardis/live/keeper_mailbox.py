"""Messages between gateway and a host's job supervisor, with reconnection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf, isinf
from pathlib import Path
from typing import Any, Final, NamedTuple

from dardis.engine.clock import monotonic_s, unix_ms
from dardis.live.client import STARTING
from dardis.live.gateway import Gateway
from dardis.live.job_files import SmallFile
from dardis.live.job_steps import JobStep, StepCommand
from dardis.live.journal import Journal
from dardis.live.keeper.log_records import ALREADY_KNOWN, FAILED
from dardis.live.keeper_client import Connect, HigherEpochError, SupervisorClient, SupervisorError
from dardis.live.launch_requests import files_of, start_request, step_files_of, step_start_request
from dardis.live.live_jobs import LiveJob

RETRY_S: Final = 1.0
"""Pause before a reconnection, s."""
MOST_PAUSE_S: Final = 60.0
STEADY_S: Final = 60.0
"""Uptime that resets the pause, s."""
MOST_STARTS: Final = 256
"""Runs per message."""
MOST_TEXT: Final = 8 << 20
"""Bytes of texts per message; JSON may need six times as many, a supervisor reads 64 MiB."""
STOP_S: Final = 5.0
NOT_CERTAIN: Final = "the leadership of this service is uncertain"
LEASE_S: Final = 60
RENEW_S: Final = LEASE_S / 6
CERTAIN_S: Final = 10.0
"""Since certain leadership, for a new lease, s."""
MARGIN_S: Final = 10
"""Until the watchdog has killed all after the lease, s."""
LOOK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class SupervisedHost:
    """Host with a job supervisor."""

    name: str
    folder: Path
    connect: Connect
    leased: bool = False
    """Whether runs that may rerun have a lease."""


class IntendedRuns(NamedTuple):
    """Announced runs of a connection, perhaps lost by now."""

    supervisor: SupervisorClient
    runs: Sequence[str]


class Mailbox:
    """Host's mailbox."""

    def __init__(
        self, home: SupervisedHost, gateway: Gateway, journal: Journal, due: Callable[[], None], *, as_root: bool
    ) -> None:  # fmt: skip
        self._home, self._gateway, self._journal, self._due, self._as_root = home, gateway, journal, due, as_root
        self.trouble = STARTING
        """Why unreachable; empty: reachable."""
        self.tried = asyncio.Event()
        self._keeper: SupervisorClient | None = None
        self._records: list[Mapping[str, Any]] = []
        self._refused: set[str] = set()
        self._asking: set[asyncio.Task[None]] = set()
        self._over_s = leases_end_s()
        """End of all leases, monotonic s; inf: the gateway knows."""
        self._pause_s = RETRY_S
        self._tasks = [asyncio.create_task(self._keep()), asyncio.create_task(self._watch_leases())]

    async def _keep(self) -> None:
        while True:
            is_news = True
            try:
                await self._listen()
            except (SupervisorError, OSError) as error:
                is_news, self.trouble = self.trouble != str(error), str(error)
                if isinstance(error, HigherEpochError):
                    self._gateway.on_epoch_refused(self._home.name)
            self.tried.set()
            if is_news:
                self._due()
            await asyncio.sleep(self._pause_s)

    async def _listen(self) -> None:
        self._records = []
        keeper = await self._home.connect(self._on_record)
        try:
            records, marks = await keeper.hello(self._journal.epoch)
            if (other := self._gateway.liveness.find_copied_host(marks)) is not None:
                raise SupervisorError(f"the folders of its job supervisor and of {other}'s are copies")
            self._gateway.on_host_report(records, unix_ms(), self._home.name, marks)
            self._keeper, self.trouble = keeper, ""
            self._renew(keeper)
            self.tried.set()
            self._due()
            with suppress(TimeoutError):
                async with asyncio.timeout(STEADY_S):
                    await keeper.lost.wait()
            if not keeper.lost.is_set():
                self._pause_s = RETRY_S
                await keeper.lost.wait()
            raise SupervisorError(keeper.why)
        finally:
            keeper.close()
            self._keeper = None
            self._gateway.on_host_lost(self._home.name)

    def _on_record(self, record: Mapping[str, Any] | None) -> None:
        if record is not None:
            self._records.append(record)
        self._due()

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def supervisor(self) -> SupervisorClient | None:
        """Current connection; None: unreachable."""
        return self._keeper

    @property
    def has_records(self) -> bool:
        """Whether records wait for the gateway."""
        return bool(self._records) and self._keeper is not None

    def deliver_records(self, now_ms: int) -> None:
        """Pass records to the gateway, after the first report."""
        if not self.has_records:
            return
        heard, self._records = self._records, []
        for record in heard:
            self._gateway.on_run_record(record, now_ms, self._home.name)

    def drop(self) -> None:
        """Drop the connection: node managers do not answer. Repeated drops lengthen the pause."""
        if self._keeper is not None:
            self._lengthen_pause()
            self._keeper.close("its node managers do not answer")

    def _lengthen_pause(self) -> None:
        self._pause_s = min(2 * self._pause_s, MOST_PAUSE_S)

    def intend(self, jobs: Iterable[LiveJob]) -> IntendedRuns | None:
        """Announce starts without waiting. None: connection lost."""
        if (keeper := self._keeper) is None:
            return None
        names: list[str] = []
        for some in split_starts(jobs):
            machine, folder = self._gateway.machine, self._home.folder
            told = self._lease_fields(keeper) if any(job.leased for job in some) else {}
            if told is None:
                keeper.close(NOT_CERTAIN)
                return None
            runs = [start_request(job, machine, folder, unix_ms(), as_root=self._as_root) for job in some]
            files = {file.path: file for job in some for file in files_of(job)}
            names += [job.run for job in some]
            self._create_task(self._send_intents(keeper, keeper.intend(runs, list(files.values()), told)))
        return IntendedRuns(keeper, names)

    def start_runs(self, intended: IntendedRuns) -> None:
        """Start announced runs that are still wanted."""
        runs = [run for run in intended.runs if self._gateway.job_of_run(run) is not None]
        if runs:
            self._create_task(self._send_starts(intended.supervisor, runs))

    async def _send_intents(self, keeper: SupervisorClient, talk: Awaitable[Mapping[str, str]]) -> None:
        with self._close_on_error(keeper):
            refused = await talk
            if ALREADY_KNOWN in refused.values():
                raise SupervisorError(ALREADY_KNOWN)
            now_ms = unix_ms()
            self._records += [_failure_record(run, why, now_ms) for run, why in refused.items()]
            self._refused.update(refused)
            if refused:
                self._due()

    async def _send_starts(self, keeper: SupervisorClient, runs: Sequence[str]) -> None:
        with self._close_on_error(keeper):
            refused, now_ms = await keeper.start_runs(runs), unix_ms()
            for run in runs:
                if run not in refused:
                    self._gateway.on_run_start(run, now_ms)
            self._due()  # watchers of the service show the start
            if not self._refused.issuperset(refused):
                raise SupervisorError("a run was not intended")
            self._refused.difference_update(refused)

    def start_step(self, part: JobStep, job: LiveJob, node: str, asked: StepCommand) -> None:
        """Start a job step."""
        if (keeper := self._keeper) is not None:
            home, machine = self._home, self._gateway.machine
            run = step_start_request(part.run, job, node, asked, machine, home.folder, unix_ms(), as_root=self._as_root)
            run["lease"] = job.hosts[home.name].leased
            self._create_task(self._send_step(keeper, part, run, step_files_of(part.run, job)))

    async def _send_step(
        self, keeper: SupervisorClient, part: JobStep, run: Mapping[str, Any], files: Sequence[SmallFile]
    ) -> None:  # fmt: skip
        with self._close_on_error(keeper):
            lease = self._lease_fields(keeper) if run["lease"] else {}
            if lease is None:
                return keeper.close(NOT_CERTAIN)
            refused = await keeper.intend([run], files, lease)
            if ALREADY_KNOWN in refused.values():
                raise SupervisorError(ALREADY_KNOWN)
            if refused:
                self._on_record(_failure_record(part.run, refused[part.run], unix_ms()))
            elif self._gateway.steps.mark_started(part):
                self._due()  # from now on, a step without clients is ended
                if await keeper.start_runs([part.run]):
                    raise SupervisorError("a step was not intended")
        return None

    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """Step's output. Raises SupervisorError if unreachable."""
        if self._keeper is None:
            raise SupervisorError(self.trouble)
        return await self._keeper.read(run, offsets, wait_s)

    def order(self, do: str, runs: list[str], **more: str | int) -> None:
        """Send `end` or `forget` for runs, without waiting."""
        if runs and self._keeper is not None:
            self._create_task(self._send_request(self._keeper, do, runs=runs, **more))

    async def _send_request(self, keeper: SupervisorClient, do: str, **more: Any) -> None:  # noqa: ANN401 (plain values)
        with self._close_on_error(keeper):
            await keeper.request(do, **more)

    @contextmanager
    def _close_on_error(self, keeper: SupervisorClient) -> Iterator[None]:
        try:
            yield
        except SupervisorError as error:
            if not keeper.lost.is_set():
                self._lengthen_pause()
                keeper.close(str(error))

    def _create_task(self, talk: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(talk)
        self._asking.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._tasks.append(task)
            self._due()

    # ------------------------------------------------------------------------------------------------------------------
    # Leases.

    def _lease(self, keeper: SupervisorClient) -> dict[str, int] | None:
        """New lease; None: another service may lead.

        Starts at an earlier clock value of the supervisor: it ends there before `_over_s` here.
        """
        if monotonic_s() - self._journal.last_led_s() > CERTAIN_S:
            return None
        self._over_s = max(0.0 if isinf(self._over_s) else self._over_s, keeper.received_s + LEASE_S + MARGIN_S)
        return {"from": keeper.now_ms, "ms": LEASE_S * 1000}

    def _lease_fields(self, keeper: SupervisorClient) -> dict[str, int] | None:
        lease = self._lease(keeper)
        return None if lease is None else {f"lease_{name}": value for name, value in lease.items()}

    async def _watch_leases(self) -> None:
        renewed_s = 0.0
        while True:
            await asyncio.sleep(LOOK_S)
            now_s = monotonic_s()
            if (keeper := self._keeper) is None:
                if now_s >= self._over_s:
                    self._over_s = inf
                    self._gateway.on_leases_expired(self._home.name)
                    self._due()
            elif now_s >= renewed_s + RENEW_S:
                renewed_s = now_s
                self._renew(keeper)

    def _renew(self, keeper: SupervisorClient) -> None:
        if (lease := self._lease(keeper)) is not None:
            self._create_task(self._send_request(keeper, "lease", **lease))

    def raise_errors(self) -> None:
        """Raise unexpected errors of tasks."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def end(self, *, stop: bool) -> None:
        """Disconnect. With `stop`, also stop an idle supervisor."""
        if stop and self._keeper is not None:
            with suppress(SupervisorError, TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._keeper.request("stop")
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)


def leases_end_s() -> float:
    """End of all leases given so far, monotonic s."""
    return monotonic_s() + CERTAIN_S + LEASE_S + MARGIN_S


def split_starts(starts: Iterable[LiveJob]) -> Iterator[list[LiveJob]]:
    """Split starts into messages of limited size."""
    some: list[LiveJob] = []
    size = 0
    for job in starts:
        if some and (len(some) == MOST_STARTS or size + job.submission.size > MOST_TEXT):
            yield some
            some, size = [], 0
        some.append(job)
        size += job.submission.size
    if some:
        yield some


def _failure_record(run: str, why: str, now_ms: int) -> Mapping[str, Any]:
    return {
        "run": run, "state": "over", "pid": None, "started_ms": None, "ended_ms": now_ms, "code": None,
        "signal": None, "why": FAILED + why,
    }  # fmt: skip
