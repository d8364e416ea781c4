"""What the service has acknowledged, in SQLite: a batch is there as a whole when `write` returns, whatever dies.

It knows numbers, keys and texts; what they mean is the gateway's.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote

from dardis.model.errors import DardisError, InputError

FILE: Final = "journal.db"
VERSION: Final = 1
_NETWORK: Final = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fuse.glusterfs", "fuse.sshfs", "gfs2", "glusterfs", "gpfs",
    "lustre", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs", "wekafs",
})  # fmt: skip
"""File systems on which the shared memory of a write-ahead log doesn't work, or that others may write."""
_TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE submissions (
    first INTEGER PRIMARY KEY, count INTEGER NOT NULL, asker INTEGER NOT NULL, key TEXT, over INTEGER NOT NULL,
    value TEXT NOT NULL
);
CREATE UNIQUE INDEX by_key ON submissions (asker, key) WHERE key IS NOT NULL;
CREATE INDEX open_ones ON submissions (first) WHERE over = 0;
CREATE TABLE jobs (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE drains (node TEXT PRIMARY KEY, why TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE instants (number INTEGER PRIMARY KEY, value TEXT NOT NULL);
"""


class JournalError(DardisError):
    """The journal can't be written now; nothing of the batch is in it."""


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """The jobs [first, first + count) that were handed in together; `over`: all of them have come to an end."""

    first: int
    count: int
    asker: int
    """User id of who has."""
    key: str | None
    """Names it among those of the same asker."""
    over: bool
    value: str


@dataclass(slots=True)
class Batch:
    """What is written as one."""

    submissions: list[SubmissionRow] = field(default_factory=list)
    """New, or with another `over`."""
    jobs: list[tuple[int, str]] = field(default_factory=list)
    """What has become of jobs."""
    instants: list[str] = field(default_factory=list)
    """What was told to those who decide, and what they said."""
    drains: dict[str, str] = field(default_factory=dict)
    """Why nodes are drained; empty: they aren't any more."""

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.submissions or self.jobs or self.instants or self.drains)


class Journal:
    """The journal of one service; `write` may be called in another thread than the rest."""

    def __init__(self, folder: Path) -> None:
        """Open it, or make a new one, and begin a new epoch, higher than all before.

        Raises InputError for one that is damaged, of another version, or on a disk of another machine.
        """
        self._path = folder / FILE
        if kind := network_file_system(folder):
            raise InputError(folder, f"is on a file system of another machine ({kind})", "a folder on a local disk")
        try:
            self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=10)
            self._path.chmod(0o600)
            self._prepare()
            self._reads = sqlite3.connect(self._path, isolation_level=None, timeout=10)
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None

    def _prepare(self) -> None:
        db = self._db
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0 and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")
        elif version != VERSION:
            raise InputError(self._path, f"is a journal of version {version}", f"one of version {VERSION}")
        if (found := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO meta VALUES ('epoch', 1) ON CONFLICT DO UPDATE SET value = value + 1")
        db.execute("COMMIT")
        (self.epoch,) = db.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchone()
        self._instants = db.execute("SELECT coalesce(max(number), 0) FROM instants").fetchone()[0]

    def _unusable(self, error: sqlite3.Error) -> DardisError:
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            return JournalError(f"{self._path}: {error}")
        return InputError(self._path, f"is damaged ({error})", "a journal of dardis, or none; a copy may be put back")

    def write(self, batch: Batch) -> None:
        """Make it durable, or raise JournalError and leave all as it was."""
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (first) DO UPDATE SET over = excluded.over",
                [(row.first, row.count, row.asker, row.key, row.over, row.value) for row in batch.submissions],
            )
            db.executemany(
                "INSERT INTO jobs VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", batch.jobs
            )
            db.executemany(
                "INSERT INTO drains VALUES (?, ?) ON CONFLICT DO UPDATE SET why = excluded.why", batch.drains.items()
            )
            numbered = enumerate(batch.instants, self._instants + 1)
            db.executemany("INSERT INTO instants VALUES (?, ?)", numbered)
            db.execute("COMMIT")
        except (sqlite3.Error, ValueError) as error:  # ValueError: a text that is none
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise JournalError(f"{self._path}: {error}") from None
        self._instants += len(batch.instants)

    def next_job(self) -> int:
        """The first number that no job has had."""
        (last,) = self._reads.execute("SELECT coalesce(max(first + count), 1) FROM submissions").fetchone()
        return int(last)

    def find(self, asker: int, key: str) -> tuple[int, int] | None:
        """First number and count of what somebody has handed in under a key."""
        select = "SELECT first, count FROM submissions WHERE asker = ? AND key = ?"
        found: tuple[int, int] | None = self._reads.execute(select, (asker, key)).fetchone()
        return found

    def unfinished(self) -> Iterator[tuple[SubmissionRow, dict[int, str]]]:
        """What is not over, as it was handed in, with what has become of its jobs."""
        for row in self._submissions("WHERE over = 0 ORDER BY first"):
            yield row, self.become(row.first, row.count)

    def holder(self, job: int) -> tuple[SubmissionRow, str | None] | None:
        """What a job was handed in with, and what has become of it."""
        for row in self._submissions("WHERE first <= ? ORDER BY first DESC LIMIT 1", job):
            if job < row.first + row.count:
                return row, self.become(job, 1).get(job)
        return None

    def history(self, limit: int) -> Iterator[tuple[SubmissionRow, dict[int, str]]]:
        """What was handed in, the last first, as far as so many jobs need."""
        left, end = limit, self.next_job()
        while left > 0 and (rows := self._submissions("WHERE first < ? ORDER BY first DESC LIMIT 100", end)):
            for row in rows:
                if left <= 0:
                    return
                left -= row.count
                yield row, self.become(row.first, row.count)
                end = row.first

    def drains(self) -> dict[str, str]:
        """Why nodes are drained."""
        return dict(self._reads.execute("SELECT node, why FROM drains WHERE why <> ''"))

    def _submissions(self, where: str, *values: int) -> Sequence[SubmissionRow]:
        columns = "first, count, asker, key, over, value"
        rows = self._reads.execute(f"SELECT {columns} FROM submissions {where}", values).fetchall()  # noqa: S608
        return [SubmissionRow(*row) for row in rows]

    def become(self, first: int, count: int) -> dict[int, str]:
        """What has become of the jobs [first, first + count), of which anything has."""
        rows: Iterable[tuple[int, str]] = self._reads.execute(
            "SELECT id, value FROM jobs WHERE id >= ? AND id < ?", (first, first + count)
        )
        return dict(rows)

    def close(self) -> None:
        """Write no more."""
        self._reads.close()
        self._db.close()


def network_file_system(folder: Path) -> str:
    """The kind of a file system that is another machine's; empty for a local one, or where nobody can tell."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return ""
    best, kind = -1, ""
    place = os.path.realpath(folder)
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].encode().decode("unicode_escape")
        if (place == mount or place.startswith(mount.rstrip("/") + "/")) and len(mount) >= best:
            best, kind = len(mount), after.split()[0]
    return kind if kind in _NETWORK else ""


def told_instants(folder: Path) -> Iterator[str]:
    """What was told to those who decide, and what they said, in order, of a service that may be running.

    Raises InputError where there is no journal that can be read.
    """
    path = folder / FILE
    if not path.is_file():
        raise InputError(path, "is not there", "the folder of a service (dardis serve)")
    try:
        db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=10)
        yield from (value for (value,) in db.execute("SELECT value FROM instants ORDER BY number"))
        db.close()
    except sqlite3.DatabaseError as error:
        raise InputError(path, f"can't be read ({error})", "a journal of dardis") from None
