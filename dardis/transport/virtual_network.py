"""A faulty network in virtual time: messages come late, out of order, twice or never, all drawn from one seed.

It also keeps what else happens in virtual time (timers, starts, ends), which is never late: one queue is one order of
all events, so that a seed replays exactly.
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
"""What happens at a moment; called with the time."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How bad a network is: the longest delay in s (the shortest is 1), and how likely a message is lost or doubled."""

    longest_delay: int
    drop: float = 0.0
    duplicate: float = 0.0
    longest_duplicate_delay: int = 0
    """Of second copies, if it is longer than that of others; each order of magnitude is as likely as another."""


class VirtualNetwork:
    """Delivers to `receive(address, message, now)`. Every message goes through the wire's encoding and back."""

    def __init__(self, faults: Faults, seed: int, receive: Callable[[Address, Message, int], None]) -> None:
        """Start at time 0 with nothing under way."""
        self._faults = faults
        self._draws = stream(seed, "network")
        self._receive = receive
        self._queue = EventQueue()
        self._actions: dict[int, Action] = {}
        self._next = 0
        self._traffic = hashlib.sha256()
        self.now = 0
        self.events = 0
        """Events that have happened."""
        self.sent = 0
        """Messages sent."""
        self.lost = 0
        """Messages of which no copy was delivered by the network."""

    def at(self, time: int, action: Action) -> None:
        """Let something happen at `time`, not before now, after what was set for the same time earlier."""
        if time < self.now:
            raise ValueError(f"{time} s lies before the present, {self.now} s")
        self._actions[self._next] = action
        self._queue.put(time, 0, self._next, self._next)
        self._next += 1

    def send(self, to: Address, message: Message) -> None:
        """Send to an address: the network may delay, double or lose it."""
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
        """Let the next event happen; return whether there was one."""
        time = self._queue.next_time()
        if time is None:
            return False
        _, _, _, number = self._queue.pop()
        self.now = time
        self.events += 1
        self._actions.pop(number)(time)
        return True

    def digest(self) -> str:
        """Sha256 over all that was delivered, when and to whom."""
        return self._traffic.hexdigest()
