"""Takes out of journal and folders what has been over for longer than it is to be kept, a little at a time.

Kept for ever is what is unknown, as somebody may let it run again; what was handed in last, as its numbers are nobody
else's; and what was handed in before it was over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from dardis.engine.clock import unix_ms
from dardis.live.client import STARTING
from dardis.live.journal import Journal, JournalError
from dardis.live.keeper_client import KeeperError
from dardis.live.launch_requests import files_of
from dardis.live.live_decisions import Instant
from dardis.live.live_jobs import LiveJob, State, Submission
from dardis.live.service import Service

DAY_MS: Final = 86_400_000
MOST: Final = 200
"""How many jobs, instants or files are looked at in a turn; a larger array is looked at as a whole."""
BREATH_S: Final = 0.1
"""Between turns."""
PAUSE_S: Final = 3600.0
"""Between all turns and the next ones."""


async def keep_pruning(service: Service, days: int) -> None:
    """Keep what is over for so many days, until it is cancelled."""
    while True:
        before_ms = unix_ms() - days * DAY_MS
        with suppress(JournalError):  # it is full, or there will be another
            await _prune_journal(service, before_ms)
        await _prune_files(service, before_ms)
        await asyncio.sleep(PAUSE_S)


async def _prune_journal(service: Service, before_ms: int) -> None:
    after: int | None = 0
    while after is not None:
        after = await service.between_writes(prune, service.journal, after, before_ms)
        await asyncio.sleep(BREATH_S)


async def _prune_files(service: Service, before_ms: int) -> None:
    """Have hosts that are heard remove small files."""
    while service.trouble == STARTING:  # noqa: ASYNC110 (nobody says that they have been)
        await asyncio.sleep(BREATH_S)
    for keeper in service.keepers:
        with suppress(KeeperError):
            paths = await keeper.old_files(before_ms)
            for at in range(0, len(paths), MOST):
                # It is said at once, so before anything else is to begin there.
                await keeper.remove_files(unneeded(paths[at : at + MOST], service.gateway.jobs()))
                await asyncio.sleep(BREATH_S)


def prune(journal: Journal, after: int, before_ms: int) -> int | None:
    """Take out what was over before an instant, of what was handed in after a number, and old instants.

    After which number to go on; None: there is no more. Raises JournalError.
    """
    gone, looked, left = [], 0, True
    while left and looked < MOST:
        row = journal.over_after(after)
        if row is None or Submission.from_row(row).submitted_ms >= before_ms:
            left = False  # what was handed in later is not old either
            continue
        after = row.first
        looked += row.count
        ends = [LiveJob.end_in(text) for text in journal.become_over(row).values()]
        if len(ends) == row.count and all(end is not None and end < before_ms for end in ends):
            gone.append(row)
    told = journal.first_instants(MOST)
    old = 0
    while old < len(told) and Instant.from_text(told[old][1]).happened.at * 1000 < before_ms:
        old += 1
    journal.remove(gone, told[old - 1][0] if old else 0)
    return after if left or old == MOST else None


def unneeded(paths: Iterable[str], jobs: Iterable[LiveJob]) -> list[str]:
    """Those of small files that none of these jobs runs with; what one needs that begins later is put there again."""
    needed = {file.path for job in jobs if job.state is State.RUNNING for file in files_of(job)}
    return [path for path in paths if path not in needed]
