"""Workflows of 50 jobs, one that fails and one that is killed: Snakemake itself, and the calls of Nextflow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from kit.live import Live

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
JOBS, FAILS, IS_KILLED = 50, 7, 9
PLATFORM = 'name = "m"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 8, memory = "16GiB" }\n'
SNAKEFILE = f"""
rule all:
    input: expand("out/{{i}}.txt", i=range({JOBS}))
rule work:
    output: "out/{{i}}.txt"
    resources: mem_mb=200, runtime=5, slurm_account="me", slurm_partition="long"
    threads: 1
    shell:
        "if [ {{wildcards.i}} = {FAILS} ] && mkdir failed; then exit 3; fi; "
        "if [ {{wildcards.i}} = {IS_KILLED} ] && mkdir killed; then scancel $SLURM_JOB_ID; sleep 60; fi; "
        "echo $SLURM_JOB_ID > {{output}}"
"""
# What Nextflow puts at the head of its .command.run for a process with cpus, time, memory and queue.
NEXTFLOW_HEAD = """#!/bin/bash
#SBATCH -J nf-work_({number})
#SBATCH -o {folder}/.command.log
#SBATCH --no-requeue
#SBATCH --signal B:USR2@30
#SBATCH -c 1
#SBATCH -t 00:05:00
#SBATCH --mem 200M
#SBATCH -p long
"""
NEXTFLOW_BODY = """
set -e
trap 'printf %s $? > .exitcode' EXIT
trap 'exit 143' TERM USR2
cd {folder}
{command}
"""


@pytest.fixture
def live(tmp_path):
    with Live(tmp_path, PLATFORM) as live:
        yield live.start()


@pytest.fixture
def environment(live):
    programs = f"{ROOT / 'launch/slurm'}:{Path(sys.executable).parent}"
    return os.environ | {"DARDIS_FOLDER": str(live.folder), "PATH": f"{programs}:{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("snakemake") is None, reason="needs snakemake and its slurm executor plug-in")
def test_snakemake_reruns_the_failed_and_the_killed_job(live, environment, tmp_path):
    place = tmp_path / "workflow"
    place.mkdir()
    (place / "Snakefile").write_text(SNAKEFILE)
    words = ["snakemake", "--executor", "slurm", "--jobs", "60", "--retries", "1", "--latency-wait", "10"]
    words += ["--seconds-between-status-checks", "5", "--slurm-init-seconds-before-status-checks", "3"]
    done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(path.name for path in (place / "out").iterdir()) == sorted(f"{i}.txt" for i in range(JOBS))
    ended = Counter(job["state"] for job in live.client.history(None, state="over"))
    assert ended == {"completed": JOBS, "failed": 1, "cancelled": 1}


def test_the_calls_of_nextflow(live, environment, tmp_path):
    def call(*words):
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    def states():
        rows = call("squeue", "--noheader", "-o", "%i %t", "-t", "all", "-p", "long").splitlines()
        return dict(row.split() for row in rows)

    commands = {FAILS: "exit 3", IS_KILLED: "sleep 60 & wait $!"}
    jobs = {}
    for number in range(JOBS):
        folder = tmp_path / "work" / str(number)
        folder.mkdir(parents=True)
        body = NEXTFLOW_BODY.format(folder=folder, command=commands.get(number, "echo done > result"))
        (folder / ".command.run").write_text(NEXTFLOW_HEAD.format(number=number, folder=folder) + body)
        told = subprocess.run(
            ["sbatch", ".command.run"], cwd=folder, env=environment, capture_output=True, text=True, check=True
        ).stdout
        assert told.startswith("Submitted batch job ")
        jobs[number] = told.split()[-1]
        assert states()[jobs[number]] in {"PD", "R", "CG", "CD", "F"}
    killed = jobs[IS_KILLED]
    until = time.monotonic() + 60
    while states().get(killed) != "R":
        assert time.monotonic() < until
        time.sleep(0.2)
    call("scancel", killed)
    while set(states().values()) & {"PD", "R", "CG"}:
        assert time.monotonic() < until + 60
        time.sleep(0.2)
    codes = {number: (tmp_path / "work" / str(number) / ".exitcode").read_text() for number in jobs}
    assert codes == {number: {FAILS: "3", IS_KILLED: "143"}.get(number, "0") for number in jobs}
    found = states()
    assert {number: found[job] for number, job in jobs.items() if found[job] != "CD"} == {FAILS: "F", IS_KILLED: "CA"}
