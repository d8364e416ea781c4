import hashlib
from pathlib import Path

import numpy as np
import pytest

from dardis.config.platform import load_platform
from dardis.model.errors import InputError
from dardis.workload.generate import EURORA_QUEUES, generate
from dardis.workload.jobs import to_jobs
from dardis.workload.table import write_table

PLATFORMS = Path(__file__).resolve().parents[3] / "launch" / "platforms"
EURORA, EURORA_4, EURORA_65 = (
    load_platform(PLATFORMS / f"{name}.toml") for name in ("eurora", "eurora-4", "eurora-65")
)
MONDAY = 1_417_392_000
"""Midnight of 2014-12-01."""


def see_that_all_fit(workload, platform):
    """Every unit of a job has a node of its own, and its queue takes it."""
    assert workload.notes == []
    for job in workload.jobs:
        holders = sum(
            g.count
            for g, c in zip(platform.groups, platform.group_capacity, strict=True)
            if (np.array(job.request) <= c).all()
        )
        assert job.units <= holders
        assert job.runtime <= job.walltime
        assert platform.refusal(job.asked) == ""


@pytest.mark.parametrize("kind", ["eurora", "lublin", "rivals"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_job_fits_eurora_and_a_seed_repeats_itself(kind, seed):
    trace = generate(kind, 1500, seed)
    workload = to_jobs(trace, EURORA)
    see_that_all_fit(workload, EURORA)
    assert to_jobs(generate(kind, 1500, seed), EURORA).jobs == workload.jobs
    assert to_jobs(generate(kind, 1500, seed + 2), EURORA).jobs != workload.jobs


def test_eurora_meets_the_printed_shares():
    trace = generate("eurora", 10_000, 5)
    hour = trace.submit / 3600
    assert int(((hour >= 8) & (hour < 18)).sum()) == 8900
    assert int((trace.runtime == trace.walltime).sum()) >= 2000
    assert (trace.runtime >= 0.2 * trace.walltime).all()
    for queue in EURORA_QUEUES:
        rows = trace.queue == queue.name
        assert int(rows.sum()) == queue.share * 100
        nodes, cores = trace.units[rows], trace.request["cores"][rows]
        assert (nodes.min(), cores.min()) == (1, 1)
        assert nodes.max() <= queue.most_nodes
        assert cores.max() <= 16
        assert trace.walltime[rows].tolist() == np.ceil(queue.volume / (nodes * cores)).tolist()
        for kind, shares in (("gpu", queue.gpus), ("mic", queue.mics)):
            drawn = [int((trace.request[kind][rows] == amount).sum()) for amount in shares]
            assert drawn == [share * queue.share for share in shares.values()]
    assert not ((trace.request["gpu"] > 0) & (trace.request["mic"] > 0)).any(), "no node has both"


@pytest.mark.parametrize(
    ("jobs", "nodes", "platform"),
    [(99, 4, EURORA_4), (100, 4, EURORA_4), (330, 65, EURORA_65), (700, 65, EURORA_65), (1600, 65, EURORA_65)],
)
def test_the_sizes_of_thesis_4_5_fit_their_machines(jobs, nodes, platform):
    """All queues are there, in the printed shares of whole jobs; 65 nodes have the jobs of 64."""
    trace = generate("eurora", jobs, 1, nodes=nodes, begin=MONDAY)
    assert platform.node_count == nodes
    see_that_all_fit(to_jobs(trace, platform), platform)
    assert {queue.name for queue in platform.queues} == {*trace.queue.tolist()}
    for queue in EURORA_QUEUES:
        assert abs((trace.queue == queue.name).sum() - jobs * queue.share / 100) < 1
    assert trace.units.max() == nodes // 2
    assert (trace.units.tolist() == generate("eurora", jobs, 1).units.tolist()) is (nodes == 65)


@pytest.mark.parametrize("kinds", [1, 3, 6])
def test_jobs_of_fewer_nodes_and_other_kinds_differ_by_these_alone(kinds):
    """Their walltimes are those of the nodes that are drawn for Eurora, and a day ties their clock to a calendar."""
    names = ["cores", "memory", "gpu", "mic", "ssd", "fpga"][:kinds]
    usual, trace = generate("eurora", 100, 2), generate("eurora", 100, 2, nodes=4, kinds=kinds, begin=MONDAY)
    assert list(trace.request) == names
    for kind in names[:4]:
        assert trace.request[kind].tolist() == usual.request[kind].tolist()
    for column in ("walltime", "runtime", "queue"):
        assert getattr(trace, column).tolist() == getattr(usual, column).tolist()
    assert (trace.submit - MONDAY).tolist() == usual.submit.tolist()
    assert trace.units.tolist() == np.minimum(usual.units, 2).tolist()
    assert trace.procs.tolist() == (trace.units * trace.request["cores"]).tolist()
    assert {*(generate("eurora", 700, 1, days=7).submit // 86400).tolist()} == {*range(7)}
    see_that_all_fit(to_jobs(trace, EURORA_4), EURORA_4)
    for kind, shares in (("ssd", {0: 50, 20: 25, 40: 15, 80: 10}), ("fpga", {0: 95, 1: 5})):
        if kind in names:
            assert {amount: int((trace.request[kind] == amount).sum()) for amount in shares} == shares


@pytest.mark.parametrize(
    ("arguments", "more", "sha256"),
    [
        (("eurora", 50, 4), {}, "a7011b8ad29fff5a20adbb7b693e77cb8bef15ecf244c79ab73fbcdaa44bd2fa"),
        (("rivals", 50, 4), {}, "0d190956b0e415e34c188e5a74e0cf26df3cfc229298b81230db2c69a51f2b26"),
        (("lublin", 50, 4), {}, "1b0b0b53cf4beb63ada7b8a5911ac68d12f767542c2cf6a098c2f7bc6dce9614"),
        (
            ("eurora", 99, 1),
            {"nodes": 4, "kinds": 6, "begin": MONDAY},
            "cbf3bd21646fdec6cd428b2283fe168336ea90ba1c6bef7391f5fbc933324db0",
        ),
    ],
)
def test_a_seed_is_the_same_bytes_for_ever(arguments, more, sha256, tmp_path):
    """Traces that were made years ago are made again."""
    write_table(generate(*arguments, **more), tmp_path / "t.csv")
    assert hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest() == sha256


def test_rivals_are_wide_jobs_with_half_of_the_work_and_streams_of_narrow_ones():
    trace = generate("rivals", 8000, 5)
    wide = trace.procs > 512
    assert 0.01 < wide.mean() < 0.03
    assert trace.procs[~wide].max() <= 16
    work = trace.procs * trace.runtime
    assert 0.5 < work[wide].sum() / work.sum() < 0.8
    narrow = trace.procs[~wide]
    assert (np.diff(narrow) == 0).mean() > 0.9


def test_lublin_has_a_daily_cycle_and_runtimes_that_grow_with_size():
    trace = generate("lublin", 8000, 5)
    hour = trace.submit % 86400 // 3600
    assert ((hour >= 12) & (hour < 18)).sum() > 5 * (hour < 6).sum()
    assert np.median(trace.runtime[trace.procs >= 64]) > 2 * np.median(trace.runtime[trace.procs == 1])
    work = float((trace.procs * trace.runtime).sum()) / (1024 * 86400 * np.ceil(trace.submit.max() / 86400))
    assert 0.6 < work < 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", 5, 1), "one of eurora, lublin, rivals"),
        (("eurora", 0, 1), "number of jobs"),
        (("eurora", 5, 1, 0), "number of days"),
        (("eurora", 5, 1, {"nodes": 1}), "number of nodes: 1; expected 2 to 65"),
        (("eurora", 5, 1, {"kinds": 7}), "number of kinds: 7; expected 1 to 6"),
        (("lublin", 5, 1, {"nodes": 4}), "lublin makes jobs of 64 nodes"),
        (("eurora", 5, 1, {"begin": MONDAY + 3600}), "begin: 2014-12-01T01:00Z; expected a midnight"),
    ],
)
def test_bad_arguments_are_errors(arguments, message):
    *arguments, more = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(InputError, match=message):
        generate(*arguments, **more)
