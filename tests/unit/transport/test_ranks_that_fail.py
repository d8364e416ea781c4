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
from dardis.wire.effects import ALL_HOSTS, Send
from dardis.wire.messages import Ended, Later

comm = world()

class Machine:
    def handle(self, message, now):
        if comm.rank == int(sys.argv[1]) and message.job == 3:
            raise {error}
        return [Send(0, Later(comm.rank, np.array([message.job]), 1))]

def work():
    if comm.rank > 0:
        serve(comm, Machine())
        return 0
    hosts = MpiHosts(comm, Machine())
    for job in range(5):
        answers, _ = hosts.exchange([Send(ALL_HOSTS, Ended(job, 1))], now=job)
        assert [answer.host for answer in answers] == list(range(comm.size))
    hosts.close()
    print("all well")
    return 0

sys.exit(guarded(comm, work))
"""


def launch(tmp_path, ranks, failing, error):
    (tmp_path / "program.py").write_text(PROGRAM.replace("{error}", error))
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
