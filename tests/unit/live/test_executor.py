"""Functions in jobs of a real service: values, exceptions, dead workers, cancellation, and the client of jobs."""

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, wait
from contextlib import suppress

import pytest
from kit.waiting import until

from dardis.live import Client, Executor
from dardis.model.errors import InputError


def test_functions_run_in_jobs_and_return_values(live):
    with Executor(2, folder=live.folder, cpus=2) as executor:
        there = executor.submit(os.getpid).result(60)
        assert there != os.getpid()
        assert list(executor.map(lambda x, y: x * y, range(200), range(200))) == [x * x for x in range(200)]
        assert executor.submit(lambda *, a: os.environ["DARDIS_CPUS"] + a, a="!").result(60) == "2!"
        jobs = Client(live.folder).jobs()
        assert [job["name"] for job in jobs] == ["executor"] * 2
    until(lambda: not Client(live.folder).jobs())


def test_exceptions_arrive_with_their_traceback(live):
    def fails():
        raise ValueError("no such value")

    class Local(Exception):  # noqa: N818 (as users write it)
        def __init__(self):
            super().__init__(threading.Lock())

    def unpicklable():
        raise Local

    with Executor(folder=live.folder) as executor:
        with pytest.raises(ValueError, match="no such value") as caught:
            executor.submit(fails).result(60)
        assert "in fails" in str(caught.value.__cause__)
        with pytest.raises(RuntimeError, match="Local: "):
            executor.submit(unpicklable).result(60)
        with pytest.raises(InputError, match=r"submit: .*can't be pickled") as refused:
            executor.submit(threading.Lock().acquire)
        assert "\n" not in str(refused.value)
        with pytest.raises(SystemExit):
            executor.submit(exit, 3).result(60)
        assert executor.submit(int, "7").result(60) == 7
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(int)


def test_dead_worker_breaks_its_call_or_the_call_runs_again(live, tmp_path):
    def dies(place, times):
        with open(place, "a") as file:  # noqa: PTH123
            file.write("x")
        if os.path.getsize(place) <= times:  # noqa: PTH202
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"

    with Executor(folder=live.folder) as executor:
        with pytest.raises(BrokenExecutor, match=r"the worker \(job \d+\) died"):
            executor.submit(dies, tmp_path / "a", 1).result(60)
        assert executor.submit(int, "7").result(60) == 7, "another worker takes its place"
    with Executor(folder=live.folder, retries=2) as executor:
        assert executor.submit(dies, tmp_path / "b", 2).result(60) == "alive"
        with pytest.raises(BrokenExecutor):
            executor.submit(dies, tmp_path / "c", 9).result(60)


def test_calls_do_not_wait_behind_a_long_one_while_a_worker_is_idle(live, tmp_path):
    def waits_for(place):
        until(place.exists)
        return "long"

    with Executor(2, folder=live.folder) as executor:
        assert list(executor.map(abs, range(100))) == list(range(100))
        long = executor.submit(waits_for, tmp_path / "go")
        assert list(executor.map(abs, range(100))) == list(range(100))
        assert not long.done()
        (tmp_path / "go").touch()
        assert long.result(60) == "long"


def test_large_calls_and_results_pass_both_ways(live):
    with Executor(2, folder=live.folder) as executor:
        sizes = list(executor.map(lambda data: data[::-1], [bytes(3_000_000)] * 8))
    assert [len(data) for data in sizes] == [3_000_000] * 8


def test_workers_that_end_before_they_connect_break_the_executor(live, monkeypatch):
    monkeypatch.setattr("dardis.live.worker_pool.LOOK_S", 0.1)
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Executor(2, folder=live.folder) as executor, pytest.raises(BrokenExecutor, match="no worker could start: "):
        executor.submit(int).result(60)


def test_waiting_calls_can_be_cancelled(live, tmp_path):
    def waits_for(place):
        until(place.exists)
        return "done"

    executor = Executor(folder=live.folder)
    first = executor.submit(waits_for, tmp_path / "go")
    until(first.running)
    others = [executor.submit(time.sleep, 60) for _ in range(3)]
    assert others[0].cancel()
    assert wait(others[:1], 30).done
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(one.cancelled() for one in others)
    (tmp_path / "go").touch()
    executor.shutdown()
    assert first.result(1) == "done"


def test_idle_workers_at_their_walltime_are_replaced(live):
    with Executor(4, folder=live.folder, time="2s", grace=1) as executor:
        first = executor.submit(os.getpid).result(60)
        until(lambda: not Client(live.folder).jobs() or all(job["id"] > 4 for job in Client(live.folder).jobs()))
        time.sleep(3)
        assert executor.submit(os.getpid).result(60) != first


def test_callbacks_may_take_locks_that_others_hold_while_they_submit(live, monkeypatch):
    monkeypatch.setattr("dardis.live.worker_pool.LOOK_S", 0.1)
    monkeypatch.setattr("sys.executable", "/bin/false")
    lock, refused = threading.Lock(), threading.Event()

    def take(_):
        with lock:
            refused.set()

    executor = Executor(folder=live.folder)
    executor.submit(int).add_done_callback(take)
    while not refused.is_set():
        with lock, suppress(BrokenExecutor):
            executor.submit(int)
        time.sleep(0.001)
    executor.shutdown()


def test_workers_that_cannot_start_break_the_executor(live):
    with pytest.raises(InputError, match="99 cores"):
        Executor(folder=live.folder, cpus=99).submit(int)
    for refused in ({"workers": 0}, {"retries": -1}, {"array": "0-3"}, {"nodes": 2}, {"requeue": True}):
        with pytest.raises(InputError, match="worker"):
            Executor(folder=live.folder, **refused)


def test_exceptions_that_do_not_survive_pickling_keep_name_and_traceback(live):
    class TwoArguments(Exception):  # noqa: N818
        def __init__(self, code, place):
            super().__init__(f"{code} at {place}")

    @dataclasses.dataclass(frozen=True)
    class Frozen(Exception):  # noqa: N818
        pass

    class NoText(Exception):  # noqa: N818
        def __str__(self):
            raise ValueError

    class Ends:
        def __reduce__(self):
            return sys.exit, (3,)

    def raises(error):
        raise error

    def closes():
        sys.stdout.close()

    with Executor(folder=live.folder) as executor:
        for call, kind, text in (
            (lambda: raises(TwoArguments(5, "disk")), RuntimeError, "TwoArguments: 5 at disk"),
            (lambda: raises(Frozen()), RuntimeError, "Frozen"),
            (lambda: raises(NoText(threading.Lock())), RuntimeError, "NoText"),
        ):
            with pytest.raises(kind, match=text) as caught:
                executor.submit(call).result(60)
            assert "in raises" in str(caught.value.__cause__)
        with pytest.raises(SystemExit):
            executor.submit(Ends).result(60)
        executor.submit(closes).result(60)
        assert executor.submit(int, "7").result(60) == 7


def test_results_belong_to_their_calls_if_a_call_forks(live):
    def forks(how):
        if child := os.fork():
            return os.waitpid(child, 0)[1]
        return how()

    with Executor(folder=live.folder) as executor:
        for how, status in ((lambda: 1, 0), (lambda: sys.exit(3), 3 << 8)):
            first, second = executor.submit(forks, how), executor.submit(int, "7")
            assert (first.result(60), second.result(60)) == (status, 7)


def test_callbacks_cannot_stop_the_executor(live, capsys):
    with Executor(folder=live.folder) as executor:
        executor.submit(int).add_done_callback(lambda _: sys.exit(1))
        assert executor.submit(int, "7").result(60) == 7
    assert "SystemExit" in capsys.readouterr().err


def test_calls_for_idle_workers_that_died_run_elsewhere(live):
    with Executor(2, folder=live.folder) as executor:
        for _ in range(3):
            os.kill(executor.submit(os.getpid).result(60), signal.SIGKILL)
            assert executor.submit(int, "7").result(60) == 7


def test_shutdown_does_not_wait_for_a_worker_that_has_no_room(live):
    client = Client(live.folder)
    numbers = client.submit("sleep 60", options={"array": "0-3", "cpus": 4, "output": "/dev/null"})
    until(lambda: all(client.job(number)["state"] == "running" for number in numbers))
    executor = Executor(2, folder=live.folder)
    calls = [executor.submit(int) for _ in range(3)]
    assert calls[0].cancel()
    assert wait(calls[:1], 10).done
    executor.shutdown(cancel_futures=True)
    assert all(call.cancelled() for call in calls)
    client.cancel(numbers)
    until(lambda: not client.jobs())


def test_silent_peers_hold_nobody_up(live):
    with socket.socket(socket.AF_UNIX) as peer, Executor(folder=live.folder) as executor:
        assert executor.submit(int, "7").result(60) == 7
        peer.connect(executor._pool._listener.address)
        os.kill(executor.submit(os.getpid).result(60), signal.SIGKILL)
        assert executor.submit(int, "9").result(60) == 9, "a new worker connects"


def test_forked_process_leaves_the_executor_alone(live):
    with Executor(folder=live.folder) as executor:
        assert executor.submit(int, "7").result(60) == 7
        if not (child := os.fork()):
            try:
                executor.submit(int)
            except BrokenExecutor:
                os._exit(5)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        assert executor.submit(int, "8").result(60) == 8


PROGRAM = """
import os, sys, time
from pathlib import Path
from dardis.live import Executor
def call(place, seconds):
    time.sleep(seconds)
    Path(place).touch()
executor = Executor(folder=sys.argv[1])
calls = [executor.submit(call, f"{sys.argv[2]}/{n}", float(sys.argv[3])) for n in range(3)]
"""


def started_program(live, tmp_path, seconds, more):
    (tmp_path / "p.py").write_text(PROGRAM + more)
    return subprocess.Popen([sys.executable, tmp_path / "p.py", live.folder, tmp_path, str(seconds)])


@pytest.mark.parametrize("more", ["", "executor.shutdown(wait=False)", "del executor"])
def test_calls_run_although_the_program_ends(live, tmp_path, more):
    assert started_program(live, tmp_path, 0.2, more).wait(60) == 0
    assert all((tmp_path / str(n)).exists() for n in range(3))
    until(lambda: not Client(live.folder).jobs())


def test_workers_end_with_a_killed_program(live, tmp_path):
    client = Client(live.folder)
    program = started_program(live, tmp_path, 600, "")
    until(lambda: [job["state"] for job in client.jobs()] == ["running"])
    program.kill()
    program.wait()
    until(lambda: not client.jobs())
    assert not (tmp_path / "0").exists()


def test_workers_have_the_search_path_of_the_program(live, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/json.py").write_text("raise RuntimeError\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.syspath_prepend(str(tmp_path))
    with Executor(folder=live.folder) as executor:
        assert executor.submit(lambda: sys.path).result(60) == sys.path
        assert executor.submit(lambda: os.environ.get("PYTHONPATH")).result(60) == os.environ.get("PYTHONPATH")


def test_client_submits_once_waits_and_cancels(live):
    client = Client(live.folder)
    numbers = client.submit("sh -c 'exit 3'", key="once", options={"name": "three", "output": "/dev/null"})
    assert client.submit("true", key="once") == numbers
    (job,) = client.wait(numbers)
    assert (job["name"], job["code"]) == ("three", 3)
    (number,) = client.submit(["sleep", "60"], options={"output": "/dev/null", "time": "5m"})
    with pytest.raises(TimeoutError, match=f"job {number} is"):
        client.wait(number, timeout=0.2)
    seen = []
    events = client.events()
    threading.Timer(0.3, client.cancel, [number]).start()
    for event in events:
        seen.append((event["id"], event["state"]))
        if event["id"] == number:
            break
    assert seen[-1] == (number, "cancelled")
    for options, line in (({"colour": "red"}, "colour: is no option"), ({"time": "soon"}, "time: 'soon'")):
        with pytest.raises(InputError, match=line):
            client.submit("true", options=options)
    with pytest.raises(InputError, match="closed quotes"):
        client.submit("echo 'a")
    with pytest.raises(InputError, match="no command"):
        client.submit("")
