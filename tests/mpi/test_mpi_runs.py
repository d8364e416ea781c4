"""The same digest at any number of ranks; payloads that no pickle touches; what every rank says of the run."""

import json

import numpy as np
import pytest
from kit.ranks import by_ranks
from mpi4py import MPI

from dardis.config.platform_record import platform_from_dict
from dardis.config.run_spec import RunSpec
from dardis.metrics.audit import audit
from dardis.metrics.jobs_csv import read_jobs
from dardis.metrics.system import read_downtime
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import RelayingHost
from dardis.runs.run import FinishedRun, run, run_over_ranks
from dardis.task_manager import SETUPS as NAMED
from dardis.task_manager import PlannedManager, Reach
from dardis.task_manager.layout import layout_of
from dardis.transport.mpi_transport import MpiHosts, serve
from dardis.wire.effects import Send, SendToManager
from dardis.wire.messages import CapacityFreed, FinishedAck, PublishRequest
from dardis.workload.csv_trace import write_table
from dardis.workload.generate import generate

PLATFORM = """
name = "mixed"
[[nodes]]
count = 9
prefix = "g"
resources = { cores = 16, memory = "16GiB", gpu = 2 }
[[nodes]]
count = 8
prefix = "m"
resources = { cores = 48, memory = "16GiB", mic = 2 }
power = { idle_w = 100, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }
[[maintenance]]
nodes = "3-4"
start_s = 20000
end_s = 30000
"""
PROFILE = "time_s,node,kind,value\n20000,*,cores,150\n40000,*,cores,272\n40000,2,cores,8\n60000,*,cores,100\n"
TARGET = {
    "format": "dardis-target", "version": 1, "platform": "mixed", "nodes": 17,
    "profile": {"kind": "cores", "split": "proportional", "steps": [[20000, 300], [60000, 528]]},
    "switching": {"groups": {"m": {"spares": [[0, 1], [50000, 4]]}}},
}  # fmt: skip
COMM = MPI.COMM_WORLD
JOBS = 60

TREES = {"managers": 2, "jobs": 30}
SAMPLES = {"managers": 2, "sample": 2}
RUNS = [
    ("dardis-throughput", (), {}),
    ("dardis-throughput", ("backfill_scope=all-nodes", "node_choice=contiguous", "units_per_node=distinct"), {}),
    ("dardis-throughput", ("backfill_depth=2", "node_choice=first-fit"), {}),
    ("dardis-throughput", ("offers=quota", "profile=hard", "event_order=per-event"), {}),
    ("dardis-profile", (), {}),
    ("dardis-profile", ("profile=off", "backfill=on"), {}),
    ("dardis-balance", (), {}),
    ("dardis-balance", ("selection=random", "units_per_node=distinct", "start_grain_s=7"), {}),
    ("dardis-late", (), {"managers": 1}),
    ("dardis-late", ("aged_after_s=3000", "profile=hard", "units_per_node=distinct", "node_choice=worst-fit"), {}),
    ("dardis-late", ("event_order=per-event", "profile=off", "node_choice=random"), {"managers": 2}),
    ("dardis-throughput", ("backfill_scope=all-nodes", "node_choice=contiguous"), {"arity": 1, **TREES}),
    ("dardis-balance", ("offers=quota",), {"arity": 3, **TREES}),
    ("dardis-late", (), {"arity": 2, **TREES}),
    ("dardis-throughput", (), SAMPLES),
    ("dardis-throughput", ("backfill_scope=all-nodes",), {"arity": 2, **SAMPLES}),
    ("dardis-profile", (), {"arity": 2, **SAMPLES}),
    ("dardis-balance", ("backfill=on",), SAMPLES),
]
"""A dispatcher, its settings, and how hosts are asked: through a tree of an arity, or samples of them first."""


@pytest.fixture
def inputs(mpi_tmp_path):
    """Files that rank 0 writes and all ranks name."""
    if COMM.rank == 0:
        (mpi_tmp_path / "platform.toml").write_text(PLATFORM)
        (mpi_tmp_path / "profile.csv").write_text(PROFILE)
        write_table(generate("eurora", JOBS, 3), mpi_tmp_path / "trace.csv")
    COMM.Barrier()
    return mpi_tmp_path


def request_of(folder, dispatcher, settings, out, managers=1, **more):
    return RunSpec(
        trace=folder / "trace.csv", platform=folder / "platform.toml", dispatcher=dispatcher, out=folder / out,
        profile=folder / "profile.csv",
        settings=settings, task_managers=managers, seed=5,
    ).model_copy(update=more)  # fmt: skip


def audited(folder, jobs, **more):
    """See that the schedule of all ranks is legal."""
    platform = platform_from_dict(json.loads((folder / "ranks" / "run.json").read_text())["platform"])
    expected = list(range(1, jobs + 1))
    assert audit(read_jobs(folder / "ranks" / "jobs.csv"), platform, expected=expected, **more) == []


@pytest.mark.mpi
@pytest.mark.parametrize(("dispatcher", "settings", "more"), by_ranks(*RUNS))
def test_digest_is_that_of_one_process(inputs, dispatcher, settings, more):
    request = request_of(inputs, dispatcher, settings, "ranks", **{"managers": 3} | more)
    outcome = run_over_ranks(COMM, request)
    if COMM.rank > 0:
        assert outcome == 0
        return
    assert isinstance(outcome, FinishedRun)
    alone = run(request.model_copy(update={"out": inputs / "alone", "arity": 0}))
    assert outcome.metrics["schedule_digest"] == alone.metrics["schedule_digest"]
    assert outcome.metrics["ranks"] == COMM.size
    assert outcome.metrics["nodes_on_largest_rank"] == -(-17 // COMM.size)
    assert (outcome.metrics["message_bytes"] > 0) == (COMM.size > 1)
    if not request.arity:
        assert outcome.metrics["messages"] == alone.metrics["messages"]
    if request.sample:
        full = run(request.model_copy(update={"out": inputs / "full", "sample": 0, "arity": 0}))
        assert alone.metrics["messages"] != full.metrics["messages"]
    audited(inputs, request.jobs or JOBS)


class Notebook:
    """Stands for a pool: notes what it is told, and reads it out when it is asked."""

    incarnation = 0

    def __init__(self, host):
        self.host, self.noted = host, []

    def handle(self, message, now):
        if isinstance(message, FinishedAck):
            self.noted.append((message.job, now))
            return []
        jobs = np.array(self.noted, dtype=np.int64).reshape(-1, 2)
        return [SendToManager(0, CapacityFreed(self.host, jobs, len(jobs)))]


@pytest.mark.mpi
def test_one_way_messages_arrive_before_later_requests():
    machine = RelayingHost(Notebook(COMM.rank))
    if COMM.rank > 0:
        serve(COMM, machine)
        return
    ranks = Platform("ranks", (NodeGroup("n", COMM.size, {"cores": 1}),))
    layout = layout_of(ranks, tuple(range(COMM.size + 1)), None)
    manager = PlannedManager(NAMED["dardis-throughput"], layout, 1, reach=Reach(2))
    hosts, expected, others = MpiHosts(COMM, machine), [[] for _ in range(COMM.size)], COMM.size - 1
    payloads = 2 * others  # at the end
    for now in range(1, 41):
        sends = []
        for host in range(COMM.size):
            if (now * 7 + host) % 3:
                sends.append(Send(host, FinishedAck(100 * now + host, 1)))
                expected[host].append([100 * now + host, now])
        straight = [now % COMM.size] if now % 3 else []
        everybody = list(range(COMM.size)) if now % 2 or not straight else []
        sends += [Send(host, PublishRequest()) for host in straight]
        sends += [manager._negotiation.message_to_all(PublishRequest())] if everybody else []
        answers, _ = hosts.exchange(sends, now)
        assert [answer.host for answer in answers] == straight + everybody
        assert [answer.jobs.tolist() for answer in answers] == [expected[answer.host] for answer in answers]
        payloads += 2 * (len([host for host in straight if host > 0]) + (others if everybody else 0))
    assert hosts.close() >= 0
    # What hosts tell of themselves, through the tree or straight, is told once.
    spent = hosts._own.spent
    assert spent.payloads == payloads
    assert spent.got_bytes >= 10 * payloads
    assert (hosts.message_ns > 0) == (others > 0)


@pytest.mark.mpi
@pytest.mark.parametrize("dispatcher", ["dardis-throughput", "dardis-profile", "dardis-late"])
def test_switching_is_the_same_on_any_number_of_ranks(inputs, dispatcher):
    request = request_of(inputs, dispatcher, (), "ranks", managers=2).model_copy(
        update={"profile": inputs / "target.json"}
    )
    if COMM.rank == 0:
        (inputs / "target.json").write_text(json.dumps(TARGET))
    COMM.Barrier()
    outcome = run_over_ranks(COMM, request)
    if COMM.rank > 0:
        assert outcome == 0
        return
    alone = run(request.model_copy(update={"out": inputs / "alone"}))
    keys = ("schedule_digest", "node_switches", "off_share", "mean_boot_delay_s")
    assert [outcome.metrics[key] for key in keys] == [alone.metrics[key] for key in keys]
    assert outcome.metrics["node_switches"] > 10
    files = [(inputs / name / "switching.csv").read_bytes() for name in ("ranks", "alone")]
    assert files[0] == files[1]
    audited(inputs, JOBS, downtime=read_downtime(inputs / "ranks" / "switching.csv"))


@pytest.mark.mpi
@pytest.mark.parametrize(("dispatcher", "settings"), [("easy", ("order=sjbf",)), ("rules-df", ("profile_check=span",))])
def test_a_central_dispatcher_runs_on_the_first_rank(inputs, dispatcher, settings):
    outcome = run_over_ranks(COMM, request_of(inputs, dispatcher, settings, "ranks"))
    if COMM.rank > 0:
        assert outcome == 0
        return
    alone = run(request_of(inputs, dispatcher, settings, "alone"))
    assert outcome.metrics["schedule_digest"] == alone.metrics["schedule_digest"]
    assert (outcome.metrics["ranks"], outcome.metrics["messages"], outcome.metrics["message_bytes"]) == (1, 0, 0)


@pytest.mark.mpi
def test_no_payload_is_pickled(inputs, monkeypatch):
    def refuse(*_):
        raise AssertionError("pickled")

    monkeypatch.setattr(MPI, "pickle", MPI.Pickle(dumps=refuse, loads=refuse))
    outcome = run_over_ranks(COMM, request_of(inputs, "dardis-throughput", (), "plain"))
    assert outcome == 0 if COMM.rank else outcome.metrics["jobs"] == JOBS


@pytest.mark.mpi
def test_error_ends_all_ranks_without_traceback(inputs):
    request = request_of(inputs, "dardis-throughput", ("generator=last",), "never")
    if COMM.rank == 0:
        with pytest.raises(Exception, match="generator=last"):
            run_over_ranks(COMM, request)
    else:
        assert run_over_ranks(COMM, request) == 2
