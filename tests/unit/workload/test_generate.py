import hashlib
from pathlib import Path

import numpy as np
import pytest

from dardis.config.platform_file import load_platform
from dardis.model.errors import InputError
from dardis.workload.csv_trace import write_table
from dardis.workload.generate import EURORA_QUEUES, generate
from dardis.workload.trace_jobs import to_jobs

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
        assert platform.refusal(job.job) == ""


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


@pytest.mark.parametrize(("arguments", "more", "sha256"), [
    (("eurora", 50, 4), {}, "a7011b8ad29fff5a20adbb7b693e77cb8bef15ecf244c79ab73fbcdaa44bd2fa"),
    (("rivals", 50, 4), {}, "0d190956b0e415e34c188e5a74e0cf26df3cfc229298b81230db2c69a51f2b26"),
    (("lublin", 50, 4), {}, "1b0b0b53cf4beb63ada7b8a5911ac68d12f767542c2cf6a098c2f7bc6dce9614"),
    (
        ("eurora", 99, 1),
        {"nodes": 4, "kinds": 6, "begin": MONDAY},
        "cbf3bd21646fdec6cd428b2283fe168336ea90ba1c6bef7391f5fbc933324db0",
    ),
])  # fmt: skip
def test_generated_bytes_of_a_seed_never_change(arguments, more, sha256, tmp_path):
    write_table(generate(*arguments, **more), tmp_path / "t.csv")
    assert hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest() == sha256


@pytest.mark.parametrize(("arguments", "message"), [
    (("x", 5, 1), "one of eurora, lublin, rivals"),
    (("eurora", 0, 1), "number of jobs"),
    (("eurora", 5, 1, 0), "number of days"),
    (("eurora", 5, 1, {"nodes": 1}), "number of nodes: 1; expected 2 to 65"),
    (("eurora", 5, 1, {"kinds": 7}), "number of kinds: 7; expected 1 to 6"),
    (("lublin", 5, 1, {"nodes": 4}), "lublin makes jobs of 64 nodes"),
    (("eurora", 5, 1, {"begin": MONDAY + 3600}), "begin: 2014-12-01T01:00Z; expected a midnight"),
])  # fmt: skip
def test_bad_arguments_are_errors(arguments, message):
    *arguments, more = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(InputError, match=message):
        generate(*arguments, **more)
