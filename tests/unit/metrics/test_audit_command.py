"""`dardis audit DIR` from files alone."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from kit.schedules import schedule_of

from dardis.cli.audit_command import audit
from dardis.cli.main import run as command
from dardis.metrics import jobs_csv
from dardis.metrics.jobs_csv import write_jobs
from dardis.model.errors import InputError
from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform, platform_to_dict

PLATFORM = Platform(
    "p",
    (
        NodeGroup("a", 2, {"cores": 2}, NodePower(idle_w=90.0)),
        NodeGroup("b", 1, {"cores": 4, "gpu": 1}, always_on=True),
    ),
    {"fat": (1,)},
    (Maintenance((0,), 500, 600),),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder with a legal schedule of 25 jobs, one after the other."""
    rows = [{"submit": t, "start": t, "placed": {0: 1, 2: 1}} for t in range(0, 250, 10)]
    write_jobs(schedule_of(PLATFORM.kinds, rows), tmp_path / "jobs.csv")
    (tmp_path / "run.json").write_text(json.dumps({"platform": platform_to_dict(PLATFORM)}))
    return tmp_path


def test_error_at_the_end_of_the_file_is_the_only_output(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run / "jobs.csv"
    path.write_text(path.read_text().replace(",completed,", ",rejected,") + "1,2\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs_csv, "BLOCK_JOBS", 4)
        assert command(["audit", str(run)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"dardis: {path} line 27: 2 values; expected 23, as in line 1\n"


def test_progress_is_shown_on_a_terminal(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    audit(run, None)
    told = terminal.getvalue()
    assert "reading" in told
    assert "3/3" in told
    assert told.endswith("audit: 25 jobs, ok\n")


def test_comparison_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "compare.csv").touch()
    (tmp_path / "report.html").touch()
    with pytest.raises(InputError, match=r"is a comparison; expected one of its runs, a folder in .*/runs$"):
        audit(tmp_path, None)
