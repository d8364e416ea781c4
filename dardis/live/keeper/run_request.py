"""Checked requests to start runs. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from signal import Signals
from typing import Any, Final

SIGNALS: Final = frozenset(int(number) for number in Signals)
RUN_FORM: Final = re.compile(r"[0-9]{1,20}\.[0-9]{1,20}(\.[0-9]{1,20})?")
"""Job, attempt and, for a step, a number."""


class InvalidRequestError(Exception):
    """Malformed request."""


class InvalidStartError(InvalidRequestError):
    """Malformed request for a named run."""

    def __init__(self, run: str, why: str) -> None:
        super().__init__(f"run {run}: {why}")
        self.run, self.why = run, why


@dataclass(frozen=True, slots=True)
class User:
    """Run's user."""

    uid: int
    gid: int
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TimedSignal:
    """Signal to a run some time after its start."""

    number: int
    after_ms: int
    first_only: bool


@dataclass(frozen=True, slots=True)
class StartRequest:
    """Run to start."""

    run: str
    argv: list[str]
    env: dict[str, str]
    """Complete environment; the supervisor adds DARDIS_RUN."""
    chdir: str
    output: str
    error: str
    """Absolute path, opened as the user. Equal paths share a file."""
    input: str | None
    append: bool
    cores: list[int] | None
    """None: any."""
    memory_bytes: int | None
    walltime_ms: int | None
    grace_ms: int
    user: User | None
    """None: user of the supervisor."""
    lease: bool
    signal: TimedSignal | None
    tmp: bool
    """Private folder for temporary files, as TMPDIR."""


def run_name(name: object) -> str:
    """Check a run's name. Raises InvalidRequestError."""
    if not isinstance(name, str) or RUN_FORM.fullmatch(name) is None:
        raise InvalidRequestError(f"{name!r} is no name of a run")
    return name


def read_start(said: object) -> StartRequest:
    """Read a run to start. Raises InvalidRequestError, or InvalidStartError if named."""
    if not isinstance(said, dict):
        raise InvalidRequestError("a run to start is an object")
    run = run_name(said.get("run"))

    def take(key: str, fits: Callable[[Any], bool], default: object = None) -> Any:  # noqa: ANN401 (by its key)
        value = said.get(key, default)
        if not fits(value):
            raise InvalidStartError(run, f"its {key} is invalid")
        return value

    signal = take("signal", lambda signal: signal is None or _is_signal(signal))
    user = take("user", lambda user: user is None or _is_user(user))
    return StartRequest(
        run=run,
        argv=take("argv", lambda words: _all(words, list, _is_text) and bool(words)),
        env=take("env", lambda env: isinstance(env, dict) and all(map(_is_text, env.values()))),
        chdir=take("chdir", _is_path),
        output=take("output", _is_path),
        error=take("error", _is_path),
        input=take("input", lambda path: path is None or _is_path(path)),
        append=take("append", lambda value: isinstance(value, bool), default=False),
        cores=take("cores", lambda cores: cores is None or (_all(cores, list, _is_count) and bool(cores))),
        memory_bytes=take("memory_bytes", lambda size: size is None or _is_count(size)),
        walltime_ms=take("walltime_ms", lambda limit: limit is None or _is_count(limit)),
        grace_ms=take("grace_ms", _is_count, default=0),
        user=None if user is None else User(user["uid"], user["gid"], tuple(user["groups"])),
        lease=take("lease", lambda value: isinstance(value, bool), default=False),
        signal=None if signal is None else TimedSignal(**signal),
        tmp=take("tmp", lambda value: isinstance(value, bool), default=False),
    )


def read_starts(said: Iterable[object]) -> tuple[dict[str, StartRequest], dict[str, str]]:
    """Read runs to start, and refusals. Raises InvalidRequestError for an unnamed run."""
    starts: dict[str, StartRequest] = {}
    refused: dict[str, str] = {}
    for one in said:
        try:
            start = read_start(one)
        except InvalidStartError as error:
            refused[error.run] = error.why
        else:
            if start.run in starts:
                refused[start.run] = "it occurs twice"
            starts[start.run] = start
    return {run: start for run, start in starts.items() if run not in refused}, refused


def read_lease(start: object, length: object, now_ms: int) -> int:
    """Lease's end, ms of CLOCK_BOOTTIME. Raises InvalidRequestError."""
    if not (_is_count(start) and _is_count(length)):
        raise InvalidRequestError("a lease has a start and a length in ms")
    assert isinstance(start, int)
    assert isinstance(length, int)
    if start > now_ms:  # time of another boot
        raise InvalidRequestError(f"a lease from {start} ms starts in the future")
    return start + length


def _all(values: object, kind: type[list[Any]], fits: Callable[[object], bool]) -> bool:
    return isinstance(values, kind) and all(map(fits, values))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_path(value: object) -> bool:
    return isinstance(value, str) and value.startswith("/") and "\0" not in value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _is_signal(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"number", "after_ms", "first_only"}
        and value["number"] in SIGNALS
        and _is_count(value["after_ms"])
        and isinstance(value["first_only"], bool)
    )  # fmt: skip


def _is_user(value: object) -> bool:
    return (
        isinstance(value, dict)
        and _is_count(value.get("uid"))
        and _is_count(value.get("gid"))
        and _all(value.get("groups"), list, _is_count)
    )
