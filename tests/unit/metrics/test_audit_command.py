"""`dardis audit DIR` from files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from dardis.cli.audit import audit
from dardis.metrics.table import write_jobs
from dardis.model.errors import InputError
from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform
from dardis.model.platform_dict import platform_from_dict, platform_to_dict

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
def run(tmp_path: Path, schedule_of: Any) -> Path:
    """A folder with a legal schedule of 25 jobs, one after the other."""
    rows = [{"submit": t, "start": t, "placed": {0: 1, 2: 1}} for t in range(0, 250, 10)]
    write_jobs(schedule_of(PLATFORM.kinds, rows), tmp_path / "jobs.csv")
    (tmp_path / "run.json").write_text(json.dumps({"platform": platform_to_dict(PLATFORM)}))
    return tmp_path


def test_platforms_survive_json() -> None:
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(PLATFORM)))) == PLATFORM
    assert platform_from_dict(platform_to_dict(PLATFORM) | {"of_a_later_version": 1}) == PLATFORM
    for wrong in ({}, {"groups": 3}, [], platform_to_dict(PLATFORM) | {"maintenance": [7]}):
        with pytest.raises(ValueError, match="description of a platform"):
            platform_from_dict(wrong)  # type: ignore[arg-type]


def test_a_legal_run_is_ok(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit(run, None)
    assert capsys.readouterr().out == "audit: 25 jobs, ok\n"


def test_violations_are_listed_and_counted(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (run / "jobs.csv").read_text()
    (run / "jobs.csv").write_text(text.replace(",completed,", ",rejected,"))
    with pytest.raises(typer.Exit) as caught:
        audit(run, None)
    lines = capsys.readouterr().out.splitlines()
    assert caught.value.exit_code == 1
    assert lines[0] == "audit: job 1: was rejected, yet has times or nodes"
    assert len(lines) == 21
    assert lines[-1].startswith("audit: and ")


def test_another_machine_may_be_named(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.json").unlink()
    machine = tmp_path / "p.toml"
    machine.write_text('name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4, gpu = 1 }\n')
    with pytest.raises(typer.Exit):
        audit(run, machine)
    assert capsys.readouterr().out.startswith("audit: job 1, node 2: does not exist\n")


def test_mistakes_are_named(run: Path) -> None:
    (run / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run\.json: has no platform"):
        audit(run, None)
    (run / "run.json").unlink()
    with pytest.raises(InputError, match=r"run\.json.*--platform"):
        audit(run, None)
