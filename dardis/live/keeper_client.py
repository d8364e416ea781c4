"""Talks with this host's keeper, and starts one where none is; what the keeper answers is in its own package.

`Keeper` is a talk with any keeper, wherever it is.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dardis.engine.clock import monotonic_s
from dardis.live.job_files import SmallFile, old_files, put_files, remove_files
from dardis.live.job_steps import keep_parts, read_pieces, remove_parts
from dardis.live.keeper import PROTOCOL
from dardis.live.random_keys import fresh_key
from dardis.model.errors import DardisError

KEEPER: Final = "keeper"
"""The keeper's folder in its host's."""
PATIENCE_S: Final = 10.0
"""How long a keeper that was started may take until it listens, s."""
ANSWER_S: Final = 30.0
"""How long it may take over an answer, s; one that was stopped doesn't answer at all."""
LONGEST_LINE: Final = 64 << 20
"""The longest line that it may say, in bytes: what it knows of all its runs."""
OPEN_FILES: Final = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
"""How many files this process could have open when it began; its keepers, and so jobs, begin with that again."""
PAUSE_S: Final = (0.005, 0.25)
"""How soon it is looked whether a part has written more: at first, and at most, s."""

GONE: Final = "the keeper is gone"
LED_OTHERWISE: Final = "epoch"
"""What a keeper says to a service of a lower epoch than it was led by."""


class KeeperError(DardisError):
    """The keeper can't be talked to, or refuses."""


class LedOtherwiseError(KeeperError):
    """The keeper was led by a service of a higher epoch."""

    def __init__(self, highest: int, epoch: int | None) -> None:
        """`epoch` is that of who asks; None: he has led it until now."""
        super().__init__(_led_otherwise(highest, epoch))
        self.highest = highest


Heard = Callable[[Mapping[str, Any] | None], None]
"""Is called with the record of each run that is over, and with None when the talk is."""
Connect = Callable[[Heard], Awaitable["Keeper"]]
"""Begins a talk with a keeper. Raises KeeperError where nobody answers."""


class Keeper(ABC):
    """A talk with the keeper of a host, until it is lost. What is refused, or not answered, raises KeeperError."""

    def __init__(self, heard: Heard) -> None:
        """Nothing was asked yet."""
        self._heard = heard
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0
        self.lost = asyncio.Event()
        """Set when the talk is over."""
        self.why = ""
        """Why it is."""
        self.now_ms = 0
        """What it has told last of its host's clock, ms of CLOCK_BOOTTIME."""
        self.told_s = 0.0
        """When that was heard here, s of the monotonic clock."""

    async def ask(self, do: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 (plain values)
        """Its answer to a request."""
        if self.lost.is_set():
            raise KeeperError(GONE)
        self._last += 1
        waiting = self._asked[self._last] = asyncio.get_running_loop().create_future()
        self._send({"id": self._last, "do": do, **more})
        try:
            async with asyncio.timeout(ANSWER_S):  # `wait_for` may miss that who asks is cancelled
                told: dict[str, Any] = await waiting
        except TimeoutError:
            self.close()
            raise KeeperError("the keeper does not answer") from None
        if told.get("error") == LED_OTHERWISE:
            raise LedOtherwiseError(told["highest"], more.get("epoch"))
        if "error" in told:
            raise KeeperError(f"the keeper refuses to {do}: {told['error']}")
        return told

    async def hello(self, epoch: int) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
        """Say who leads; the records of all runs that it knows of, and the marks that it was led under.

        Raises KeeperError, for a keeper of another version, too.
        """
        told = await self.ask("hello", epoch=epoch, mark=fresh_key())
        if (protocol := told.get("protocol", 1)) != PROTOCOL:
            raise KeeperError(
                f"the keeper (process {told['pid']}) is of another version (protocol {protocol}, not {PROTOCOL}): end "
                f"it once its jobs are over, or kill it: the next one takes them up"
            )
        return told["runs"], told["marks"]

    @abstractmethod
    async def intend(
        self, runs: Sequence[Mapping[str, Any]], files: Sequence[SmallFile], lease: Mapping[str, int]
    ) -> Mapping[str, str]:
        """Say what is to begin when it is told to go, and what files that needs; why runs are refused, by name.

        A run says in `files` which ones it needs; one whose files can't be put is refused alone. `lease` is what the
        message says of the lease that runs have; empty where none has any.
        """

    async def old_files(self, before_ms: int) -> Sequence[str]:
        """Small files of its host that were put there before an instant (Unix ms)."""
        paths: Sequence[str] = (await self.ask("old files", before_ms=before_ms))["files"]
        return paths

    async def remove_files(self, paths: Sequence[str]) -> None:
        """Let its host have these no more, before anything that it is asked later."""
        await self.ask("remove files", paths=paths)

    @abstractmethod
    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """What a part has written from these offsets on: `part_files.read_pieces`. Waits so long for something."""

    async def go(self, runs: Sequence[str]) -> Mapping[str, str]:
        """Let runs begin that were intended in this talk; why some are refused, by name."""
        refused: Mapping[str, str] = (await self.ask("go", runs=runs)).get("refused", {})
        return refused

    def close(self, why: str = GONE) -> None:
        """Talk no more; who waits for an answer gets `why` instead."""
        if self.lost.is_set():
            return
        self.why = why
        self.lost.set()
        self._end()
        self._heard(None)
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(KeeperError(why))
        self._asked.clear()

    def _take(self, told: dict[str, Any]) -> None:
        """What it says: an answer, or that a run is over."""
        if "now" in told:
            self.now_ms, self.told_s = told["now"], monotonic_s()
        if "id" not in told:
            self._heard(told["record"])
        elif (waiting := self._asked.pop(told["id"], None)) is not None and not waiting.done():
            waiting.set_result(told)

    @abstractmethod
    def _send(self, asked: Mapping[str, Any]) -> None:
        """Ask something."""

    @abstractmethod
    def _end(self) -> None:
        """Let go of what the talk needed."""


class KeeperClient(Keeper):
    """A connection to the keeper of a folder."""

    def __init__(self, folder: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: Heard) -> None:
        """Talk with the keeper of a host's folder."""
        super().__init__(heard)
        self._folder, self._reader, self._writer = folder, reader, writer
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, folder: Path, heard: Heard, *, apart: bool = False) -> KeeperClient:
        """Connect to the keeper of a host's folder. Raises KeeperError.

        If nobody listens it is started, but where keepers are started apart, by somebody else.
        """
        with suppress(OSError):
            return await cls._connected(folder, heard)
        if apart:
            raise KeeperError(f"{folder}: its keeper, which is started apart, does not listen")
        process = start_keeper(folder / KEEPER)
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while process.poll() is None and loop.time() < until:  # noqa: ASYNC110 (nobody says it)
            await asyncio.sleep(0.02)  # it ends when the keeper listens, or never will
        with suppress(OSError):
            return await cls._connected(folder, heard)
        raise KeeperError(f"{folder}: its keeper does not start{_said(folder / KEEPER)}")

    @classmethod
    async def _connected(cls, folder: Path, heard: Heard) -> KeeperClient:
        path = str(folder / KEEPER / "keeper.sock")
        reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_LINE)
        return cls(folder, reader, writer, heard)

    async def _listen(self) -> None:
        with suppress(OSError, ValueError):
            while line := await self._reader.readline():
                self._take(json.loads(line))
        self.close()

    async def intend(
        self, runs: Sequence[Mapping[str, Any]], files: Sequence[SmallFile], lease: Mapping[str, int]
    ) -> Mapping[str, str]:
        """As of all keepers."""
        try:
            amiss = put_files(self._folder, files)
        except OSError as error:
            raise KeeperError(f"its host has no room for more: {error.strerror}") from None
        refused, good = {}, []
        for run in runs:
            needs, rest = run["files"], {name: value for name, value in run.items() if name != "files"}
            if bad := next((path for path in needs if path in amiss), None):
                refused[run["run"]] = amiss[bad]
            else:
                good.append(rest)
        told = await self.ask("intend", runs=good, **lease) if good else {}
        refused.update(told.get("refused", {}))
        return refused

    async def old_files(self, before_ms: int) -> Sequence[str]:
        """As of all keepers."""
        return await asyncio.to_thread(old_files, self._folder, before_ms)

    async def remove_files(self, paths: Sequence[str]) -> None:
        """As of all keepers."""
        remove_files(self._folder, paths)

    async def ask(self, do: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 (plain values)
        """As of all keepers; what parts have written goes with what is known of them."""
        told = await super().ask(do, **more)
        if do == "forget":
            remove_parts(self._folder, more["runs"])
        elif do == "hello":
            keep_parts(self._folder, {record["run"] for record in told["runs"]})
        return told

    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """As of all keepers."""
        until, pause_s = monotonic_s() + wait_s, PAUSE_S[0]
        while not (pieces := read_pieces(self._folder, run, offsets)) and monotonic_s() < until:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S[1])
        return pieces

    def _send(self, asked: Mapping[str, Any]) -> None:
        self._writer.write(json.dumps(asked).encode() + b"\n")

    def _end(self) -> None:
        self._listening.cancel()
        self._writer.close()


def start_keeper(folder: Path) -> subprocess.Popen[bytes]:
    """Start the keeper of a folder, as a process that outlives this one."""
    folder.mkdir(mode=0o700, exist_ok=True)
    words = ["/bin/sh", "-c", f'ulimit -S -n {OPEN_FILES} && exec "$@"', "sh"]  # what runs in a fork may hang it
    words += [sys.executable, "-m", "dardis.live.keeper", str(folder)]
    with (folder / "keeper.out").open("ab") as out:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd="/",
            env=os.environ | {"PYTHONPATH": _path()},
        )  # fmt: skip


def _led_otherwise(highest: int, epoch: int | None) -> str:
    """That a keeper has been led by a service of a higher epoch than this one's; None: since it has begun to."""
    if epoch is None:
        return f"the keeper is led by another service now (of epoch {highest})"
    return (
        f"the keeper was led by a service of epoch {highest}, and this one's is {epoch}: another service leads it, "
        f"or the journal is an older copy: nothing starts on any host (to go on though what has run since may run "
        f"again: serve --epoch {highest + 1})"
    )


def _path() -> str:
    """Where Python finds this package, from the folder `/` too."""
    return os.pathsep.join(str(Path(place).absolute()) for place in sys.path)


def _said(folder: Path) -> str:
    """The last that a keeper complained of."""
    try:
        lines = (folder / "keeper.out").read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {lines[-1]}" if lines else ""
