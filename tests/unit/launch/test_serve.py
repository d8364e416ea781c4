"""The third command: it starts the service again when it dies, and ends when that is stopped."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from kit.live import Live

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def live(tmp_path):
    if not (ROOT / ".venv" / "bin" / "dardis").exists():
        pytest.skip("launch/serve needs .venv, which scripts/setup makes")
    live = Live(tmp_path)
    words = [ROOT / "launch" / "serve", "--folder", live.folder, "--platform", live.platform]
    with (tmp_path / "service.err").open("ab") as said:
        live.service = subprocess.Popen(words, stdout=said, stderr=said, env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        live.ready()
        yield live
    finally:
        live.end()


def test_what_dies_is_started_again_until_somebody_stops_it(live):
    (number,) = live.submit("sleep 2; echo $DARDIS_JOB_ID >> $RAN")
    first = live.client.get("/status")
    os.kill(first["pid"], signal.SIGKILL)
    while True:
        time.sleep(0.05)
        try:
            second = live.client.get("/status")
        except Exception:  # noqa: BLE001, S112 (nobody serves just now)
            continue
        if not second["trouble"]:
            break
    assert (second["epoch"], second["pid"] == first["pid"]) == (first["epoch"] + 1, False)
    assert live.ended(number)["state"] == "completed"
    assert live.lines()[number] == 1
    assert "it is started again" in live.said()
    live.client.post("/stop")
    assert live.service.wait(20) == 0


def test_it_ends_with_a_signal_and_jobs_go_on(live):
    (number,) = live.submit("sleep 4; echo $DARDIS_JOB_ID >> $RAN")
    while live.job(number)["state"] != "running":
        time.sleep(0.05)
    live.service.send_signal(signal.SIGTERM)
    assert live.service.wait(20) == 0
    while not live.lines()[number]:
        time.sleep(0.05)


def test_what_can_not_be_served_ends_it(tmp_path):
    done = subprocess.run(
        [ROOT / "launch" / "serve", "--folder", tmp_path / ("x" * 150)], capture_output=True, text=True, check=False,
        timeout=60, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
