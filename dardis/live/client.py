"""Asks the service of a folder: HTTP and JSON over its Unix socket, with nothing but the standard library.

What is asked may be asked again without harm (a submission has a key), and is, when the service ends before it has
answered and another one takes its place.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
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
AGAIN_S: Final = 10.0
"""How long a service that has gone may take to come back."""
_WAIT_S: Final = 30
"""How long the service is asked to wait for a job's end before it says that there is none yet."""
_PAUSE_S: Final = 0.05
_MISTAKES: Final = frozenset({400, 403, 404, 405, 413, 422})
"""Statuses that say that who asks is wrong."""


class _Gone(Exception):  # noqa: N818 (it is no failure yet)
    """There was nobody, or he went away before he had answered."""


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


class Client:
    """One service; a connection for each question."""

    def __init__(self, folder: Path) -> None:
        """Ask nothing yet. InputError for a folder whose path is too long."""
        self.folder = folder
        self._path = str(socket_of(folder))

    def get(self, path: str, *, patience_s: float = 0, **query: str | int | None) -> dict[str, Any]:
        """What the service answers, which may take `patience_s` more than usual; queries that are None are left out."""
        said = urlencode({name: value for name, value in query.items() if value is not None})
        return self._ask("GET", f"{path}?{said}" if said else path, None, ANSWER_S + patience_s)

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, again: bool = True) -> dict[str, Any]:
        """The same of what changes something; `again`: ask a service that has taken the place of one that went."""
        return self._ask("POST", path, {} if body is None else body, ANSWER_S, again=again)

    def submit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Hand jobs in; the body has a key."""
        return self.post("/jobs", body)

    def job(self, number: int) -> dict[str, Any]:
        """One job."""
        return self.get(f"/jobs/{number}")

    def ended(self, number: int) -> dict[str, Any]:
        """The job, when it is over."""
        while not is_over(job := self.get(f"/jobs/{number}/wait", patience_s=_WAIT_S, timeout=_WAIT_S)):
            sleep(_PAUSE_S)
        return job

    def change(self, number: int, do: str, *, array: bool = False) -> dict[str, Any]:
        """Cancel, hold or release a job, or all of the array that begins with it."""
        return self.post(f"/jobs/{number}/{do}" + ("?array=1" if array else ""))

    def node(self, name: str, do: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Drain a node, or let it resume."""
        return self.post(f"/nodes/{quote(name, safe='')}/{do}", body)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, patience_s: float, *, again: bool = True
    ) -> dict[str, Any]:
        begun = False
        last: float | None = None
        while True:
            connection = _UnixConnection(self._path, patience_s)
            try:
                self._connect(connection)
                begun = True
                return self._exchange(connection, method, path, body)
            except _Gone as gone:
                if not begun:
                    raise self._nobody(str(gone)) from None
                last = monotonic_s() + AGAIN_S if last is None else last
                if not again or monotonic_s() >= last:
                    raise DardisError(f"{self.folder}: the service ended before it answered ({gone})") from None
            finally:
                connection.close()
            sleep(_PAUSE_S)

    def _connect(self, connection: _UnixConnection) -> None:
        try:
            connection.connect()
        except (FileNotFoundError, ConnectionError) as error:
            raise _Gone(error.strerror) from None
        except TimeoutError:
            raise DardisError(f"{self.folder}: the service takes no questions") from None
        except OSError as error:
            raise InputError(self._path, f"can't be asked ({error.strerror})", "a service of yours") from None

    def _exchange(
        self, connection: _UnixConnection, method: str, path: str, body: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            status, told = answer.status, answer.read()
        except TimeoutError:
            raise DardisError(f"{self.folder}: the service gives no answer") from None
        except (HTTPException, OSError) as error:
            raise _Gone(str(error) or type(error).__name__) from None
        try:
            value = json.loads(told)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise DardisError(f"{self.folder}: the service's answer ({status}) is no JSON object")
        if status < 300:
            return value
        line = " ".join(str(value.get("error", f"the service refuses ({status})")).split())
        raise (InputError if status in _MISTAKES else DardisError).told(line)

    def _nobody(self, why: str) -> InputError:
        found = "no service answers here" if self.folder.is_dir() else "there is no such folder"
        # Quoted only where a shell needs it: the line is to be copied.
        return InputError(self.folder, f"{found} ({why})", f"one that was started: dardis serve --folder {self.folder}")


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
