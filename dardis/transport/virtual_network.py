"""Faulty network in virtual time: delays, reordering, duplicates and losses from one seed.

Timers share the queue, so a seed replays exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dardis.engine.event_queue import EventQueue
from dardis.model.addresses import Address
from dardis.model.randomness import stream
from dardis.wire.codec import decode, encode
from dardis.wire.messages import Message

Action = Callable[[int], None]
"""Called with the time."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Longest delay in s (shortest: 1), and probabilities of loss and duplication."""

    longest_delay: int
    drop: float = 0.0
    duplicate: float = 0.0
    longest_duplicate_delay: int = 0
    """Longest delay of second copies, if above `longest_delay`; log-uniform."""


class VirtualNetwork:
    """Delivers to `receive(address, message, now)` in wire format."""

    def __init__(self, faults: Faults, seed: int, receive: Callable[[Address, Message, int], None]) -> None:
        self._faults = faults
        self._draws = stream(seed, "network")
        self._receive = receive
        self._queue = EventQueue()
        self._actions: dict[int, Action] = {}
        self._next = 0
        self._traffic = hashlib.sha256()
        self.now = 0
        self.events = 0
        self.sent = 0
        self.lost = 0
        """Messages never delivered."""

    def at(self, time: int, action: Action) -> None:
        """Schedule an action, after earlier ones for the same time."""
        if time < self.now:
            raise ValueError(f"{time} s is before the current time, {self.now} s")
        self._actions[self._next] = action
        self._queue.put(time, 0, self._next, self._next)
        self._next += 1

    def send(self, to: Address, message: Message) -> None:
        """Send a message with random faults."""
        payload = encode([(self.now, message)])
        self.sent += 1
        dropped, doubled = self._draws.random(2).tolist()
        if dropped < self._faults.drop:
            self.lost += 1
            return
        copies = 1 + (doubled < self._faults.duplicate)
        delays = self._draws.integers(1, self._faults.longest_delay, size=copies, endpoint=True).tolist()
        longest = self._faults.longest_duplicate_delay
        if copies > 1 and longest > self._faults.longest_delay:
            delays[1] = int(longest ** self._draws.random())
        for delay in delays:
            self.at(self.now + delay, partial(self._deliver, to, payload))

    def _deliver(self, to: Address, payload: bytes, now: int) -> None:
        self._traffic.update(b"%d %d " % (now, to) + payload)
        _, batch = decode(payload)
        self._receive(to, batch[0][1], now)

    def step(self) -> bool:
        """Process an event; return whether one remained."""
        time = self._queue.next_time()
        if time is None:
            return False
        _, _, _, number = self._queue.pop()
        self.now = time
        self.events += 1
        self._actions.pop(number)(time)
        return True

    def digest(self) -> str:
        """SHA-256 of all deliveries with times and addresses."""
        return self._traffic.hexdigest()
