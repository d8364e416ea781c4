"""Which cores each job had: as many as it asked for, on its nodes, and never one for two jobs at a time."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.schedules import INSTANCES, schedule_of

from dardis.cli.main import run as command
from dardis.metrics.columns import canonical_interval_set
from dardis.metrics.cores import core_sets, cores_on_nodes, first_cores, requested_cores
from dardis.metrics.jobs_csv import read_jobs, write_jobs
from dardis.model.platform import NodeGroup, Platform

HORIZON = 160


def cores_of(text):
    spans = (part.partition("-") for part in text.split())
    return [core for low, _, high in spans for core in range(int(low), int(high or low) + 1)]


@given(data=st.data())
def test_no_core_is_used_twice_at_a_time(data):
    platform, schedule = data.draw(INSTANCES)
    sets, first_core = core_sets(schedule, platform), first_cores(platform)
    used = np.zeros((platform.cores, HORIZON), dtype=np.int64)
    for job, (text, asked) in enumerate(zip(sets, requested_cores(schedule), strict=True)):
        assert cores_on_nodes(text, first_core) == asked
        assert canonical_interval_set(text) == text
        for core in cores_of(text):
            used[core, schedule.start[job] : schedule.finish[job]] += 1
    assert used.max(initial=0) <= 1
    asked_for = schedule.units * schedule.request[:, 0]
    assert [len(cores_of(text)) for text in sets] == np.where(schedule.ran, asked_for, 0).tolist()


TWO = Platform("two", (NodeGroup("a", 1, {"cores": 4}), NodeGroup("b", 1, {"cores": 8})))


def test_the_lowest_free_cores_are_taken():
    rows = [
        {"placed": {0: 3}, "finish": 10},
        {"placed": {1: 2}, "request": [2], "finish": 20},
        {"placed": {0: 1, 1: 4}, "start": 5, "finish": 30},
        {"placed": {0: 2}, "start": 10, "finish": 12},
        {"placed": {1: 1}, "start": 7, "finish": 7},
    ]
    assert core_sets(schedule_of(("cores",), rows), TWO) == ["0-2", "4-7", "3 8-11", "0-1", "4"]
    assert core_sets(schedule_of(("cores",), [{"placed": {0: 4, 1: 8}}]), TWO) == ["0-11"]


def test_illegal_schedule_is_reported():
    schedule = schedule_of(("cores",), [{"placed": {0: 3}}, {"placed": {0: 2}}])
    with pytest.raises(ValueError, match="2 cores of a node of 4, of which 1 are free"):
        core_sets(schedule, TWO)


@pytest.mark.parametrize("text", ["12", "3-1", "0 0", "0-2 2", "x", "-1"])
def test_invalid_core_set_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 (each another)
        cores_on_nodes(text, first_cores(TWO))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.toml").write_text('name = "p"\n[[nodes]]\ncount = 3\nprefix = "n"\nresources = { cores = 4 }\n')
    rows = [f"{n} {2 * n} -1 {7 + n} {1 + n % 6} -1 -1 {1 + n % 6} 99 -1 1 1 1 -1 1 1 -1 -1" for n in range(30)]
    (tmp_path / "t.swf").write_text("\n".join(rows) + "\n")
    return tmp_path


def simulated(folder, *options):
    out = folder / "out"
    run = ["simulate", str(folder / "t.swf"), "--platform", str(folder / "p.toml"), "--dispatcher", "easy"]
    assert command([*run, "--out", str(out), "--force", *options]) == 0
    return out


def test_a_run_by_cores_has_the_same_schedule_and_passes_its_audit(folder, capsys):
    plain = simulated(folder, "--no-report")
    nodes, digest = read_jobs(plain / "jobs.csv"), json.loads((plain / "metrics.json").read_text())["schedule_digest"]
    out = simulated(folder, "--resources", "cores")
    assert read_jobs(out / "jobs.csv").digest() == nodes.digest() == digest
    assert json.loads((out / "run.json").read_text())["resources"] == "cores"
    assert command(["audit", str(out)]) == 0
    assert command(["report", str(out)]) == 0
    capsys.readouterr()
    machine = Platform("p", (NodeGroup("n", 3, {"cores": 4}),))
    wrong = core_sets(nodes, machine)
    wrong[3] = wrong[4]
    write_jobs(nodes, out / "jobs.csv", "t.swf", wrong)
    assert command(["audit", str(out)]) == 1
    assert "but the other columns give cores of nodes" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")  # its calls that pandas deprecates are its own
def test_evalys_reads_use_and_queue(folder):
    jobset = pytest.importorskip("evalys.jobset", reason="evalys is not installed")
    out = simulated(folder, "--resources", "cores", "--no-report")
    jobs, schedule = jobset.JobSet.from_csv(str(out / "jobs.csv")), read_jobs(out / "jobs.csv")
    cores = schedule.requested_total("cores")
    assert jobs.MaxProcs == 12
    assert jobs.df["proc_alloc"].tolist() == cores.tolist()
    for told, begin, end in (
        (jobs.utilisation["load"], schedule.start, schedule.finish),
        (jobs.queue["load"], schedule.submit, schedule.start),
    ):
        assert told.max() > 0
        for time, load in told.items():
            assert load == cores[(begin <= time) & (time < end)].sum()
    assert jobs.utilisation["load"].max() <= 12
