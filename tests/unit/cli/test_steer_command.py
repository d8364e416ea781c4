"""The command `dardis steer`."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.fake_slurm import DENIED, FakeJob, FakeSlurm

import dardis.slurm.slurm_client
from dardis.cli import steer_command
from dardis.cli.main import run
from dardis.model.moments import utc_text
from dardis.slurm.reservation_lease import LEASE_S
from dardis.slurm.steering_log import Entry, Event, SteeringLog

T = 1_000_000


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """Slurm in place of the installed programs, with its clock."""
    found = FakeSlurm([FakeJob(1, T, 2, 4, 50), FakeJob(2, T, 2, 1, 50), FakeJob(3, T, 9, 1, 50)], now=T)
    monkeypatch.setattr(dardis.slurm.slurm_client, "InstalledPrograms", lambda *_: found)
    for clock in ("_now", "_steady"):
        monkeypatch.setattr(steer_command, clock, lambda: found.now)
    return found


class Pause:
    """A pause in which Slurm acts and a second goes by; after `rounds` of them the steerer is told to end."""

    def __init__(self, slurm: FakeSlurm, rounds: int, leave: object = None) -> None:
        self._slurm, self._left, self._leave = slurm, rounds, leave

    def is_set(self) -> bool:
        return self._left == 0

    def wait(self, _seconds: float) -> None:
        self._slurm.schedule()
        self._slurm.now += 1
        self._left -= 1
        if not self._left and callable(self._leave):
            self._leave()


@pytest.fixture
def rounds(slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steer_command, "_stop_signal", lambda: Pause(slurm, 60))


def changes(slurm: FakeSlurm) -> list[tuple[str, ...]]:
    return [call for call in slurm.calls if "show" not in call and call[0] == "scontrol"]


def events(folder: Path) -> list[Event]:
    """Those of the log; an intended lease counts with the lease."""
    entries = SteeringLog(folder).entries()
    return [entry.event for entry in entries if entry.event is not Event.LEASE or entry.start is not None]


def test_preview_changes_nothing(slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "steer"
    assert run(["steer", str(folder), "--partition", "batch"]) == 0
    told = capsys.readouterr().out
    assert "scontrol create reservation ReservationName=dardis_batch" in told
    assert "job 1: start on n[0-1]" in told
    assert "nothing was changed" in told
    assert changes(slurm) == []
    assert not folder.exists()


@pytest.mark.usefixtures("rounds")
def test_install_steers_and_returns_the_queue(
    slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "steer"
    assert run(["steer", str(folder), "--partition", "batch", "--install"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("changes of Slurm:\n  scontrol create reservation")
    assert "job 3 cannot start" in told.err
    assert told.err.endswith("the queue is returned to Slurm\n")
    assert [job.starts for job in slurm.jobs] == [1, 1, 0]
    assert slurm.active() == ""
    assert slurm.jobs[2].reservation == ""
    assert events(folder)[-1] is Event.RETURNED
    assert "dardis_steer_waiting_jobs 1\n" in (folder / "steer.prom").read_text()
    assert run(["audit", str(folder)]) == 0
    assert capsys.readouterr().out == (
        "audit: 2 decisions, 2 started as decided, 0 s later (median); 0 taken back, 0 refused, 0 left to Slurm; ok\n"
    )


def test_remove_returns_decisions_of_a_killed_steerer(
    slurm: FakeSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "steer"
    slurm.jobs[0].blocked = slurm.jobs[1].blocked = True
    slurm.jobs[1].required = "n2,n3"
    monkeypatch.setattr(steer_command, "_stop_signal", lambda: Pause(slurm, 100))
    slurm.fails_at = 40
    assert run(["steer", str(folder), "--partition", "batch", "--install"]) != 0
    slurm.fails_at = -1
    assert slurm.jobs[0].reservation == "dardis_batch"
    slurm.state = "DOWN"
    assert run(["steer", str(folder), "--remove"]) == 0
    assert capsys.readouterr().out.endswith("the queue is returned to Slurm\n")
    assert [(job.reservation, job.required) for job in slurm.jobs] == [("", ""), ("", "n[2-3]"), ("", "")]
    assert slurm.active() == ""
    assert run(["steer", str(folder), "--remove"]) == 2
    assert "nothing is steered from here" in capsys.readouterr().err


def test_removal_ends_a_running_steerer(
    slurm: FakeSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    folder = tmp_path / "steer"
    pause = Pause(slurm, 5, (folder / steer_command._STOP).touch)
    monkeypatch.setattr(pause, "is_set", lambda: False)
    monkeypatch.setattr(steer_command, "_stop_signal", lambda: pause)
    assert run(["steer", str(folder), "--partition", "batch", "--install"]) == 0
    assert slurm.active() == ""


def test_cap_of_a_file_holds(slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cap = tmp_path / "cap.csv"
    cap.write_text(f"time_s,node,kind,value\n{utc_text(T - 9, seconds=True)},*,cores,8\n")
    words = ["steer", str(tmp_path / "steer"), "--partition", "batch", "--profile", str(cap), "--set", "profile=hard"]
    assert run([*words, "--dispatcher", "dardis-late", "--set", "profile_split=shared"]) == 0
    told = capsys.readouterr().out
    assert told.count(": start on") == 1  # without the cap two
    assert "job 2: start" in told
    assert run([*words, "--dispatcher", "easy", "--set", "profile=off"]) == 2
    assert "--profile: easy obeys none" in capsys.readouterr().err


@pytest.mark.usefixtures("rounds")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"denies": True}, DENIED + "; expected the rights of a Slurm operator"),
        ({"clock_ahead": 30}, "clock: this host's clock is 30 s behind Slurm's; expected at most 5 s"),
        ({"clock_ahead": -30}, "30 s ahead of Slurm's"),
        ({"partitions": "batch,debug"}, "partition batch: shares nodes with partition debug"),
        ({"sharing": "FORCE:4"}, "OverSubscribe=FORCE:4"),
        ({"state": "DRAIN"}, "State=DRAIN"),
        ({"parameters": "CR_SOCKET"}, "CR_SOCKET"),
        ({"cuts": True}, "squeue:132: is not JSON"),
        ({"trouble": "scontrol: Unable to contact slurm controller"}, "Unable to contact slurm controller"),
        ({"reservations": {"dardis_batch": (T - 9, T + 50)}}, "is steered by another dardis steer"),
    ],
)
def test_sites_that_cannot_be_steered_are_one_line_and_unchanged(
    slurm: FakeSlurm, tmp_path: Path, change: dict[str, object], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in change.items():
        setattr(slurm, name, value)
    assert run(["steer", str(tmp_path / "steer"), "--partition", "batch", "--install"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert told in line
    assert [call for call in changes(slurm) if "create" not in call] == []
    assert not slurm.reservations or "reservations" in change


@pytest.mark.usefixtures("rounds")
def test_refused_lease_does_not_count_as_a_crash(
    slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["steer", str(tmp_path / "steer"), "--partition", "batch", "--install"]
    slurm.denies = True
    assert run(words) == 2
    slurm.denies = False
    slurm.schedule()
    assert run(words) == 2
    assert "2 running jobs; expected an idle partition" in capsys.readouterr().err


@pytest.mark.usefixtures("rounds")
def test_jobs_that_run_already_need_an_option(
    slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.schedule()  # without a lease Slurm starts jobs
    words = ["steer", str(tmp_path / "steer"), "--partition", "batch", "--install"]
    assert run(words) == 2
    assert "2 running jobs; expected an idle partition, or --keep-running" in capsys.readouterr().err
    assert run([*words, "--keep-running"]) == 0
    assert events(tmp_path / "steer")[1:3] == [Event.FOUND, Event.FOUND]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--partition: not given"),
        (["--partition", "gpu"], "--partition gpu: scontrol: Partition gpu not found"),
        (["--partition", "batch", "--dispatcher", "easi"], "dispatcher"),
        (["--partition", "batch", "--dispatcher", "hcp19", "--set", "version=1"], "needs deadlines"),
        (["--partition", "batch", "--set", "expected=real"], "nobody knows real runtimes"),
        (["--partition", "batch", "--set", "units_per_node=pack"], "distinct"),
        (["--partition", "batch", "--names", "f"], "--names: given without --platform"),
        (["--partition", "batch", "--profile", "nowhere"], "nowhere: cannot be read"),
        (["--partition", "batch", "--every", "9"], "--every"),
        (["--remove"], "nothing is steered from here"),
        (["--remove", "--install"], "--install, --remove: both"),
        (["--partition", "batch", "--keep-running"], "--keep-running: given without --install"),
    ],
)
def test_mistakes_are_one_line(
    slurm: FakeSlurm, tmp_path: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["steer", str(tmp_path / "steer"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert changes(slurm) == []


def test_absent_slurm_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["steer", str(tmp_path / "steer"), "--partition", "batch"]) == 2
    assert "no such program; expected Slurm's client programs on PATH" in capsys.readouterr().err


@pytest.mark.usefixtures("rounds")
def test_failing_dispatcher_returns_the_queue(
    slurm: FakeSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken_rule.py").write_text(
        "import dardis\n\n\nclass Broken(dardis.Rule):\n"
        "    def key(self, job, now):\n        raise ValueError('no key')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    words = ["steer", str(tmp_path / "steer"), "--partition", "batch", "--dispatcher", "broken_rule:Broken"]
    assert run([*words, "--install"]) == 1
    told = capsys.readouterr().err
    assert "failed at broken_rule.py:6 in key: ValueError: no key" in told
    assert slurm.active() == ""
    assert events(tmp_path / "steer") == [Event.LEASE, Event.RETURNED]


@pytest.mark.usefixtures("rounds")
def test_lapsed_lease_is_taken_again(
    slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    folder = tmp_path / "steer"
    folder.mkdir()
    SteeringLog(folder).add([Entry(T - 2 * LEASE_S, "", Event.LEASE, start=T - 2 * LEASE_S, detail="batch")])
    slurm.schedule()
    assert run(["steer", str(folder), "--partition", "batch", "--install"]) == 0
    assert events(folder)[:4] == [Event.LEASE, Event.LEASE, Event.FOUND, Event.FOUND]
    assert "another" not in capsys.readouterr().err


@pytest.mark.usefixtures("rounds")
def test_folder_of_another_partition_is_refused(
    slurm: FakeSlurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    SteeringLog(tmp_path).add([Entry(T - 9, "", Event.LEASE, start=T - 9, detail="gpu")])
    assert run(["steer", str(tmp_path), "--partition", "batch", "--install"]) == 2
    assert "steers partition gpu; expected a folder of its own for partition batch" in capsys.readouterr().err
    assert changes(slurm) == []
