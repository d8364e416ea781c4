"""Cutting a batch, what it is made of, and the figures of the thesis's tables 3.4 to 3.6."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dardis.workload.csv_trace import read_table
from scripts.lab.cp_2014 import batches, figures, page, paper

ROOT = Path(__file__).resolve().parents[3]
BEGIN = 36000
HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_gpu,req_mic,wait_s,queue"
JOBS = [
    "1,30000,9000,9600,2,8,1,0,1000,parallel",  # ran from 31000 to 40000
    "2,31000,600,600,1,1,0,0,6000,debug",  # waited when the frame began, started at 37000
    "3,37000,7200,7000,1,16,0,1,3000,np_longpar",  # outran its walltime; started at 40000
    "4,38000,60,60,1,4,0,0,0,R",
    "5,30000,600,600,1,1,0,0,0,debug",  # over before the frame
    "6,43200,600,600,1,1,0,0,0,debug",  # came after it
]


@pytest.fixture
def batch(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("\n".join([HEADER, *JOBS]) + "\n", encoding="utf-8")
    return batches.cut(read_table(path), "BATCH1", BEGIN)


def done_of(starts, batch):
    start = np.array(starts)
    return figures.BatchResult(start, start + batch.trace.runtime, {})


def test_batch_contains_running_waiting_and_submitted_jobs_within_their_walltimes(batch):
    assert batch.trace.number.tolist() == [1, 2, 3, 4]
    assert batch.running.tolist() == [True, False, False, False]
    assert batch.trace.submit.tolist() == [35999, 36000, 37000, 38000]
    assert batch.recorded.tolist() == [35999, 37000, 40000, 38000]
    assert batch.trace.runtime.tolist() == [4001, 600, 7200, 60]
    assert batch.trace.walltime.tolist() == [4601, 600, 7200, 60]


def test_deadlines_are_the_mean_waits_of_queues_in_the_whole_trace(batch):
    assert batch.expected.tolist() == [1000, 2000, 3000, 1]
    assert (batch.trace.lst - batch.trace.submit).tolist() == [1000, 2000, 3000, 1]


def test_batch_statistics_cover_waiting_and_submitted_jobs(batch):
    counts = dict(zip(paper.MADE_OF, batches.made_of(batch.counted), strict=True))
    assert {name for name, count in counts.items() if count == 0} == {
        "parallel", "with GPUs", "2 cores", "5 cores", "6 cores", "8 cores",
    }  # fmt: skip
    assert counts["jobs"] == 3
    assert all(counts[name] == 1 for name in ("debug", "longpar", "with MICs", "1 core", "4 cores", "above 8"))
    assert batches.distance((3, 1), (4, 3)) == 0.75


def test_thinned_batch_keeps_some_jobs_of_a_kind_and_all_others(batch):
    few = batches.thinned(batch, batches.MIC, 0, 1)
    assert (few.trace.number.tolist(), few.recorded.tolist()) == ([1, 2, 4], [35999, 37000, 38000])
    assert batches.thinned(batch, batches.MIC, 1, 1).trace.number.tolist() == [1, 2, 3, 4]


def test_queue_times_are_means_of_all_and_their_parts(batch):
    found = figures.queue_times(batch, done_of([35999, 39000, 46000, 38000], batch))
    expected = (4000, (1000, 0, 3000), (3000 + 6200 + 0) / 3, 2)
    assert (found.mean, found.parts, found.in_frame, found.late) == expected


def test_a_page_shows_what_there_is(batch):
    metrics = dict(zip(page.SOLVER, (9, 5, 3, 2, 0.125, 1.25), strict=True))
    at_once = figures.BatchResult(batch.trace.submit, batch.trace.submit + 60, metrics)
    outcome = page.Outcome(batch, {paper.PBS: figures.recorded(batch), paper.BEST: at_once})
    text = page.page([outcome], 1500)
    # Waits of 1,000, 3,000 and 0 s.
    assert "| PBS | 6840.81 | 1333.33 | 17.34 | 333.33 | 2825.05 | 0.00 | 3600.40 | 1000.00 | 1333 | – |" in text
    assert "| MKS | 187.14 | – | 4.77 | – |" in text
    assert "| BATCH1 | MKS WT/NL | 9 | 5 | 3 | 2 | 22 | 12.5 | 1.2 |" in text
    assert "| decisions with too large a model (%): MKS WT/NL | – | 22 |" in text
    assert "| BATCH1 | 1 | 0 | 0 | 0 | 0 |" in text
    assert all(len(row) == len(page.HEAD) for row in page.rows([outcome]))


@pytest.mark.slow
def test_a_small_run_writes_the_page_and_is_kept(tmp_path):
    queues = ("debug", "parallel", "np_longpar")
    jobs = [f"{n},{400 * n},3000,3600,{1 + n % 40},16,{n % 2},0,{60 * (n % 3)},{queues[n % 3]}" for n in range(1, 81)]
    (tmp_path / "Eurora-2014.csv.gz").write_text("\n".join([HEADER, *jobs]) + "\n", encoding="utf-8")
    command = [
        sys.executable, "-m", "scripts.lab", "cp_2014", f"--traces={tmp_path}", f"--out={tmp_path / 'out'}",
        "--batch=BATCH2", "--processes=1",
    ]  # fmt: skip
    first = subprocess.run([*command, "--only=EASY"], check=True, capture_output=True, text=True, cwd=ROOT)
    assert first.stdout == (tmp_path / "out" / "cp_2014.md").read_text(encoding="utf-8")
    assert "| BATCH2 | EASY |" in first.stdout
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"cp_2014.csv", "figures_3_1_3_3_3_5.png", "figures_3_2_3_4_3_6.svg"} <= files
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").glob("*/metrics.json")}
    again = subprocess.run([*command, "--only=EASY", "--limit=0"], check=True, capture_output=True, text=True, cwd=ROOT)
    assert (again.stdout, len(kept)) == (first.stdout, 1)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    cut = subprocess.run([*command, "--limit=0"], check=False, capture_output=True, text=True, cwd=ROOT)
    assert (cut.returncode, "7 runs are missing: the same command goes on" in cut.stderr) == (1, True)
