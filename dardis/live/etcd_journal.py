"""Journal in etcd, with a local copy for reads.

For hosts with unsafe disks. Keys: see README.md.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from itertools import islice
from math import inf
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Final

from dardis.engine.clock import monotonic_s
from dardis.live.etcd import Etcd, EtcdAddress, Json, TransactionResult, delete, get, put, revision_equals, value_equals
from dardis.live.journal import (
    COPY,
    FILE,
    VERSION,
    Batch,
    DamagedError,
    Journal,
    JournalError,
    SubmissionRow,
    row_values,
)
from dardis.live.random_keys import fresh_key
from dardis.model.errors import DardisError, InputError

LEASE_S: Final = 6
"""Until a silent leader counts as dead, s."""
RENEW_S: Final = 1.5
WAIT_S: Final = 2 * LEASE_S + 2.0
"""Longest wait for a dead leader, s; a new etcd leader renews its lease."""
PIECE: Final = 1 << 20
"""Bytes per write; etcd accepts 1.5 MiB."""
PIECES: Final = 8
MOST_LOG: Final = 16 << 20
"""Bytes that cause compaction."""
KEPT: Final = 10_000
"""Finished submissions kept in rows."""
_RECORD: Final = 1024


def open_journal(folder: Path, etcd: EtcdAddress | None, least_epoch: int = 1) -> Journal:
    """Open a journal in etcd, or in the folder. Raises InputError and JournalError."""
    if etcd is None:
        return Journal(folder, least_epoch)
    journal = EtcdJournal(folder, etcd, least_epoch)
    journal.start_renewal()
    return journal


class SupersededError(DardisError):
    """Another service has taken over."""


class EtcdJournal(Journal):
    """Journal in etcd."""

    def __init__(self, folder: Path, place: EtcdAddress, least_epoch: int = 1) -> None:
        """Lead with a new epoch; update the local copy.

        Raises InputError for a live leader, and JournalError without an answer.
        """
        self._place, self._etcd, self._renewing = place, Etcd(place), Etcd(place, RENEW_S)
        self._root = f"dardis/{place.name}/".encode()
        self._certain_s = -inf
        self._unsure = False
        self._leader = Thread(target=self._renew_until_closed, name="leader", daemon=True)
        self._closing = Event()
        self._superseded = Future[None]()
        self._superseded.set_running_or_notify_cancel()  # never cancelled
        self._cutter = ThreadPoolExecutor(1, "cutter")
        self._cutting: Future[tuple[int, int]] | None = None
        self._cut_at = 0
        self._most = MOST_LOG
        with ExitStack() as stack:
            stack.callback(self._etcd.close)
            try:
                super().__init__(folder, least_epoch)
            except DamagedError:  # only a copy
                for end in ("", "-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        (folder / (FILE + end)).replace(folder / f"{FILE}.damaged{end}")
                super().__init__(folder, least_epoch)
            except (ValueError, LookupError) as error:
                raise self._damaged(str(error)) from None
            stack.pop_all()

    def _key(self, kind: str, *numbers: int) -> bytes:
        return self._root + "/".join([kind, *(f"{number:016d}" for number in numbers)]).encode()

    # ------------------------------------------------------------------------------------------------------------------
    # Leadership.

    def _begin(self, least_epoch: int) -> int:
        db = self._db
        db.execute("PRAGMA synchronous=NORMAL")  # losses of this disk are in etcd
        of, self._applied, self._size, owner = "", 0, 0, ""
        if is_copy := self._has(COPY):
            of, self._applied, self._size, owner = db.execute(f"SELECT * FROM {COPY}").fetchone()  # noqa: S608
        elif db.execute("SELECT count(*) FROM submissions").fetchone()[0]:
            raise InputError(self._path, "has jobs that are not in etcd", "a folder without a journal of its own")
        before = db.execute("SELECT value FROM meta WHERE name = 'epoch'").fetchone() or (0,)
        epoch, service = self._lead(owner, max(before[0], least_epoch - 1))
        if not is_copy:  # last: without etcd, the folder may still be served alone
            with self._writing():
                db.execute(f"CREATE TABLE {COPY} (of TEXT, record INTEGER, size INTEGER, owner TEXT)")
                db.execute(f"INSERT INTO {COPY} VALUES ('', 0, 0, '')")  # noqa: S608
        base = self._etcd.transact([], [get(self._key("base"))]).pairs.get(self._key("base"))
        record, pieces = map(int, base.value.split()) if base else (0, 0)
        if of != service or self._applied < record:
            self._rebuild_copy(service, record, pieces)
        with self._writing():
            db.execute(f"UPDATE {COPY} SET owner = ?", (self._owner,))  # noqa: S608
        self._record = self._applied
        self._catch_up()
        last = self._key("log", self._applied)
        if self._applied > record and not self._etcd.transact([], [get(last)]).pairs:
            found = f"lacks record {self._applied} of {self._path}"
            raise InputError(self._place, found, "all acknowledged records; or remove that file, and lose them")
        return epoch

    def _lead(self, owner: str, floor: int) -> tuple[int, str]:
        """Take an epoch above `floor`. Return epoch and journal name. `owner`: last owner of the folder."""
        self._owner = fresh_key()
        self._said = f"{self._owner} process {os.getpid()} on {os.uname().nodename}".encode()
        service_key, epoch_key, leader_key = (self._key(name) for name in ("service", "epoch", "leader"))
        until = monotonic_s() + WAIT_S
        while True:
            self._certain_s = monotonic_s()
            seen = self._etcd.transact([], [get(service_key), get(epoch_key), get(leader_key)]).pairs
            leader = seen.get(leader_key)
            if leader is not None and (who := leader.value.decode().partition(" "))[0] != owner:
                if monotonic_s() > until:
                    raise InputError(self._place, f"has a service already ({who[2]})", "its end, or another NAME")
                sleep(0.2)
                continue
            if service_key not in seen and owner:
                found = f"lacks the records of its copy {self._path}"
                raise InputError(self._place, found, "all acknowledged records; or remove that file, and lose them")
            service = seen[service_key].value.decode() if service_key in seen else f"{VERSION} {fresh_key()}"
            if (version := service.partition(" ")[0]) != str(VERSION):
                raise InputError(self._place, f"is a journal of version {version}", f"one of version {VERSION}")
            old = seen.get(epoch_key)
            epoch = max(floor, int(old.value.split()[0]) if old else 0) + 1
            value = f"{epoch} {self._owner}".encode()
            self._mine = value_equals(epoch_key, value)
            self._lease = self._grant_lease(self._etcd)
            done = self._etcd.transact(
                [
                    revision_equals(epoch_key, old.revision if old else 0),
                    revision_equals(leader_key, leader.revision if leader else 0),
                ],
                [put(epoch_key, value), put(leader_key, self._said, self._lease), put(service_key, service.encode())],
                [get(epoch_key)],
            )
            # Another service was faster, or this request was repeated.
            if done.has_succeeded or (epoch_key in done.pairs and done.pairs[epoch_key].value == value):
                return epoch, service

    def _grant_lease(self, etcd: Etcd) -> int:
        return int(etcd.request("lease/grant", {"TTL": str(LEASE_S)})["ID"])

    def start_renewal(self) -> None:
        """Renew leadership in a thread until closed."""
        self._leader.start()

    def _renew_until_closed(self) -> None:
        try:
            while not self._closing.wait(RENEW_S):
                with suppress(JournalError):  # writes meet the same error
                    self._renew()
        except BaseException as error:  # noqa: BLE001 (raised by `wait_for_takeover`)
            self._superseded.set_exception(error)

    async def wait_for_takeover(self) -> None:
        """Wait for a takeover. Raises SupersededError."""
        await asyncio.wrap_future(self._superseded)

    def last_led_s(self) -> float:
        """See `Journal.last_led_s`."""
        return self._certain_s

    def _renew(self) -> None:
        asked_s, etcd, again = monotonic_s(), self._renewing, []
        if "TTL" not in etcd.request("lease/keepalive", {"ID": str(self._lease)}):  # expired, but no other leader
            self._lease = self._grant_lease(etcd)
            again = [put(self._key("leader"), self._said, self._lease)]
        self._transact_as_leader(etcd, again)
        self._certain_s = asked_s

    def _transact_as_leader(self, etcd: Etcd, do: Sequence[Json]) -> TransactionResult:
        done = etcd.transact([self._mine], do)
        if not done.has_succeeded:
            raise SupersededError(f"{self._place}: another service has taken this journal over")
        return done

    # ------------------------------------------------------------------------------------------------------------------
    # The log.

    def write(self, batch: Batch) -> None:
        """Write a batch durably. Raises JournalError, or SupersededError after a takeover.

        A failed write may still be stored: call `resolve_pending_write` next.
        """
        if self.resolve_pending_write():
            raise JournalError(f"{self._place}: an earlier write without an answer was stored, and counts")
        super().write(batch)
        self._applied = self._record
        self._compact_if_large()

    def resolve_pending_write(self) -> bool:
        """Resolve a write without answer; return whether records are new. Raises JournalError."""
        if self._unsure:
            self._append(_text(Batch()))
        return self._applied < self._record and self._catch_up()

    def _before_commit(self, batch: Batch) -> None:
        if not (batch.submissions or batch.jobs or batch.drains or batch.settings):
            return  # instants are stored only on this disk
        if not self._append(_text(batch)):
            raise JournalError(f"{self._place}: record {self._record} differs")
        self._db.execute(f"UPDATE {COPY} SET record = ?, size = ?", (self._record, self._size))  # noqa: S608

    def _append(self, text: bytes) -> bool:
        """Append a record; return whether stored. Raises JournalError if unknown."""
        number = self._record + 1
        self._unsure = True
        *pieces, last = _pieces([text])
        for at, piece in enumerate(pieces):
            self._transact_as_leader(self._etcd, [put(self._key("part", number, at), piece)])
        key, value = self._key("log", number), b"%d\n" % len(pieces) + last
        done = self._etcd.transact([self._mine, revision_equals(key, 0)], [put(key, value)], [get(key)])
        there = value
        if not done.has_succeeded:
            self._transact_as_leader(self._etcd, [])
            there = done.pairs[key].value  # this record by a repeated request, or an earlier record
        self._record, self._unsure = number, False
        self._size += len(text) + _RECORD
        return there == value

    def _catch_up(self) -> bool:
        at, size, is_new = self._applied, self._size, False
        with self._writing():
            for found in self._etcd.read(self._key("log", at + 1), self._root + b"log0"):
                at += 1
                pieces, _, text = found.value.partition(b"\n")
                if found.key != self._key("log", at) or not pieces.isdigit():
                    raise self._damaged(f"record {at} is missing")
                if int(pieces):
                    text = b"".join(self._read_pieces("part", at, int(pieces))) + text
                batch = self._parse_record(text)
                self._put(batch)
                is_new = is_new or bool(batch)
                size += len(text) + _RECORD
            self._db.execute(f"UPDATE {COPY} SET record = ?, size = ?", (at, size))  # noqa: S608
        self._applied, self._record, self._size = at, at, size
        return is_new

    def _read_pieces(self, kind: str, number: int, count: int) -> Iterator[bytes]:
        begin, seen = self._key(kind, number), 0
        for found in islice(self._etcd.read(begin + b"/", begin + b"0", page=PIECES), count):
            seen += found.key == self._key(kind, number, seen)
            yield found.value
        if seen < count:
            raise self._damaged(f"pieces of {kind}/{number} are missing")

    def _parse_record(self, line: bytes) -> Batch:
        try:
            told = json.loads(line)
            rows = [SubmissionRow(*row) for row in told["submissions"]]
            jobs = [(number, value) for number, value in told["jobs"]]
            return Batch(rows, jobs, drains=told["drains"], settings=told.get("settings", {}))
        except (ValueError, LookupError, TypeError) as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, how: str) -> InputError:
        return InputError(self._place, f"is damaged ({how})", "a journal of dardis, or another NAME")

    # ------------------------------------------------------------------------------------------------------------------
    # Rows replace the log.

    def _rebuild_copy(self, service: str, record: int, pieces: int) -> None:
        with self._writing():
            for table in ("submissions", "jobs", "drains", "settings", "instants"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608
            for line in _lines(self._read_pieces("rows", record, pieces)):
                self._put(self._parse_record(line))
            self._db.execute(f"UPDATE {COPY} SET of = ?, record = ?, size = 0", (service, record))  # noqa: S608
        self._applied, self._size = record, 0

    def _compact_if_large(self) -> None:
        if self._cutting is not None and self._cutting.done():
            (cut, rows), self._cutting = self._cutting.result(), None
            self._size -= cut
            self._most = max(MOST_LOG, rows)
        if self._cutting is None and self._size > self._most:
            self._cutting = self._cutter.submit(self._cut, self._size)

    def _cut(self, size: int) -> tuple[int, int]:
        etcd, key, rows, at = Etcd(self._place), self._key("base"), 0, 0
        with (
            suppress(JournalError, SupersededError, sqlite3.Error),
            closing(etcd),
            closing(sqlite3.connect(self._path, isolation_level=None, timeout=10)) as db,
        ):
            before = self._transact_as_leader(etcd, [get(key)]).pairs.get(key)
            db.execute("PRAGMA wal_checkpoint")  # later losses of this disk are in the log
            db.execute("BEGIN")
            (record,) = db.execute(f"SELECT record FROM {COPY}").fetchone()  # noqa: S608
            if record == self._cut_at:  # late pieces of the last attempt may differ
                return 0, 0
            self._cut_at = record
            for at, piece in enumerate(_pieces(_rows(db)), 1):
                self._transact_as_leader(etcd, [put(self._key("rows", record, at - 1), piece)])
                rows += len(piece)
            gone = [(self._key(kind), self._key(kind, record + 1)) for kind in ("log", "part")]
            gone.append((self._key("rows"), self._key("rows", record)))
            base = b"%d %d" % (record, at)
            done = etcd.transact(
                # Unchanged: a late request must not restore removed rows.
                [self._mine, revision_equals(key, before.revision if before else 0)],
                [put(key, base), *(delete(*both) for both in gone)],
                [get(key)],
            )
            if not done.has_succeeded and (key not in done.pairs or done.pairs[key].value != base):
                return 0, 0
            # Free old values in etcd.
            etcd.request("kv/compaction", {"revision": str(done.revision)})
            return size, rows
        return 0, 0

    def close(self) -> None:
        """Close the journal and release leadership."""
        if self._closing.is_set():
            return
        self._closing.set()
        if self._leader.is_alive():
            self._leader.join()  # a renewal may be running
        self._cutter.shutdown()
        with suppress(JournalError), closing(Etcd(self._place, 0)) as etcd:
            etcd.request("lease/revoke", {"ID": str(self._lease)})
        for etcd in (self._etcd, self._renewing):
            etcd.close()
        super().close()


def _text(batch: Batch) -> bytes:
    rows = list(map(row_values, batch.submissions))
    told = {"submissions": rows, "jobs": batch.jobs, "drains": batch.drains, "settings": batch.settings}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()


def _rows(db: sqlite3.Connection) -> Iterator[bytes]:
    drains, settings = (dict(db.execute(f"SELECT * FROM {table}")) for table in ("drains", "settings"))  # noqa: S608
    yield _text(Batch(drains=drains, settings=settings)) + b"\n"
    some = "SELECT first, count, asker, key, over, value FROM submissions"
    last = db.execute("SELECT first FROM submissions WHERE over = 1 ORDER BY first DESC LIMIT 1 OFFSET ?", (KEPT - 1,))
    (oldest,) = last.fetchone() or (0,)
    for row in db.execute(f"{some} WHERE over = 0 OR first >= ? ORDER BY first", (oldest,)):
        jobs = db.execute("SELECT id, value FROM jobs WHERE id >= ? AND id < ?", (row[0], row[0] + row[1]))
        yield _text(Batch([SubmissionRow(*row)], jobs.fetchall())) + b"\n"


def _pieces(texts: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for text in texts:
        held += text
        while len(held) > PIECE:
            yield held[:PIECE]
            held = held[PIECE:]
    yield held


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        *whole, held = (held + piece).split(b"\n")
        yield from whole
