"""Processes that do tasks: what came of each is known, and none outlives who wanted it."""

import os
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest
from kit import tasks
from kit.few_nodes import waited

from dardis.comparison.workers import Workers
from dardis.model.errors import DardisError, InputError


@pytest.fixture
def workers():
    with closing(Workers()) as made:
        yield made


def done(workers, task):
    """The task when it has ended."""
    while task.failure is None:
        workers.wait(10)
    return task


def is_gone(pid):
    """Whether that process is over, reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_worker_is_reused_unless_a_task_needs_its_own(workers, monkeypatch):
    monkeypatch.setenv("DARDIS_TEST", "here")
    first = done(workers, workers.submit(tasks.about)).result
    pid, server, in_its_session, *rest = first
    assert {pid, server}.isdisjoint({os.getpid(), os.getppid()})
    assert (in_its_session, rest) == (True, [False, str(Path.cwd())])
    assert done(workers, workers.submit(os.getenv, "DARDIS_TEST")).result == "here"
    assert done(workers, workers.submit(tasks.about)).result == first
    alone = done(workers, workers.submit(tasks.about, alone=True)).result[0]
    last = done(workers, workers.submit(tasks.about)).result
    assert len({pid, alone, last[0]}) == 3
    assert last[1] == server
    assert is_gone(pid)
    assert is_gone(alone)


@pytest.mark.parametrize(
    ("function", "arguments", "failure"),
    [
        (tasks.raises, (InputError("a", "b", "c"),), "a: b; expected c"),
        (tasks.raises, (MemoryError(),), "out of memory"),
        (tasks.raises, (KeyError("x"),), "KeyError: 'x'"),
        (tasks.ends, (3, "dardis: why"), "why"),
        (tasks.ends, (3,), "ended with exit status 3"),
        (tasks.ends, (-signal.SIGSEGV, "words"), "killed by SIGSEGV"),
        (tasks.kills_parent, (), "ended with exit status 255"),
        (sys.exit, ("dardis: no more",), "no more"),
    ],
)
def test_task_failure_is_one_line_and_the_next_task_runs(workers, function, arguments, failure):
    assert done(workers, workers.submit(function, *arguments)).failure == failure
    assert done(workers, workers.submit(os.getpid)).failure == ""


def test_a_task_under_way_is_interrupted_at_the_end(workers, tmp_path):
    task = workers.submit(tasks.waits, tmp_path / "b")
    waited((tmp_path / "b").exists)
    workers.close()
    assert (task.failure, (tmp_path / "b").read_text()) == (None, "interrupted")


def test_dead_idle_worker_gets_no_task(workers):
    before = done(workers, workers.submit(os.getpid)).result
    os.kill(before, signal.SIGKILL)
    waited(lambda: is_gone(before))
    assert done(workers, workers.submit(os.getpid)).result != before


def test_worker_start_failure_is_reported(workers, monkeypatch):
    monkeypatch.setattr("dardis.comparison.workers._CONTEXT.Process.start", lambda _: tasks.raises(EOFError()))
    with pytest.raises(DardisError, match="no process for runs: the process that starts them has ended"):
        workers.submit(os.getpid)
