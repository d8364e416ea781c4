"""The third command: it starts the service again when it dies, and ends when that is stopped."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from kit.keeper import until
from kit.live import Live

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def live(tmp_path):
    if not (ROOT / ".venv" / "bin" / "dardis").exists():
        pytest.skip("launch/serve needs .venv, which scripts/setup makes")
    live = Live(tmp_path)
    live.program, live.environment = (ROOT / "launch" / "serve",), {"PYTHONPATH": str(ROOT)}
    try:
        yield live.start()
    finally:
        live.end()


def test_what_dies_is_started_again_and_with_a_signal_it_ends_and_jobs_go_on(live):
    (number,) = live.submit("until [ -e $RAN.go ]; do sleep 0.05; done; echo $DARDIS_JOB_ID >> $RAN")
    until(lambda: live.job(number)["state"] == "running")
    first = live.client.get("/status")
    os.kill(first["pid"], signal.SIGKILL)
    until(lambda: "it is started again" in live.said())
    live.ready()
    second = live.client.get("/status")
    assert (second["epoch"], second["pid"] == first["pid"]) == (first["epoch"] + 1, False)
    assert live.job(number)["state"] == "running"
    live.service.send_signal(signal.SIGTERM)
    assert live.service.wait(20) == 0
    live.ran.with_suffix(".go").touch()
    until(lambda: live.lines()[number] == 1)


@pytest.mark.slow
def test_it_ends_when_it_is_stopped(live):
    (number,) = live.submit()
    assert live.ended(number)["state"] == "completed"
    live.client.post("/stop")
    assert live.service.wait(20) == 0
    assert "it is started again" not in live.said()


def test_what_can_not_be_served_ends_it(tmp_path):
    if not (ROOT / ".venv" / "bin" / "dardis").exists():
        pytest.skip("launch/serve makes .venv where there is none")
    done = subprocess.run(
        [ROOT / "launch" / "serve", "--folder", tmp_path / ("x" * 150)], capture_output=True, text=True, check=False,
        timeout=60, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
