"""The history of a service as the folder of a run: legal schedules, a trace of the same jobs, and its use in plans."""

import json

import numpy as np
import pytest
from kit.error_lines import line_of
from kit.live import Live
from kit.live_service import job

from dardis.cli.main import run
from dardis.config.platform_file import load_platform
from dardis.live.machine import machine_of_platform
from dardis.live.recorded_run import platform_of_jobs, recorded_run, write_recorded_run
from dardis.model.platform import platform_to_dict
from dardis.workload.trace_reader import read_trace
from offline.site.site_inputs import load_site
from offline.site.site_spec import SiteSpec

DAY_MS = 86_400_000
BEGIN_MS = 1_700_006_400_000
"""A midnight, UTC."""
PLATFORM = """
name = "m"
prices = 0.1
weather = 20.0
[[nodes]]
count = 3
prefix = "n"
resources = { cores = 4, memory = "4GiB" }
power = { idle_w = 100, core_w = 10, off_w = 5 }
"""


@pytest.fixture
def platform(tmp_path):
    (tmp_path / "p.toml").write_text(PLATFORM)
    return load_platform(tmp_path / "p.toml")


def jobs_of_a_machine(chance, count, span_ms):
    """Jobs as a service tells them: cores are free when a job takes them."""
    free = np.zeros((3, 4))
    """When each core is free again, ms."""
    jobs = []
    for number in range(1, count + 1):
        submitted = BEGIN_MS + int(chance.integers(span_ms))
        nodes, cpus = chance.permutation(3)[: chance.integers(1, 4)], int(chance.integers(1, 5))
        cores = {node: np.argsort(free[node])[:cpus] for node in nodes}
        started = max(submitted, *(int(free[node][some].max()) for node, some in cores.items()))
        walltime_s = int(chance.integers(1, 4000))
        state = ("completed", "failed", "timeout", "cancelled")[chance.integers(4)]
        runs_ms = walltime_s * 1000 + int(chance.integers(30_000)) if state == "timeout" else int(chance.integers(4e6))
        for node, some in cores.items():
            free[node][some] = started + runs_ms
        jobs.append(
            job(
                number, state, cpus=cpus, node_count=len(nodes), nodes=[f"n{node}" for node in nodes], attempt=1,
                submitted_ms=submitted, started_ms=started, ended_ms=started + runs_ms, walltime_s=walltime_s,
            )
        )  # fmt: skip
    return jobs


@pytest.mark.parametrize("seed", range(20))
def test_schedules_are_legal_and_agree_with_their_trace(platform, tmp_path, capsys, seed):
    jobs = jobs_of_a_machine(np.random.default_rng(seed), 60, 2 * DAY_MS)
    last_ms = max(one["ended_ms"] for one in jobs)
    late = {"submitted_ms": last_ms, "started_ms": last_ms}
    jobs += [job(61), job(62, "running", **late), job(63, "cancelled", nodes=[], started_ms=None)]
    found = recorded_run(jobs, platform, ["n0", "n1", "n2"])
    assert found.unix_start * 1000 <= min(one["submitted_ms"] for one in jobs)
    assert found.unix_start % 86_400 == 0
    metrics = write_recorded_run(found, tmp_path / "out", force=False)
    trace = read_trace(tmp_path / "out/recorded.csv", strict=True, not_ended=True)
    brief = sum(one["ended_ms"] // 1000 == one["started_ms"] // 1000 for one in jobs[:60])
    assert metrics["jobs"] == 60 - brief
    assert len(trace.number) == 62 - brief
    assert metrics["killed"] == sum(one["state"] == "timeout" for one in jobs)
    assert metrics["energy_kwh"] > 0
    assert run(["audit", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == f"audit: {60 - brief} jobs, ok\n"
    assert line_of(write_recorded_run, found, tmp_path / "out", force=False).startswith("--out ")
    write_recorded_run(found, tmp_path / "out", force=True)
    words = [
        "simulate", str(tmp_path / "out/recorded.csv"), "--platform", str(tmp_path / "p.toml"), "--dispatcher", "easy",
    ]  # fmt: skip
    assert run([*words, "--out", str(tmp_path / "out"), "--force"]) == 2, "it would replace its own input"
    assert (tmp_path / "out/recorded.csv").exists()


def test_jobs_without_a_known_run_are_left_out_with_a_note(platform):
    whole = job(1, "completed", exclusive=True, memory_mib=0, nodes=["n1"])
    odd = [job(2, "unknown"), job(3, "completed", nodes=["gone"]), job(4, "cancelled", started_ms=None, nodes=[])]
    found = recorded_run([whole, *odd], platform, ["n0", "n1", "n2"])
    assert found.schedule.number.tolist() == [1]
    assert found.schedule.request.tolist() == [[4, 4096]]
    waits = job(5, exclusive=True, memory_mib=0)
    later = job(6, "completed", begin_ms=1_700_000_030_000, attempt=3)
    known = recorded_run([whole, waits, later], platform, ["n0", "n1", "n2"])
    assert [(row["req_cores"], row["req_memory"]) for row in known.trace] == [(4, 4096), (4, 4096), (1, 0)]
    assert [row["est_s"] - row["submit_s"] for row in known.trace] == [0, 0, 30]
    assert (known.schedule.earliest - known.schedule.submit).tolist() == [0, 30]
    assert known.notes == ("jobs that ran several times, of which only the last run counts: 1",)
    assert found.notes == (
        "jobs left out, since they ended before they began: 1",
        "jobs left out, since they have an unknown end, or ran on nodes that are gone: 2",
    )
    for jobs in ([], [job(1)]):
        assert line_of(recorded_run, jobs, platform, ["n0"]).startswith("dardis history --out: ")


def test_plans_read_the_folder_and_know_its_clock(platform, tmp_path):
    jobs = jobs_of_a_machine(np.random.default_rng(1), 40, 3 * DAY_MS)
    write_recorded_run(recorded_run(jobs, platform, ["n0", "n1", "n2"]), tmp_path / "h", force=False)
    asked = SiteSpec(history=tmp_path / "h", platform=tmp_path / "p.toml")
    site = load_site(asked)
    first = min(one["submitted_ms"] for one in jobs) // 1000
    assert site.calendar.is_known
    assert int(site.trace.submit.min()) + site.calendar.offset == first
    both = asked.model_copy(update={"calendar_start": "2023-07-03T00:00Z"})
    assert line_of(load_site, both).startswith("--calendar-start: given, and")
    (tmp_path / "h/recorded.csv").unlink()
    assert line_of(load_site, asked).startswith(f"--history {tmp_path / 'h'}: is no history of a service")


def test_platform_of_a_service_is_that_of_its_file(platform):
    machine = machine_of_platform(platform)
    told = json.loads(json.dumps({"platform": platform_to_dict(machine.platform), "nodes": machine.names}))
    assert platform_of_jobs(told) == platform


def test_history_of_a_real_service_passes_the_audit(tmp_path, capsys):
    with Live(tmp_path).start() as live:
        live.submit("sleep 1.2", array="0-19")
        live.submit("sleep 1.1", nodes=3, cpus=2)
        (number,) = live.submit("trap '' TERM; sleep 60", walltime_s=1, grace_s=1)
        live.ended(number)
        live.all_over()
        assert run(["history", "--folder", str(live.folder), "--out", str(tmp_path / "h")]) == 0
        assert capsys.readouterr().out == f"22 jobs: {tmp_path / 'h/report.html'}\n"
        assert run(["audit", str(tmp_path / "h")]) == 0
        for words in (["--user", "me"], ["--limit", "3"], ["--json"]):
            assert run(["history", "--folder", str(live.folder), "--out", str(tmp_path / "i"), *words]) == 2
            assert capsys.readouterr().err.endswith("given with --out; expected all jobs, or those of --since\n")
