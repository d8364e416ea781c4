"""Service's client: HTTP and JSON on a Unix socket. Repeats requests; submissions have a key."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from time import sleep
from typing import Any, Final
from urllib.parse import quote, urlencode

from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError, InputError

SOCKET: Final = "gateway.sock"
MOST_SOCKET_BYTES: Final = 107
"""Bytes of a socket path, without terminator."""
ANSWER_S: Final = 60.0
DELETE_S: Final = 5.0
RETRY_S: Final = 30.0
"""Longest absence of a service, s."""
WAIT_RETRY_S: Final = 600.0
"""Longest absence during `wait_for_end`, s."""
_WAIT_S: Final = 30
_PAUSE_S: Final = 0.05
_REFUSALS: Final = 300
_NOT_READY: Final = 503
STARTING: Final = "is starting"
_MISTAKES: Final = frozenset({400, 403, 404, 405, 413, 422})


class ServiceUnavailableError(DardisError):
    """The service does not answer in time."""


class _NoAnswer(Exception):  # noqa: N818 (not yet an error)
    def __init__(self, why: str, *, refused: bool = False) -> None:
        """`refused`: no listener."""
        super().__init__(why)
        self.refused = refused


def service_folder(folder: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """Service's folder: named, from the environment, or default."""
    if folder is not None:
        return Path(os.path.abspath(folder))  # noqa: PTH100 (keep links)
    if named := environment.get("DARDIS_FOLDER"):
        return Path(os.path.abspath(named))  # noqa: PTH100
    state = environment.get("XDG_STATE_HOME", "")
    # The XDG standard ignores relative paths.
    return (Path(state) if state.startswith("/") else _home() / ".local" / "state") / "dardis"


def socket_path(folder: Path) -> Path:
    """Service's socket. Raises InputError for a long path."""
    path = folder / SOCKET
    over = len(os.fsencode(path)) - MOST_SOCKET_BYTES
    if over > 0:
        most = MOST_SOCKET_BYTES - len(SOCKET) - 1
        raise InputError(folder, f"too long for a socket by {over} bytes", f"at most {most} bytes")
    return path


def current_folder() -> str:
    """Current folder. Raises InputError if removed."""
    try:
        return os.getcwd()  # noqa: PTH109 (no file access)
    except FileNotFoundError:
        raise InputError(".", "the folder does not exist any more", "an existing folder") from None


class Client:
    """Service's client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = str(socket_path(folder))
        self._was_there = False

    def get(self, path: str, *, patience_s: float = 0, **query: str | int | None) -> dict[str, Any]:
        """Send GET. `patience_s` extends the limit; drops None queries."""
        said = urlencode({name: value for name, value in query.items() if value is not None})
        return self._request("GET", f"{path}?{said}" if said else path, None, ANSWER_S + patience_s)

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, again: bool = True) -> dict[str, Any]:
        """Send POST; with `again`, retry with a new service."""
        return self._request("POST", path, {} if body is None else body, ANSWER_S, again=again)

    def delete(self, path: str) -> dict[str, Any]:
        """Send DELETE, without retries."""
        return self._request("DELETE", path, None, DELETE_S, again=False)

    def lines(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Lines of a streamed answer; none if the service is not ready.

        Raises InputError and DardisError for refusals.
        """
        with closing(_UnixConnection(self._path, ANSWER_S)) as connection, suppress(_NoAnswer, TimeoutError):
            self._connect(connection)
            answer = self._answer(connection, "POST", path, body)
            if answer.status >= _REFUSALS:
                if answer.status != _NOT_READY:
                    self._value(answer.status, _read(answer))
                return
            while line := _read(answer, line=True):
                try:
                    told = json.loads(line)
                except ValueError:  # cut off
                    return
                yield told

    def submit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Submit jobs; `body` has a key."""
        return self.post("/jobs", body)

    def job(self, number: int) -> dict[str, Any]:
        """Job by number."""
        return self.get(f"/jobs/{number}")

    def history(
        self, limit: int | None = None, *, state: str, user: str | None = None, since_ms: int | None = None
    ) -> list[dict[str, Any]]:
        """Recent jobs, newest first. `since_ms`: earliest end. `state`: over or all."""
        told: list[dict[str, Any]] = []
        before = None
        while limit is None or len(told) < limit:
            left = None if limit is None else limit - len(told)
            answer = self.get("/jobs", state=state, user=user, since_ms=since_ms, limit=left, before=before)
            told += answer["jobs"]
            if (before := answer["next"]) is None:
                break
        return told

    def wait_for_end(self, number: int) -> dict[str, Any]:
        """Wait for a job's end. Raises ServiceUnavailableError after `WAIT_RETRY_S`."""
        path = f"/jobs/{number}/wait?timeout={_WAIT_S}"
        while not is_over(job := self._request("GET", path, None, ANSWER_S + _WAIT_S, away_s=WAIT_RETRY_S)):
            sleep(_PAUSE_S)
        return job

    def change_job(self, number: int, do: str, *, array: bool = False) -> dict[str, Any]:
        """Cancel, hold or release a job or array."""
        return self.post(f"/jobs/{number}/{do}" + ("?array=1" if array else ""))

    def change_range(self, first: int, last: int, do: str) -> int:
        """Cancel or hold the unfinished jobs `first` to `last`; return how many changed."""
        return int(self.post(f"/jobs/{do}", {"first": first, "last": last})["changed"])

    def change_node(self, name: str, do: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Drain or resume a node."""
        return self.post(f"/nodes/{quote(name, safe='')}/{do}", body)

    def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None, patience_s: float, *, again: bool = True,
        away_s: float | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        begun, died = away_s is not None and self._was_there, False
        last: float | None = None
        while True:
            connection = _UnixConnection(self._path, patience_s)
            try:
                self._connect(connection)
                begun = True
                told = self._exchange(connection, method, path, body)
                self._was_there = True
                return told
            except TimeoutError:
                raise ServiceUnavailableError(f"{self.folder}: the service accepts no requests") from None
            except _NoAnswer as gone:
                if last is None:
                    last = monotonic_s() + (RETRY_S if away_s is None or not begun else away_s)
                died |= gone.refused  # the socket remains, so the service may restart
                if not ((again and begun) or died) or monotonic_s() >= last:
                    if not begun:
                        raise self._no_service_error(str(gone)) from None
                    raise ServiceUnavailableError(
                        f"{self.folder}: the service ended before it answered ({gone})"
                    ) from None
            finally:
                connection.close()
            sleep(_PAUSE_S)

    def _connect(self, connection: _UnixConnection) -> None:
        try:
            connection.connect()
        except FileNotFoundError as error:
            raise _NoAnswer(error.strerror or "") from None
        except (ConnectionError, BlockingIOError) as error:  # no listener, or a full queue
            raise _NoAnswer(error.strerror or "", refused=True) from None
        except TimeoutError:
            raise
        except OSError as error:
            raise InputError(self._path, f"can't be connected to ({error.strerror})", "a service of your own") from None

    def _exchange(
        self, connection: _UnixConnection, method: str, path: str, body: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        try:
            answer = self._answer(connection, method, path, body)
            return self._value(answer.status, _read(answer))
        except TimeoutError:
            raise ServiceUnavailableError(f"{self.folder}: the service does not answer") from None

    def _answer(
        self, connection: _UnixConnection, method: str, path: str, body: Mapping[str, Any] | None
    ) -> HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, path, data, headers)
            return connection.getresponse()
        except TimeoutError:
            raise
        except (HTTPException, OSError) as error:
            raise _NoAnswer(str(error) or type(error).__name__) from None

    def _value(self, status: int, told: bytes) -> dict[str, Any]:
        try:
            value = json.loads(told)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise DardisError(f"{self.folder}: the service's answer ({status}) is no JSON object")
        if status < _REFUSALS:
            return value
        line = " ".join(str(value.get("error", f"the service refuses ({status})")).split())
        if (status, line) == (_NOT_READY, STARTING):
            raise _NoAnswer(line, refused=True)
        raise (InputError if status in _MISTAKES else DardisError).of_message(line)

    def _no_service_error(self, why: str) -> InputError:
        found = "no service answers here" if self.folder.is_dir() else "there is no such folder"
        # Quoted only if needed, for copying.
        return InputError(self.folder, f"{found} ({why})", f"a running service: dardis serve --folder {self.folder}")


def _read(answer: HTTPResponse, *, line: bool = False) -> bytes:
    try:
        return answer.readline() if line else answer.read()
    except TimeoutError:
        raise
    except (HTTPException, OSError) as error:
        raise _NoAnswer(str(error) or type(error).__name__) from None


def is_over(job: Mapping[str, Any]) -> bool:
    """Whether a job has ended."""
    return job["state"] not in {"held", "waiting", "running"}


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise InputError("--folder", "is missing, and your home folder is unknown", "a folder") from None
