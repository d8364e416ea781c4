"""`launch/mpirun`: its ranks end with it, whoever does not is killed, and the exit status says what happened."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from kit.keeper import lives
from kit.waiting import until

LAUNCH = Path(__file__).resolve().parents[3] / "launch"
PATIENCE_S = 2
MPIRUN = f"""#!{sys.executable}
import os, signal, subprocess, sys, time
from pathlib import Path

def end(number, frame):
    if "deaf" not in sys.argv:
        time.sleep(0.3)
        Path("tidied").touch()
        sys.exit(1)

if "done" in sys.argv:
    sys.exit(7)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, end)
if "rank" not in sys.argv:
    subprocess.Popen([sys.executable, __file__, "rank", *sys.argv[1:]])
Path("rank" if "rank" in sys.argv else "mpirun").write_text(str(os.getpid()))
while "deaf" in sys.argv or "rank" not in sys.argv:
    time.sleep(0.05)
"""


@pytest.fixture
def checkout(tmp_path):
    """A folder with `launch/mpirun`, and a launcher in `bin/` that starts a rank and may be deaf to signals."""
    (tmp_path / "launch").mkdir()
    shutil.copy(LAUNCH / "mpirun", tmp_path / "launch")
    launcher = tmp_path / "bin" / "mpirun"
    launcher.parent.mkdir()
    launcher.write_text(MPIRUN)
    launcher.chmod(0o755)
    return tmp_path


@contextmanager
def started(checkout, *arguments):
    environment = os.environ | {
        "PATH": f"{checkout}/bin:{os.environ['PATH']}", "DARDIS_PATIENCE_S": str(PATIENCE_S)
    }  # fmt: skip
    with subprocess.Popen(
        [str(checkout / "launch" / "mpirun"), *arguments], cwd=checkout, env=environment, stdout=subprocess.PIPE
    ) as process:
        yield process


def pid_in(file):
    """What a process has written down, as soon as it has."""
    until(lambda: file.exists() and file.read_text())
    return int(file.read_text())


def test_exit_status_is_passed_on(checkout):
    with started(checkout, "done") as process:
        assert process.wait(30) == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_mpirun_waits_for_ranks_to_end(checkout, number):
    with started(checkout) as process:
        pid_in(checkout / "mpirun")
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    assert (checkout / "tidied").exists()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are found in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_ranks_that_do_not_end_are_killed(checkout, number):
    with started(checkout, "deaf") as process:
        pids = [pid_in(checkout / name) for name in ("mpirun", "rank")]
        begun = time.monotonic()
        process.send_signal(number)
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert time.monotonic() - begun > PATIENCE_S - 1  # whole seconds are counted
        assert process.stdout.read() == b"", "nobody holds the pipe"
    until(lambda: not any(map(lives, pids)))
