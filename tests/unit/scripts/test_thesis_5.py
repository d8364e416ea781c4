"""Judging claims, and a whole small run of scripts/lab/run thesis_5's command."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lab.kit.claims import DECISION, Finding, Judge
from scripts.lab.thesis_5 import page

ROOT = Path(__file__).resolve().parents[3]


def test_the_thesis_tables_agree_with_its_text_where_they_do():
    verdicts = list(page.judged(page.printed(), page.RULES).values())
    assert [finding.verdict for finding in verdicts[:11]] == ["yes"] * 11
    # Balance has the least late jobs, and most overutilisation; throughput's overutilisation is the least.
    assert verdicts[11] == Finding("all of it", "yes")
    assert verdicts[12] == Finding("223 times", "yes")
    assert verdicts[0].shown == "41 % less"


def figures(**changed):
    """Figures in which each of a few dispatchers has 100 of everything, unless told otherwise."""
    names = (*page.SET_UPS, *page.RULES)
    found = {name: dict.fromkeys((*page.COLUMNS, DECISION), 100.0) for name in names}
    for name, some in changed.items():
        found[name.replace("_", "-")] |= some
    return found


@pytest.mark.parametrize(
    ("own", "shown", "verdict"),
    [(59.0, "41 % less", "yes"), (90.0, "10 % less", "in part"), (110.0, "10 % more", "no")],
)
def test_a_saving_is_judged_by_the_least(own, shown, verdict):
    judge = Judge(figures(dardis_throughput={"makespan": own}), page.SET_UPS, page.RULES)
    assert judge(["saves", "dardis-throughput", "makespan", 0.41]) == Finding(shown, verdict)


def swf_line(number: int, submit: int, run: int, cores: int, wall: int, partition: int) -> str:
    return f"{number} {submit} 60 {run} {cores} -1 -1 {cores} {wall} -1 1 1 1 -1 -1 {partition} -1 -1"


@pytest.mark.slow
def test_a_small_run_writes_the_page_and_is_kept(tmp_path):
    jobs = [swf_line(n, 6000 * n, 1800 + 60 * n, 32 * (1 + n % 5), 7200, 4 if n % 3 else 10) for n in range(1, 31)]
    (tmp_path / "CEA-Curie-2012-slice36k.swf.gz").write_text("\n".join(jobs) + "\n", encoding="utf-8")
    command = [
        sys.executable, "-m", "scripts.lab", "thesis_5", f"--traces={tmp_path}", f"--out={tmp_path / 'out'}",
        "--only=dardis-throughput", "--only=rules-fcfs",
    ]  # fmt: skip
    first = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert "2 runs: 2 now, 0 kept, 0 failed" in first.stderr
    assert first.stdout == (tmp_path / "out" / "thesis_5.md").read_text(encoding="utf-8")
    metrics = json.loads((tmp_path / "out/comparison/runs/partition 4/rules-fcfs/1/metrics.json").read_text())
    assert metrics["jobs"] == 20  # partition 4 alone
    assert "| `rules-fcfs` | 19.70 |" in first.stdout
    assert "- 20 jobs submitted in" in first.stdout
    with (tmp_path / "out" / "desired.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["value"] for row in rows} == {"7200", "9600"}
    again = subprocess.run([*command, "--jobs=20"], check=False, capture_output=True, text=True, cwd=ROOT)
    assert again.returncode == 2  # other jobs were asked of these runs before
    kept = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert "0 now, 2 kept" in kept.stderr
    assert kept.stdout == first.stdout
