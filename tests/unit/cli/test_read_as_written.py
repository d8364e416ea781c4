"""What a command was asked with it can read back, and what is not its own it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dardis.cli.main import run

PLATFORM = 'name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 2 }\n'
TRACE = "job_id,submit_s,runtime_s,walltime_s,units,req_cores\n1,0,10,20,1,1\n2,3,10,20,2,2\n3,5,10,20,1,2\n"


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """What every command here is told."""
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.csv").write_text(TRACE)
    return [str(tmp_path / "t.csv"), "--platform", str(tmp_path / "p.toml")]


def simulated(asked: list[str], out: Path, *more: str) -> int:
    return run(["simulate", *asked, "--dispatcher", "easy", "--out", str(out), *more])


@pytest.mark.parametrize("more", [("--to", str(2**63 - 1)), ("--from", str(-(2**63))), ("--jobs", str(2**63 - 1))])
def test_no_end_is_read_back(asked: list[str], tmp_path: Path, more: tuple[str, ...]) -> None:
    assert simulated(asked, tmp_path / "out", *more) == 0  # with its report, which reads run.json
    assert run(["audit", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("more", [("--to", str(2**63)), ("--from", str(-(2**63) - 1)), ("--jobs", str(2**63))])
def test_what_64_bits_do_not_hold_is_refused(
    asked: list[str], tmp_path: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulated(asked, tmp_path / "out", *more) == 2
    assert more[0] in capsys.readouterr().err


def test_figures_that_no_number_holds_are_one_line(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    around = 'prices = 1e300\ncalendar_start = "2023-07-03T00:00Z"\n'
    power = "power = { idle_w = 1e9, core_w = 1e9 }\n"
    (tmp_path / "p.toml").write_text(around + PLATFORM + power + "[tariff]\ndemand_eur_per_kw = 1e308\n")
    assert simulated(asked, tmp_path / "out") == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "warning" not in line]
    assert len(lines) == 1
    assert "beyond all numbers" in lines[0]


def test_a_link_in_the_lock_s_place_is_told(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".dardis-lock").symlink_to(tmp_path / "elsewhere")
    assert simulated(asked, out) == 2
    assert str(out) in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


def test_files_of_others_are_no_comparison(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "table.csv").write_text("mine")
    assert run(["compare", *asked, "--dispatchers", "easy", "--out", str(out), "--force"]) == 2
    assert "something else than a comparison" in capsys.readouterr().err
    assert (out / "table.csv").read_text() == "mine"


@pytest.mark.parametrize("key", ["trace", "platform", "profile"])
def test_a_name_that_no_file_can_have_is_one_line(
    asked: list[str], tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"trace": asked[0], "platform": asked[2]} | {key: "a\0b"}
    rows = "".join(f"{name} = {json.dumps(value)}\n" for name, value in said.items())
    (tmp_path / "spec.toml").write_text(f'[[traces]]\n{rows}[[dispatchers]]\nname = "easy"\n')
    assert run(["compare", str(tmp_path / "spec.toml"), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "null byte" in err


def test_a_comparison_does_its_damaged_runs_again(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["compare", *asked, "--dispatchers", "easy,rules-fcfs", "--out", str(out)]
    assert run(words) == 0
    path = out / "runs" / "t" / "easy" / "1" / "run.json"
    whole = json.loads(path.read_text())
    whole["platform"]["groups"][0]["count"] = "2"
    path.write_text(json.dumps(whole))
    assert run(words) == 0
    assert "1 now, 1 kept, 0 failed" in capsys.readouterr().out
    assert run(["report", str(out)]) == 0
    (out / "found.json").write_text("{}")
    assert run(["report", str(out)]) == 2
    assert "found.json: results" in capsys.readouterr().err


def test_a_folder_that_changes_under_an_audit_is_told(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dardis.metrics.audit import Audit

    out = tmp_path / "out"
    assert simulated(asked, out, "--no-report") == 0
    judged = Audit.rest

    def rest(self: Audit, *words: object, **named: object) -> object:
        (out / "run.json").write_text((out / "run.json").read_text() + "\n")
        return judged(self, *words, **named)

    monkeypatch.setattr(Audit, "rest", rest)
    assert run(["audit", str(out)]) == 2
    assert "was written while it was read" in capsys.readouterr().err
