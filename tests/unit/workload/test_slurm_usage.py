"""Use of cores, CPU time and energy in Slurm's accounting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kit.error_lines import line_of
from kit.sacct_text import JOB, UNBEGUN, sacct
from kit.slurm_json import VERSIONS, accounting_job, document

from dardis.workload.slurm_usage import SlurmUsage, read_usage

Read = Callable[[str], SlurmUsage]
USED = JOB | {"JobID": "7", "User": "ann", "TotalCPU": "01:00:00", "ConsumedEnergyRaw": "3600", "NodeList": "n[1-2]"}
STEP = dict.fromkeys(USED, "") | {"State": "COMPLETED", "Start": "1010"}


def step(number: str, joules: str) -> dict[str, str]:
    return STEP | {"JobIDRaw": f"7.{number}", "JobID": f"7.{number}", "ConsumedEnergyRaw": joules}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def of(text: str) -> SlurmUsage:
        (tmp_path / "jobs").write_text(text)
        return read_usage(tmp_path / "jobs")

    return of


def test_run_has_its_nodes_cores_energy_and_cpu_time(read: Read) -> None:
    (run,) = read(sacct(USED)).spans
    assert (run.job, run.user, run.account, run.partition) == ("7", "ann", "phys", "gpu")
    assert (run.start, run.end, run.nodes, run.places) == (1010, 1110, 2, ("n1", "n2"))
    assert (run.amounts["cores"], run.amounts["gpu"]) == (64, 4)
    assert (run.joules, run.cpu_s, run.core_s, run.is_running) == (3600.0, 3600.0, 6400, False)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:05.250", 5.25), ("02:03", 123.0), ("1-00:00:01", 86_401.0), ("00:00:00", None), ("", None)],
)
def test_cpu_time_of_sacct(read: Read, text: str, seconds: float | None) -> None:
    assert read(sacct(USED | {"TotalCPU": text})).spans[0].cpu_s == seconds


@pytest.mark.parametrize(("cells", "joules"), [
    ({"ConsumedEnergyRaw": "0"}, None),
    ({"ConsumedEnergyRaw": ""}, None),
    ({"ConsumedEnergyRaw": "18446744073709551614"}, None),
    ({"ConsumedEnergyRaw": "", "AllocTRES": "cpu=64,energy=9000,node=2"}, 9000.0),
    ({"ConsumedEnergyRaw": "2000000000000"}, 2e12),
])  # fmt: skip
def test_energy_is_known_only_if_measured(read: Read, cells: dict[str, str], joules: float | None) -> None:
    assert read(sacct(USED | cells)).spans[0].joules == joules


def test_job_without_energy_has_the_greatest_of_its_steps(read: Read) -> None:
    steps = (step("batch", "500"), step("0", "900"), step("1", "700"))
    unmeasured = USED | {"ConsumedEnergyRaw": "0"}
    assert [run.joules for run in read(sacct(unmeasured, *steps)).spans] == [900.0]
    assert [run.joules for run in read(sacct(USED, *steps)).spans] == [3600.0]


def test_each_run_of_a_requeued_job_counts(read: Read) -> None:
    again = USED | {"Start": "2000", "End": "2050", "ElapsedRaw": "50"}
    assert [run.end - run.start for run in read(sacct(USED, again, USED)).spans] == [100, 50]


def test_requeued_run_counts_and_a_waiting_one_does_not(read: Read) -> None:
    requeued = USED | {"State": "REQUEUED", "Start": "500", "End": "700", "ElapsedRaw": "200"}
    planned = USED | {"JobIDRaw": "9", "State": "PENDING", "Start": "5000", "End": "Unknown", "ElapsedRaw": "0"}
    resized = USED | {"JobIDRaw": "10", "State": "RESIZING"}
    found = read(sacct(requeued, USED, planned, resized))
    assert [(run.start, run.end, run.is_running) for run in found.spans] == [
        (500, 700, False), (1010, 1110, False), (1010, 1110, False),
    ]  # fmt: skip
    assert found.notes == ("1 jobs never ran",)


def test_notes_count_running_and_unstarted_jobs(read: Read) -> None:
    runs = USED | {"JobIDRaw": "8", "State": "RUNNING", "End": "Unknown"}
    waits = USED | UNBEGUN | {"JobIDRaw": "9", "State": "PENDING"}
    odd = USED | {"JobIDRaw": "10", "State": "ODD"}
    found = read(sacct(USED, runs, waits, odd))
    assert [run.is_running for run in found.spans] == [False, True]
    assert found.notes == (
        "1 jobs still run, and count until now",
        "1 jobs never ran",
        "1 malformed lines are left out; line 5: State: 'ODD' is not a state of a job",
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_json_gives_the_runs_of_the_text(read: Read, version: int) -> None:
    used = accounting_job(USED, version)
    used["time"]["total"] = {"seconds": 3600, "microseconds": 5}
    used["tres"]["allocated"].append({"type": "energy", "name": "", "id": 3, "count": 3600})
    (of_json,), (of_text,) = read(document("jobs", [used], version)).spans, read(sacct(USED)).spans
    assert [getattr(of_json, name) for name in of_text.__slots__ if name != "line"] == [
        getattr(of_text, name) for name in of_text.__slots__ if name != "line"
    ]


def test_steps_of_json_have_energy(read: Read) -> None:
    used = accounting_job(USED | {"ConsumedEnergyRaw": ""}, 43)
    used["steps"] = [
        {"step": {"id": f"7.{name}"}, "state": ["COMPLETED"], "statistics": {"energy": {"consumed": joules}}}
        for name, joules in (("batch", {"set": True, "infinite": False, "number": 10}), ("0", 25))
    ]
    assert read(document("jobs", [used], 43)).spans[0].joules == 25.0


@pytest.mark.parametrize(("text", "told"), [
    ("a,b\n1,2\n", "is no accounting of Slurm; expected SLURM_TIME_FORMAT=%s sacct"),
    (sacct(USED | UNBEGUN | {"State": "PENDING"}), "no job that ran; expected"),
    (sacct(USED | {"ElapsedRaw": "x"}), "no job that ran (line 2: ElapsedRaw: 'x' is not a whole number)"),
    (sacct(USED, USED | {"JobIDRaw": "8", "Start": "2023-05-01T00:00:00"}), ":3: two clocks in one file"),
])  # fmt: skip
def test_odd_accounting_is_one_line(read: Read, text: str, told: str) -> None:
    assert told in line_of(read, text)
