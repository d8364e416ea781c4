import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dardis.live import journal as journals
from dardis.live.journal import (
    COPY,
    FILE,
    Batch,
    Journal,
    JournalError,
    SubmissionRow,
    network_file_system,
    read_instants,
)
from dardis.model.errors import InputError


def row(first, count=1, key=None, over=False, asker=7):
    return SubmissionRow(first, count, asker, key, over, f"value {first}")


def everything(journal):
    return [(*found, become) for *found, become in journal.unfinished()], journal.next_job(), journal.drains()


def test_journal_is_restored_and_epochs_increase(tmp_path, journal):
    assert (journal.epoch, journal.next_job()) == (1, 1)
    journal.write(Batch([row(1, 3, "k"), row(4)], [(2, "ended")], ["a"], {"n0": "why"}))
    journal.write(Batch([row(4, over=True)], [(4, "done"), (2, "again")], ["b"], {"n1": "x", "n0": ""}))
    before = everything(journal)
    journal.close()
    with closing(Journal(tmp_path)) as again:
        assert again.epoch == 2
        assert everything(again) == before == ([(row(1, 3, "k"), {2: "again"})], 5, {"n1": "x"})
        assert (again.find(7, "k"), again.find(8, "k"), again.find(7, "l")) == ((1, 3), None, None)
        assert again.find_job(3) == (row(1, 3, "k"), None)
        assert again.find_job(4) == (row(4, over=True), "done")
        assert again.find_job(5) is again.find_job(0) is None
        assert list(read_instants(tmp_path)) == ["a", "b"]
        again.write(Batch([row(first) for first in range(5, 305)]))
        with pytest.raises(JournalError):
            again.write(Batch(drains={"n0": "\ud800"}))
        assert again.drains() == {"n1": "x"}
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("seed", range(5))
def test_batch_is_atomic_on_a_full_disk(tmp_path, journal, seed):
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    refused, number = 0, 1
    for _ in range(60):
        pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
        journal._db.execute(f"PRAGMA max_page_count = {pages + rng.randint(0, 6)}")
        count = rng.randint(1, 5)
        batch = Batch(
            [row(number, count)], [(number + i, "x" * rng.choice([10, 3000])) for i in range(count)],
            ["i" * rng.choice([10, 9000])],
        )  # fmt: skip
        before = everything(journal), list(read_instants(tmp_path))
        try:
            journal.write(batch)
            number += count
            assert journal.next_job() == number
        except JournalError as error:
            refused += 1
            assert "full" in str(error)  # noqa: PT017 (or it is written)
            assert (everything(journal), list(read_instants(tmp_path))) == before
    assert 0 < refused < 60


def test_duplicate_key_is_refused_by_the_journal(journal):
    journal.write(Batch([row(1, key="k")]))
    with pytest.raises(JournalError):
        journal.write(Batch([row(2, key="k")]))
    journal.write(Batch([row(2, key="k", asker=8)]))


def test_damaged_journal_is_one_line(tmp_path):
    Journal(tmp_path).close()
    content = bytearray((tmp_path / FILE).read_bytes())
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match="is damaged"):
        Journal(tmp_path)
    content[4096:8192] = b"\xff" * 4096
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match="is damaged"):
        Journal(tmp_path)
    with pytest.raises(InputError, match=r"journal\.db"):
        list(read_instants(tmp_path / "elsewhere"))


def test_journal_of_another_version_is_refused(tmp_path):
    Journal(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(InputError, match="version 99; expected version 3"):
        Journal(tmp_path)
    with pytest.raises(InputError, match="version 99"):
        list(read_instants(tmp_path))


@pytest.mark.parametrize("damage", ["begin", "version", "copy"])
def test_a_journal_that_is_refused_leaves_no_file_open(tmp_path, damage):
    Journal(tmp_path).close()
    if damage == "begin":
        (tmp_path / FILE).write_bytes(b"no database" * 1000)
    else:
        statement = {"version": "PRAGMA user_version=99", "copy": f"CREATE TABLE {COPY} (record INTEGER)"}[damage]
        with closing(sqlite3.connect(tmp_path / FILE)) as db:
            db.execute(statement)
    refused = []  # keeps the frames of the errors, and so all that nothing has closed
    for opening in (Journal, lambda folder: list(read_instants(folder))):
        try:
            opening(tmp_path)
        except InputError as error:
            refused.append(error)
    assert len(refused) == (1 if damage == "copy" else 2)
    opened = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert [path for path in opened if path.name.startswith(FILE)] == []


def test_a_disk_of_another_machine_is_refused(tmp_path, monkeypatch):
    assert network_file_system(tmp_path) == ""
    lines = tmp_path / "mountinfo"
    lines.write_text(
        f"1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:50 / {tmp_path.parent} rw,relatime shared:1 - nfs4 server:/home rw\n"
    )
    real = journals.Path
    monkeypatch.setattr(journals, "Path", lambda path: lines if path == "/proc/self/mountinfo" else real(path))
    assert network_file_system(tmp_path) == "nfs4"
    with pytest.raises(InputError, match="nfs4"):
        Journal(tmp_path)
    assert network_file_system("/usr") == ""
