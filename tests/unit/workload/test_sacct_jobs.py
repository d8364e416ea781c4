"""Job numbers and resources of what Slurm's sacct writes, and the same jobs as a job table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kit.sacct_text import JOB, NEXT, UNBEGUN, sacct
from typer.testing import CliRunner

from dardis.cli.main import app_of
from dardis.workload.csv_trace import LARGEST_ARRAY
from dardis.workload.trace import Trace
from dardis.workload.trace_reader import read_trace

Read = Callable[..., Trace]


class TestNumbers:
    def test_array_members_have_their_own_numbers(self, read: Read) -> None:
        trace = read({"JobID": "5_3"} | JOB, {"JobID": "5_4"} | NEXT)
        assert (trace.number.tolist(), trace.notes) == ([7, 8], ())

    def test_steps_are_skipped(self, read: Read) -> None:
        names = ("7.batch", "7.extern", "7.0", "7.interactive")
        for column in ("JobIDRaw", "JobID"):
            steps = [{"JobID": "7"} | JOB | {column: name, "State": "?", "Submit": "x"} for name in names]
            trace = read({"JobID": "7"} | JOB, *steps, strict=True)
            assert trace.number.tolist() == [7]
            assert {skip.reason for skip in trace.skipped} == {"a step of a job (sacct -X leaves them out)"}
            assert len(trace.skipped) == 4

    @pytest.mark.parametrize(
        ("bracket", "count"), [("5-9%2", 5), ("3", 1), ("1,3,7-9", 5), ("0-20:5%1", 5), (f"1-{LARGEST_ARRAY}", 100_000)]
    )
    def test_pending_array_members_are_separate_jobs(self, read: Read, bracket: str, count: int) -> None:
        pending = {"JobID": f"8_[{bracket}]"} | NEXT | UNBEGUN | {"State": "PENDING"}
        trace = read(pending, {"JobID": "9"} | JOB | {"JobIDRaw": "9"}, not_ended=True)
        waiting = trace.take(~trace.has_ended)
        assert sorted(waiting.number.tolist()) == [8, *range(10, 9 + count)], "as unique as all others"
        assert {*waiting.request["cores"].tolist()} == {32}
        told = f"{count - 1} array members have numbers from 10, since the file states none"
        assert trace.notes == ((told,) if count > 1 else ())
        gone = pending | {"State": "CANCELLED by 5"}
        assert [skip.line for skip in read(gone, {"JobID": "9"} | JOB).skipped] == [2], "one line, whoever it was for"

    @pytest.mark.parametrize("bracket", ["1,3,...", "9-5", "", "1-5:0", "x", f"0-{LARGEST_ARRAY}", "1-999999999"])
    def test_a_bracket_that_cannot_be_read_is_malformed(self, read: Read, bracket: str) -> None:
        pending = {"JobID": f"8_[{bracket}]"} | NEXT | UNBEGUN | {"State": "PENDING"}
        (skip,) = read(pending, {"JobID": "7"} | JOB).skipped
        assert (skip.line, skip.malformed) == (2, True)
        assert "members" in skip.reason

    def test_sacct_without_raw_ids_is_read(self, read: Read) -> None:
        ids = ("5_3", "5_4", "6", "8+0", "8+1", "20_[1-2]")
        jobs = [{"JobID": name} | JOB for name in ids]
        jobs[-1] |= UNBEGUN | {"State": "PENDING"}
        trace = read(sacct(*jobs, without=("JobIDRaw",)), not_ended=True)
        assert trace.number.tolist() == [6, 8, 9, 20, 21, 22, 23]
        assert trace.notes == (
            "2 parts of heterogeneous jobs are separate jobs that may start separately",
            "3 array members have numbers from 21, since the file states none",
        )

    def test_requeued_job_counts_its_last_run(self, read: Read) -> None:
        first = JOB | {"State": "NODE_FAIL", "ElapsedRaw": "50"}
        again = JOB | {"Submit": "1060", "Start": "1100", "ElapsedRaw": "90"}
        reason = "an earlier run of job 7, which was queued again; line {} replaces it"
        for jobs, line, counts in (((first, again), 2, 3), ((again, first), 3, 2)):
            trace = read(*jobs, strict=True)
            assert trace.runtime.tolist() == [90]
            assert [tuple(skip) for skip in trace.skipped] == [(line, reason.format(counts), False)]
        assert read(first, JOB).runtime.tolist() == [100], "the last of those submitted at once"
        waits = again | UNBEGUN | {"State": "PENDING"}
        assert read(first, waits, NEXT, not_ended=True).runtime.tolist() == [100, -1]
        gone = waits | {"State": "CANCELLED by 7"}
        assert read(first, gone, NEXT).number.tolist() == [8], "as sacct says without -D"

    def test_resized_job_counts_its_last_size(self, read: Read) -> None:
        wide = JOB | {"State": "RESIZING", "End": "1050", "ElapsedRaw": "40", "AllocTRES": "cpu=64,node=4"}
        small = JOB | {"Start": "1050", "ElapsedRaw": "60", "AllocTRES": "cpu=16,node=1"}
        for jobs, line, counts in (((wide, small), 2, 3), ((small, wide), 3, 2)):
            trace = read(*jobs, strict=True, not_ended=True)
            assert (trace.units.tolist(), trace.runtime.tolist()) == ([1], [60])
            reason = f"a part of job 7, which changed its size; line {counts} replaces it"
            assert [tuple(skip) for skip in trace.skipped] == [(line, reason, False)]
        assert read(wide).runtime.tolist() == [40], "its other line is not in the file"


class TestResources:
    @pytest.mark.parametrize(("allocated", "request_", "units"), [
        ("cpu=10,mem=1000M,node=3", {"cores": 4, "memory": 334}, 3),
        ("cpu=4K,mem=1T,node=2", {"cores": 2048, "memory": 1 << 19}, 2),
        ("cpu=1,mem=2.50G,node=1", {"cores": 1, "memory": 2560}, 1),
        ("cpu=4,gres/gpu:a100=2,gres/gpu:v100=1,node=1", {"cores": 4, "gpu": 3}, 1),
        ("cpu=4,gres/fpga=1,gres/gpu=2,node=2", {"cores": 2, "fpga": 1, "gpu": 1}, 2),
        ("cpu=4,gres/cores=9,gres/9=9,license/x=5,energy=18446744073709551614,billing=7.5", {"cores": 2}, 2),
        ("cpu=4,gres/nic-ib:m.2=2,node=2", {"cores": 2, "nic_ib": 1}, 2),
        ("cpu=4", {"cores": 2}, 2),
        ("", {"cores": 32, "memory": 51200}, 2),
    ])  # fmt: skip
    def test_unit_holds_the_job_resources_of_one_node(
        self, read: Read, allocated: str, request_: dict[str, int], units: int
    ) -> None:
        trace = read(JOB | {"AllocTRES": allocated})
        assert {kind: amounts.tolist() for kind, amounts in trace.request.items()} == {
            kind: [amount] for kind, amount in request_.items()
        }
        assert trace.units.tolist() == [units]

    def test_resource_type_is_its_own_kind_where_requested(self, read: Read) -> None:
        allocated = "cpu=4,gres/gpu:A-100=4,gres/gpu=4,node=2"
        asked = read(JOB | {"AllocTRES": allocated, "ReqTRES": "cpu=4,gres/gpu:A-100=4,gres/gpu=4,node=2"})
        assert {kind: one.tolist() for kind, one in asked.request.items()} == {
            "cores": [2], "gpu": [2], "gpu_a_100": [2],
        }  # fmt: skip
        any_type = read(JOB | {"AllocTRES": allocated, "ReqTRES": "cpu=4,gres/gpu=4,node=2"})
        assert [*any_type.request] == ["cores", "gpu"]

    @pytest.mark.parametrize(("columns", "cores", "units"), [
        ({"AllocCPUS": "0", "ReqCPUS": "6", "ReqNodes": "2"}, 3, 2),
        ({"NCPUS": "8", "NNodes": "1K"}, 1, 1024),
        ({"ReqTRES": "cpu=6,node=3"}, 2, 3),
    ])  # fmt: skip
    def test_columns_of_older_exports(self, read: Read, columns: dict[str, str], cores: int, units: int) -> None:
        trace = read({name: JOB[name] for name in ("JobIDRaw", "Submit", "Start", "End", "State")} | columns)
        assert (trace.request["cores"].tolist(), trace.units.tolist()) == ([cores], [units])


TABLE = (
    "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_memory,req_gpu,est_s,wait_s,"
    "queue,user,group,name,partition"
)


def drawn_job(rng: np.random.Generator, number: int) -> tuple[dict[str, str], str]:
    """A job as sacct and as a job table has it."""
    submit, units, cores, memory, gpus, run = (int(rng.integers(1, most)) for most in (10**6, 9, 64, 4096, 4, 9999))
    eligible, wait, minutes = submit + int(rng.choice((-5, 0, 70))), int(rng.integers(99)), int(rng.integers(1, 99))
    state = str(rng.choice(("COMPLETED", "TIMEOUT", "CANCELLED by 12", "RUNNING", "PENDING")))
    limited, begun, ended = rng.random() < 0.8, state != "PENDING", state not in ("RUNNING", "PENDING")
    has = f"billing=1,cpu={units * cores},gres/gpu:x={units * gpus},mem={units * memory}M,node={units}"
    texts = {name: f"{name}{rng.integers(3)}" for name in ("QOS", "User", "Account", "JobName", "Partition")}
    said = texts | {
        "JobIDRaw": f"{number}", "Submit": f"{submit}", "Eligible": f"{eligible}", "State": state,
        "ReqTRES": has.replace(":x", ""),
        "Start": f"{submit + wait}" if begun else "Unknown", "End": f"{submit + wait + run}" if ended else "Unknown",
        "TimelimitRaw": f"{minutes}" if limited else "UNLIMITED", "AllocTRES": has if begun else "", "WorkDir": "/x",
    }  # fmt: skip
    cells = (
        number, submit, run if ended else "", 60 * minutes if limited else "", units, cores, memory, gpus,
        max(eligible, submit), wait if begun else "", *texts.values(),
    )  # fmt: skip
    return said, ",".join(map(str, cells))


@pytest.mark.parametrize("seed", range(8))
def test_the_same_jobs_as_a_job_table_are_the_same_trace(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.choice(1000, 40, replace=False).tolist()
    jobs, rows = zip(*(drawn_job(rng, number) for number in numbers), strict=True)
    columns = rng.permutation([*jobs[0]]).tolist()
    shuffled = [{name: job[name] for name in columns} for job in jobs]
    (tmp_path / "a.txt").write_text(sacct(*shuffled))
    (tmp_path / "b.csv").write_text("\n".join([TABLE, *rows, ""]))
    ours, theirs = (read_trace(tmp_path / name, not_ended=True, strict=True) for name in ("a.txt", "b.csv"))
    for name in (
        "number", "submit", "wait", "runtime", "walltime", "no_walltime", "est", "lst", "units", "procs", "after",
        "queue", "user", "group", "name", "partition",
    ):  # fmt: skip
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
    found, wanted = ({kind: a.tolist() for kind, a in trace.request.items()} for trace in (ours, theirs))
    assert found == wanted


def test_trace_commands_print_notes_about_sacct_jobs(tmp_path: Path) -> None:
    source, table = tmp_path / "jobs.txt", tmp_path / "jobs.csv"
    het = [NEXT | {"JobID": f"8+{n}", "JobIDRaw": f"{8 + n}"} for n in range(2)]
    source.write_text(sacct({"JobID": "7"} | JOB, *het, {"JobID": "7.batch"} | JOB | {"JobIDRaw": "7.batch"}))
    done = CliRunner().invoke(app_of(), ["trace", "convert", str(source), str(table)])
    assert "1 no job (a step of a job (sacct -X leaves them out)), skipped: line 5" in done.output
    assert read_trace(table).request["gpu"].tolist() == [2, 2, 2]
    machine = tmp_path / "m.toml"
    machine.write_text('name = "m"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 64, gpu = 4 }\n')
    ran = ["simulate", str(source), "--platform", str(machine), "--dispatcher", "easy", "--out", str(tmp_path / "out")]
    told = CliRunner().invoke(app_of(), ["trace", "info", str(source)], env={"COLUMNS": "200"})
    for one in (done, told, CliRunner().invoke(app_of(), ran)):
        assert one.exit_code == 0, one.output
        assert "2 parts of heterogeneous jobs" in one.output
