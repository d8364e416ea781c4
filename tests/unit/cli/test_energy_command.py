"""The command `dardis energy`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.sacct_text import JOB, sacct

from dardis.cli.main import run

MAY = 1_682_899_200
FIRST = JOB | {
    "JobID": "7", "User": "ann", "Submit": f"{MAY}", "Start": f"{MAY}", "End": f"{MAY + 3600}", "ElapsedRaw": "3600",
    "ConsumedEnergyRaw": "3600000", "TotalCPU": "16:00:00",
}  # fmt: skip
SECOND = FIRST | {"JobIDRaw": "8", "JobID": "8", "User": "bob", "Account": "=cmd", "ConsumedEnergyRaw": "1800000"}


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    (tmp_path / "jobs.txt").write_text(sacct(FIRST, SECOND))
    return str(tmp_path / "jobs.txt")


def test_table_names_the_total_and_each_user(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["energy", jobs]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2 runs of jobs, 128 core-hours, 1.50 kWh (100.0 % measured), 75.0 % of reserved cores unused",
        "user  jobs  core h   kWh  measured kWh  unused cores",
        "ann      1      64     1             1        75.0 %",
        "bob      1      64  0.50          0.50        75.0 %",
    ]


def test_long_table_is_cut(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["energy", jobs, "--by", "job", "--rows", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 more rows (--rows 0 shows all)"


def test_csv_protects_spreadsheets_and_json_has_the_same_rows(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["energy", jobs, "--by", "account", "--format", "csv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith("account,jobs,core_h,kwh,measured_kwh,eur,co2_kg,unused_share")
    assert [row.split(",")[0] for row in rows] == ["phys", "'=cmd"]
    assert run(["energy", jobs, "--by", "account", "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [(row["account"], row["kwh"]) for row in content["rows"]] == [("phys", 1.0), ("=cmd", 0.5)]
    assert content["total"]["kwh"] == 1.5
    assert content["since_utc"] == "2023-05-01T00:00:00Z"


def test_page_has_tables_and_charts(jobs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "energy.html"
    assert run(["energy", jobs, "--out", str(out)]) == 0
    page = out.read_text()
    assert all(text in page for text in ("Energy of jobs", "By user", "By account", "Jobs with most energy", "<svg"))
    assert run(["energy", jobs, "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--format", "page"], "--format page: given without --out; expected --out FILE.html"),
        (["--out", "energy.odt"], "--out energy.odt: no form by this suffix"),
        (["--names", "n"], "--names: given without --platform"),
        (["--since", "2023-05-02", "--until", "2023-05-01"], "--until: 2023-05-01 is not after 2023-05-02"),
        (["--since", "soon"], "--since: 'soon'"),
        (["--since", "2024-01-01"], "no job ran after 2024-01-01T00:00Z"),
        (["--prices", "nowhere.csv"], "nowhere.csv: cannot be read"),
    ],
)
def test_mistakes_are_one_line(jobs: str, words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["energy", jobs, *words]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if ": note: " not in line]
    assert len(lines) == 1
    assert told in lines[0]
