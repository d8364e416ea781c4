"""Who asks the service: which folder, what happens where nobody answers, and where one goes and another comes."""

import socket
import threading
import time
from pathlib import Path

import pytest
from kit.live_service import job, served
from kit.waiting import until

from dardis.cli.main import run
from dardis.live import client as client_module
from dardis.live.client import Client, service_folder
from dardis.live.output import read_output
from dardis.model.errors import DardisError, InputError


@pytest.mark.parametrize(("named", "environment", "place"), [
    ("/a/../b", {"DARDIS_FOLDER": "/c"}, "/b"),
    (None, {"DARDIS_FOLDER": "/c", "XDG_STATE_HOME": "/d"}, "/c"),
    (None, {"XDG_STATE_HOME": "/d"}, "/d/dardis"),
    (None, {"XDG_STATE_HOME": "d"}, str(Path.home() / ".local/state/dardis")),
    (None, {"DARDIS_FOLDER": ""}, str(Path.home() / ".local/state/dardis")),
])  # fmt: skip
def test_service_folder_is_resolved(named, environment, place):
    assert service_folder(named and Path(named), environment) == Path(place)


@pytest.mark.parametrize("left", ["no folder", "nothing", "a stale socket", "a file"])
def test_missing_service_is_reported(tmp_path, monkeypatch, left):
    monkeypatch.setattr(client_module, "RETRY_S", 0.2)
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
    assert line.endswith(f"expected a running service: dardis serve --folder {folder}")
    assert told.value.exit_status == 2


@pytest.mark.parametrize("answer", [b"no JSON", b"[1]"])
def test_invalid_response_is_reported(tmp_path, answer):
    with served(tmp_path) as fake:
        fake.answer = lambda *_: (200, answer)
        with pytest.raises(DardisError, match=r"the service's answer \(200\) is no JSON object"):
            Client(tmp_path).get("/nodes")


def test_unanswered_request_is_repeated_with_the_same_key(tmp_path):
    with served(tmp_path) as fake:
        fake.breaks = 2
        answer = Client(tmp_path).submit({"key": "k", "jobs": {"array": None, "name": "x"}})
        assert answer["ids"] == [12]
        assert [body["key"] for _, _, body in fake.asked] == ["k", "k", "k"]
        assert list(fake.jobs) == [12]


def test_client_waits_for_a_restarting_service(tmp_path):
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
            asked = threading.Thread(target=lambda: found.append(Client(tmp_path).wait_for_end(5)))
            found: list[dict] = []
            asked.start()
            until(lambda: fake.asked)
            fake.breaks = 1_000_000
        again.set()
        asked.join(20)
        assert found[0]["state"] == "completed"
    finally:
        done.set()
        again.set()
        thread.join()


def test_wait_exits_with_125_when_the_service_stays_away(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(client_module, "WAIT_RETRY_S", 0.2)
    with served(tmp_path) as fake:
        fake.add(job(5, "running"))
        fake.breaks = 1_000_000
        assert run(["wait", "--folder", str(tmp_path), "5"]) == 125
    assert "the service ended before it answered" in capsys.readouterr().err


def test_unresponsive_service_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "ANSWER_S", 0.2)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "gateway.sock"))
        deaf.listen()
        with pytest.raises(DardisError, match=f"^{tmp_path}: the service does not answer$"):
            Client(tmp_path).get("/nodes")


def test_output_is_followed_until_the_job_is_over(tmp_path):
    path = tmp_path / "out"
    with served(tmp_path) as fake:
        fake.add(job(3, "waiting"))
        found = read_output(Client(tmp_path), fake.jobs[3].copy(), path, follow=True)
        blocks = []
        thread = threading.Thread(target=lambda: blocks.extend(found))
        thread.start()
        time.sleep(0.3)
        with path.open("wb", buffering=0) as file:
            file.write(b"one\n")
            until(lambda: blocks)
            file.write(b"two\n")
            fake.add(job(3, "completed"))
        thread.join(20)
        assert b"".join(blocks) == b"one\ntwo\n"


@pytest.mark.parametrize(("state", "follow"), [("waiting", False), ("running", False), ("completed", True)])
def test_missing_output_is_reported(tmp_path, state, follow):
    with served(tmp_path), pytest.raises(DardisError, match=f"/none: does not exist; job 3 is {state}$") as told:
        list(read_output(Client(tmp_path), job(3, state), tmp_path / "none", follow=follow))
    assert told.value.exit_status == 1
