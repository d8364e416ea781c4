"""The command `dardis shadow`."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.slurm_programs import install
from kit.slurm_queue import LivedJob, squeue_text

from dardis.cli.main import run
from dardis.cli.shadow_command import _write_due_pages
from dardis.engine.clock import unix_now
from dardis.slurm.shadow_folder import ShadowFolder
from offline.shadow.shadow_pages import PageInputs


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    now = int(unix_now())
    jobs = [LivedJob(1, now - 900, now - 800, now + 900), LivedJob(2, now - 600, None, now + 900)]
    folder = install(tmp_path / "bin", squeue_text(jobs, now))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_shadow_only_shows_and_answers_when_a_job_starts(
    programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "shadow")
    assert run(["shadow", folder, "--once"]) == 0
    assert (programs / "calls").read_text().splitlines() == [
        "squeue --all --json --states=all",
        "scontrol show node -o",
    ]
    assert run(["shadow", folder, "--start", "2"]) == 0
    assert capsys.readouterr().out.startswith("job 2: expected start 20")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--start", "2"], "has no expected starts yet; expected the folder of a running dardis shadow"),
        (["--day", "soon"], "--day: 'soon'; expected a UTC date such as 2026-11-29"),
        (["--week", "2023-05-01"], "has no platform yet"),
        (["--plan", "p"], "--plan: given without --day"),
        (["--dispatchers", "easi"], "dispatcher"),
        (["--history", "nowhere"], "nowhere: cannot be read"),
    ],
)
def test_mistakes_are_one_line(
    programs: Path, tmp_path: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["shadow", str(tmp_path / "shadow"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert not (programs / "calls").exists()


def test_absent_slurm_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["shadow", str(tmp_path / "shadow"), "--once"]) == 2
    assert capsys.readouterr().err == "dardis: squeue: no such program; expected Slurm's client programs on PATH\n"
    assert not (tmp_path / "shadow").exists()


def test_failing_slurm_ends_a_single_round(programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (programs / "squeue").write_text("#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact' >&2\nexit 1\n")
    assert run(["shadow", str(tmp_path / "shadow"), "--once"]) == 1
    assert capsys.readouterr().err == "dardis: squeue: slurm_load_jobs error: Unable to contact\n"


def test_pages_are_written_after_midnight_and_of_weeks_on_mondays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2023-05-01 is a Monday."""
    started: list[list[str]] = []
    monkeypatch.setattr("subprocess.Popen", lambda words, **_: started.append(words))
    folder, monday = ShadowFolder(tmp_path), 1_682_899_200
    inputs = PageInputs(dispatchers=("easy",))
    for day in range(-3, 1):
        folder.log_of(monday + day * 86_400).touch()
        for after in (60, 1000, 2000):
            _write_due_pages(folder, inputs, monday + day * 86_400 + after)
    assert [words[words.index("--day") + 1] for words in started] == ["2023-04-28", "2023-04-29", "2023-04-30"]
    assert ["--week" in words for words in started] == [False, False, True]
    (tmp_path / "day-2023-05-01.html").touch()
    _write_due_pages(folder, inputs, monday + 90_000)
    assert len(started) == 3
