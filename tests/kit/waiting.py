"""Waiting for conditions, with a patience that no load of the machine uses up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import wraps

PATIENCE_S = 60.0


def until(
    holds: Callable[[], object], why: str | Callable[[], str] = "waited in vain", patience_s: float = PATIENCE_S
) -> None:
    """Wait until something holds; `why` is the failure's text, or makes it."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, why if isinstance(why, str) else why()
        time.sleep(0.005)


def in_loop(test: Callable[..., Coroutine[object, object, None]]) -> Callable[..., None]:
    """A test that runs in an event loop of its own."""

    @wraps(test)
    def run(**fixtures: object) -> None:
        asyncio.run(test(**fixtures))

    return run


async def until_async(holds: Callable[[], object]) -> None:
    """The same beside other tasks."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 (nobody says it)
            await asyncio.sleep(0.001)
