"""Asks the service of a folder: HTTP and JSON over its Unix socket, with nothing but the standard library.

What is asked may be asked again without harm (a submission has a key), and is, when the service ends before it has
answered and another one takes its place.
"""

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
"""Of the path of a Unix socket (sun_path has 108, one of them ends it)."""
ANSWER_S: Final = 60.0
"""How long an answer may take."""
DELETE_S: Final = 5.0
"""How long it may take where nothing is to be known, s."""
AGAIN_S: Final = 30.0
"""How long a service that has gone may take to come back, s: of several hosts it takes 10 s and more."""
AWAY_S: Final = 600.0
"""The same for who waits for the end of a job."""
_WAIT_S: Final = 30
"""How long the service is asked to wait for a job's end before it says that there is none yet."""
_PAUSE_S: Final = 0.05
_REFUSALS: Final = 300
"""From this status on nothing was done."""
_NOT_READY: Final = 503
STARTING: Final = "is starting"
"""What a service says that is; it is asked again for a while."""
_MISTAKES: Final = frozenset({400, 403, 404, 405, 413, 422})
"""Statuses that say that who asks is wrong."""


class AwayError(DardisError):
    """The service has gone, and has not come back while it was waited for."""


class _Gone(Exception):  # noqa: N818 (it is no failure yet)
    """There was nobody, or he went away before he had answered."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        """`refused`: there is a socket at which nobody listens any more."""
        super().__init__(why)
        self.refused = refused


def place_of(folder: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of the service that is meant: the one that is named, else the environment's, else the user's own."""
    if folder is not None:
        return Path(os.path.abspath(folder))  # noqa: PTH100 (links stay as they were named)
    if named := environment.get("DARDIS_FOLDER"):
        return Path(os.path.abspath(named))  # noqa: PTH100
    state = environment.get("XDG_STATE_HOME", "")
    # What is not absolute there is to be ignored, says the XDG standard.
    return (Path(state) if state.startswith("/") else _home() / ".local" / "state") / "dardis"


def socket_of(folder: Path) -> Path:
    """The socket of the folder's service. InputError for a path that no socket can have."""
    path = folder / SOCKET
    over = len(os.fsencode(path)) - MOST_SOCKET_BYTES
    if over > 0:
        most = MOST_SOCKET_BYTES - len(SOCKET) - 1
        raise InputError(folder, f"too long for a socket by {over} bytes", f"at most {most} bytes")
    return path


def here() -> str:
    """The folder of this process. Raises InputError where that is gone."""
    try:
        return os.getcwd()  # noqa: PTH109 (as it is named, without a look at it)
    except FileNotFoundError:
        raise InputError(".", "the folder is not there any more", "one that is") from None


class Client:
    """One service; a connection for each question."""

    def __init__(self, folder: Path) -> None:
        """Ask nothing yet. InputError for a folder whose path is too long."""
        self.folder = folder
        self._path = str(socket_of(folder))
        self._was_there = False

    def get(self, path: str, *, patience_s: float = 0, **query: str | int | None) -> dict[str, Any]:
        """What the service answers, which may take `patience_s` more than usual; queries that are None are left out."""
        said = urlencode({name: value for name, value in query.items() if value is not None})
        return self._ask("GET", f"{path}?{said}" if said else path, None, ANSWER_S + patience_s)

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, again: bool = True) -> dict[str, Any]:
        """The same of what changes something; `again`: ask a service that has taken the place of one that went."""
        return self._ask("POST", path, {} if body is None else body, ANSWER_S, again=again)

    def delete(self, path: str) -> dict[str, Any]:
        """The same of what nobody needs any more; it isn't waited for as long."""
        return self._ask("DELETE", path, None, DELETE_S, again=False)

    def lines(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """What the service says as it comes, until it has said all, or is gone; nothing where it isn't ready.

        Raises InputError and DardisError for what it refuses.
        """
        with closing(_UnixConnection(self._path, ANSWER_S)) as connection, suppress(_Gone, TimeoutError):
            self._connect(connection)
            answer = self._answer(connection, "POST", path, body)
            if answer.status >= _REFUSALS:
                if answer.status != _NOT_READY:
                    self._value(answer.status, _read(answer))
                return
            while line := _read(answer, line=True):
                try:
                    told = json.loads(line)
                except ValueError:  # it was cut off
                    return
                yield told

    def submit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Hand jobs in; the body has a key."""
        return self.post("/jobs", body)

    def job(self, number: int) -> dict[str, Any]:
        """One job."""
        return self.get(f"/jobs/{number}")

    def history(
        self, limit: int | None = None, *, state: str, user: str | None = None, since_ms: int | None = None
    ) -> list[dict[str, Any]]:
        """The last jobs, the last one first, of a user alone, or that ended since (Unix ms); `state`: over, or all."""
        told: list[dict[str, Any]] = []
        before = None
        while limit is None or len(told) < limit:
            left = None if limit is None else limit - len(told)
            answer = self.get("/jobs", state=state, user=user, since_ms=since_ms, limit=left, before=before)
            told += answer["jobs"]
            if (before := answer["next"]) is None:
                break
        return told

    def ended(self, number: int) -> dict[str, Any]:
        """The job, when it is over. Raises AwayError where the service stays away for `AWAY_S`."""
        path = f"/jobs/{number}/wait?timeout={_WAIT_S}"
        while not is_over(job := self._ask("GET", path, None, ANSWER_S + _WAIT_S, away_s=AWAY_S)):
            sleep(_PAUSE_S)
        return job

    def change(self, number: int, do: str, *, array: bool = False) -> dict[str, Any]:
        """Cancel, hold or release a job, or all of the array that begins with it."""
        return self.post(f"/jobs/{number}/{do}" + ("?array=1" if array else ""))

    def node(self, name: str, do: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Drain a node, or let it resume."""
        return self.post(f"/nodes/{quote(name, safe='')}/{do}", body)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, patience_s: float, *, again: bool = True,
        away_s: float | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """`away_s`: how long a service that was there, now or for an earlier question, may be away."""
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
                raise DardisError(f"{self.folder}: the service takes no questions") from None
            except _Gone as gone:
                if last is None:
                    last = monotonic_s() + (AGAIN_S if away_s is None or not begun else away_s)
                died |= gone.refused  # it has left its socket behind, and may be started again
                if not ((again and begun) or died) or monotonic_s() >= last:
                    if not begun:
                        raise self._nobody(str(gone)) from None
                    raise AwayError(f"{self.folder}: the service ended before it answered ({gone})") from None
            finally:
                connection.close()
            sleep(_PAUSE_S)

    def _connect(self, connection: _UnixConnection) -> None:
        try:
            connection.connect()
        except FileNotFoundError as error:
            raise _Gone(error.strerror or "") from None
        except (ConnectionError, BlockingIOError) as error:  # nobody listens, or too many wait
            raise _Gone(error.strerror or "", refused=True) from None
        except TimeoutError:
            raise
        except OSError as error:
            raise InputError(self._path, f"can't be asked ({error.strerror})", "a service of yours") from None

    def _exchange(
        self, connection: _UnixConnection, method: str, path: str, body: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        try:
            answer = self._answer(connection, method, path, body)
            return self._value(answer.status, _read(answer))
        except TimeoutError:
            raise DardisError(f"{self.folder}: the service gives no answer") from None

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
            raise _Gone(str(error) or type(error).__name__) from None

    def _value(self, status: int, told: bytes) -> dict[str, Any]:
        """The object of an answer. Raises what it refuses."""
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
            raise _Gone(line, refused=True)
        raise (InputError if status in _MISTAKES else DardisError).told(line)

    def _nobody(self, why: str) -> InputError:
        found = "no service answers here" if self.folder.is_dir() else "there is no such folder"
        # Quoted only where a shell needs it: the line is to be copied.
        return InputError(self.folder, f"{found} ({why})", f"one that was started: dardis serve --folder {self.folder}")


def _read(answer: HTTPResponse, *, line: bool = False) -> bytes:
    """What is left of an answer, or a line of it. Raises _Gone, and TimeoutError."""
    try:
        return answer.readline() if line else answer.read()
    except TimeoutError:
        raise
    except (HTTPException, OSError) as error:
        raise _Gone(str(error) or type(error).__name__) from None


def is_over(job: Mapping[str, Any]) -> bool:
    """Whether nothing more becomes of a job by itself."""
    return job["state"] not in {"held", "waiting", "running"}


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Reach whoever listens there."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise InputError("--folder", "not given, and nobody says where your home is", "a folder") from None
