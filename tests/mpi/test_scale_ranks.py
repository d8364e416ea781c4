"""Scale experiments over ranks, on all ranks or some; what is measured of the network and of a bare tree of ranks."""

import csv
import json
import time

import pytest
from kit.ranks import by_ranks
from mpi4py import MPI

from dardis.model.errors import InputError
from dardis.model.loggp import JobCost, LogGP, flat_round_ns
from dardis.scale.experiment import RankGroup
from dardis.scale.measure import measure
from dardis.scale.scale_run import ScaleRequest, run_scale_over_ranks
from dardis.transport.loggp_probe import measure as measure_network
from dardis.transport.mpi_transport import broadcast
from scripts.lab.bench.rank_of_tree import BareTree

COMM = MPI.COMM_WORLD
JOBS = 8
RANKS = tuple(sorted({1, (COMM.size + 1) // 2, COMM.size}))


def request_for(folder, **more):
    arguments = {
        "nodes": (300,), "jobs": JOBS, "out": folder / "o", "arities": (0, 2), "ranks": RANKS, "windows": (20_000,),
        "samples": (0, 4),
    }  # fmt: skip
    return ScaleRequest(**arguments | more)


@pytest.mark.mpi
@pytest.mark.parametrize("dispatcher", by_ranks(("dardis-throughput",), ("dardis-balance",)))
def test_schedules_are_those_of_one_process(mpi_tmp_path, dispatcher):
    request = request_for(mpi_tmp_path, dispatcher=dispatcher)
    rows = run_scale_over_ranks(COMM, request)
    if COMM.rank > 0:
        assert rows == 0
        return
    experiments = request.experiments(COMM.size)
    assert len(rows) == len(experiments) == 4 * len(RANKS)
    alone = {}
    for what, row in zip(experiments, rows, strict=True):
        key = what.nodes, what.sample
        if key not in alone:
            one = request_for(
                mpi_tmp_path, dispatcher=dispatcher, nodes=(what.nodes,), samples=(what.sample,), ranks=()
            )
            alone[key] = measure(one.experiments(1)[0], RankGroup(None, None, 1)).schedule_digest
        assert row.schedule_digest == alone[key], what
        assert row.ranks == what.ranks
        assert row.completed == JOBS
    with (mpi_tmp_path / "o" / "scale.csv").open() as file:
        written = [row["schedule_digest"] for row in csv.DictReader(file)]
    assert written == [row.schedule_digest for row in rows]
    record = json.loads((mpi_tmp_path / "o" / "scale.json").read_text())
    assert sorted(record["networks"]) == [str(ranks) for ranks in RANKS if ranks > 1]
    assert record["ranks"] == COMM.size


@pytest.mark.mpi
def test_figures_of_ranks(mpi_tmp_path):
    rows = run_scale_over_ranks(COMM, request_for(mpi_tmp_path, samples=(0,), weak=True, task_managers=(2,)))
    if COMM.rank > 0:
        return
    measured = ("mpi_share", "collective_s_per_round", "predicted_s_per_round", "node_ns", "message_ns")
    for row in rows:
        assert row.nodes == 300 * row.ranks
        several = row.ranks > 1
        assert all((getattr(row, name) is not None) == several for name in measured)
        assert row.hosts == (row.ranks if several else -(-row.nodes // 64))
        assert row.wall_s_per_round > 0
        assert row.message_bytes_per_node_job > 0
        assert row.root_message_bytes > 0
        assert row.startup_s > 0
        if several:
            assert 0 <= row.mpi_share <= 1
            assert row.ask_bytes > 100
            assert row.answer_bytes > 100
            assert row.predicted_s_per_round > 1e-6
    foretold = mpi_tmp_path / "o" / "predictions.csv"
    assert foretold.exists() == any(row.ranks > 1 for row in rows)
    if foretold.exists():
        with foretold.open() as file:
            assert {line["scaling"] for line in csv.DictReader(file)} == {"strong", "weak"}


@pytest.mark.mpi
def test_jobs_in_flight_over_ranks(mpi_tmp_path):
    request = request_for(mpi_tmp_path, arities=(0,), samples=(2,), task_managers=(2,), overlaps=(4,), jobs=16)
    rows = run_scale_over_ranks(COMM, request)
    if COMM.rank > 0:
        return
    assert len({(row.schedule_digest, row.waves, row.rounds, row.completed) for row in rows}) == 1
    for row in rows:
        several = row.ranks > 1
        assert row.waves >= 16 / 4
        assert (row.predicted_s_per_round is not None) == several
        # What ranks do while they wait for each other is no work.
        assert 0 < row.job_ns * row.jobs < 1e9 * row.ranks * row.wall_s_per_round * row.rounds
        assert row.root_message_bytes > 0


@pytest.mark.mpi
def test_scale_error_ends_all_ranks_without_traceback(mpi_tmp_path):
    if COMM.rank == 0:
        (mpi_tmp_path / "else").mkdir()
        (mpi_tmp_path / "else" / "file").touch()
    mistakes = {
        "--ranks": request_for(mpi_tmp_path, ranks=(COMM.size + 1,)),
        "unknown dispatcher": request_for(mpi_tmp_path, dispatcher="nobody"),
        "has other content": request_for(mpi_tmp_path, out=mpi_tmp_path / "else"),
    }
    for line, request in mistakes.items():
        if COMM.rank == 0:
            with pytest.raises(InputError, match=line):
                run_scale_over_ranks(COMM, request)
        else:
            assert run_scale_over_ranks(COMM, request) == 2


def same_on_all_ranks(value):
    return broadcast(COMM, repr(value) if COMM.rank == 0 else None) == repr(value)


@pytest.mark.mpi(min_size=2)
def test_the_network_is_measured():
    begin = time.perf_counter_ns()
    network = measure_network(COMM, repetitions=3)
    taken_ns = time.perf_counter_ns() - begin
    assert isinstance(network, LogGP)
    assert same_on_all_ranks(network)
    assert network.ranks == COMM.size
    assert 0 < network.send_overhead_ns < taken_ns
    assert 0 < network.receive_overhead_ns < taken_ns
    assert network.latency_ns >= 0
    assert network.gap_ns >= 0
    assert 0 <= network.gap_per_byte_ns < taken_ns  # 0: load hides that long messages take longer
    assert not COMM.Iprobe()
    cost = JobCost(0.0, 0.0, 100.0, 100.0)
    assert flat_round_ns(network, cost, COMM.size, 0) > network.send_overhead_ns + network.receive_overhead_ns


@pytest.mark.mpi
@pytest.mark.parametrize("arity", [1, 2, 8])
def test_every_rank_is_reached_once(arity):
    tree = BareTree(COMM, arity)
    assert len(tree.children) <= arity
    assert tree.pass_s(500, 100) > 0
    places = COMM.gather((tree.parent, tree.children))
    if places is None:
        return
    found = {child: rank for rank, (_, children) in enumerate(places) for child in children}
    assert sum(len(children) for _, children in places) == COMM.size - 1
    assert found == {rank: parent for rank, (parent, _) in enumerate(places) if rank > 0}
