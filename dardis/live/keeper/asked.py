"""What a keeper is asked to start, checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

RUN_FORM: Final = re.compile(r"[0-9]{1,20}\.[0-9]{1,20}")
"""A run's name: job and attempt. It names a folder, too."""


class AskedAmissError(Exception):
    """What was asked makes no sense."""


@dataclass(frozen=True, slots=True)
class User:
    """Who runs it."""

    uid: int
    gid: int
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """A run to be started."""

    run: str
    argv: list[str]
    env: dict[str, str]
    """All of its environment; the keeper adds DARDIS_RUN."""
    chdir: str
    output: str
    error: str
    """Absolute; opened as the job's user, who alone may read what is new. The same path twice is one open file."""
    append: bool
    cores: list[int] | None
    """Processors that it may use; None: any."""
    memory_bytes: int | None
    walltime_ms: int | None
    grace_ms: int
    """From SIGTERM to SIGKILL."""
    user: User | None
    """None: who the keeper is."""


def run_name(name: object) -> str:
    """A run's name. Raises AskedAmissError."""
    if not isinstance(name, str) or RUN_FORM.fullmatch(name) is None:
        raise AskedAmissError(f"{name!r} is no name of a run")
    return name


def read_start(said: object) -> Start:
    """What is to be started. Raises AskedAmissError."""
    if not isinstance(said, dict):
        raise AskedAmissError("a run to start is an object")
    run = run_name(said.get("run"))

    def take(key: str, fits: Callable[[Any], bool], default: object = None) -> Any:  # noqa: ANN401 (by its key)
        value = said.get(key, default)
        if not fits(value):
            raise AskedAmissError(f"run {run}: its {key} makes no sense")
        return value

    user = take("user", lambda user: user is None or _is_user(user))
    return Start(
        run=run,
        argv=take("argv", lambda words: _all(words, list, _is_text) and bool(words)),
        env=take("env", lambda env: isinstance(env, dict) and all(map(_is_text, env.values()))),
        chdir=take("chdir", _is_path),
        output=take("output", _is_path),
        error=take("error", _is_path),
        append=take("append", lambda value: isinstance(value, bool), default=False),
        cores=take("cores", lambda cores: cores is None or (_all(cores, list, _is_count) and bool(cores))),
        memory_bytes=take("memory_bytes", lambda size: size is None or _is_count(size)),
        walltime_ms=take("walltime_ms", lambda limit: limit is None or _is_count(limit)),
        grace_ms=take("grace_ms", _is_count, default=0),
        user=None if user is None else User(user["uid"], user["gid"], tuple(user["groups"])),
    )


def _all(values: object, kind: type[list[Any]], fits: Callable[[object], bool]) -> bool:
    return isinstance(values, kind) and all(map(fits, values))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_path(value: object) -> bool:
    return isinstance(value, str) and value.startswith("/") and "\0" not in value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _is_user(value: object) -> bool:
    return (
        isinstance(value, dict)
        and _is_count(value.get("uid"))
        and _is_count(value.get("gid"))
        and _all(value.get("groups"), list, _is_count)
    )
