"""Runs `dardis apply`."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from dardis.engine.clock import monotonic_s, unix_now
from dardis.model.errors import CapError, DardisError, InputError
from dardis.model.hostlist import hostlist
from dardis.model.out_folder import lock_folder
from offline.apply.applier import Applier, ApplyEnvironment
from offline.apply.apply_files import STATE_FILE, read_controllers, read_requests, read_state, write_state
from offline.apply.apply_steps import NO_LIMIT, DesiredNodeState, DesiredStates, first_excess
from offline.apply.redfish_client import Controller, Controllers

CHECK_S = 30.0


class NotAppliedError(DardisError):
    """Some nodes are not in the wished state."""


@dataclass(frozen=True)
class ApplyRequest:
    """Arguments of `dardis apply`."""

    requests: Path
    controllers: Path
    credentials: Path
    state: Path | None = None
    """For found states; None: beside the requests."""
    idle_check: str | None = None
    """Command with `{node}`. Exit status 0 means idle."""
    poll_s: int = 60
    timeout_s: float = 10.0
    at_once: int = 32
    give_up_s: int = 600

    @property
    def folder(self) -> Path:
        """Folder for the found states."""
        return self.state or self.requests.with_name(self.requests.name + ".state")


def run_apply(request: ApplyRequest, log: Callable[[str], None]) -> None:
    """Apply the requests. Raises InputError, CapError, NotAppliedError, OSError."""
    wishes = _read_desired_states(request)
    now = int(unix_now())
    if now >= wishes.end:
        raise InputError(request.requests, f"its day ended at {_utc(wishes.end)}", "a plan for a later day")
    _check_cap(request, wishes, now)
    _run_applier(request, wishes, log, lambda applier: applier.run(wishes, request.give_up_s))


def roll_back(request: ApplyRequest, log: Callable[[str], None]) -> None:
    """Undo limits and shutdowns. Raises InputError, NotAppliedError."""
    wishes = _read_desired_states(request)
    if not (request.folder / STATE_FILE).is_file():
        log("nothing to undo")
        return
    _run_applier(request, wishes, log, lambda applier: applier.roll_back(request.give_up_s))
    (request.folder / STATE_FILE).unlink()


def dry_run(request: ApplyRequest) -> list[str]:
    """List the requests, without sending. Raises InputError, CapError."""
    wishes = _read_desired_states(request)
    _check_cap(request, wishes, wishes.begin)
    controllers = read_controllers(request.controllers, request.credentials, wishes, wishes.nodes)
    lines = []
    before: dict[str, DesiredNodeState] = {}
    for moment in wishes.times:
        now = wishes.at(moment)
        for node, wish in now.items():
            was = before.get(node, DesiredNodeState())
            if wish.on is False and was.on is not False:
                lines.append(_line(moment, controllers[node], node, "GracefulShutdown when idle"))
            if wish.limit_w is not None and wish.limit_w != was.limit_w:
                told = "no limit" if wish.limit_w == NO_LIMIT else f"limit {wish.limit_w:g} W"
                lines.append(_line(moment, controllers[node], node, told))
            if wish.on and not was.on:
                lines.append(_line(moment, controllers[node], node, "On"))
        before = now
    return lines


def _check_cap(request: ApplyRequest, wishes: DesiredStates, now: int) -> None:
    if (found := first_excess(wishes, now)) is not None:
        time, excess_w = found
        cap_w = wishes.cap_at(time)
        raise CapError(
            f"{request.requests}: the cap of {cap_w:g} W at {_utc(time)} cannot be kept: the nodes can draw "
            f"{excess_w:g} W more; no request was sent"
        )


def _utc(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _line(moment: int, controller: Controller, node: str, what: str) -> str:
    return f"{_utc(moment)} {node} at {controller.url}: {what}"


def _read_desired_states(request: ApplyRequest) -> DesiredStates:
    wishes = read_requests(request.requests)
    if request.idle_check is None and any(not on for steps in wishes.switched.values() for _, on in steps):
        found = "shuts nodes down, but without a check that they are idle"
        raise InputError(request.requests, found, "--idle-check COMMAND, or an export with --limits-only")
    if request.idle_check is not None:
        _checked_command(request.idle_check)
    return wishes


def _checked_command(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError("--idle-check", f"{text!r}: {error}", "a command with {node} in it") from None
    if not any("{node}" in word for word in words[1:]):
        raise InputError("--idle-check", repr(text), "a command with {node} in it")
    return words


def _run_applier(
    request: ApplyRequest,
    wishes: DesiredStates,
    log: Callable[[str], None],
    work: Callable[[Applier], list[str]],
) -> None:
    folder = request.folder
    read_controllers(request.controllers, request.credentials, wishes, wishes.nodes)  # before a folder is made
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"--state {folder}", error.strerror or "cannot be created", "a writable folder") from None
    with lock_folder(folder, f"--state {folder}"):
        found, shut_down = read_state(folder)
        unknown = sorted({*found, *shut_down} - set(wishes.most_w))
        if unknown:
            raise InputError(folder / STATE_FILE, f"node {unknown[0]}", "states of nodes of this machine")
        nodes = [node for node in wishes.most_w if node in {*wishes.nodes, *found}]
        asked = Controllers(
            read_controllers(request.controllers, request.credentials, wishes, nodes),
            request.timeout_s,
            monotonic_s,
            limits=bool(wishes.limits) or any(seen.limit_w is not None for seen in found.values()),
            switches=bool(wishes.switched) or any(seen.on is not None for seen in found.values()),
        )
        world = ApplyEnvironment(
            unix_now, time.sleep, asked, partial(_is_idle, request.idle_check or "", log),
            partial(write_state, folder), log,
        )  # fmt: skip
        applier = Applier(world, wishes.most_w, request.poll_s, request.at_once, found, shut_down)
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            left = work(applier)
        except KeyboardInterrupt:
            log("interrupted; the same command continues, --rollback undoes all changes")
            raise
        finally:
            signal.signal(signal.SIGTERM, before)
            asked.close()
        if left:
            raise NotAppliedError(f"{request.requests}: {len(left)} nodes differ from the plan: {hostlist(left)}")


def _interrupt(*_: Any) -> NoReturn:  # noqa: ANN401 (what signals hand in)
    raise KeyboardInterrupt


def _is_idle(command: str, log: Callable[[str], None], node: str) -> bool:
    words = [word.replace("{node}", node) for word in _checked_command(command)]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=CHECK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        log(f"{node}: --idle-check failed ({type(error).__name__})")
        return False
    return done.returncode == 0
