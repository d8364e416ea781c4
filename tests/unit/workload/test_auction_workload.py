"""The workloads of AUCSCHED: totals, shares, ranges, the table that they become, and whole runs that are audited."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.cli.main import run as command
from dardis.model.errors import InputError
from dardis.workload.generate import MACHINES, WORKLOADS, AuctionParameters, generate_auction
from dardis.workload.trace import Trace

PLATFORMS = Path(__file__).resolve().parents[3] / "launch" / "platforms"
TYPES = ("cores", "nodes", "one GPU", "two GPUs")
NODE_CORES = {"nodes": {4, 8}, "one GPU": {1, 2}, "two GPUs": {2, 4}}
SHARES = {"I": (1, 0, 0, 0), "II": (0, 1, 0, 0), "III": (1 / 2, 1 / 2, 0, 0), "IV": (0.4, 0.4, 0.2, 0),
          "V": (1 / 3, 1 / 3, 1 / 6, 1 / 6)}  # fmt: skip
"""Table 4."""


def plain(trace: Trace) -> list[tuple[str, int, int, int, int, bool]]:
    """Type, nodes (0: any), cores a unit, cores in all, runtime (s), and whether nodes are neighbours, of each job."""
    told = []
    for place, number in enumerate(trace.number.tolist()):
        cores, gpus, units = (int(x[place]) for x in (trace.request["cores"], trace.request["gpu"], trace.units))
        requests = trace.requests.get(number, ())
        nodes = requests[0].parts[0].nodes if requests else 0
        if requests:
            (request,) = requests
            (part,) = request.parts
            assert (part.units, dict(part.request), part.partition) == (units, {"cores": cores, "gpu": gpus}, "")
            assert request.walltime == request.runtime == trace.runtime[place]
        type_ = ("nodes" if nodes else "cores", "one GPU", "two GPUs")[gpus]
        contiguous = bool(requests and requests[0].contiguous)
        told.append((type_, nodes, cores, units * cores, int(trace.runtime[place]), contiguous))
    return told


@given(
    workload=st.sampled_from(sorted(WORKLOADS)), machine=st.sampled_from(sorted(MACHINES)),
    contiguous=st.integers(0, 100), hours=st.floats(0.01, 4),
    max_share=st.one_of(st.floats(1 / 128, 1), st.sampled_from([1 / 128, 0.1, 0.125, 1.0])),
    seed=st.integers(0, 1 << 32),
)  # fmt: skip
@examples(0.5)
def test_jobs_match_table_4_and_end_at_the_stated_load(workload, machine, contiguous, hours, max_share, seed):
    trace = generate_auction(AuctionParameters(workload, machine, contiguous, hours, max_share), seed)
    nodes = MACHINES[machine]
    told = plain(trace)
    for type_, on, cores, total, runtime, neighbours in told:
        assert SHARES[workload][TYPES.index(type_)] > 0
        assert total % 8 == 0
        assert 8 <= total <= max_share * nodes * 8
        assert 60 <= runtime <= 600
        if type_ == "cores":
            assert (on, cores) == (0, 1)
        else:
            assert cores in NODE_CORES[type_]
            assert on * cores == total
            assert on <= nodes
        assert not (neighbours and contiguous == 0)
        assert neighbours or contiguous < 100
    assert trace.number.tolist() == list(range(1, len(trace) + 1))
    assert not trace.submit.any()
    assert trace.walltime.tolist() == trace.runtime.tolist()
    work = [total * runtime for *_, total, runtime, _ in told]
    need = hours * 3600 * 8 * nodes
    assert sum(work) > need - 1
    assert sum(work[:-1]) < need + 1
    again = generate_auction(AuctionParameters(workload, machine, contiguous, hours, max_share), seed)
    assert plain(again) == told


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("contiguous", [0, 25, 50, 100])
def test_shares_are_the_printed_ones_but_for_chance(workload, contiguous):
    told = plain(generate_auction(AuctionParameters(workload, "L", contiguous, 40), 7))
    assert len(told) > 5000

    def see(found: int, of: int, share: float) -> None:
        assert abs(found - share * of) <= 4 * np.sqrt(of * share * (1 - share))

    by_type = {type_: [job for job in told if job[0] == type_] for type_ in TYPES}
    for type_, share in zip(TYPES, SHARES[workload], strict=True):
        see(len(by_type[type_]), len(told), share)
    for type_, cores in NODE_CORES.items():
        see(sum(job[2] == min(cores) for job in by_type[type_]), len(by_type[type_]), 0.5)
    see(sum(job[5] for job in told), len(told), contiguous / 100)
    see(sum(job[4] >= 330 for job in told), len(told), 271 / 541)
    most = int(AuctionParameters().max_share * 1024)
    see(sum(job[3] <= most // 2 * 8 for job in told), len(told), most // 2 / most)
    assert {job[3] // 8 for job in told} == {*range(1, most + 1)}


@pytest.mark.parametrize(
    ("workload", "contiguous", "machine"), [("I", 100, "S"), ("II", 0, "M"), ("III", 50, "L"), ("V", 100, "S")]
)
def test_auction_workloads_are_simulated_and_audited(workload, contiguous, machine, tmp_path):
    trace, out = str(tmp_path / "t.csv"), tmp_path / "out"
    wanted = ("--workload", workload, "--contiguous", str(contiguous), "--machine", machine, "--hours", "0.3")
    assert command(["trace", "generate", "auction", trace, *wanted]) == 0
    platform = str(PLATFORMS / f"auction-{MACHINES[machine]}.toml")
    said = [trace, "--platform", platform, "--dispatcher", "easy", "--out", str(out), "--no-report"]
    assert command(["simulate", *said]) == 0
    assert command(["audit", str(out)]) == 0
    assert "rejected" not in (out / "jobs.csv").read_text()


@pytest.mark.parametrize(("wanted", "message"), [
    ({"workload": "VI"}, "--workload: 'VI'; expected one of I, II, III, IV, V"),
    ({"machine": "XL"}, "--machine: 'XL'; expected one of S, M, L"),
    ({"contiguous": 101}, "--contiguous: 101; expected 0 to 100"),
    ({"hours": 101.0}, "--hours: 101.0; expected above 0, at most 100"),
    ({"max_share": 0.001}, r"--max-share: 0.001; expected from 0.0078125 \(a node of machine S\) to 1"),
])  # fmt: skip
def test_invalid_arguments_are_errors(wanted, message):
    with pytest.raises(InputError, match=message):
        generate_auction(AuctionParameters(**wanted), 1)


@pytest.mark.parametrize(("arguments", "message"), [
    (("auction", "t.swf"), "t.swf: SWF cannot state the types of these jobs; expected a job table"),
    (("auction", "t.csv", "--jobs", "5"), "--jobs: is no option of auction"),
    (("eurora", "t.csv", "--max-share", "0.5"), "--max-share: is no option of eurora"),
    (("auctions", "t.csv"), "generator: 'auctions'; expected one of eurora, lublin, rivals, auction"),
])  # fmt: skip
def test_auction_command_errors_are_one_line(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(["trace", "generate", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert [*tmp_path.iterdir()] == []
