"""Who asks the service: which folder, what happens where nobody answers, and where one goes and another comes."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest
from kit.live_service import job, served

from dardis.cli.main import run
from dardis.live import client as client_module
from dardis.live.client import Client, place_of
from dardis.live.output import copied, path_of
from dardis.model.errors import DardisError, InputError


@pytest.mark.parametrize(
    ("named", "environment", "place"),
    [
        ("/a/../b", {"DARDIS_FOLDER": "/c"}, "/b"),
        (None, {"DARDIS_FOLDER": "/c", "XDG_STATE_HOME": "/d"}, "/c"),
        (None, {"XDG_STATE_HOME": "/d"}, "/d/dardis"),
        (None, {"XDG_STATE_HOME": "d"}, str(Path.home() / ".local/state/dardis")),
        (None, {"DARDIS_FOLDER": ""}, str(Path.home() / ".local/state/dardis")),
    ],
)
def test_which_folder_is_meant(named, environment, place):
    assert place_of(named and Path(named), environment) == Path(place)


def test_a_folder_that_is_named_from_here_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert place_of(Path("f"), {}) == tmp_path / "f"


def test_a_path_that_is_too_long_for_a_socket(tmp_path):
    room = 107 - len("/gateway.sock")
    fits = Path("/" + "x" * (room - 1))
    Client(fits)
    with pytest.raises(InputError, match=f"^{fits}x: too long for a socket by 1 bytes; expected at most {room} bytes$"):
        Client(fits.with_name(fits.name + "x"))


def test_one_that_has_died_is_asked_again_for_a_while(tmp_path):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "gateway.sock"))

    def serve():
        time.sleep(0.3)
        (tmp_path / "gateway.sock").unlink()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "gateway.sock"))
            listener.listen()
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + b'{"nodes": [1]}')

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        # In between nothing may be there for a moment, as when one begins anew.
        assert Client(tmp_path).get("/nodes") == {"nodes": [1]}
    finally:
        thread.join()


@pytest.mark.parametrize("left", ["no folder", "nothing", "a stale socket", "a file"])
def test_where_no_service_is(tmp_path, monkeypatch, left):
    monkeypatch.setattr(client_module, "AGAIN_S", 0.2)
    folder = tmp_path / "f"
    if left != "no folder":
        folder.mkdir()
    if left == "a stale socket":
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(folder / "gateway.sock"))
    elif left == "a file":
        (folder / "gateway.sock").touch()
    with pytest.raises(InputError) as told:
        Client(folder).get("/nodes")
    line = str(told.value)
    assert line.startswith(f"{folder}: " + ("there is no such folder" if left == "no folder" else "no service answers"))
    assert line.endswith(f"expected one that was started: dardis serve --folder {folder}")
    assert told.value.exit_status == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may ask everybody")
def test_a_folder_that_is_somebody_elses(tmp_path):
    with served(tmp_path):
        tmp_path.chmod(0)
        try:
            with pytest.raises(InputError, match="Permission denied"):
                Client(tmp_path).get("/nodes")
        finally:
            tmp_path.chmod(0o700)


@pytest.mark.parametrize(("status", "exit_status"), [(400, 2), (403, 2), (404, 2), (409, 1), (500, 1), (503, 1)])
def test_whose_fault_a_refusal_is(tmp_path, status, exit_status):
    with served(tmp_path) as fake:
        fake.refuses = status, "one\nline"
        with pytest.raises(DardisError, match=r"^one line$") as told:
            Client(tmp_path).get("/nodes")
    assert told.value.exit_status == exit_status


@pytest.mark.parametrize("answer", [b"no JSON", b"[1]"])
def test_an_answer_that_makes_no_sense(tmp_path, answer):
    with served(tmp_path) as fake:
        fake.answer = lambda *_: (200, answer)
        with pytest.raises(DardisError, match=r"the service's answer \(200\) is no JSON object"):
            Client(tmp_path).get("/nodes")


def test_what_got_no_answer_is_asked_again_with_the_same_key(tmp_path):
    with served(tmp_path) as fake:
        fake.breaks = 2
        answer = Client(tmp_path).submit({"key": "k", "jobs": {"array": None, "name": "x"}})
        assert answer["ids"] == [12]
        assert [body["key"] for _, _, body in fake.asked] == ["k", "k", "k"]
        assert list(fake.jobs) == [12]


def test_a_service_that_comes_back_is_waited_for(tmp_path):
    """The first one breaks off and is gone; the next one is there after a while, and has another socket."""
    again = threading.Event()

    def later():
        again.wait(10)
        time.sleep(0.3)
        with served(tmp_path, job(5, "completed")):
            done.wait(10)

    done = threading.Event()
    thread = threading.Thread(target=later)
    thread.start()
    try:
        with served(tmp_path) as fake:
            fake.add(job(5, "running"))
            fake.breaks = 1
            asked = threading.Thread(target=lambda: found.append(Client(tmp_path).ended(5)))
            found: list[dict] = []
            asked.start()
            while not fake.asked:
                time.sleep(0.01)
            fake.breaks = 1_000_000
        again.set()
        asked.join(20)
        assert found[0]["state"] == "completed"
    finally:
        done.set()
        again.set()
        thread.join()


def test_who_waits_for_a_job_waits_for_its_service_for_longer(tmp_path, monkeypatch):
    """It is stopped, so that there is no socket, for longer than others wait."""
    monkeypatch.setattr(client_module, "AGAIN_S", 0.1)
    with served(tmp_path) as fake:
        fake.add(job(5, "running"))
        found: list[dict] = []
        asked = threading.Thread(target=lambda: found.append(Client(tmp_path).ended(5)))
        asked.start()
        while not fake.asked:
            time.sleep(0.01)
    (tmp_path / "gateway.sock").unlink()
    time.sleep(0.5)
    with served(tmp_path, job(5, "completed")):
        asked.join(20)
    assert found[0]["state"] == "completed"


def test_who_waits_for_a_job_whose_service_stays_away_knows_nothing_of_its_end(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(client_module, "AWAY_S", 0.2)
    with served(tmp_path) as fake:
        fake.add(job(5, "running"))
        fake.breaks = 1_000_000
        assert run(["wait", "--folder", str(tmp_path), "5"]) == 125
    assert "the service ended before it answered" in capsys.readouterr().err


def test_a_service_that_does_not_come_back_is_no_mistake_of_who_asks(tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "AGAIN_S", 0.2)
    with served(tmp_path) as fake:
        fake.breaks = 1_000_000
        with pytest.raises(DardisError, match=f"^{tmp_path}: the service ended before it answered") as told:
            Client(tmp_path).get("/nodes")
        assert told.value.exit_status == 1
        assert len(fake.asked) > 1
        fake.asked.clear()
        with pytest.raises(DardisError, match="ended before it answered"):
            Client(tmp_path).post("/stop", {"kill": True}, again=False)
        assert len(fake.asked) == 1


def test_a_service_that_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "ANSWER_S", 0.2)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "gateway.sock"))
        deaf.listen()
        with pytest.raises(DardisError, match=f"^{tmp_path}: the service gives no answer$"):
            Client(tmp_path).get("/nodes")


def test_it_asks_until_the_job_is_over(tmp_path):
    with served(tmp_path) as fake:
        fake.add(job(3, "running"))
        answers = iter([job(3, "running"), job(3, "running"), job(3, "completed")])
        fake.answer = lambda *_: (200, next(answers))
        assert Client(tmp_path).ended(3)["state"] == "completed"
        assert [path for _, path, _ in fake.asked] == ["/jobs/3/wait?timeout=30"] * 3


# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "path", "error"),
    [
        ({"cwd": "/w"}, "/w/dardis-3.out", "/w/dardis-3.out"),
        ({"cwd": "/w", "chdir": "/x", "output": "%A_%a", "error": "e%x", "array": 2, "index": 9}, "/x/2_9", "/x/etrue"),
        ({"cwd": "/w", "chdir": "x", "output": "/abs/%u"}, "/abs/me", "/w/x/dardis-3.out"),
    ],
)
def test_where_a_job_has_written(more, path, error):
    told = job(3, "running", **more)
    assert (str(path_of(told, error=False)), str(path_of(told, error=True))) == (path, error)


def test_output_is_followed_until_the_job_is_over(tmp_path):
    path = tmp_path / "out"
    with served(tmp_path) as fake:
        fake.add(job(3, "waiting"))
        found = copied(Client(tmp_path), fake.jobs[3].copy(), path, follow=True)
        blocks = []
        thread = threading.Thread(target=lambda: blocks.extend(found))
        thread.start()
        time.sleep(0.3)
        with path.open("wb", buffering=0) as file:
            file.write(b"one\n")
            while not blocks:
                time.sleep(0.01)
            file.write(b"two\n")
            fake.add(job(3, "completed"))
        thread.join(20)
        assert b"".join(blocks) == b"one\ntwo\n"


@pytest.mark.parametrize(("state", "follow"), [("waiting", False), ("running", False), ("completed", True)])
def test_output_that_is_not_there(tmp_path, state, follow):
    with served(tmp_path), pytest.raises(DardisError, match=f"/none: not there; job 3 is {state}$") as told:
        list(copied(Client(tmp_path), job(3, state), tmp_path / "none", follow=follow))
    assert told.value.exit_status == 1
