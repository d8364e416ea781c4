"""Journal in SQLite: durable, atomic writes. The gateway defines the contents."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final
from urllib.parse import quote

from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError, InputError

FILE: Final = "journal.db"
VERSION: Final = 3
_NETWORK: Final = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fuse.glusterfs", "fuse.sshfs", "gfs2", "glusterfs", "gpfs",
    "lustre", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs", "wekafs",
})  # fmt: skip
"""Without shared memory, or of several machines."""
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
_SETTINGS_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
)
COPY: Final = "copy"


_SUBMISSIONS: Final = "SELECT first, count, asker, key, over, value FROM submissions"


class JournalError(DardisError):
    """Failed write."""


class DamagedError(InputError):
    """Damaged or foreign file."""


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """Jobs [first, first + count) of a submission."""

    first: int
    count: int
    asker: int
    """User ID."""
    key: str | None
    over: bool
    value: str


row_values: Final = attrgetter("first", "count", "asker", "key", "over", "value")


@dataclass(slots=True)
class Batch:
    """Atomic write."""

    submissions: list[SubmissionRow] = field(default_factory=list)
    """New, or with a changed `over`."""
    jobs: list[tuple[int, str]] = field(default_factory=list)
    instants: list[str] = field(default_factory=list)
    drains: dict[str, str] = field(default_factory=dict)
    """Reasons of drained nodes; empty: resumed."""
    settings: dict[str, str] = field(default_factory=dict)
    """Changed settings; empty: the default."""

    def __bool__(self) -> bool:
        return bool(self.submissions or self.jobs or self.instants or self.drains or self.settings)


class Journal:
    """Service's journal. Another thread may call `write`."""

    def __init__(self, folder: Path, least_epoch: int = 1) -> None:
        """Open or create the journal; begin a higher epoch, at least `least_epoch`.

        Raises InputError for damage, another version or a network file system.
        """
        self._path = folder / FILE
        check_local(folder)
        with ExitStack() as opened:
            try:
                self._db = opened.enter_context(
                    closing(sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=10))
                )
                self._path.chmod(0o600)
                self._prepare()
                self._reads = opened.enter_context(
                    closing(sqlite3.connect(self._path, isolation_level=None, timeout=10))
                )
                self.epoch = self._begin(least_epoch)
                self._instants = self._db.execute("SELECT coalesce(max(number), 0) FROM instants").fetchone()[0]
            except sqlite3.DatabaseError as error:
                raise self._unusable(error) from None
            opened.pop_all()

    def _prepare(self) -> None:
        db = self._db
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0 and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")
        else:
            _check_version(db, self._path)
        db.execute(_SETTINGS_TABLE)  # journals of before have none
        if (found := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)

    def _begin(self, least_epoch: int) -> int:
        if self._has(COPY):
            raise InputError(self._path, "is a copy of a journal in etcd", "--journal, or another folder")
        with self._writing():
            self._db.execute(
                "INSERT INTO meta VALUES ('epoch', ?) ON CONFLICT DO UPDATE SET value = max(value + 1, excluded.value)",
                (least_epoch,),
            )
        return int(self._db.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchone()[0])

    def _has(self, table: str) -> bool:
        return bool(self._db.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0])

    def _unusable(self, error: sqlite3.Error) -> DardisError:
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            return JournalError(f"{self._path}: {error}")
        return DamagedError(self._path, f"is damaged ({error})", "a journal of dardis, or none; a copy may be put back")

    def write(self, batch: Batch) -> None:
        """Write a batch, or nothing and raise JournalError."""
        with self._writing():
            self._put(batch)
            numbered = enumerate(batch.instants, self._instants + 1)
            self._db.executemany("INSERT INTO instants VALUES (?, ?)", numbered)
            self._before_commit(batch)
        self._instants += len(batch.instants)

    def resolve_pending_write(self) -> bool:
        """Whether more was stored than reported. Raises JournalError."""
        return False

    def _before_commit(self, batch: Batch) -> None:
        """Hook before the commit."""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            yield
            db.execute("COMMIT")
        except (sqlite3.Error, ValueError) as error:  # ValueError: invalid text
            raise JournalError(f"{self._path}: {error}") from None
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(f"{self._path}: {error}") from None

    def _put(self, batch: Batch) -> None:
        db = self._db
        db.executemany(
            "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (first) DO UPDATE SET over = excluded.over",
            map(row_values, batch.submissions),
        )
        db.executemany("INSERT INTO jobs VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", batch.jobs)
        db.executemany(
            "INSERT INTO drains VALUES (?, ?) ON CONFLICT DO UPDATE SET why = excluded.why", batch.drains.items()
        )
        db.executemany(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            batch.settings.items(),
        )

    def last_led_s(self) -> float:
        """Last time this service surely led, monotonic s: now (folder is locked)."""
        return monotonic_s()

    def next_job(self) -> int:
        """First unused job number."""
        (last,) = self._reads.execute("SELECT coalesce(max(first + count), 1) FROM submissions").fetchone()
        return int(last)

    def find(self, asker: int, key: str) -> tuple[int, int] | None:
        """First number and count of a user's submission by key."""
        select = "SELECT first, count FROM submissions WHERE asker = ? AND key = ?"
        found: tuple[int, int] | None = self._reads.execute(select, (asker, key)).fetchone()
        return found

    def unfinished(self) -> Iterator[tuple[SubmissionRow, dict[int, str]]]:
        """Yield unfinished submissions with job states."""
        for row in self._submissions("WHERE over = 0 ORDER BY first"):
            yield row, self.job_states(row.first, row.count)

    def find_job(self, job: int) -> tuple[SubmissionRow, str | None] | None:
        """Submission and state of a job."""
        for row in self._submissions("WHERE first <= ? ORDER BY first DESC LIMIT 1", job):
            if job < row.first + row.count:
                return row, self.job_states(job, 1).get(job)
        return None

    def history(
        self, before: int, most: int, user: str | None, since_ms: int | None
    ) -> tuple[list[tuple[SubmissionRow, dict[int, str]]], int]:
        """Recent submissions with job states, and the lowest number searched (0: none left).

        Searches `most` numbers below `before`, newest first. `since_ms`: earliest end of jobs.
        """
        below = "WHERE first < ? ORDER BY first DESC LIMIT 1"
        if not (last := self._submissions(below, before)):
            return [], 0
        end = min(before, last[0].first + last[0].count)
        begin = max(end - most, 0)
        holder = self._submissions(below, begin + 1)
        where, more = "WHERE first >= ? AND first < ?", [user] if user is not None else []
        where += " AND json_extract(value, '$.asker[2]') = ?" if more else ""
        rows = self._submissions(f"{where} ORDER BY first DESC", holder[0].first if holder else begin, end, *more)
        told = []
        for row in rows:
            first, behind = max(row.first, begin), min(row.first + row.count, end)
            told.append((row, _job_states(self._reads, first, behind - first, since_ms)))
        return told, begin

    def drains(self) -> dict[str, str]:
        """Reasons of drained nodes."""
        return dict(self._reads.execute("SELECT node, why FROM drains WHERE why <> ''"))

    def setting(self, name: str) -> str:
        """Setting; empty: the default."""
        row = self._reads.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def _submissions(self, where: str, *values: int | str) -> Sequence[SubmissionRow]:
        rows = self._reads.execute(f"{_SUBMISSIONS} {where}", values).fetchall()
        return [SubmissionRow(*row) for row in rows]

    def job_states(self, first: int, count: int) -> dict[int, str]:
        """States of the jobs [first, first + count)."""
        return _job_states(self._reads, first, count)

    # ------------------------------------------------------------------------------------------------------------------
    # Pruning, in the thread of `write`.

    def next_finished(self, first: int) -> SubmissionRow | None:
        """Next finished submission after `first`. Raises JournalError.

        Excludes the last: it fixes the next job number.
        """
        where = "WHERE over = 1 AND first > ? AND first < (SELECT max(first) FROM submissions) ORDER BY first LIMIT 1"
        with self._reading():
            row = self._db.execute(f"{_SUBMISSIONS} {where}", (first,)).fetchone()
        return None if row is None else SubmissionRow(*row)

    def finished_job_states(self, row: SubmissionRow) -> dict[int, str]:
        """Job states of a submission. Raises JournalError."""
        with self._reading():
            return _job_states(self._db, row.first, row.count)

    def first_instants(self, most: int) -> list[tuple[int, str]]:
        """First `most` instants with numbers. Raises JournalError."""
        with self._reading():
            return self._db.execute("SELECT number, value FROM instants ORDER BY number LIMIT ?", (most,)).fetchall()

    def remove(self, submissions: Sequence[SubmissionRow], instants: int) -> None:
        """Remove submissions, and instants up to a number. Raises JournalError."""
        if not submissions and not instants:
            return
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            ranges = [(row.first, row.first + row.count) for row in submissions]
            db.executemany("DELETE FROM jobs WHERE id >= ? AND id < ?", ranges)
            db.executemany("DELETE FROM submissions WHERE first >= ? AND first < ?", ranges)
            db.execute("DELETE FROM instants WHERE number <= ?", (instants,))
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise JournalError(f"{self._path}: {error}") from None

    def close(self) -> None:
        """Close the journal."""
        self._reads.close()
        self._db.close()


def _job_states(db: sqlite3.Connection, first: int, count: int, since_ms: int | None = None) -> dict[int, str]:
    some, values = "SELECT id, value FROM jobs WHERE id >= ? AND id < ?", [first, first + count]
    if since_ms is not None:
        some, values = f"{some} AND json_extract(value, '$[7]') >= ?", [*values, since_ms]
    rows: Iterable[tuple[int, str]] = db.execute(some, values)
    return dict(rows)


def check_local(folder: Path) -> None:
    """Raise InputError for a network file system."""
    if kind := network_file_system(folder):
        raise InputError(folder, f"is on a network file system ({kind})", "a folder on a local disk")


def network_file_system(folder: Path) -> str:
    """Type of a network file system; empty: local or unknown."""
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


def _check_version(db: sqlite3.Connection, path: Path) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        wants = f"version {VERSION}; jobs of another DARDIS version must end under that version"
        raise InputError(path, f"is a journal of version {version}", wants)


def read_instants(folder: Path) -> Iterator[str]:
    """Yield instants of a journal. Raises InputError."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(path, "does not exist", "the folder of a service (dardis serve)")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=10)) as db:
            _check_version(db, path)
            yield from (value for (value,) in db.execute("SELECT value FROM instants ORDER BY number"))
    except sqlite3.DatabaseError as error:
        raise InputError(path, f"can't be read ({error})", "a journal of dardis") from None
