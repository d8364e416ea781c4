"""Removal of old finished jobs.

Unknown jobs stay (users may rerun them), and so does the last submission (it fixes the next job number).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from dardis.engine.clock import unix_ms
from dardis.live.client import STARTING
from dardis.live.journal import Journal, JournalError
from dardis.live.keeper_client import SupervisorError
from dardis.live.launch_requests import files_of
from dardis.live.live_decisions import Instant
from dardis.live.live_jobs import LiveJob, LiveJobState, Submission
from dardis.live.service import Service

DAY_MS: Final = 86_400_000
MOST: Final = 200
"""Jobs, instants or files per turn; arrays are never split."""
BREATH_S: Final = 0.1
PAUSE_S: Final = 3600.0


async def keep_pruning(service: Service, days: int) -> None:
    """Remove jobs finished more than `days` ago, until cancelled."""
    while True:
        before_ms = unix_ms() - days * DAY_MS
        with suppress(JournalError):  # the disk is full, or the service changes
            await _prune_journal(service, before_ms)
        await _prune_files(service, before_ms)
        await asyncio.sleep(PAUSE_S)


async def _prune_journal(service: Service, before_ms: int) -> None:
    after: int | None = 0
    while after is not None:
        after = await service.between_writes(prune, service.journal, after, before_ms)
        await asyncio.sleep(BREATH_S)


async def _prune_files(service: Service, before_ms: int) -> None:
    while service.trouble == STARTING:  # noqa: ASYNC110 (no event)
        await asyncio.sleep(BREATH_S)
    for keeper in service.supervisors.values():
        with suppress(SupervisorError):
            paths = await keeper.old_files(before_ms)
            for at in range(0, len(paths), MOST):
                # No await in between: nothing new can start first.
                await keeper.remove_files(unneeded_files(paths[at : at + MOST], service.gateway.jobs()))
                await asyncio.sleep(BREATH_S)


def prune(journal: Journal, after: int, before_ms: int) -> int | None:
    """Remove submissions finished before `before_ms`, from `after` on, and old instants.

    Return where to continue; None: done. Raises JournalError.
    """
    gone, looked, left = [], 0, True
    while left and looked < MOST:
        row = journal.next_finished(after)
        if row is None or Submission.from_row(row).submitted_ms >= before_ms:
            left = False  # later submissions are newer
            continue
        after = row.first
        looked += row.count
        ends = [LiveJob.end_from_text(text) for text in journal.finished_job_states(row).values()]
        if len(ends) == row.count and all(end is not None and end < before_ms for end in ends):
            gone.append(row)
    told = journal.first_instants(MOST)
    old = 0
    while old < len(told) and Instant.from_text(told[old][1]).events.at * 1000 < before_ms:
        old += 1
    journal.remove(gone, told[old - 1][0] if old else 0)
    return after if left or old == MOST else None


def unneeded_files(paths: Iterable[str], jobs: Iterable[LiveJob]) -> list[str]:
    """Small files without a running job."""
    needed = {file.path for job in jobs if job.state is LiveJobState.RUNNING for file in files_of(job)}
    return [path for path in paths if path not in needed]
