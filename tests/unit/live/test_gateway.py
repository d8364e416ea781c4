"""Moments of the gateway that random orders of events meet rarely."""

import pytest

from dardis.live.gateway import Gateway
from dardis.live.gateway_orders import StartRun
from dardis.live.job_option_texts import Array, Dependency
from dardis.live.job_request import JobRequest
from dardis.live.live_jobs import JobUser, LiveJob, LiveJobState, Submission
from dardis.live.machine import machine_of_platform
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform

ME = JobUser(1000, 1000, "me")
HERE = "localhost"


def machine(nodes=4, cores=4):
    return machine_of_platform(Platform("m", (NodeGroup("a", nodes, {"cores": cores, "memory": 1000}),)))


def gateway_of(*given, runs=(), how=lambda _: ()):
    """A gateway that has heard of all of its hosts."""
    gateway = Gateway(*given, how=how)
    for host in given[0].hosts:
        gateway.on_host_report([record(*run) for run in runs], 1_000_000, host, ["keeper", "mark"])
    return gateway


def submit(gateway, first, *, at=1000, **more):
    gateway.submit(Submission(first, ME, JobRequest(argv=("true",), **more), "", {}, "/", at * 1000), at * 1000)


def record(run, state="over", **more):
    told = {"run": run, "state": state, "started_ms": 1, "ended_ms": 2, "code": 0, "signal": None, "why": "exit"}
    return told | more


def step(gateway, now=1000):
    gateway.decide(now)
    return gateway.take_output()


def test_dependency_chain_is_cancelled_when_its_first_job_fails():
    gateway = gateway_of(machine())
    submit(gateway, 1)
    for number in range(2, 3000):
        submit(gateway, number, after=(Dependency("ok", number - 1),))
    step(gateway)
    gateway.on_run_record(record("1.1", code=1), 5000, HERE)
    assert {gateway.job(number).state for number in range(2, 3000)} == {LiveJobState.CANCELLED}


def test_dependent_job_starts_while_the_end_of_its_dependency_is_being_written():
    gateway = gateway_of(machine(), how=lambda _: [LiveJob(1, submission, LiveJobState.RUNNING)])
    submit(gateway, 1)
    submission = gateway.job(1).submission
    step(gateway)
    gateway.on_run_record(record("1.1"), 2000, HERE)
    step(gateway)  # the journal still says that it runs
    submit(gateway, 2, after=(Dependency("ok", 1),))
    step(gateway)
    assert gateway.job(2).state is LiveJobState.RUNNING
    assert gateway.job(1) is None, "it is forgotten once the journal has it"


@pytest.mark.parametrize("less", [machine(2, 4), machine(4, 2), machine(1, 1)])
def test_run_larger_than_the_current_machine_continues_exclusively(less):
    gateway = gateway_of(machine())
    submit(gateway, 1, nodes=3, cpus=4)
    submit(gateway, 2)
    batch = step(gateway).batch
    become = dict(batch.jobs)
    rows = [(Submission.from_row(row), {row.first: become[row.first]}) for row in batch.submissions]
    gateway = gateway_of(less, rows, runs=[("1.1", "running"), ("2.1",)])
    submit(gateway, 3)
    step(gateway, 1001)
    assert gateway.job(1).state is LiveJobState.RUNNING
    beside = {share.node for share in gateway.job(1).shares}
    assert gateway.job(3).state is LiveJobState.WAITING or gateway.job(3).shares[0].node not in beside
    assert gateway.job(1).as_dict()["nodes"]
    submit(gateway, 4, cpus=less.platform.capacity[0].tolist()[0])
    step(gateway, 1001)  # before it is known that job 1 was short
    gateway.on_run_record(record("1.1"), 3000, HERE)
    step(gateway, 1002)
    step(gateway, 1003)
    assert gateway.job(3).state is LiveJobState.RUNNING
    gateway.on_run_record(record("3.1"), 4000, HERE)
    step(gateway, 1004)
    assert gateway.job(4).state is LiveJobState.RUNNING


def test_reason_for_waiting_is_reported():
    gateway = gateway_of(machine(1, 1))
    for number in (1, 2):
        submit(gateway, number)
    step(gateway)
    assert [gateway.wait_reason(gateway.job(number)) for number in (1, 2)] == ["", "waits for nodes"]
    submit(gateway, 3, array=Array((range(2),), 1))
    step(gateway)
    assert [gateway.wait_reason(gateway.job(n)) for n in (3, 4)] == ["waits for nodes", "waits for jobs of its array"]
    gateway.on_epoch_refused(HERE)
    assert gateway.wait_reason(gateway.job(2)) == f"nothing starts: {HERE} was led by another service"


def test_job_that_needs_a_larger_machine_is_held():
    gateway = gateway_of(machine(2, 4))
    submit(gateway, 1, nodes=2, cpus=4, array=Array((range(4),), 1))
    row = gateway.take_output().batch.submissions[0]
    smaller = gateway_of(machine(1, 4), [(Submission.from_row(row), {})])
    taken = step(smaller)
    assert taken.orders == []
    held = {job.number: job for job in smaller.jobs()}
    step(smaller)
    assert {job.state for job in held.values()} <= {LiveJobState.HELD, LiveJobState.WAITING}
    assert "requests 2 units" in held[1].why
    larger = gateway_of(machine(2, 4), [(Submission.from_row(row), dict(taken.batch.jobs))])
    assert larger.release(larger.job(1))
    assert [order.job.number for order in step(larger).orders] == [1], "one of it at once"
    larger.on_run_record(record("1.1"), 2000, HERE)
    assert [order.job.number for order in step(larger).orders if isinstance(order, StartRun)] != []


@pytest.mark.parametrize(("more", "said"), [
    ({"cpus": 5}, "asks for 1 node with 5 cores; the machine has 0 such"),
    ({"nodes": 3, "cpus": 2}, "asks for 3 nodes with 2 cores; the machine has 2 such"),
    ({"gpus": 1}, "asks for gpu, of which no node has any"),
])  # fmt: skip
def test_job_that_no_node_holds_is_refused(more, said):
    with pytest.raises(InputError, match=f"^submit: {said}; expected no more than the machine has"):
        submit(gateway_of(machine(2, 4)), 1, **more)


def test_job_with_two_failed_dependencies_ends_once():
    gateway = gateway_of(machine())
    submit(gateway, 1, array=Array((range(2),)))
    submit(gateway, 3, after=(Dependency("ok", 1), Dependency("ok", 2)))
    step(gateway)
    gateway.on_run_record(record("1.1"), 2000, HERE)
    gateway.on_run_record(record("2.1", code=1), 2000, HERE)
    rows = {row.first: row.over for row in gateway.take_output().batch.submissions}
    assert rows == {1: True, 3: True}


def test_unknown_singleton_can_be_released():
    gateway = gateway_of(machine())
    submit(gateway, 1, singleton=True)
    step(gateway)
    gateway.on_run_record(record("1.1", "unknown", code=None, why="unknown: lost"), 2000, HERE)
    assert gateway.release(gateway.job(1))
    step(gateway, 1001)
    assert gateway.job(1).state is LiveJobState.RUNNING


def test_deadline_is_kept_without_reachable_hosts():
    gateway = Gateway(machine())
    submit(gateway, 1, deadline_ms=1_100_000, walltime_s=50)
    assert gateway.wake() == 1051
    gateway.decide(1051)
    assert gateway.job(1).state is LiveJobState.CANCELLED
    assert gateway.wake() > 2000
    with pytest.raises(InputError, match="--deadline: 1970-01-01T00:18:20Z"):
        submit(gateway, 2, at=1051, deadline_ms=1_100_000, walltime_s=50)


def test_failed_job_is_retried_after_growing_pauses():
    gateway = gateway_of(machine())
    submit(gateway, 1, retries=2, retry_delay_s=10, retry_codes=(3,))
    step(gateway)
    gateway.on_run_record(record("1.1", code=3), 1_000_000, HERE)
    assert step(gateway, 1009).orders[-1:] != [StartRun(gateway.job(1), HERE, "1.2")]
    assert gateway.wait_reason(gateway.job(1)) == "begins at 1970-01-01T00:16:50Z or later"
    step(gateway, 1010)
    assert gateway.job(1).run == "1.2"
    gateway.on_run_record(record("1.2", code=3), 1_010_000, HERE)
    step(gateway, 1029)
    assert gateway.job(1).state is LiveJobState.WAITING
    step(gateway, 1030)
    gateway.on_run_record(record("1.3", code=4), 1_030_000, HERE)
    assert (gateway.job(1).state, gateway.job(1).code) == (LiveJobState.FAILED, 4)
    assert gateway.retry(gateway.job(1))
    step(gateway, 1031)
    assert gateway.job(1).run == "1.4"


def test_user_of_short_jobs_goes_first():
    gateway = gateway_of(machine(1, 1))
    submit(gateway, 1)
    step(gateway)
    gateway.on_run_record(record("1.1", ended_ms=60_000), 1_060_000, HERE)
    step(gateway, 1060)
    submit(gateway, 2, at=1060)
    step(gateway, 1060)
    asked = JobRequest(argv=("true",))
    for number, user in ((3, JobUser(1001, 1001, "other")), (4, ME)):
        gateway.submit(Submission(number, user, asked, "", {}, "/", 1_061_000), 1_061_000)
    step(gateway, 1061)
    gateway.on_run_record(record("2.1", ended_ms=9000), 1_062_000, HERE)
    step(gateway, 1062)
    assert [gateway.job(number).state for number in (3, 4)] == [LiveJobState.WAITING, LiveJobState.RUNNING]
