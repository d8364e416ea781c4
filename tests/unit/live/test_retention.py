"""What journal and folder keep no longer, and what they keep."""

import os
from dataclasses import replace

import pytest

from dardis.live.job_files import old_files, put_files, remove_files
from dardis.live.job_option_texts import Array
from dardis.live.job_request import JobRequest
from dardis.live.journal import Batch, Journal, JournalError, read_instants
from dardis.live.launch_requests import files_of
from dardis.live.live_decisions import Instant, InstantEvents, replay
from dardis.live.live_jobs import JobUser, LiveJobState, NodeShare, Submission, new_jobs
from dardis.live.retention import DAY_MS, prune, unneeded_files

ASKER = JobUser(7, 7, "u", ())


class Shelf:
    """A journal in which jobs are laid down as they have ended."""

    def __init__(self, folder):
        self.journal, self.next, self.folder = Journal(folder), 1, folder

    def lay(self, ended_days, submitted_days=0.0, state=LiveJobState.COMPLETED):
        """Jobs of one submission, by the days on which they have ended; None: not yet. The first number."""
        asked = JobRequest(argv=("true",), array=Array((range(1, len(ended_days) + 1),)))
        submission = Submission(self.next, ASKER, asked, "", {}, "/", int(submitted_days * DAY_MS), f"k{self.next}")
        self.next += submission.count
        jobs = new_jobs(submission)
        for job, day in zip(jobs, ended_days, strict=True):
            if day is not None:
                job.state, job.ended_ms = state, int(day * DAY_MS)
        texts = [(job.number, job.text()) for job in jobs if job.ended_ms is not None]
        self.journal.write(Batch([submission.row(over=None not in ended_days)], texts))
        return submission.first

    def told(self, *days):
        instants = [Instant(InstantEvents(int(day * DAY_MS) // 1000), ()).text() for day in days]
        self.journal.write(Batch(instants=instants))

    def prune(self, day):
        """All turns; how many."""
        after, turns = 0, 0
        while after is not None:
            after, turns = prune(self.journal, after, int(day * DAY_MS)), turns + 1
        return turns

    def firsts(self):
        return [row.first for row, _ in self.journal.history(10**6, 10**6, None, None)[0]][::-1]

    def rows(self):
        return [number for (number,) in self.journal._db.execute("SELECT id FROM jobs ORDER BY id")]

    def days(self):
        return [Instant.from_text(text).events.at * 1000 / DAY_MS for text in read_instants(self.folder)]


@pytest.fixture
def shelf(tmp_path):
    shelf = Shelf(tmp_path)
    yield shelf
    shelf.journal.close()


def test_old_jobs_are_removed_and_others_kept(shelf):
    old = shelf.lay([1, 2, 3])
    partly = shelf.lay([1, 12])
    waits = shelf.lay([1, None])
    unknown = shelf.lay([1], state=LiveJobState.UNKNOWN)
    failed = shelf.lay([2], state=LiveJobState.FAILED)
    young = shelf.lay([11], submitted_days=10.5)
    last = shelf.lay([1])
    assert shelf.prune(10) == 1
    assert shelf.firsts() == [partly, waits, unknown, young, last]
    assert shelf.rows() == [partly, partly + 1, waits, unknown, young, last]
    assert shelf.journal.next_job() == shelf.next
    assert [row.first for row, _ in shelf.journal.unfinished()] == [waits]
    assert shelf.journal.find_job(old + 1) is shelf.journal.find_job(failed) is None
    assert shelf.journal.find(7, f"k{old}") is None
    assert shelf.journal.find(7, f"k{partly}") == (partly, 2)
    shelf.prune(13)
    assert shelf.firsts() == [waits, unknown, last]
    shelf.lay([14])
    shelf.prune(20)
    assert shelf.firsts() == [waits, unknown, shelf.next - 1]


def test_truncated_journal_is_replayed_from_the_next_service_start(shelf):
    shelf.told(1, 2, 3)
    found = replay(read_instants(shelf.folder))
    assert (found.instants, found.starts, found.services, found.differs) == (0, 0, 0, "")
    shelf.prune(2.5)
    assert shelf.days() == [3]
    shelf.told(4)
    shelf.journal.close()
    shelf.journal = Journal(shelf.folder)
    shelf.told(5)
    assert shelf.days() == [3, 4, 5]


def test_unused_job_files_are_removed(tmp_path):
    asked = JobRequest(argv=("x",), array=Array((range(1, 5),)))
    jobs = new_jobs(Submission(1, ASKER, asked, "#!/bin/sh", {}, "/", 0))
    for number, job in enumerate(jobs):
        job.submission = replace(job.submission, script=f"#!/bin/sh\n{number}")
        job.shares, job.state = (NodeShare(f"n{number}", tuple(range(number + 1))),), LiveJobState.RUNNING
        assert put_files(tmp_path, files_of(job)) == {}
    runs, waits, over, young = jobs
    waits.state, over.state, young.state = LiveJobState.WAITING, LiveJobState.COMPLETED, LiveJobState.COMPLETED
    for job in (runs, waits, over):
        for file in files_of(job):
            os.utime(tmp_path / file.path, (0, 0))
    found = old_files(tmp_path, DAY_MS)
    assert sorted(found) == sorted(file.path for job in (runs, waits, over) for file in files_of(job))
    remove_files(tmp_path, unneeded_files([*found, "hosts/gone"], jobs))
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {file.path for job in (runs, young) for file in files_of(job)}
    assert old_files(tmp_path / "nowhere", DAY_MS) == []


def test_unreadable_journal_is_reported(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.lay([1.0])
    shelf.lay([1.0])
    shelf.journal.close()
    with pytest.raises(JournalError, match=str(tmp_path)):
        shelf.prune(9)
