"""Processes that are forked for runs: how each ended is known, and none outlives who wanted it."""

import json
import os
import signal
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from kit.few_nodes import waited

from dardis.comparison import nursery as nursery_module
from dardis.comparison.nursery import Nursery
from dardis.model.errors import DardisError

WORKER = """
import os, sys, time
from dardis.cli import worker

def run(arguments):
    if arguments[0] == "end":
        sys.exit(arguments[1])
    if arguments[0] == "say":
        print(os.getppid(), os.getsid(0) == os.getpid(), os.environ["DARDIS_PROGRESS_FILE"], file=sys.stderr)
    if arguments[0] == "wait":
        time.sleep(60)
    return 0

worker.run, worker._load = run, lambda: None
sys.exit(worker.main())
"""


@pytest.fixture
def nursery(monkeypatch):
    monkeypatch.setattr(nursery_module, "WORKER", (sys.executable, "-c", WORKER))
    with closing(Nursery()) as made:
        yield made


@pytest.fixture
def begin(nursery):
    """Start a process with commands; itself, what it answers, what it says."""
    opened = []

    def start(*commands):
        (told, commanding), (answers, telling) = os.pipe(), os.pipe()
        said = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
        opened.extend([os.fdopen(answers), said])
        process = nursery.start(Path("here"), (told, telling, said.fileno()))
        os.close(told)
        os.close(telling)
        os.write(commanding, b"".join(json.dumps(one).encode() + b"\n" for one in commands))
        os.close(commanding)
        return process, opened[-2], said

    yield start
    for one in opened:
        one.close()


def is_gone(pid):
    """Whether that process is over, reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_each_is_forked_from_one_in_a_session_of_its_own(begin):
    told = set()
    for _ in range(2):
        process, answers, said = begin(["say"], ["say"])
        assert (answers.read(), process.wait()) == ("0\n0\n", 0)
        said.seek(0)
        told |= set(said.read().decode().splitlines())
    (line,) = told
    parent, *rest = line.split()
    assert int(parent) not in {os.getpid(), os.getppid()}
    assert rest == ["True", "here"]


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_ends_one_and_not_the_next(begin, which):
    (first, _, _), (second, _, _) = begin(["wait"]), begin(["wait"])
    first.send_signal(which)
    assert first.wait() == -which
    assert second.poll() is None
    second.send_signal(signal.SIGINT)
    assert second.wait() == 130


def test_an_answer_for_which_nobody_waited_is_taken_for_no_other(begin, nursery):
    """An interrupt comes between question and answer."""
    process, answers, _ = begin(["end", 4])
    assert answers.read() == ""
    waited(lambda: is_gone(process._pid))
    nursery._line.send(json.dumps([0, process._pid]).encode())
    assert process.poll() == 4


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_all_end_with_the_nursery(begin, nursery, how):
    first, second = begin(["wait"])[0], begin(["wait"])[0]
    if how == "closed":
        nursery.close()
    else:
        nursery._process.kill()
    waited(lambda: is_gone(first._pid) and is_gone(second._pid))
    if how == "killed":
        assert [first.wait(), second.wait()] == [-signal.SIGKILL] * 2
        assert nursery.is_gone
        with pytest.raises(DardisError, match="no process for runs: killed by SIGKILL"):
            begin()


def test_why_none_can_be_started_is_told(monkeypatch):
    program = "import sys; sys.exit('dardis: out of memory')"
    monkeypatch.setattr(nursery_module, "WORKER", (sys.executable, "-c", program))
    with closing(Nursery()) as broken, pytest.raises(DardisError, match="no process for runs: out of memory"):
        broken.start(Path("here"), (0, 1, 2))
