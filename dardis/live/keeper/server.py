"""Main loop of the job supervisor.

A turn commits requests and events, forks runs, commits failures, and answers.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from dardis.live.keeper import kernel
from dardis.live.keeper.keeper_log import Log
from dardis.live.keeper.lease import boot_ms
from dardis.live.keeper.log_records import ALREADY_KNOWN, END_REASONS, Entry, RecoveredState
from dardis.live.keeper.run_request import SIGNALS, InvalidRequestError, StartRequest, read_lease, read_starts, run_name
from dardis.live.keeper.runs import SupervisedRuns

MOST_BYTES: Final = 1 << 20
LONGEST: Final = 64 << 20
"""Longest line and most unsent bytes."""
TERM_DELAY_S: Final = 0.02
KILL_DELAY_MS: Final = 1000
"""Longest delay to the supervisor after its runs, ms."""
MOST_CONNECTIONS: Final = 64
"""Runs need the remaining open files."""
RETRY_MS: Final = 1000

Message = dict[str, Any]


@dataclass(slots=True, eq=False)
class Connection:
    """Client connection."""

    socket: socket.socket
    epoch: int | None = None
    intended: dict[str, StartRequest] = field(default_factory=dict)
    unread: bytearray = field(default_factory=bytearray)
    unsent: bytearray = field(default_factory=bytearray)
    is_slow: bool = False
    is_closing: bool = False
    closed: bool = False


@dataclass(slots=True)
class PendingRequest:
    """Request: log entries, and the action once durable."""

    connection: Connection
    number: int | None
    execute: Callable[[], Message]
    log_entries: Callable[[], list[Entry]] = list
    is_exclusive: bool = False


class Server:
    """Serve a folder."""

    def __init__(
        self, log: Log, listener: socket.socket, wake: socket.socket, host: Message, stops: list[int], *, step: bool
    ) -> None:  # fmt: skip
        """`wake` is readable after a signal, `stops` collects SIGTERM, clients get `host`."""
        self._log, self._listener, self._wake, self._host, self._stops = log, listener, wake, host, stops
        self._step, self._leaving = step, False
        self._timer = kernel.boot_timer()
        self._poll = select.epoll()
        for file in (listener.fileno(), wake.fileno(), self._timer):
            self.watch(file)
        self._connections: dict[int, Connection] = {}
        self._leader: Connection | None = None
        self._retry: int | None = None
        self._claimed: set[str] = set()
        self._stopping = False
        self._marked = False

    def watch(self, file: int) -> None:
        """Also poll a file."""
        self._poll.register(file, select.EPOLLIN)

    def serve(self, runs: SupervisedRuns) -> None:
        """Serve until stopped."""
        self._commit_and_answer(runs, [])
        while not self._stopping:
            waits = [due for due in (runs.next_due(), self._retry) if due is not None]
            kernel.set_timer(self._timer, min(waits, default=None))
            turns: list[PendingRequest] = []
            soon = self._stops or (self._leaving and not runs.live) or (runs.uncommitted and self._retry is None)
            events = self._poll.poll(0 if soon else -1)
            if self._step and self._is_stop_requested(events):
                self._end_all_runs(runs)
                continue  # the poll reports the same events again
            for file, event in events:
                if file == self._listener.fileno():
                    self._accept()
                elif file == self._wake.fileno():
                    self._drain()
                elif file == self._timer:
                    with suppress(BlockingIOError):
                        os.read(self._timer, 8)
                elif (connection := self._connections.get(file)) is not None:
                    turns += self._receive(connection, event, runs)
                else:
                    self._poll.unregister(file)
                    runs.on_process_end(file)
            runs.reap()
            runs.perform_due_actions()
            low = 0
            cuts = {cut for at, turn in enumerate(turns) if turn.is_exclusive for cut in (at, at + 1)}
            for high in sorted({*cuts, len(turns)}):
                self._commit_and_answer(runs, turns[low:high])
                low = high
            if self._leaving or (self._stops and not self._step):  # a step stopped in this turn leaves in the next
                self._stops.clear()
                self._stopping = self._stopping or not runs.live

    def _is_stop_requested(self, events: list[tuple[int, int]]) -> bool:
        others = {self._listener.fileno(), self._timer, *self._connections}
        if not self._stops and not self._leaving and any(file not in others for file, _ in events):
            time.sleep(TERM_DELAY_S)
        return bool(self._stops)

    def _end_all_runs(self, runs: SupervisedRuns) -> None:
        self._stops.clear()
        runs.end(list(runs.live), END_REASONS[RecoveredState.HOST_ENDS])
        runs.set_untrusted_reason(END_REASONS[RecoveredState.HOST_ENDS])
        runs.clean_up()
        if not self._leaving:
            self._leaving = True
            for connection in list(self._connections.values()):
                self._close(connection)
            self._poll.unregister(self._listener.fileno())
            self._listener.close()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass

    # ------------------------------------------------------------------------------------------------------------------
    # Commits, before answers.

    def _commit_and_answer(self, runs: SupervisedRuns, turns: list[PendingRequest]) -> None:
        self._claimed.clear()
        turns = [turn for turn in turns if not turn.connection.closed]
        needed = [turn.log_entries() for turn in turns]
        trouble = self._commit(runs, [entry for entries in needed for entry in entries])
        answers: list[tuple[Connection, Message]] = []
        for turn, entries in zip(turns, needed, strict=True):
            answer = {"error": trouble} if trouble is not None and entries else turn.execute()
            answers.append((turn.connection, {"id": turn.number, "now": boot_ms(), **answer}))
        if trouble is None and runs.uncommitted:
            self._commit(runs, [])
        for connection, answer in answers:
            self._send(connection, answer)
        for connection in list(self._connections.values()):
            self._flush(connection)

    def _commit(self, runs: SupervisedRuns, asked: list[Entry]) -> str | None:
        """Commit requests with events. Return the requests' error.

        Exits need not wait for the disk: a lost exit is unknown.
        """
        trouble = None
        for entries in ([*runs.uncommitted, *asked], list(runs.uncommitted)):
            if not entries:
                break
            try:
                self._log.commit(entries)
            except OSError as error:
                trouble = trouble or f"the job supervisor's log can't be written: {error.strerror}"
                continue
            runs.uncommitted.clear()
            for record in runs.on_commit(entries):
                if self._leader is not None:
                    self._send(self._leader, {"event": "over", "record": record})
            break
        if trouble is not None and self._retry is None:
            log_error(trouble)
        self._retry = boot_ms() + RETRY_MS if runs.uncommitted else None
        return trouble

    # ------------------------------------------------------------------------------------------------------------------
    # Requests.

    def _parse_request(self, connection: Connection, line: bytes, runs: SupervisedRuns) -> PendingRequest:
        number = None
        try:
            asked = json.loads(line)
            if isinstance(asked, dict) and isinstance(asked.get("id"), int):
                number = asked["id"]
                return self._dispatch(connection, asked["id"], asked, runs)
            said = "a request is an object with an id"
        except (InvalidRequestError, ValueError, TypeError, RecursionError) as error:
            said = " ".join(str(error).split())
        if number is None:
            connection.is_closing = True
        return PendingRequest(connection, number, lambda: {"error": said})

    def _dispatch(self, connection: Connection, number: int, asked: Message, runs: SupervisedRuns) -> PendingRequest:
        match asked.get("do"):
            case "hello":
                return self._hello(connection, number, asked.get("epoch"), asked.get("mark"), runs)
            case "intend":
                starts, refused = read_starts(asked.get("runs", ()))
                end_ms = None
                if any(start.lease for start in starts.values()):
                    end_ms = read_lease(asked.get("lease_from"), asked.get("lease_ms"), boot_ms())
                return self._intend(connection, number, starts, refused, end_ms, runs)
            case "lease":
                end_ms = read_lease(asked.get("from"), asked.get("ms"), boot_ms())
                return self._simple(connection, number, lambda: runs.renew(end_ms))
            case "go":
                names = _names(asked)
                return self._simple(connection, number, lambda: _go(connection, names, runs))
            case "end":
                names, why = _names(asked), str(asked.get("why", "cancelled"))
                return self._simple(connection, number, lambda: runs.end(names, why))
            case "signal":
                names, value = _names(asked), asked.get("number")
                if value not in SIGNALS:
                    raise InvalidRequestError(f"{value!r} is no signal")
                first_only = asked.get("first_only") is True
                return self._simple(connection, number, lambda: runs.send_signal(names, value, first_only=first_only))
            case "forget":
                names = _names(asked)
                return self._simple(connection, number, lambda: runs.forget(names))
            case "stop":
                return self._simple(connection, number, lambda: self._stop(runs))
            case do:
                raise InvalidRequestError(f"unknown request {do!r}")

    def _simple(self, connection: Connection, number: int, do: Callable[[], Message | None]) -> PendingRequest:
        return PendingRequest(connection, number, lambda: self._refusal(connection) or do() or {})

    def _stop(self, runs: SupervisedRuns) -> Message:
        if runs.live:
            return {"error": "running", "runs": list(runs.live)}
        self._stopping = True
        return {}

    def _refusal(self, connection: Connection) -> Message | None:
        if connection.epoch is None:
            return {"error": "the first request must be hello"}
        if connection.epoch < self._log.state.epoch:
            return {"error": "epoch", "highest": self._log.state.epoch}
        return None

    def _hello(
        self, connection: Connection, number: int, epoch: object, mark: object, runs: SupervisedRuns
    ) -> PendingRequest:
        if not isinstance(epoch, int) or isinstance(epoch, bool):
            raise InvalidRequestError("an epoch is a whole number")
        if not isinstance(mark, str):
            raise InvalidRequestError("a mark is a text")

        def act() -> Message:
            connection.epoch = epoch
            if (refused := self._refusal(connection)) is not None:
                return refused
            self._leader, self._marked = connection, True
            connection.intended.clear()
            for other in list(self._connections.values()):
                if other is not connection and other.epoch is not None:
                    self._flush(other)
                    if not other.closed:
                        self._close(other)
            return {**self._host, "marks": self._log.state.incarnations, "runs": runs.records()}

        def needs() -> list[Entry]:
            highest = self._log.state.epoch
            if epoch < highest:
                return []
            entries: list[Entry] = [["forget", run] for run in runs.intended()]
            entries.append(["epoch", epoch])  # a supervisor that cannot write cannot start runs either
            if epoch > highest or not self._marked:
                entries.append(["mark", mark])
            return entries

        return PendingRequest(connection, number, act, needs, is_exclusive=True)

    def _intend(
        self,
        connection: Connection,
        number: int,
        starts: dict[str, StartRequest],
        refused: dict[str, str],
        lease_end_ms: int | None,
        runs: SupervisedRuns,
    ) -> PendingRequest:

        def needs() -> list[Entry]:
            if self._refusal(connection) is not None:
                return []
            for run in starts.keys() & (self._claimed | self._log.state.runs.keys()):
                refused[run] = ALREADY_KNOWN
                del starts[run]
            self._claimed |= starts.keys()
            return [runs.intent(start) for start in starts.values()]

        def act() -> Message:
            if (answer := self._refusal(connection)) is not None:
                return answer
            if lease_end_ms is not None:
                runs.renew(lease_end_ms)
            connection.intended.update(starts)
            return {"refused": refused}

        return PendingRequest(connection, number, act, needs)

    # ------------------------------------------------------------------------------------------------------------------
    # Connections.

    def _accept(self) -> None:
        try:
            while True:
                other, _ = self._listener.accept()
                _, uid, _ = struct.unpack("3i", other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                if uid not in {0, os.geteuid()} or len(self._connections) >= MOST_CONNECTIONS:
                    other.close()
                    continue
                other.setblocking(False)
                self._poll.register(other.fileno(), select.EPOLLIN)
                self._connections[other.fileno()] = Connection(other)
        except BlockingIOError:
            pass
        except OSError:
            time.sleep(TERM_DELAY_S)  # the client still waits, so a retry at once would loop

    def _receive(self, connection: Connection, event: int, runs: SupervisedRuns) -> list[PendingRequest]:
        if event & select.EPOLLOUT:
            self._flush(connection)
        if connection.closed or connection.is_closing or not event & ~select.EPOLLOUT:
            return []
        try:
            come = connection.socket.recv(MOST_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            come = b""
        connection.unread += come
        lines: list[bytearray] = []
        if b"\n" in come:  # a long line arrives in many pieces; search each only once
            *lines, connection.unread = connection.unread.split(b"\n")
        turns = []
        for line in lines:
            turns.append(self._parse_request(connection, bytes(line), runs))
            if turns[-1].number is None:
                break
        if not come or len(connection.unread) > LONGEST:
            connection.is_closing = True
        return turns

    def _send(self, connection: Connection, message: Message) -> None:
        if not connection.closed:
            connection.unsent += json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def _flush(self, connection: Connection) -> None:
        if connection.closed:
            return
        try:
            while connection.unsent:
                del connection.unsent[: connection.socket.send(connection.unsent)]
        except BlockingIOError:
            if len(connection.unsent) < LONGEST:
                asks = 0 if connection.is_closing else select.EPOLLIN
                self._poll.modify(connection.socket.fileno(), asks | select.EPOLLOUT)
                connection.is_slow = True
                return
        except OSError:
            pass
        else:
            if not connection.is_closing:
                if connection.is_slow:
                    self._poll.modify(connection.socket.fileno(), select.EPOLLIN)
                    connection.is_slow = False
                return
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        connection.closed = True
        file = connection.socket.fileno()
        del self._connections[file]
        self._poll.unregister(file)  # a child may still have the file open
        if self._leader is connection:
            self._leader = None
        connection.socket.close()


def _go(connection: Connection, names: list[str], runs: SupervisedRuns) -> Message:
    meant = dict.fromkeys(names)
    refused = {name: "it is not intended" for name in meant if name not in connection.intended}
    runs.begin([connection.intended.pop(name) for name in meant if name not in refused])
    return {"refused": refused}


def _names(asked: Message) -> list[str]:
    return [run_name(name) for name in asked.get("runs", ())]


def log_error(text: str) -> None:
    """Write to standard error (`keeper.out`)."""
    with suppress(OSError):
        sys.stderr.write(f"keeper: {text}\n")
        sys.stderr.flush()
