from pathlib import Path

import numpy as np
import pytest

from dardis.config.platform import load_platform
from dardis.model.errors import InputError
from dardis.workload.generate import EURORA_QUEUES, generate
from dardis.workload.jobs import to_jobs

EURORA = load_platform(Path(__file__).resolve().parents[3] / "launch" / "platforms" / "eurora.toml")


@pytest.mark.parametrize("kind", ["eurora", "lublin"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_job_fits_eurora_and_a_seed_repeats_itself(kind, seed):
    trace = generate(kind, 1500, seed)
    workload = to_jobs(trace, EURORA)
    assert workload.notes == []
    for job in workload.jobs:
        holders = sum(
            g.count
            for g, c in zip(EURORA.groups, EURORA.group_capacity, strict=True)
            if (np.array(job.request) <= c).all()
        )
        assert job.units <= holders
        assert job.runtime <= job.walltime
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


def test_lublin_has_a_daily_cycle_and_runtimes_that_grow_with_size():
    trace = generate("lublin", 8000, 5)
    hour = trace.submit % 86400 // 3600
    assert ((hour >= 12) & (hour < 18)).sum() > 5 * (hour < 6).sum()
    assert np.median(trace.runtime[trace.procs >= 64]) > 2 * np.median(trace.runtime[trace.procs == 1])
    work = float((trace.procs * trace.runtime).sum()) / (1024 * 86400 * np.ceil(trace.submit.max() / 86400))
    assert 0.6 < work < 0.8


def test_days_spread_the_arrivals():
    days = generate("eurora", 700, 1, days=7).submit // 86400
    assert set(days.tolist()) == set(range(7))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", 5, 1), "one of eurora, lublin"),
        (("eurora", 0, 1), "number of jobs"),
        (("eurora", 5, 1, 0), "number of days"),
    ],
)
def test_bad_arguments_are_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        generate(*arguments)
