"""One host as the service has it: its keeper, talked with again and again, and what that is told and tells.

A host is silent until its keeper has said what it knows, and from when it is lost; the others go on meanwhile.
"""

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
from dardis.live.job_steps import Part, PartAsked
from dardis.live.journal import Journal
from dardis.live.keeper.log_records import FAILED, KNOWN
from dardis.live.keeper_client import Connect, Keeper, KeeperError, LedOtherwiseError
from dardis.live.launch_requests import files_of, part_files_of, part_of, run_of
from dardis.live.live_jobs import LiveJob

AGAIN_S: Final = 1.0
"""How long after its keeper was lost it is tried again, s."""
MOST_PAUSE_S: Final = 60.0
"""How long at most, where its node managers don't answer or its keeper refuses, again and again, s."""
STEADY_S: Final = 60.0
"""After so long it is taken for well again, s."""
MOST_STARTS: Final = 256
"""How many runs a keeper is told of in one message, before they begin."""
MOST_TEXT: Final = 8 << 20
"""How long all that they are told may be together, in bytes; JSON may need six times as many, a keeper reads 64 MiB."""
STOP_S: Final = 5.0
"""How long a keeper may take to end, s."""
NOT_CERTAIN: Final = "it is not certain who leads"
LEASE_S: Final = 60
"""For how long a lease is given, s."""
RENEW_S: Final = LEASE_S / 6
"""How often it is renewed, s."""
CERTAIN_S: Final = 10.0
"""How long ago it may have been certain that no other service leads when a lease is given, s."""
MARGIN_S: Final = 10
"""How long after its lease a run may live yet: until its guard was awake, and all its processes are dead, s."""
LOOK_S: Final = 1.0
"""How often it is looked whether leases of a silent host are over, s."""


@dataclass(frozen=True, slots=True)
class Home:
    """A host whose keeper runs jobs."""

    name: str
    folder: Path
    """Of keeper and small files, there."""
    connect: Connect
    leased: bool = False
    """Whether runs there that may run again have a lease: it may be cut off from the journal."""


class Intended(NamedTuple):
    """Runs that a keeper was told of, on a connection that may be over by now."""

    keeper: Keeper
    runs: Sequence[str]


class Post:
    """The post of one host, for one gateway."""

    def __init__(
        self, home: Home, gateway: Gateway, journal: Journal, due: Callable[[], None], *, as_root: bool
    ) -> None:  # fmt: skip
        """Begin to talk with its keeper. `due` is called when something has happened."""
        self._home, self._gateway, self._journal, self._due, self._as_root = home, gateway, journal, due, as_root
        self.trouble = STARTING
        """Why it is silent; empty: it isn't."""
        self.tried = asyncio.Event()
        """Set when its keeper has answered, or didn't, for the first time."""
        self._keeper: Keeper | None = None
        self._records: list[Mapping[str, Any]] = []
        self._refused: set[str] = set()
        """Runs that it won't begin, as it has said, and that it is yet told to."""
        self._asking: set[asyncio.Task[None]] = set()
        self._over_s = leases_over_s()
        """When leases there are over for sure, s of the monotonic clock; inf: the gateway was told that they are."""
        self._pause_s = AGAIN_S
        self._tasks = [asyncio.create_task(self._keep()), asyncio.create_task(self._see_to_leases())]

    async def _keep(self) -> None:
        while True:
            try:
                await self._listen()
            except (KeeperError, OSError) as error:
                self.trouble = str(error)
                if isinstance(error, LedOtherwiseError):
                    self._gateway.led_otherwise(self._home.name)
            self.tried.set()
            self._due()
            await asyncio.sleep(self._pause_s)

    async def _listen(self) -> None:
        """Bring what the keeper knows to the gateway, until it is lost. Raises KeeperError."""
        self._records = []
        keeper = await self._home.connect(self._hear)
        try:
            records, marks = await keeper.hello(self._journal.epoch)
            if (other := self._gateway.hearing.twin(marks)) is not None:
                raise KeeperError(f"its keeper's folder is a copy of that of {other}, or the other way round")
            self._gateway.heard(records, unix_ms(), self._home.name, marks)
            self._keeper, self.trouble = keeper, ""
            self._renew(keeper)
            self.tried.set()
            self._due()
            with suppress(TimeoutError):
                async with asyncio.timeout(STEADY_S):
                    await keeper.lost.wait()
            if not keeper.lost.is_set():
                self._pause_s = AGAIN_S
                await keeper.lost.wait()
            raise KeeperError(keeper.why)
        finally:
            keeper.close()
            self._keeper = None
            self._gateway.fell_silent(self._home.name)

    def _hear(self, record: Mapping[str, Any] | None) -> None:
        """A run is over, or (None) the keeper is gone."""
        if record is not None:
            self._records.append(record)
        self._due()

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def keeper(self) -> Keeper | None:
        """Who is talked with; None: it is silent."""
        return self._keeper

    @property
    def has_news(self) -> bool:
        """Whether something was heard that the gateway hasn't been told."""
        return bool(self._records) and self._keeper is not None

    def tell(self, now_ms: int) -> None:
        """Tell the gateway what was heard, once it has heard what the keeper knew before."""
        if not self.has_news:
            return
        heard, self._records = self._records, []
        for record in heard:
            self._gateway.told(record, now_ms, self._home.name)

    def drop(self) -> None:
        """Take it for lost: its node managers don't answer. If that goes on, it is tried less and less often."""
        if self._keeper is not None:
            self._rest()
            self._keeper.close("it does not say where jobs could start")

    def _rest(self) -> None:
        """Try it less often, if this goes on."""
        self._pause_s = min(2 * self._pause_s, MOST_PAUSE_S)

    def intend(self, jobs: Iterable[LiveJob]) -> Intended | None:
        """Tell the keeper what is to begin, without waiting for its answer; None: it is lost, and is asked anew."""
        if (keeper := self._keeper) is None:
            return None
        names: list[str] = []
        for some in messages(jobs):
            machine, folder = self._gateway.machine, self._home.folder
            told = self._told_lease(keeper) if any(job.leased for job in some) else {}
            if told is None:
                keeper.close(NOT_CERTAIN)
                return None
            runs = [run_of(job, machine, folder, as_root=self._as_root) for job in some]
            files = {file.path: file for job in some for file in files_of(job)}
            names += [job.run for job in some]
            self._ask(self._intended(keeper, keeper.intend(runs, list(files.values()), told)))
        return Intended(keeper, names)

    def go(self, intended: Intended) -> None:
        """Let begin what was intended, and is still to."""
        runs = [run for run in intended.runs if self._gateway.running_as(run) is not None]
        if runs:
            self._ask(self._begun(intended.keeper, runs))

    async def _intended(self, keeper: Keeper, talk: Awaitable[Mapping[str, str]]) -> None:
        """What the keeper refuses fails alone; where it knows a run already, it is asked anew."""
        with self._losing(keeper):
            refused = await talk
            if KNOWN in refused.values():
                raise KeeperError(KNOWN)
            now_ms = unix_ms()
            self._records += [_not_started(run, why, now_ms) for run, why in refused.items()]
            self._refused.update(refused)
            if refused:
                self._due()

    async def _begun(self, keeper: Keeper, runs: Sequence[str]) -> None:
        """What is refused here and was not before is asked anew."""
        with self._losing(keeper):
            refused, now_ms = await keeper.go(runs), unix_ms()
            for run in runs:
                if run not in refused:
                    self._gateway.began(run, now_ms)
            if not self._refused.issuperset(refused):
                raise KeeperError("a run was not intended")
            self._refused.difference_update(refused)

    def begin_part(self, part: Part, job: LiveJob, node: str, asked: PartAsked) -> None:
        """Let a part of a job begin that was asked for."""
        if (keeper := self._keeper) is not None:
            home, machine = self._home, self._gateway.machine
            run = part_of(part.run, job, node, asked, machine, home.folder, as_root=self._as_root)
            run["lease"] = job.hosts[home.name].leased
            self._ask(self._part_begun(keeper, part, run, part_files_of(part.run, job)))

    async def _part_begun(
        self, keeper: Keeper, part: Part, run: Mapping[str, Any], files: Sequence[SmallFile]
    ) -> None:  # fmt: skip
        """It is durable that it may begin before it does; in between its job may be over."""
        with self._losing(keeper):
            lease = self._told_lease(keeper) if run["lease"] else {}
            if lease is None:
                return keeper.close(NOT_CERTAIN)
            refused = await keeper.intend([run], files, lease)
            if KNOWN in refused.values():
                raise KeeperError(KNOWN)
            if refused:
                self._hear(_not_started(part.run, refused[part.run], unix_ms()))
            elif self._gateway.parts.go(part):
                self._due()  # from now on it is looked whether somebody follows it
                if await keeper.go([part.run]):
                    raise KeeperError("a part was not intended")
        return None

    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """What a part has written, as its keeper's host tells. Raises KeeperError where that is silent."""
        if self._keeper is None:
            raise KeeperError(self.trouble)
        return await self._keeper.read(run, offsets, wait_s)

    def order(self, do: str, runs: list[str], **more: str) -> None:
        """Tell the keeper to `end` or `forget` runs, without waiting for its answer."""
        if runs and self._keeper is not None:
            self._ask(self._told(self._keeper, do, runs=runs, **more))

    async def _told(self, keeper: Keeper, do: str, **more: Any) -> None:  # noqa: ANN401 (plain values)
        with self._losing(keeper):
            await keeper.ask(do, **more)

    @contextmanager
    def _losing(self, keeper: Keeper) -> Iterator[None]:
        """A keeper that refuses, or doesn't answer, is asked anew what has begun; one that refuses, more rarely."""
        try:
            yield
        except KeeperError as error:
            if not keeper.lost.is_set():
                self._rest()
                keeper.close(str(error))

    def _ask(self, talk: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(talk)
        self._asking.add(task)
        task.add_done_callback(self._asked)

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._tasks.append(task)
            self._due()

    # ------------------------------------------------------------------------------------------------------------------
    # Leases.

    def _lease(self, keeper: Keeper) -> dict[str, int] | None:
        """A new lease, as its keeper is told of it; None: another service may lead.

        It counts from a time that the keeper itself has told, and that was heard here later: so it is over there before
        it is here, however long what is said may be on its way.
        """
        if monotonic_s() - self._journal.certain_s() > CERTAIN_S:
            return None
        self._over_s = max(0.0 if isinf(self._over_s) else self._over_s, keeper.told_s + LEASE_S + MARGIN_S)
        return {"from": keeper.now_ms, "ms": LEASE_S * 1000}

    def _told_lease(self, keeper: Keeper) -> dict[str, int] | None:
        """The same, as it is told with what is to begin."""
        lease = self._lease(keeper)
        return None if lease is None else {f"lease_{name}": value for name, value in lease.items()}

    async def _see_to_leases(self) -> None:
        """Renew leases, and tell the gateway when those of a silent host are over."""
        renewed_s = 0.0
        while True:
            await asyncio.sleep(LOOK_S)
            now_s = monotonic_s()
            if (keeper := self._keeper) is None:
                if now_s >= self._over_s:
                    self._over_s = inf
                    self._gateway.lease_is_over(self._home.name)
                    self._due()
            elif now_s >= renewed_s + RENEW_S:
                renewed_s = now_s
                self._renew(keeper)

    def _renew(self, keeper: Keeper) -> None:
        if (lease := self._lease(keeper)) is not None:
            self._ask(self._told(keeper, "lease", **lease))

    def see(self) -> None:
        """Raise what nobody has expected."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def end(self, *, stop: bool) -> None:
        """Talk no more. `stop`: end the keeper too, if it has nothing to keep."""
        if stop and self._keeper is not None:
            with suppress(KeeperError, TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._keeper.ask("stop")
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)


def leases_over_s() -> float:
    """When leases are over for sure that others have given until now, s of the monotonic clock."""
    return monotonic_s() + CERTAIN_S + LEASE_S + MARGIN_S


def messages(starts: Iterable[LiveJob]) -> Iterator[list[LiveJob]]:
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


def _not_started(run: str, why: str, now_ms: int) -> Mapping[str, Any]:
    """What a keeper would tell of a run that it couldn't start."""
    return {
        "run": run, "state": "over", "pid": None, "started_ms": None, "ended_ms": now_ms, "code": None,
        "signal": None, "why": FAILED + why,
    }  # fmt: skip
