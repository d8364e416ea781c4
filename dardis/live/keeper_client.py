"""Talks with this host's keeper, and starts one where none is; what the keeper answers is in its own package."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dardis.model.errors import DardisError

PATIENCE_S: Final = 10.0
"""How long a keeper that was started may take until it listens, s."""
ANSWER_S: Final = 30.0
"""How long it may take over an answer, s; one that was stopped doesn't answer at all."""
LONGEST_LINE: Final = 64 << 20
"""The longest line that it may say, in bytes: what it knows of all its runs."""


class KeeperError(DardisError):
    """The keeper can't be talked to, or refuses."""


class KeeperClient:
    """A connection to the keeper of a folder."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        heard: Callable[[Mapping[str, Any] | None], None],
    ) -> None:
        """`heard` is called with the record of each run that is over, and with None when the connection is."""
        self._reader, self._writer, self._heard = reader, writer, heard
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0
        self.lost = asyncio.Event()
        """Set when the connection is over."""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, folder: Path, heard: Callable[[Mapping[str, Any] | None], None]) -> KeeperClient:
        """Connect to the keeper, which is started if nobody listens. Raises KeeperError."""
        path = str(folder / "keeper.sock")
        with suppress(OSError):
            return await cls._connected(path, heard)
        process = start_keeper(folder)
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while True:
            with suppress(OSError):
                return await cls._connected(path, heard)
            if process.poll() not in (None, 0) or loop.time() > until:
                raise KeeperError(f"{folder}: its keeper does not start{_said(folder)}")
            await asyncio.sleep(0.02)

    @classmethod
    async def _connected(cls, path: str, heard: Callable[[Mapping[str, Any] | None], None]) -> KeeperClient:
        reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_LINE)
        return cls(reader, writer, heard)

    async def _listen(self) -> None:
        with suppress(OSError, ValueError):
            while line := await self._reader.readline():
                told = json.loads(line)
                if "id" not in told:
                    self._heard(told["record"])
                elif (waiting := self._asked.pop(told["id"], None)) is not None and not waiting.done():
                    waiting.set_result(told)
        self._gone()

    def _gone(self) -> None:
        """The connection is over."""
        self.lost.set()
        self._writer.close()
        self._heard(None)
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(KeeperError("the keeper is gone"))
        self._asked.clear()

    async def ask(self, do: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 (plain values)
        """Its answer to a request. Raises KeeperError where it refuses, does not answer, or is gone."""
        if self.lost.is_set():
            raise KeeperError("the keeper is gone")
        self._last += 1
        waiting = self._asked[self._last] = asyncio.get_running_loop().create_future()
        self._writer.write(json.dumps({"id": self._last, "do": do, **more}).encode() + b"\n")
        try:
            told: dict[str, Any] = await asyncio.wait_for(waiting, ANSWER_S)
        except TimeoutError:
            self.close()
            raise KeeperError("the keeper does not answer") from None
        if "error" in told:
            raise KeeperError(f"the keeper refuses to {do}: {told['error']}")
        return told

    async def hello(self, epoch: int) -> tuple[Sequence[Mapping[str, Any]], bool]:
        """Say who leads; the records of all runs that it knows of, and whether nobody has led it before."""
        told = await self.ask("hello", epoch=epoch)
        return told["runs"], told.get("before") == 0

    def close(self) -> None:
        """Talk no more."""
        self._listening.cancel()
        if not self.lost.is_set():
            self._gone()


def start_keeper(folder: Path) -> subprocess.Popen[bytes]:
    """Start the keeper of a folder, as a process that outlives this one."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "keeper.out").open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "dardis.live.keeper", str(folder)], stdin=subprocess.DEVNULL, stdout=out,
            stderr=out, start_new_session=True, cwd="/", env=os.environ | {"PYTHONPATH": _path()},
        )  # fmt: skip


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
