"""Clients of job supervisors, and start of a local supervisor."""

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
from dardis.live.job_steps import prune_step_output, read_pieces, remove_step_output
from dardis.live.keeper import PROTOCOL
from dardis.live.power_readings import read_counters
from dardis.live.random_keys import fresh_key
from dardis.model.errors import DardisError

SUPERVISOR_FOLDER: Final = "keeper"
PATIENCE_S: Final = 10.0
"""Longest start, s."""
ANSWER_S: Final = 30.0
LONGEST_LINE: Final = 64 << 20
OPEN_FILES: Final = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
PAUSE_S: Final = (0.005, 0.25)

GONE: Final = "the job supervisor is gone"
EPOCH_REFUSED: Final = "epoch"


class SupervisorError(DardisError):
    """The supervisor is unreachable or refuses."""


class HigherEpochError(SupervisorError):
    """The supervisor has accepted a higher epoch."""

    def __init__(self, highest: int, epoch: int | None) -> None:
        """`epoch`: of the request; None: the service led until now."""
        super().__init__(_epoch_refusal(highest, epoch))
        self.highest = highest


OnRecord = Callable[[Mapping[str, Any] | None], None]
Connect = Callable[[OnRecord], Awaitable["SupervisorClient"]]


class SupervisorClient(ABC):
    """Connection to a job supervisor. Refusals and timeouts raise SupervisorError."""

    def __init__(self, heard: OnRecord) -> None:
        self._heard = heard
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0
        self.lost = asyncio.Event()
        self.why = ""
        self.now_ms = 0
        self.received_s = 0.0
        """Arrival of `now_ms`, monotonic s."""

    async def request(self, do: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 (plain values)
        """Send a request and return the answer."""
        if self.lost.is_set():
            raise SupervisorError(GONE)
        self._last += 1
        waiting = self._asked[self._last] = asyncio.get_running_loop().create_future()
        self._send({"id": self._last, "do": do, **more})
        try:
            async with asyncio.timeout(ANSWER_S):  # `wait_for` may miss a cancellation
                told: dict[str, Any] = await waiting
        except TimeoutError:
            self.close()
            raise SupervisorError("the job supervisor does not answer") from None
        if told.get("error") == EPOCH_REFUSED:
            raise HigherEpochError(told["highest"], more.get("epoch"))
        if "error" in told:
            raise SupervisorError(f"the job supervisor refuses {do}: {told['error']}")
        return told

    async def hello(self, epoch: int) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
        """Begin to lead. Return all run records, and incarnations.

        Raises SupervisorError, also for another protocol version.
        """
        told = await self.request("hello", epoch=epoch, mark=fresh_key())
        if (protocol := told.get("protocol", 1)) != PROTOCOL:
            raise SupervisorError(
                f"the job supervisor (process {told['pid']}) has protocol version {protocol}, not {PROTOCOL}: "
                "end it after its jobs, or kill it: a new one takes them over"
            )
        return told["runs"], told["marks"]

    @abstractmethod
    async def intend(
        self, runs: Sequence[Mapping[str, Any]], files: Sequence[SmallFile], lease: Mapping[str, int]
    ) -> Mapping[str, str]:
        """Announce runs and files. Return reasons of refused runs.

        A missing file refuses only its runs. `lease` holds lease fields or is empty.
        """

    async def old_files(self, before_ms: int) -> Sequence[str]:
        """Small files older than `before_ms` (Unix ms)."""
        paths: Sequence[str] = (await self.request("old files", before_ms=before_ms))["files"]
        return paths

    async def remove_files(self, paths: Sequence[str]) -> None:
        """Remove files before any later request."""
        await self.request("remove files", paths=paths)

    @abstractmethod
    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """Step's output beyond the offsets, see `job_steps.read_pieces`. Waits up to `wait_s`."""

    @abstractmethod
    async def power(self) -> Mapping[str, Any]:
        """Host's power readings, see `read_counters`."""

    async def start_runs(self, runs: Sequence[str]) -> Mapping[str, str]:
        """Start announced runs. Return reasons of refused runs."""
        refused: Mapping[str, str] = (await self.request("go", runs=runs)).get("refused", {})
        return refused

    def close(self, why: str = GONE) -> None:
        """End the connection. Pending requests fail with `why`."""
        if self.lost.is_set():
            return
        self.why = why
        self.lost.set()
        self._end()
        self._heard(None)
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(SupervisorError(why))
        self._asked.clear()

    def _on_message(self, told: dict[str, Any]) -> None:
        if "now" in told:
            self.now_ms, self.received_s = told["now"], monotonic_s()
        if "id" not in told:
            self._heard(told["record"])
        elif (waiting := self._asked.pop(told["id"], None)) is not None and not waiting.done():
            waiting.set_result(told)

    @abstractmethod
    def _send(self, asked: Mapping[str, Any]) -> None:
        """Send a request."""

    @abstractmethod
    def _end(self) -> None:
        """Release resources."""


class LocalSupervisorClient(SupervisorClient):
    """Connection to a local supervisor."""

    def __init__(
        self, folder: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: OnRecord
    ) -> None:
        super().__init__(heard)
        self._folder, self._reader, self._writer = folder, reader, writer
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, folder: Path, heard: OnRecord, *, apart: bool = False) -> LocalSupervisorClient:
        """Connect to a local supervisor; start a missing one unless `apart`. Raises SupervisorError."""
        with suppress(OSError):
            return await cls._open(folder, heard)
        if apart:
            raise SupervisorError(f"{folder}: its job supervisor, which is started separately, does not listen")
        process = start_supervisor(folder / SUPERVISOR_FOLDER)
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while process.poll() is None and loop.time() < until:  # noqa: ASYNC110 (no event)
            await asyncio.sleep(0.02)  # ends once the supervisor listens or fails
        with suppress(OSError):
            return await cls._open(folder, heard)
        raise SupervisorError(
            f"{folder}: its job supervisor does not start{_last_output_line(folder / SUPERVISOR_FOLDER)}"
        )

    @classmethod
    async def _open(cls, folder: Path, heard: OnRecord) -> LocalSupervisorClient:
        path = str(folder / SUPERVISOR_FOLDER / "keeper.sock")
        reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST_LINE)
        return cls(folder, reader, writer, heard)

    async def _listen(self) -> None:
        with suppress(OSError, ValueError):
            while line := await self._reader.readline():
                self._on_message(json.loads(line))
        self.close()

    async def intend(
        self, runs: Sequence[Mapping[str, Any]], files: Sequence[SmallFile], lease: Mapping[str, int]
    ) -> Mapping[str, str]:
        """See `SupervisorClient.intend`."""
        try:
            amiss = put_files(self._folder, files)
        except OSError as error:
            raise SupervisorError(f"its host is at a limit: {error.strerror}") from None
        refused, good = {}, []
        for run in runs:
            needs, rest = run["files"], {name: value for name, value in run.items() if name != "files"}
            if bad := next((path for path in needs if path in amiss), None):
                refused[run["run"]] = amiss[bad]
            else:
                good.append(rest)
        told = await self.request("intend", runs=good, **lease) if good else {}
        refused.update(told.get("refused", {}))
        return refused

    async def old_files(self, before_ms: int) -> Sequence[str]:
        """See `SupervisorClient.old_files`."""
        return await asyncio.to_thread(old_files, self._folder, before_ms)

    async def remove_files(self, paths: Sequence[str]) -> None:
        """See `SupervisorClient.remove_files`."""
        remove_files(self._folder, paths)

    async def request(self, do: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 (plain values)
        """See `SupervisorClient.request`. Removes old step output."""
        told = await super().request(do, **more)
        if do == "forget":
            remove_step_output(self._folder, more["runs"])
        elif do == "hello":
            prune_step_output(self._folder, {record["run"] for record in told["runs"]})
        return told

    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """See `SupervisorClient.read`."""
        until, pause_s = monotonic_s() + wait_s, PAUSE_S[0]
        while not (pieces := read_pieces(self._folder, run, offsets)) and monotonic_s() < until:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S[1])
        return pieces

    async def power(self) -> Mapping[str, Any]:
        """See `SupervisorClient.power`."""
        return await asyncio.to_thread(read_counters)

    def _send(self, asked: Mapping[str, Any]) -> None:
        self._writer.write(json.dumps(asked).encode() + b"\n")

    def _end(self) -> None:
        self._listening.cancel()
        self._writer.close()


def start_supervisor(folder: Path) -> subprocess.Popen[bytes]:
    """Start a supervisor as an independent process."""
    folder.mkdir(mode=0o700, exist_ok=True)
    words = ["/bin/sh", "-c", f'ulimit -S -n {OPEN_FILES} && exec "$@"', "sh"]  # code in a fork may deadlock
    words += [sys.executable, "-m", "dardis.live.keeper", str(folder)]
    with (folder / "keeper.out").open("ab") as out:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd="/",
            env=os.environ | {"PYTHONPATH": _path()},
        )  # fmt: skip


def _epoch_refusal(highest: int, epoch: int | None) -> str:
    if epoch is None:
        return f"another service leads the job supervisor now (epoch {highest})"
    return (
        f"the job supervisor was led by a service of epoch {highest}, but this service has epoch {epoch}: another "
        f"service leads it, or the journal is an older copy; nothing starts on any host (to continue, though later "
        f"jobs may run again: serve --epoch {highest + 1})"
    )


def _path() -> str:
    return os.pathsep.join(str(Path(place).absolute()) for place in sys.path)


def _last_output_line(folder: Path) -> str:
    try:
        lines = (folder / "keeper.out").read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {lines[-1]}" if lines else ""
