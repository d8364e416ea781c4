"""Remote commands on the current job's nodes, also as remote shell of MPI.

Forwards each output byte once, despite restarts of the service.
"""

from __future__ import annotations

import getopt
import os
import re
import signal
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import sleep
from types import FrameType
from typing import Any, Final

from dardis.live.client import Client, current_folder, service_folder
from dardis.live.job_option_texts import is_utf8
from dardis.live.random_keys import fresh_number
from dardis.model.errors import DardisError, InputError

FAILED: Final = 255
"""Exit status of a failure, as for ssh."""
_RUN: Final = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?@.*", re.ASCII | re.DOTALL)
_SIGNALS: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
PAUSE_S: Final = (0.05, 2.0)


class SignalledError(BaseException):
    """A signal asks this process to exit."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_on(service: Client, node: str, argv: Sequence[str]) -> int:
    """Run a command on a node; return the exit status. Raises InputError and DardisError.

    A fatal signal also ends the command.
    """
    job, attempt = current_run(os.environ)
    number = fresh_number()
    environment = {name: value for name, value in os.environ.items() if is_utf8(name + value)}
    asked = {
        "attempt": attempt, "number": number, "node": node, "argv": list(argv), "cwd": current_folder(),
        "environment": environment, "out": 0, "err": 0,
    }  # fmt: skip
    try:
        with raise_signals():
            end = _follow(service, f"/jobs/{job}/parts", asked)
    except SignalledError as told:
        return 128 + told.number
    finally:
        with suppress(DardisError):  # else the service notices the missing client, or the end of the job
            service.delete(f"/jobs/{job}/parts/{attempt}.{number}")
    if end["code"] is None and end["signal"] is None:
        raise NotRunError(f"{node}: {end['why']}")
    code: int = 128 + end["signal"] if end["code"] is None else end["code"]
    return code


class NotRunError(DardisError):
    """Not started, or unknown end."""

    exit_status = FAILED


def _follow(service: Client, path: str, asked: dict[str, Any]) -> Mapping[str, Any]:
    streams = {"out": sys.stdout.buffer, "err": sys.stderr.buffer}
    pause_s = PAUSE_S[0]
    while True:
        for told in answer_lines(service, path, asked):
            pause_s = PAUSE_S[0]
            if "end" in told:
                end: Mapping[str, Any] = told["end"]
                return end
            asked["mark"] = told.get("mark", asked.get("mark"))
            for name in streams.keys() & told.keys():
                data = b64decode(told[name])
                streams[name].write(data)
                streams[name].flush()
                asked[name] += len(data)
        sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_S[1])


def answer_lines(service: Client, path: str, asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a streamed answer's lines. Raises InputError; NotRunError for other refusals."""
    try:
        yield from service.lines(path, asked)
    except InputError:
        raise
    except DardisError as error:
        raise NotRunError.of_message(str(error)) from None


@contextmanager
def raise_signals() -> Iterator[None]:
    """Raise SignalledError for the first fatal signal."""

    def tell(number: int, _: FrameType | None) -> None:
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        raise SignalledError(number)

    before = {one: signal.signal(one, tell) for one in _SIGNALS if signal.getsignal(one) is not signal.SIG_IGN}
    try:
        yield
    except SignalledError:
        raise
    except BaseException:
        _restore(before)
        raise
    else:
        _restore(before)


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    for one, handler in handlers.items():
        signal.signal(one, handler)


def current_run(environment: Mapping[str, str]) -> tuple[int, int]:
    """Number and attempt of this process's job. Raises InputError outside jobs."""
    if (found := _RUN.fullmatch(environment.get("DARDIS_RUN", ""))) is None:
        raise InputError("DARDIS_RUN", "is not set", "a process of a job")
    return int(found[1]), int(found[2])


_OPTIONS: Final = "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:"


def main(words: Sequence[str] | None = None) -> int:
    """Run as remote shell; return the exit status."""
    try:
        node, command = node_and_command(sys.argv[1:] if words is None else words)
        return run_on(Client(service_folder(None)), node, ["/bin/sh", "-c", command])
    except (DardisError, BrokenPipeError) as error:
        sys.stderr.write(f"dardis: {error}\n")
        return FAILED


def node_and_command(words: Sequence[str]) -> tuple[str, str]:
    """Node and shell command. Raises InputError."""
    try:
        _, left = getopt.getopt(list(words), _OPTIONS)
    except getopt.GetoptError as error:
        raise InputError("remote-shell", str(error), "options of ssh") from None
    if len(left) < 2:
        raise InputError("remote-shell", "no command" if left else "no node", "NODE COMMAND…")
    return left[0].rpartition("@")[2], " ".join(left[1:])
