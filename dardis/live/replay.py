"""Tells those who decide again what a journal says has happened, and sees whether they start the same jobs again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dardis.live.deciding import Decider, Instant, hosts_here


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it: instants, starts, how often the service began anew, and where the first start differs."""

    instants: int
    starts: int
    services: int
    differs: str = ""


def replay(texts: Iterable[str]) -> Replayed:
    """Replay the instants of a journal, in order, from the first start of the service on that it has."""
    decider = None
    instants = starts = services = 0
    for text in texts:
        instant = Instant.from_text(text)
        if decider is None and instant.machine is None:
            continue  # what it began with is not kept any more
        instants += 1
        if instant.machine is not None:
            here = hosts_here(instant.machine, instant.bounds)
            decider, services = Decider(instant.machine, instant.bounds, here), services + 1
        assert decider is not None
        again, _ = decider.decide(instant.happened)
        starts += len(again)
        if tuple(again) != instant.starts:
            found = f"instant {instants} (second {instant.happened.at}): {again} instead of {list(instant.starts)}"
            return Replayed(instants, starts, services, found)
    return Replayed(instants, starts, services)
