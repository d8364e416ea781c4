"""Brings nodes to wished states, with retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import inf
from typing import Final, Protocol, TypeVar

from offline.apply.apply_steps import (
    NO_LIMIT,
    Action,
    DesiredNodeState,
    DesiredStates,
    NodeState,
    RequestKind,
    next_actions,
)
from offline.apply.redfish_client import ControllerError

T = TypeVar("T")
R = TypeVar("R")
MOST_POLLS: Final = 16
"""Longest retry delay in polls."""
RESET_S: Final = 600
"""Seconds before an unfinished reset is repeated."""


class ControllerClient(Protocol):
    """Interface of `redfish_client.Controllers`. Raises ControllerError."""

    def read_state(self, node: str) -> NodeState:
        """Limit and power state."""

    def set_limit(self, node: str, limit_w: float) -> None:
        """Set the node's power limit."""

    def reset(self, node: str, deed: RequestKind) -> None:
        """Begin a shutdown or a boot."""


@dataclass(frozen=True)
class ApplyEnvironment:
    """`clock`: Unix seconds; `save_state`: saves found states and nodes shut down."""

    clock: Callable[[], float]
    sleep: Callable[[float], None]
    controllers: ControllerClient
    is_idle: Callable[[str], bool]
    save_state: Callable[[Mapping[str, NodeState], set[str]], None]
    log: Callable[[str], None]


@dataclass
class Applier:
    """Applies wishes. `first_states`: first states; `at_once`: concurrent requests."""

    world: ApplyEnvironment
    most_w: Mapping[str, float]
    poll_s: int
    at_once: int
    first_states: dict[str, NodeState] = field(default_factory=dict)
    shut_down: set[str] = field(default_factory=set)
    _states: dict[str, NodeState] = field(default_factory=dict)
    _failures: dict[str, int] = field(default_factory=dict)
    _retry_at: dict[str, float] = field(default_factory=dict)
    _reset_at: dict[Action, float] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)

    def run(self, wishes: DesiredStates, give_up_s: int) -> list[str]:
        """Apply wishes until `give_up_s` after the end. Return nodes not as wished."""
        looked_at = None
        while True:
            now = self.world.clock()
            begun = [time for time in wishes.times if time <= now]
            wished = wishes.at(int(now))
            self._round(wished, look_at_all=len(begun) != looked_at)
            looked_at = len(begun)
            left, coming = self._pending(wished), wishes.times[len(begun) :]
            if not coming and (not left or now >= wishes.end + give_up_s):
                return left
            until = min(coming[0] if coming else inf, now + self.poll_s if left else inf)
            self.world.sleep(max(until - self.world.clock(), 0.0))

    def roll_back(self, give_up_s: int) -> list[str]:
        """Restore limits, and power on nodes shut down. Return the failed nodes."""
        wished = {
            node: DesiredNodeState(seen.limit_w, True if node in self.shut_down and seen.on else None)
            for node, seen in self.first_states.items()
        }
        end = self.world.clock() + give_up_s
        self._round(wished, look_at_all=True)
        while (left := self._pending(wished)) and self.world.clock() < end:
            self.world.sleep(self.poll_s)
            self._round(wished, look_at_all=False)
        return left

    def _pending(self, wished: Mapping[str, DesiredNodeState]) -> list[str]:
        return [node for node, wish in wished.items() if not self._states.get(node, NodeState()).fulfils(wish)]

    def _round(self, wished: Mapping[str, DesiredNodeState], *, look_at_all: bool) -> None:
        now = self.world.clock()
        absent = set() if look_at_all else {node for node, again in self._retry_at.items() if again > now}
        due = [node for node in (wished if look_at_all else self._pending(wished)) if node not in absent]
        for node, seen in self._run_concurrently(due, self.world.controllers.read_state).items():
            if isinstance(seen, ControllerError):
                absent.add(node)
                self._on_failure(node, seen)
                continue
            self._states[node] = seen
            if seen.fulfils(wished[node]):
                self._on_success(node)
        if new := {node: self._states[node] for node in due if node in self._states and node not in self.first_states}:
            self.first_states |= new
            self.world.save_state(self.first_states, self.shut_down)  # saved before any change of these nodes
        tried: set[Action] = set()

        def may(action: Action) -> bool:
            waits = now - self._reset_at.get(action, -inf) < RESET_S
            return action not in tried and action.node not in absent and not waits

        while actions := next_actions(wished, self._states, self.most_w, may):
            tried |= set(actions)
            self._execute(actions)

    def _execute(self, actions: Sequence[Action]) -> None:
        if shut := {action.node for action in actions if action.kind is RequestKind.SHUT_DOWN} - self.shut_down:
            self.shut_down |= shut
            self.world.save_state(self.first_states, self.shut_down)
        for action, done in self._run_concurrently(actions, self._send).items():
            node = action.node
            if isinstance(done, ControllerError):
                self._states[node] = NodeState()  # the controller may have acted without an answer
                self._on_failure(node, done)
            elif not done:
                if node not in self._busy:
                    self.world.log(f"{node}: busy, not shut down yet")
                self._busy.add(node)
            elif action.limit_w is not None:
                self._states[node] = self._states[node]._replace(limit_w=action.limit_w)
                self._on_success(node)
                self.world.log(f"{node}: {'no limit' if action.limit_w == NO_LIMIT else f'limit {action.limit_w:g} W'}")
            else:
                # The node's power counts from now on, although a reset takes time.
                self._states[node] = self._states[node]._replace(on=None)
                self._reset_at[action] = self.world.clock()
                self._busy.discard(node)
                self.world.log(f"{node}: {action.kind}")

    def _send(self, action: Action) -> bool:
        if action.kind is RequestKind.SHUT_DOWN and not self.world.is_idle(action.node):
            return False
        if action.kind is RequestKind.LIMIT:
            assert action.limit_w is not None
            self.world.controllers.set_limit(action.node, action.limit_w)
        else:
            self.world.controllers.reset(action.node, action.kind)
        return True

    def _run_concurrently(self, things: Sequence[T], work: Callable[[T], R]) -> dict[T, R | ControllerError]:

        def one(thing: T) -> R | ControllerError:
            try:
                return work(thing)
            except ControllerError as error:
                return error

        if not things:
            return {}
        with ThreadPoolExecutor(max_workers=self.at_once) as pool:
            return dict(zip(things, pool.map(one, things), strict=True))

    def _on_success(self, node: str) -> None:
        if self._failures.pop(node, 0):
            self._retry_at.pop(node)
            self.world.log(f"{node}: requests succeed again")

    def _on_failure(self, node: str, error: ControllerError) -> None:
        times = self._failures[node] = self._failures.get(node, 0) + 1
        self._retry_at[node] = self.world.clock() + self.poll_s * min(2 ** (times - 1), MOST_POLLS)
        self.world.log(f"{node}: failed ({error}); next try in {self._retry_at[node] - self.world.clock():.0f} s")
