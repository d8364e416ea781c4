"""Slurm's programs in front of the service: what they print, whom they cancel, and what Snakemake and Nextflow ask."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from kit.live_service import job, served

from dardis.live.job_request import JobRequest
from dardis.live.slurm_programs.__main__ import PROGRAMS, main
from dardis.live.slurm_programs.slurm_jobs import JobName, folded, read_name, reason_of, span, state_of
from dardis.model.errors import InputError

ROOT = Path(__file__).parents[3]
WAITS = {"why": "waits for jobs of its array"}


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A service with an array that runs and waits, a single job, and jobs that have ended."""
    folder = tmp_path / "service"
    folder.mkdir()
    monkeypatch.setenv("DARDIS_FOLDER", str(folder))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    now_ms = round(time.time() * 1000)
    runs = {"started_ms": now_ms - 3_665_000, "nodes": ["n1", "n2"]}
    ended = {"ended_ms": now_ms - 60_000, "started_ms": now_ms - 125_000, "submitted_ms": now_ms - 130_000}
    with served(folder) as one:
        one.add(
            job(3, "running", **runs, array=3, index=0, name="many", cpus=2, node_count=2, partition="long"),
            *(job(number, **WAITS, array=3, index=number - 3, name="many") for number in (4, 5, 7)),
            job(8, name="last", why="waits for the end of job 3", after=[{"kind": "ok", "id": 3}]), job(9, "held"),
            job(1, "failed", code=3, **ended), job(2, "cancelled", why="cannot end before its deadline", **ended),
            job(10, "completed", **ended, memory_mib=500),
        )  # fmt: skip
        yield one


def run(capsys, *words):
    """Exit status and lines of a program."""
    status = main(list(words))
    told = capsys.readouterr()
    return status, told.out.splitlines(), told.err.splitlines()


def test_squeue_lists_jobs_and_folds_waiting_arrays(fake, capsys):
    status, lines, _ = run(capsys, "squeue")
    assert status == 0
    assert lines == [
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)",
        "         3_[1-2,4]    dardis     many       me PD       0:00      1 (JobArrayTaskLimit)",
        "                 8    dardis     last       me PD       0:00      1 (Dependency)",
        "                 9    dardis     true       me PD       0:00      1 (JobHeldUser)",
        f"               3_0      long     many       me  R {lines[4][50:60]}      2 n[1-2]",
    ]
    assert re.fullmatch(r"1:\d\d:\d\d", lines[4][50:60].strip())
    assert run(capsys, "squeue", "-h", "-r", "-o", "%i|%t", "-j", "3")[1] == ["3_1|PD", "3_2|PD", "3_4|PD", "3_0|R"]
    assert run(capsys, "squeue", "--noheader", "--Format=JobID:6,State:.9", "--states=RUNNING")[1] == [
        "3       RUNNING"
    ]
    assert run(capsys, "squeue", "-h", "-t", "all", "-o", "%A %T", "-S", "-i", "-n", "true")[1] == [
        "10 COMPLETED", "9 PENDING", "2 DEADLINE", "1 FAILED",
    ]  # fmt: skip
    assert run(capsys, "squeue", "-h", "--me")[1] == [] or os.environ.get("USER") == "me"


def test_sacct_lists_results(fake, capsys):
    assert run(capsys, "sacct", "-a", "-X", "-P", "-n", "--format=JobIdRaw,State,ExitCode", "-j", "1,2,3_0")[1] == [
        "1|FAILED|3:0", "2|DEADLINE|0:0", "3|RUNNING|0:0",
    ]  # fmt: skip
    _, lines, _ = run(capsys, "sacct", "-a", "--state", "CD", "-o", "JobID,JobName%6,Elapsed,ReqMem,NCPUS")
    assert lines == [
        "JobID        JobNa+    Elapsed     ReqMem      NCPUS ",
        "------------ ------ ---------- ---------- ---------- ",
        "10             true   00:01:05       500M          1 ",
        "10.batch      batch   00:01:05       500M          1 ",
    ]  # fmt: skip
    assert run(capsys, "sacct", "-a", "-X", "-n", "-p", "-b", "-S", "now-1fortnight")[0] == 1
    for of_jobs in (["-j", "1", "-j", "2", "-j3_0"], ["-j", "1,2,99,3_0"]):
        assert len(run(capsys, "sacct", "-a", "-X", "-n", "-P", *of_jobs)[1]) == 3
    assert run(capsys, "sacct", "-a", "-j", "99", "-n") == (0, [], [])
    assert run(capsys, "sacct", "-a", "-n", "-j", "1.0", "--format=Reason")[1] == []
    assert run(capsys, "sacct", "-a", "-X", "-n", "-p", "-b", "-S", "2020-01-01", "-E", "2020-02-01")[1] == []


@pytest.mark.parametrize(("words", "cancelled"), [
    (["8"], {8}), (["3"], {3, 4, 5, 7}), (["3_1"], {4}), (["3_[1-2]"], {4, 5}), (["3_0,9"], {3, 9}),
    (["-n", "many", "-t", "PENDING"], {4, 5, 7}), (["-u", "me", "--state=R"], {3}), (["-p", "long"], {3}),
])  # fmt: skip
def test_scancel_cancels_jobs_arrays_and_selections(fake, capsys, words, cancelled):
    assert run(capsys, "scancel", "-s", "USR1", "-b", *words) == (0, [], [])
    told = {"number": 10, "script": True, "steps": False}
    assert {number for number, one in fake.jobs.items() if one.get("signals") == [told]} == cancelled
    assert run(capsys, "scancel", *words) == (0, [], [])
    assert {number for number, one in fake.jobs.items() if one["state"] == "cancelled"} - {2} == cancelled


def test_scontrol_shows_hosts_and_jobs(fake, capsys, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "a[1-2],b")
    assert run(capsys, "scontrol", "show", "hostnames")[1] == ["a1", "a2", "b"]
    assert run(capsys, "scontrol", "show", "hostnames", "n[08-10]")[1] == ["n08", "n09", "n10"]
    assert run(capsys, "scontrol", "show", "hostlist", "a1,a2,c")[1] == ["a[1-2],c"]
    told = run(capsys, "scontrol", "-o", "show", "job", "8")[1][0]
    assert "JobId=8 JobName=last" in told
    assert "JobState=PENDING Reason=Dependency Dependency=afterok:3" in told
    for words in (["job=8"], ["jobid", "8"], ["JobId=8"], ["-a", "job", "8"]):
        assert run(capsys, "scontrol", "-o", "show", *words)[1][0] == told
    assert run(capsys, "scontrol", "version")[1] == ["slurm 25.05.0"]
    assert run(capsys, "scontrol", "uhold", "8")[0] == 0
    assert fake.jobs[8]["state"] == "held"


def test_sbatch_submits_scripts_and_wrapped_commands(fake, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SBATCH_TIMELIMIT", "7")
    (tmp_path / "s.sh").write_text("#!/bin/sh\n#SBATCH -t 5 -J script -a 1-2\n")
    assert run(capsys, "sbatch", "-c", "2", "s.sh", "-t", "x") == (0, ["Submitted batch job 11"], [])
    body = fake.asked[-1][2]
    asked = JobRequest.from_dict(body["jobs"])
    assert (asked.walltime_s, asked.cpus, asked.name, asked.output) == (420, 2, "script", "slurm-%A_%a.out")
    assert asked.argv == ("-t", "x")
    assert run(capsys, "sbatch", "--parsable", "--wrap", "echo 1 | wc", "-A", "me") == (
        0, ["13"], ["sbatch: warning: -A me is ignored"],
    )  # fmt: skip
    assert fake.asked[-1][2]["script"].endswith("\necho 1 | wc\n")
    assert JobRequest.from_dict(fake.asked[-1][2]["jobs"]).output == "slurm-%j.out"
    assert run(capsys, "sbatch", "-Q", "-A", "me", "s.sh") == (0, [], [])


@pytest.mark.parametrize(("words", "line"), [
    ("sbatch /no/such", "sbatch: error: /no/such: cannot be read"),
    ("sbatch --wrap x y", "sbatch: error: --wrap: together"),
    ("sbatch --test-only s", "sbatch: error: --test-only: is not supported"),
    ("squeue -o %!", "squeue: error: --format: '%!'"), ("squeue -t sleepy", "squeue: error: --states: 'sleepy'"),
    ("squeue -O Colour", "squeue: error: --Format: 'Colour'"),
    ("squeue -S colour", "squeue: error: --sort: 'colour'"), ("squeue x", "squeue: error: squeue: 'x'"),
    ("sacct -o Colour", "sacct: error: --format: 'Colour'"), ("sacct -j x", "sacct: error: --jobs: 'x'"),
    ("scancel", "scancel: error: scancel: no jobs"), ("scancel x", "scancel: error: scancel: 'x'"),
    ("scancel 99", "scancel: error: Kill job error on job id 99"),
    ("scontrol update x", "scontrol: error: scontrol: 'update x'"),
    ("scontrol show hostnames n[2-1]", "scontrol: error: scontrol"),
    ("srun true", "srun: error: srun: runs only inside jobs; expected sbatch --wait SCRIPT"),
    ("squeue -j 99", "squeue: error: Invalid job id"), ("sinfo x", "sinfo: error: sinfo: 'x'"),
    ("scancel 8.0", "scancel: error: scancel: '8.0'"), ("sacctmgr add user me", "sacctmgr: error: sacctmgr: 'add'"),
    ("scontrol show node n9", "scontrol: error: scontrol: there is no"),
])  # fmt: skip
def test_mistakes_are_one_line(fake, capsys, monkeypatch, words, line):
    monkeypatch.delenv("DARDIS_RUN", raising=False)
    status, out, err = run(capsys, *words.split())
    assert (status, out, len(err)) == (1, [], 1)
    assert err[0].startswith(line)


def test_sinfo_groups_nodes_and_accounts_are_empty(fake, capsys):
    assert run(capsys, "sinfo", "-h", "-o", "%P %t %C %G %N")[1] == ["dardis* mix 1/3/0/4 gpu:1 n1"]
    assert run(capsys, "sinfo", "-N", "-h")[1] == ["n1      1   dardis* mix   "]
    assert run(capsys, "sinfo", "-h", "-t", "idle")[1] == []
    for words in (["sacctmgr", "-n", "-s", "list", "user", "me", "format=account%256"], ["sshare", "-U", "--noheader"]):
        assert run(capsys, *words) == (0, [], [])
    assert "MinJobAge               = 300 sec" in run(capsys, "scontrol", "show", "config")[1]
    assert run(capsys, "scontrol", "show", "partition")[1][0] == "PartitionName=dardis"
    assert "NodeName=n1 CPUAlloc=1 CPUTot=4" in run(capsys, "scontrol", "show", "node", "n1")[1]


def test_programs_are_found_in_the_launch_folder(fake):
    for program in PROGRAMS:
        words = [ROOT / "launch" / "slurm" / program, "--version"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("slurm 25.05")


def test_names_of_jobs_are_read():
    assert read_name("12", "x") == JobName(12)
    assert read_name("12_3.batch", "x") == JobName(12, "3")
    assert read_name("12.0", "x") == JobName(12, "", "0")
    assert read_name("12_[1,3-9:2%4]", "x") == JobName(12, "1,3-9:2")
    with pytest.raises(InputError, match="the number of a job"):
        read_name("12_[3", "x")
    assert [span(seconds) for seconds in (5, 65, 3600, 90_061)] == ["0:05", "1:05", "1:00:00", "1-01:01:01"]
    assert state_of(job(1, "failed", why="a process was killed at the memory limit of 5 MiB")) == "OUT_OF_MEMORY"
    assert [reason_of(job(1, why=why)) for why in ("", "begins at 2026", "waits for earlier jobs with the name x")] == [
        "Resources", "BeginTime", "Dependency",
    ]  # fmt: skip
    assert [number for _, number in folded([job(4, array=4, index=0), job(5, array=4, index=5)])] == ["4_[0,5]"]
