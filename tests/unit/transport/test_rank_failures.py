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

HEAD = """
import sys
import numpy as np
from dardis.model.errors import InputError
from dardis.node_manager import RelayingHost
from dardis.transport.mpi_transport import MpiHosts, run_or_abort, serve, world
from dardis.wire.effects import Send, SendAll, SendToManager
from dardis.wire.messages import CapacityFreed, FinishedAck, PublishRequest, Refused, Relay, UnitsEnded

comm, failing, none = world(), int(sys.argv[1]), np.zeros(0, dtype=np.int64)
"""
RAISING = """
class Machine:
    def handle(self, message, now):
        if comm.rank == failing and message.job == 3:
            raise {error}
        return [SendToManager(0, CapacityFreed(comm.rank, np.array([message.job]), 1))]

def ask(hosts):
    for job in range(5):
        answers, _ = hosts.exchange([SendAll(UnitsEnded(job, 1))], now=job)
        assert [answer.host for answer in answers] == list(range(comm.size))
"""
REFUSING = """
class Pool:
    host, incarnation = comm.rank, 0

    def handle(self, message, now):
        if isinstance(message, FinishedAck):
            return [SendToManager(1, Refused(message.job, 1, comm.rank))] if comm.rank == failing else []
        return [SendToManager(0, CapacityFreed(comm.rank, none, 0))]

def Machine():
    return RelayingHost(Pool())

def ask(hosts):
    hosts.exchange([Send(host, FinishedAck(7, 1)) for host in range(1, comm.size)], now=1)
    question = Relay(1, -1, -1, 0, comm.size, 2, 0, 0, 0, none, [], PublishRequest())
    hosts._outbox.put(0, FinishedAck(7, 1), 1)  # as a parcel of its own, too
    hosts.exchange([Send(0, question)], now=2)
"""
TAIL = """
def work():
    if comm.rank > 0:
        serve(comm, Machine())
        return 0
    hosts = MpiHosts(comm, Machine())
    ask(hosts)
    hosts.close()
    print("all well")
    return 0

sys.exit(run_or_abort(comm, work))
"""
NOBODY, SLOW = -1, pytest.mark.slow
DEFECT = RAISING.replace("{error}", "ZeroDivisionError('broken here')")
MISTAKE = RAISING.replace("{error}", "InputError('file.toml', 'is odd', 'an even one')")


@pytest.mark.parametrize(
    ("program", "rank", "status", "said"),
    [
        (DEFECT, 1, 1, ["ZeroDivisionError: broken here", "Traceback"]),
        *(pytest.param(DEFECT, rank, 1, ["ZeroDivisionError: broken here"], marks=SLOW) for rank in (0, 2)),
        pytest.param(DEFECT, NOBODY, 0, [], marks=SLOW),
        (MISTAKE, 1, 2, ["file.toml: is odd; expected an even one"]),
        (REFUSING, NOBODY, 0, []),
        (REFUSING, 2, 1, ["answered by", "Refused(job=7"]),
        *(pytest.param(REFUSING, rank, 1, ["answered by", "Refused(job=7"], marks=SLOW) for rank in (0, 1)),
    ],
)
def test_failing_rank_prints_its_error_and_ends_all_ranks(tmp_path, program, rank, status, said):
    (tmp_path / "program.py").write_text(HEAD + program + TAIL)
    done = subprocess.run(
        [str(MPIRUN), "-n", "3", sys.executable, str(tmp_path / "program.py"), str(rank)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert ("all well" in done.stdout) == (status == 0)
    assert all(line in done.stderr for line in said), done.stderr
    assert status == 0 or f"rank {rank}: " in done.stderr
    assert status == 1 or "Traceback" not in done.stderr
