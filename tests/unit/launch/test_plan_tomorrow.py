"""The script of every day: a plan from a dump, and no word of success where anything fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kit.sacct_text import sacct
from kit.small_site import DAY_S, START_UNIX, Row, made_up_rows, write_site

SCRIPT = Path(__file__).resolve().parents[3] / "launch" / "plan-tomorrow"
NOW, TOMORROW = 9 * DAY_S + 15 * 3600, "2023-07-13"
DATE = f"""case "$*" in
*tomorrow*) echo {TOMORROW} ;;
*T%H*) echo 2023-07-12T15:00:00Z ;;
*) echo 2023-07-12 ;;
esac"""


def executable(path: Path, body: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{body}\n")
    path.chmod(0o755)


def line(row: Row) -> dict[str, str]:
    """The job as sacct has it at `NOW`, started as it came; the machine is small but not full."""
    submit, end = START_UNIX + row.submit, START_UNIX + row.submit + row.runtime
    ended = row.submit + row.runtime <= NOW
    return {
        "JobIDRaw": f"{row.number}", "Submit": f"{submit}", "Start": f"{submit}",
        "End": f"{end}" if ended else "Unknown", "TimelimitRaw": f"{row.walltime // 60 + 1}", "NCPUS": f"{row.cores}",
        "State": "COMPLETED" if ended else "RUNNING", "User": f"u{row.user}",
    }  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site's folder, with a clock, Slurm's client and our command in `bin/`."""
    folder = write_site(tmp_path)
    (folder / "small.toml").rename(folder / "platform.toml")
    (folder / "dump.txt").write_text(sacct(*(line(row) for row in made_up_rows() if row.submit < NOW)))
    executable(folder / "bin" / "date", DATE)
    executable(folder / "bin" / "sacct", f'echo "$SLURM_TIME_FORMAT $*" > asked; cat {folder}/dump.txt')
    nodes = (f"NodeName=cn{node:02d} CPUTot=8 State={'IDLE~' if node > 7 else 'MIXED'}" for node in range(10))
    (folder / "nodes").write_text("".join(f"{line} Partitions=batch\n" for line in nodes))
    (folder / "names").write_text("".join(f"cn{node:02d}\n" for node in range(10)))
    executable(folder / "bin" / "scontrol", f"cat {folder}/nodes")
    executable(folder / "bin" / "dardis", f'exec {sys.executable} -m dardis "$@"')
    return folder


def run(site: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{site}/bin:{os.environ['PATH']}", "DARDIS_SITE": str(site), "DARDIS": f"{site}/bin/dardis",
    }  # fmt: skip
    return subprocess.run(
        [SCRIPT], env=environment | more, cwd="/", text=True, capture_output=True, timeout=300, check=False
    )


def test_a_dump_becomes_a_script_for_tomorrow(site: Path) -> None:
    done = run(site, DARDIS_DAYS="20")
    assert done.returncode == 0, done.stderr
    assert (site / "asked").read_text().startswith("%s --parsable2 --allusers --allocations --starttime now-20days")
    assert re.search(r"at 2023-07-12T15:00:00Z: \d+ run and 0 wait", done.stderr)
    assert "of 10 nodes 2 are off and 0 booting when the day begins" in done.stderr
    assert "SPARE_NODES=('cn[00-09]')" in (site / f"switch-{TOMORROW}.sh").read_text()
    assert (site / f"plan-{TOMORROW}" / "report.html").is_file()


def test_active_plan_is_continued(site: Path) -> None:
    asked = 'echo "$*" >> said; [ "$1" = plan ] || echo "#!/bin/sh" > "$7"'
    executable(site / "bin" / "dardis", asked)
    (site / "plan-2023-07-12").mkdir()
    for carried_out in ("", "1"):
        assert run(site, DARDIS_CARRIED_OUT=carried_out).returncode == 0
    plans = [line for line in (site / "said").read_text().splitlines() if line.startswith("plan ")]
    assert ["--after plan-2023-07-12" in line for line in plans] == [False, True]


def test_service_is_planned_from_its_history_and_follows_the_plan(site: Path) -> None:
    executable(site / "bin" / "sacct", "exit 1")
    executable(site / "bin" / "dardis", 'echo "$*" >> said')
    assert run(site, DARDIS_SERVICE="/service", DARDIS_DAYS="7").returncode == 0
    said = (site / "said").read_text().splitlines()
    assert said[0] == "history --folder /service --since 7d --out history --force"
    assert said[1].startswith("plan --history history --platform platform.toml")
    assert said[1].endswith(f"--cap --out plan-{TOMORROW} --force")
    assert said[2:] == [
        f"cap plan-{TOMORROW}/profile.csv --folder /service",
        "switching --json --folder /service",
        f"switching plan-{TOMORROW}/target.json --folder /service",
    ]


@pytest.mark.parametrize(
    ("broken", "body", "told"),
    [
        ("sacct", "cat dump.txt; exit 1", "the dump of sacct failed (status 1)"),
        ("sacct", "head -1 dump.txt", "the dump of sacct failed (status 1)"),
        ("scontrol", "exit 1", "reading the nodes from scontrol failed (status 1)"),
        ("curl", "exit 22", "fetching weather.csv failed (status 22)"),
        ("dardis", '[ "$1" != plan ] || exit 2', "the plan failed (status 2)"),
        ("dardis", '[ "$1" != export ] || exit 2', "the export failed (status 2)"),
    ],
)
def test_failure_is_reported_and_keeps_earlier_files(site: Path, broken: str, body: str, told: str) -> None:
    (site / "history.txt").write_text("of yesterday\n")
    before = (site / "weather.csv").read_text()
    executable(site / "bin" / "dardis", ":")
    executable(site / "bin" / broken, body)
    done = run(site, DARDIS_WEATHER_URL="https://example.org/weather.csv" if broken == "curl" else "")
    assert done.returncode != 0
    assert f"plan-tomorrow: {told}: no plan for {TOMORROW}\n" in done.stderr
    assert not (site / f"switch-{TOMORROW}.sh").exists()
    assert (site / "weather.csv").read_text() == before
    assert not (site / "nodes.txt").exists() or broken == "dardis"
    if broken == "sacct":
        assert (site / "history.txt").read_text() == "of yesterday\n"


def test_site_name_is_required(site: Path) -> None:
    done = run(site, DARDIS_SITE="")
    assert done.returncode != 0
    assert "finding $DARDIS_SITE failed" in done.stderr
