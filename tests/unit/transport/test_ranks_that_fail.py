"""What goes wrong on one rank ends all ranks, with that rank's message and without a hang."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPIRUN = Path(__file__).resolve().parents[3] / "launch" / "mpirun"
pytestmark = pytest.mark.skipif(
    not (Path(sys.executable).parent / "mpirun").exists() and shutil.which("mpirun") is None, reason="needs mpirun"
)

PROGRAM = """
import sys
import numpy as np
from dardis.model.errors import InputError
from dardis.transport.mpi import MpiHosts, guarded, serve, world
from dardis.wire.effects import SendAll, Tell
from dardis.wire.messages import Ended, Later

comm = world()

class Machine:
    def handle(self, message, now):
        if comm.rank == int(sys.argv[1]) and message.job == 3:
            raise {error}
        return [Tell(0, Later(comm.rank, np.array([message.job]), 1))]

def work():
    if comm.rank > 0:
        serve(comm, Machine())
        return 0
    hosts = MpiHosts(comm, Machine())
    for job in range(5):
        answers, _ = hosts.exchange([SendAll(Ended(job, 1))], now=job)
        assert [answer.host for answer in answers] == list(range(comm.size))
    hosts.close()
    print("all well")
    return 0

sys.exit(guarded(comm, work))
"""


REFUSING = """
import sys
import numpy as np
from dardis.node_manager import RelayingHost
from dardis.transport.mpi import MpiHosts, guarded, serve, world
from dardis.wire.effects import Send, Tell
from dardis.wire.messages import Later, Look, Noted, Refused, Relay

comm = world()

class Pool:
    host, incarnation = comm.rank, 0

    def handle(self, message, now):
        if isinstance(message, Noted):
            return [Tell(1, Refused(message.job, 1, comm.rank))] if comm.rank == int(sys.argv[1]) else []
        return [Tell(0, Later(comm.rank, np.zeros(0, dtype=np.int64), 0))]

def work():
    if comm.rank > 0:
        serve(comm, RelayingHost(Pool()))
        return 0
    hosts = MpiHosts(comm, RelayingHost(Pool()))
    hosts.exchange([Send(host, Noted(7, 1)) for host in range(1, comm.size)], now=1)
    none = np.zeros(0, dtype=np.int64)
    question = Relay(1, -1, -1, 0, comm.size, 2, 0, 0, 0, none, [], Look())
    hosts._outbox.put(0, Noted(7, 1), 1)  # as a parcel of its own, too
    hosts.exchange([Send(0, question)], now=2)
    hosts.close()
    print("all well")
    return 0

sys.exit(guarded(comm, work))
"""


def launch(tmp_path, ranks, failing, error):
    return launched(tmp_path, ranks, failing, PROGRAM.replace("{error}", error))


def launched(tmp_path, ranks, failing, program):
    (tmp_path / "program.py").write_text(program)
    return subprocess.run(
        [str(MPIRUN), "-n", str(ranks), sys.executable, str(tmp_path / "program.py"), str(failing)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_no_failure(tmp_path):
    done = launch(tmp_path, 3, -1, "AssertionError")
    assert done.returncode == 0
    assert "all well" in done.stdout


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_defect_on_any_rank(tmp_path, rank):
    done = launch(tmp_path, 3, rank, "ZeroDivisionError('broken here')")
    assert done.returncode == 1
    assert f"dardis: rank {rank}: ZeroDivisionError: broken here" in done.stderr
    assert "all well" not in done.stdout


def test_a_mistake_on_a_rank_has_its_own_status_and_no_traceback(tmp_path):
    done = launch(tmp_path, 2, 1, "InputError('file.toml', 'is odd', 'an even one')")
    assert done.returncode == 2
    assert "dardis: rank 1: file.toml: is odd; expected an even one" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("rank", [-1, 0, 1, 2])
def test_who_answers_what_nobody_answers_is_heard_of_though_it_came_with_a_question(tmp_path, rank):
    done = launched(tmp_path, 3, rank, REFUSING)
    assert done.returncode == (1 if rank >= 0 else 0)
    assert ("all well" in done.stdout) == (rank < 0)
    if rank >= 0:
        assert f"rank {rank}: " in done.stderr
        assert "answered by" in done.stderr
        assert "Refused(job=7" in done.stderr
