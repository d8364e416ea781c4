"""Functions in jobs of a real service: values, exceptions, dead workers, cancellation, and the client of jobs."""

import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor

import pytest
from kit.live import Live
from kit.waiting import until

from dardis.live import Client, Executor
from dardis.model.errors import InputError


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    live = Live(tmp_path_factory.mktemp("executor"))
    try:
        yield live.start()
    finally:
        live.end()


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
    monkeypatch.setattr("dardis.live.executor.LOOK_S", 0.1)
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Executor(2, folder=live.folder) as executor, pytest.raises(BrokenExecutor, match="no worker could start: "):
        executor.submit(int).result(60)


def test_waiting_calls_can_be_cancelled(live):
    executor = Executor(folder=live.folder)
    first = executor.submit(time.sleep, 0.5)
    until(first.running)
    others = [executor.submit(time.sleep, 60) for _ in range(3)]
    assert others[0].cancel()
    executor.shutdown(cancel_futures=True)
    assert first.result(1) is None
    assert all(one.cancelled() for one in others)


def test_workers_that_cannot_start_break_the_executor(live):
    with pytest.raises(InputError, match="99 cores"):
        Executor(folder=live.folder, cpus=99).submit(int)
    with pytest.raises(InputError, match="workers, retries"):
        Executor(0, folder=live.folder)


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
    with pytest.raises(InputError, match="no command"):
        client.submit("")
