"""Real keepers, and what seldom happens."""

import os
import platform
import resource
import socket
import subprocess
import sys
import time

import pytest
from kit.keeper import Keeper, finish, lives, start
from kit.waiting import until

EXIT = {"x86_64": 60, "aarch64": 93}.get(platform.machine())
"""The number of the call that ends one thread."""
FIRST_THREAD_ENDS = f"""
import ctypes, sys, threading, time
def go():
    while True:
        open(sys.argv[1], "a").write("x"); time.sleep(0.02)
threading.Thread(target=go).start()
ctypes.CDLL(None).syscall({EXIT}, 0)
"""


def led(tmp_path, monkeypatch, code, *words):
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    return Keeper(tmp_path / "keeper", *words or ["--cgroups=none"])


def size(path):
    return path.stat().st_size if path.exists() else 0


@pytest.mark.skipif(EXIT is None, reason="the number of a call is known for some processors only")
@pytest.mark.parametrize(
    "mode", ["auto", pytest.param("v1", marks=pytest.mark.slow), pytest.param("none", marks=pytest.mark.slow)]
)
def test_process_without_its_first_thread_is_alive(tmp_path, mode):
    keeper = Keeper(tmp_path / "keeper", f"--cgroups={mode}")
    odd = [sys.executable, "-S", "-c", FIRST_THREAD_ENDS]
    try:
        asker = keeper.lead()
        asker.ask("lease", **{"from": 1, "ms": 1})
        runs = [
            start("1.1", tmp_path, *odd, f"{tmp_path}/a", walltime_ms=3000, grace_ms=200),
            start("2.1", tmp_path, *odd, f"{tmp_path}/b", lease=True),
            start("3.1", tmp_path, "sh", "-c", 'setsid "$0" "$@" & while ! [ -s c ]; do sleep 0.02; done',
                  *odd, f"{tmp_path}/c"),
        ]  # fmt: skip
        asker.ask("intend", runs=runs, lease_from=asker.now_ms, lease_ms=4000)
        asker.ask("go", runs=["1.1", "2.1", "3.1"])
        assert [asker.over(run)["why"] for run in ("3.1", "1.1", "2.1")] == ["exit", "walltime", "lease"]
        before = [size(tmp_path / name) for name in "abc"]
        assert all(before)
        time.sleep(0.2)
        assert [size(tmp_path / name) for name in "abc"] == before
    finally:
        finish(keeper)


SLOW_TO_BEGIN = """
import os, time
from dardis.live.keeper import child
begin = child._begin
child._begin = lambda *more: (time.sleep(float(os.environ.pop("SLOW", 0))), begin(*more))[1]
"""


def test_child_of_a_dead_keeper_begins_before_the_next_keeper_checks_or_never(tmp_path, monkeypatch):
    monkeypatch.setenv("SLOW", "1")
    keeper = led(tmp_path, monkeypatch, SLOW_TO_BEGIN)
    try:
        asker = keeper.lead()
        asker.start([start("1.1", tmp_path, "sh", "-c", f"echo >> {tmp_path}/ran; sleep 3")])
        keeper.kill()
        monkeypatch.delenv("SLOW")
        keeper.begin()
        asker = keeper.connect()
        told = asker.hello(2)["1.1"]
        asker.ask("forget", runs=["1.1"])
        time.sleep(2)
        assert (told["state"] == "running") == (tmp_path / "ran").exists()
    finally:
        finish(keeper)


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def test_connections_leave_file_descriptors_for_runs(tmp_path):
    words = [sys.executable, "-m", "dardis.live.keeper", str(tmp_path / "keeper"), "--foreground", "--cgroups=none"]
    with Keeper(tmp_path / "keeper", "--cgroups=none") as keeper:
        asker = keeper.lead()
        asker.start([start(f"{number}.1", tmp_path, "sleep", "100") for number in range(80)])
        pids = [record["pid"] for record in asker.hello().values()]
        until(lambda: len(list((tmp_path / "keeper" / "runs").iterdir())) == len(pids))
        keeper.kill()
        said = subprocess.run(words, preexec_fn=few_files, capture_output=True, timeout=20, check=False)
        assert b"Too many open files" in said.stderr
        assert all(map(lives, pids))
        keeper.begin()
        asker = keeper.connect()
        assert {record["state"] for record in asker.hello(2).values()} == {"running"}
        resource.prlimit(keeper.process.pid, resource.RLIMIT_NOFILE, (120, 120))
        many = []
        for _ in range(60):
            many.append(socket.socket(socket.AF_UNIX))
            many[-1].connect(str(tmp_path / "keeper" / "keeper.sock"))
        asker.ask("end", runs=["1.1"])
        for one in many:
            one.close()
        asker.over("1.1")
