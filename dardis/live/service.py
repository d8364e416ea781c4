"""The service: carries the gateway's decisions to journal and keeper, in that order, and brings back what happens.

The keeper learns what is to begin while the journal is being written, and lets it begin when it is: then both have it
on the disk, and only one wait was needed.

It is crash-only: where it can't write, or its keeper is gone, it goes on from what the journal and the keeper know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dardis.engine.clock import unix_now
from dardis.live.gateway import Gateway
from dardis.live.jobs import LiveJob, State, Submission, jobs_of
from dardis.live.journal import Journal, JournalError
from dardis.live.keeper.fates import FAILED
from dardis.live.keeper_client import KeeperClient, KeeperError
from dardis.live.launching import run_of
from dardis.live.machine import Machine
from dardis.live.orders import EndRun, ForgetRun, Order, StartRun, Taken
from dardis.model.addresses import JobId
from dardis.model.errors import DardisError

AGAIN_S: Final = 1.0
"""How long after a failure it tries again, s."""
MOST_STARTS: Final = 256
"""How many runs a keeper is told of in one message, before they begin."""
MOST_TEXT: Final = 8 << 20
"""How long all that they are told may be together, in bytes; JSON may need six times as many, a keeper reads 64 MiB."""
KEEPER: Final = "keeper"
"""The keeper's folder in the service's."""
LONGEST_SLEEP_S: Final = 3600.0


class Service:
    """One host's service. All but writing the journal happens in one thread."""

    def __init__(self, folder: Path, machine: Machine, journal: Journal, *, users: bool = False) -> None:
        """Go on where the journal is. `users`: jobs run as who has handed them in."""
        self.folder, self.machine, self.journal, self.users = folder, machine, journal, users
        self.gateway = self._recalled()
        self.trouble = "is starting"
        """Why nothing can be acknowledged or started just now; empty: it can."""
        self.stopping = asyncio.Event()
        self._keeper: KeeperClient | None = None
        self._writer = ThreadPoolExecutor(1, "journal")
        self._due = asyncio.Event()
        self._unwritten: list[asyncio.Future[None]] = []
        """Who wait until what they have asked for is in the journal."""
        self._keys: dict[tuple[int, str], range] = {}
        """Of submissions that are not in the journal yet."""
        self._records: list[Mapping[str, Any]] = []
        self._waiting: dict[int, list[asyncio.Future[LiveJob]]] = {}
        """Who wait for the end of jobs."""
        self._asking: set[asyncio.Task[None]] = set()
        self._next = journal.next_job()

    def _recalled(self) -> Gateway:
        rows = [(Submission.from_row(row), become) for row, become in self.journal.unfinished()]
        return Gateway(self.machine, rows, self.journal.drains())

    # ------------------------------------------------------------------------------------------------------------------
    # What people ask for.

    async def submit(self, submission: Submission) -> range:
        """Take jobs in; the numbers that they get, once they are in the journal. The same key again: the same ones.

        Raises InputError for what can't be, JournalError where it can't be written now.
        """
        named = None if submission.key is None else (submission.asker.uid, submission.key)
        if named is not None:
            if named in self._keys:
                numbers = self._keys[named]
                await self.written()
                return numbers
            if found := self.journal.find(*named):
                return range(found[0], found[0] + found[1])
        self.see_ready()
        submission = replace(submission, first=self._next)
        self.gateway.submit(submission, self._how_ended)
        self._next += submission.count
        numbers = range(submission.first, self._next)
        if named is not None:
            self._keys[named] = numbers
        await self.written()
        return numbers

    async def written(self) -> None:
        """Return when all that was asked for is in the journal. Raises JournalError where it can't be written."""
        self.see_ready()
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unwritten.append(waiting)
        self._due.set()
        await waiting

    def see_ready(self) -> None:
        """Raise JournalError where nothing can be acknowledged just now."""
        if self.trouble:
            raise JournalError(self.trouble)

    def find(self, number: int) -> LiveJob | None:
        """A job, whether it is over or not."""
        if (job := self.gateway.job(number)) is not None or (found := self.journal.holder(number)) is None:
            return job
        row, become = found
        job = LiveJob(JobId(number), Submission.from_row(row))
        if become is not None:
            job.recall(become)
        return job

    def _over(self, number: int) -> list[LiveJob]:
        """A job that the journal alone has, and all that were handed in with it."""
        found = self.journal.holder(number)
        if found is None:
            return []
        submission = Submission.from_row(found[0])
        return jobs_of(submission, self.journal.become(submission.first, submission.count))

    def array(self, first: int) -> list[LiveJob]:
        """The jobs that were handed in with the first of them."""
        return self.gateway.array(first) or self._over(first)

    def _how_ended(self, number: int) -> list[State]:
        jobs = self._over(number)
        states = [job.state for job in jobs]
        return states if jobs and jobs[0].number == number else [job.state for job in jobs if job.number == number]

    def history(self, limit: int) -> list[LiveJob]:
        """The last jobs, the last one first, over or not."""
        told: list[LiveJob] = []
        for row, become in self.journal.history(limit):
            told += reversed(self.gateway.array(row.first) or jobs_of(Submission.from_row(row), become))
        return told[:limit]

    def release(self, job: LiveJob) -> bool:
        """Let a job begin that was held, or begin again that is unknown; whether it was any of these."""
        mine = self.gateway.job(job.number)
        if mine is None and job.state is State.UNKNOWN:
            self.gateway.reopen(job.of, self.journal.become(job.of.first, job.of.count))
            mine = self.gateway.job(job.number)
        return mine is not None and self.gateway.release(mine)

    async def ended(self, number: int, patience_s: float | None) -> LiveJob | None:
        """A job once it is over and the journal says so, or as it is when patience ends; None: there is none."""
        job = self.find(number)
        if job is None or job.state.is_over:
            if job is not None and self.gateway.job(number) is not None:
                await self.written()
            return job
        waiting: asyncio.Future[LiveJob] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(number, []).append(waiting)
        try:
            return await asyncio.wait_for(waiting, patience_s)
        except TimeoutError:
            return self.find(number)
        finally:
            if (others := self._waiting.get(number)) is not None:
                others[:] = [one for one in others if one is not waiting]
                if not others:
                    del self._waiting[number]

    # ------------------------------------------------------------------------------------------------------------------
    # What goes on.

    async def run(self) -> None:
        """Serve until it is to stop."""
        stopping = asyncio.create_task(self.stopping.wait())
        while not stopping.done():
            serving = asyncio.create_task(self._serve())
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                serving.cancel()  # what is being written is, and is ordered by the next one
                await asyncio.wait([serving])
                break
            error = serving.exception()
            if not isinstance(error, JournalError | KeeperError):
                stopping.cancel()
                assert error is not None
                raise error
            self._fail(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(stopping), AGAIN_S)
        await self._close()

    def _fail(self, error: DardisError) -> None:
        """Acknowledge and start nothing; forget what is not in the journal."""
        self.trouble = str(error)
        for waiting in self._unwritten:
            if not waiting.done():
                waiting.set_exception(JournalError(str(error)))
        self._unwritten = []
        self._keys = {}
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        self._records = []
        self.gateway = self._recalled()
        # Somebody may have seen those that were not written: their numbers are nobody else's.
        self._next = max(self._next, self.journal.next_job())

    async def _serve(self) -> None:
        """Bring what happens to the gateway, and what it decides to journal and keeper."""
        loop = asyncio.get_running_loop()
        keeper = self._keeper = await KeeperClient.connect(self.folder / KEEPER, self._hear)
        now_ms = _now_ms()
        records, is_new = await keeper.hello(self.journal.epoch)
        # The journal may give names again that it doesn't have: nothing of what had them may be known then.
        over = [record["run"] for record in records if record["state"] != "running"]
        if done := [run for run in over if self.gateway.running_as(run) is None]:
            await keeper.ask("forget", runs=done)
        for record in records:
            self.gateway.told(record, now_ms)
        self.gateway.missing((record["run"] for record in records), now_ms, is_new=is_new)
        self.trouble = ""
        while True:
            heard, self._records = self._records, []
            now_ms = _now_ms()
            for record in heard:
                self.gateway.told(record, now_ms)
            self.gateway.decide(now_ms // 1000)
            taken = self.gateway.take()
            unwritten, self._unwritten = self._unwritten, []
            runs: list[str] = []
            try:
                if taken.batch:
                    writing = loop.run_in_executor(self._writer, self.journal.write, taken.batch)
                    runs = self._intend(keeper, taken.orders)
                    await writing
            except JournalError:
                self._unwritten = [*unwritten, *self._unwritten]
                raise
            self._acknowledge(taken, unwritten)
            self._order(keeper, taken.orders, runs)
            if not (self._due.is_set() or self._records):
                await self._sleep()
            self._due.clear()
            if keeper.lost.is_set():
                raise KeeperError("the keeper is gone")

    async def _sleep(self) -> None:
        """Until something has happened."""
        patience = min(max(self.gateway.wake() - unix_now(), 0.0), LONGEST_SLEEP_S)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._due.wait(), patience)

    def _hear(self, record: Mapping[str, Any] | None) -> None:
        """A run is over, or (None) the keeper is gone."""
        if record is not None:
            self._records.append(record)
        self._due.set()

    def _acknowledge(self, taken: Taken, unwritten: list[asyncio.Future[None]]) -> None:
        for waiting in unwritten:
            if not waiting.done():
                waiting.set_result(None)
        for row in taken.batch.submissions:
            if row.key is not None:
                self._keys.pop((row.asker, row.key), None)
        for job in taken.jobs:
            for ends in self._waiting.pop(job.number, ()):
                if not ends.done():
                    ends.set_result(job)

    def _intend(self, keeper: KeeperClient, orders: list[Order]) -> list[str]:
        """Tell the keeper what is to begin; the runs. A job whose files can't be written fails alone."""
        told = []
        for jobs in _messages(order.job for order in orders if isinstance(order, StartRun)):
            runs = []
            for job in jobs:
                try:
                    runs.append(run_of(job, self.machine, self.folder, as_root=self.users))
                except OSError as error:
                    self._hear(_not_started(job.run, error))
            if runs:
                self._ask(self._told(keeper, "intend", runs))
            told += [run["run"] for run in runs]
        return told

    def _order(self, keeper: KeeperClient, orders: list[Order], starts: list[str]) -> None:
        """Tell the keeper what is in the journal, without waiting for its answers. `starts`: what is intended."""
        ends = [order.run for order in orders if isinstance(order, EndRun)]
        known = [order.run for order in orders if isinstance(order, ForgetRun)]
        if known:
            self._ask(self._told(keeper, "forget", known))
        if starts:
            self._ask(self._go(keeper, starts))
        if ends:
            self._ask(self._told(keeper, "end", ends, why="cancelled"))

    def _ask(self, talk: Any) -> None:  # noqa: ANN401 (a coroutine)
        task = asyncio.create_task(talk)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _go(self, keeper: KeeperClient, runs: list[str]) -> None:
        """Have runs begin."""
        if await self._told(keeper, "go", runs):
            now_ms = _now_ms()
            for run in runs:
                self.gateway.began(run, now_ms)

    async def _told(self, keeper: KeeperClient, do: str, runs: list[Any], **more: str) -> bool:
        """Whether it has done that. If not, whoever serves asks the keeper anew what has begun."""
        try:
            await keeper.ask(do, runs=runs, **more)
        except KeeperError:
            keeper.close()
            return False
        return True

    async def stop(self, *, kill: bool) -> None:
        """Serve no more. `kill`: end all that runs first, and the keeper with it; else it goes on with its keeper."""
        if kill:
            self.gateway.start_nothing()
            running = [job for job in self.gateway.jobs() if job.state is State.RUNNING]
            for job in running:
                self.gateway.cancel(job, _now_ms())
            self._due.set()
            await asyncio.gather(*(self.ended(job.number, None) for job in running))
        self.stopping.set()

    async def _close(self) -> None:
        """End the keeper, if it has nothing to keep."""
        if self._keeper is not None:
            with suppress(KeeperError, TimeoutError):
                await asyncio.wait_for(self._keeper.ask("stop"), 5.0)
            self._keeper.close()
        self._writer.shutdown()
        self.journal.close()


def _messages(starts: Iterable[LiveJob]) -> Iterator[list[LiveJob]]:
    """The starts that are told in one message: not too many, and as a keeper reads it."""
    some: list[LiveJob] = []
    size = 0
    for job in starts:
        if some and (len(some) == MOST_STARTS or size + job.of.size > MOST_TEXT):
            yield some
            some, size = [], 0
        some.append(job)
        size += job.of.size
    if some:
        yield some


def _not_started(run: str, error: OSError) -> Mapping[str, Any]:
    """What a keeper would tell of a run that it couldn't start."""
    why = f"{FAILED}{error.filename}: {error.strerror}" if error.filename else f"{FAILED}{error}"
    return {
        "run": run, "state": "over", "pid": None, "started_ms": None, "ended_ms": _now_ms(), "code": None,
        "signal": None, "why": why,
    }  # fmt: skip


def _now_ms() -> int:
    return int(unix_now() * 1000)
