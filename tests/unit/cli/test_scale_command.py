"""`dardis scale` as its user meets it: files, combinations, what an interruption leaves, every mistake a line."""

import json

import pytest
from kit.small_site import rows_of

from dardis.cli.main import run
from dardis.scale import scale_run

PROMISED = {
    "nodes", "ranks", "task_managers", "arity", "sample", "jobs", "completed", "cpu_ns_per_node_job", "bytes_per_node",
    "message_bytes_per_node_job", "root_message_bytes", "chain", "schedule_digest",
}  # fmt: skip


@pytest.fixture
def scale(tmp_path, capsys):
    """Run `dardis scale` with arguments; return (status, lines on standard output, lines on standard error)."""

    def call(*more, nodes="40", jobs="5", report=False):
        arguments = ["--nodes", nodes, "--jobs", jobs, "--out", str(tmp_path / "o"), *map(str, more)]
        status = run(["scale", *arguments, *(() if report else ("--no-report",))])
        told = capsys.readouterr()
        return status, told.out.splitlines(), told.err.splitlines()

    return call


@pytest.fixture
def rows(tmp_path):
    return lambda *names: [tuple(row[name] for name in names) for row in rows_of(tmp_path / "o" / "scale.csv")]


def test_every_combination_is_a_row(scale, rows, tmp_path):
    status, out, error = scale(
        "--arity", "flat,2", "--sample", "all,3", "--task-managers", "1,2", "--window", "9000", "--reservations", "0,2",
        "--hosts-of", "8", nodes="40,80",
    )  # fmt: skip
    assert (status, error) == (0, [])
    assert "32 experiments of 5 jobs" in out[0]
    assert out[1].split()[:8] == ["nodes", "ranks", "managers", "arity", "sample", "in-flight", "reserved", "CPU"]
    assert out[2].split()[5:7] == ["1", "0"]
    assert rows_of(tmp_path / "o" / "scale.csv")[0].keys() >= PROMISED
    asked = rows("nodes", "task_managers", "arity", "sample", "reservations")
    assert len(set(asked)) == len(asked) == 32
    assert set(rows("completed", "window_s", "ranks", "mpi_share")) == {("5", "9000", "1", "")}
    assert set(rows("hosts")) == {("5",), ("10",)}
    digests = {row[2] for row in rows("sample", "nodes", "schedule_digest") if row[:2] == ("all", "40")}
    assert len(digests) == 2, "one for each number of reservations"
    record = json.loads((tmp_path / "o" / "scale.json").read_text())
    assert (record["experiments"], record["ranks"], record["arguments"]["samples"]) == (32, 1, [0, 3])
    assert {path.name for path in (tmp_path / "o").iterdir()} == {"scale.csv", "scale.json"}


def test_the_report_is_drawn_and_experiments_are_repeated_for_the_spread(scale, rows, tmp_path):
    status, out, _ = scale("--repeat", "2", nodes="40,80", report=True)
    assert status == 0
    assert "2 experiments of 5 jobs, 2 times" in out[0]
    assert rows("nodes", "repeat") == [(nodes, repeat) for repeat in "12" for nodes in ("40", "80")]
    assert len(set(rows("schedule_digest"))) == 2
    path = tmp_path / "o" / "report.html"
    page = path.read_text()
    assert "Work per node" in page
    assert "Each experiment ran 2 times" in page
    assert "Strong scaling" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    path.unlink()
    assert run(["report", str(tmp_path / "o")]) == 0
    assert path.read_text() == page


def test_fault_costs_are_repeatable_and_reported(scale, tmp_path):
    networks = [word for drop in ("0", "0.1", "0.2") for word in ("--faults", f"drop={drop},delay=2")]
    status, out, error = scale("--hosts-of", "8", *networks, nodes="40,80", report=True)
    assert (status, error) == (0, [])
    assert "2 experiments of 5 jobs, over 3 faulty networks" in out[0]
    files = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    assert files.keys() == {"faults.csv", "scale.json", "report.html"}
    assert [row["drop"] for row in rows_of(tmp_path / "o" / "faults.csv")] == ["0", "0.1", "0.2"] * 2
    for said in (b"Cost of lost messages", b"No job was lost, and the audit found no violations."):
        assert said in files["report.html"]
    scale("--hosts-of", "8", *networks, "--force", nodes="40,80")
    assert (tmp_path / "o" / "faults.csv").read_bytes() == files["faults.csv"]
    scale("--force")
    assert {path.name for path in (tmp_path / "o").iterdir()} == {"scale.csv", "scale.json"}


def test_interrupted_experiment_keeps_finished_rows(scale, rows, tmp_path, monkeypatch):
    measured, measure = [], scale_run.measure

    def once(*arguments):
        if measured:
            raise KeyboardInterrupt
        measured.append(measure(*arguments))
        return measured[0]

    monkeypatch.setattr(scale_run, "measure", once)
    status, _, error = scale(nodes="40,80")
    assert (status, error) == (130, ["dardis: interrupted"])
    assert rows("nodes") == [("40",)]
    assert json.loads((tmp_path / "o" / "scale.json").read_text())["experiments"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arity", "flat,1"), "--arity: '1'; expected flat, or a whole number from 2"),
        (("--sample", "4,half"), "--sample: 'half'; expected all, default or a whole number from 1"),
        (("--window", "-5"), "--window: '-5'; expected whole numbers from 1"),
        (("--window", "7"), "--window: 7 with 4 reservations per node; expected at least 2 s for each"),
        (("--reservations", "1001"), "--reservations: '1001'; expected whole numbers from 0 to 1000"),
        (("--ranks", "1,2"), "--ranks: 2, but there are 1; expected at most the ranks of mpirun"),
        (("--overlap", "0"), "--overlap: '0'; expected whole numbers from 1"),
        (("--overlap", "1,4", "--arity", "flat,3"), "--arity: 3 with 4 jobs in flight; expected flat, or --overlap 1"),
        (("--dispatcher", "easy"), "--dispatcher: easy has no rounds, in which a job asks nodes; expected one of "),
        (("--dispatcher", "nobody"), "--dispatcher: unknown dispatcher 'nobody'; expected one of dardis-throughput, "),
        (("--hosts-of", "0"), "--hosts-of"),
        (("--faults", "drop=1"), "--faults: 'drop=1'; expected drop and duplicate up to 0.9, delay"),
        (("--faults", "delay=3,loss=0.1"), "--faults: 'loss=0.1'; expected drop"),
        (("--faults", "crashes=2"), "--faults: crashes=2 of 1 hosts; expected no more than there are hosts"),
        (("--faults", "delay=41,resend=2"), "pace: messages take up to 41 s, resend is 2 s; expected at most 20 times"),
        (("--faults", "drop=0", "--weak"), "--faults: with mpirun, --ranks, --weak, --overlap or --repeat; expected"),
        (("--faults", "drop=0", "--dispatcher", "easy"), "--dispatcher: easy asks no nodes and sends no messages"),
        (
            ("--faults", "drop=0", "--dispatcher", "dardis-late", "--sample", "2"),
            "--sample: dardis-late asks all nodes",
        ),
        *((("--nodes", nodes), "--nodes: ") for nodes in ("", "0", "1e6", "10,", "-1", "3000000000")),
    ],
)
def test_scale_error_is_one_line(scale, tmp_path, arguments, message):
    status, _, (error,) = scale(*arguments)
    assert (status, message in error) == (2, True), error
    assert not (tmp_path / "o").exists()
