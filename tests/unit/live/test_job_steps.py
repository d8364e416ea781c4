"""Parts of jobs, as the gateway decides on them: who is told what, and what a job that runs again waits for."""

import pytest

from dardis.live.gateway import FORGOTTEN, Gateway
from dardis.live.gateway_orders import EndRun, ForgetRun, StartRun
from dardis.live.job_request import JobRequest
from dardis.live.job_steps import UNATTENDED_S
from dardis.live.live_jobs import JobUser, LiveJobState, Submission
from dardis.live.machine import machine_of_platform
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform

PLATFORM = Platform("m", (NodeGroup("n", 4, {"cores": 4}),))
PART = f"1.1.{(1 << 63) - 1}"
ME = JobUser(1000, 1000, "me")
MARKS = {"a": ["a's"], "b": ["b's"]}


def record(run, state="running", **more):
    told = {"run": run, "state": state, "started_ms": 1, "ended_ms": 2, "code": None, "signal": None, "why": None}
    return told | more


class Site:
    """Two hosts of two nodes each; job 1 has all four nodes, and its run is on the first one's keeper."""

    def __init__(self, given=(), heard=("a", "b"), leased=("b",), **more):
        self.gateway = Gateway(machine_of_platform(PLATFORM, ["a", "b"]), given, leased=set(leased))
        self.now = 1000
        self.become, self.rows, self.starts = {}, {}, []
        for host in heard:
            self.hear(host)
        if not given:
            asked = JobRequest(argv=("true",), **{"nodes": 4, "cpus": 4, "requeue": True} | more)
            self.gateway.submit(Submission(1, ME, asked, "", {}, "/", 1_000_000), 1_000_000)
            self.step()
            assert self.starts == ["1.1"]

    @property
    def job(self):
        return self.gateway.job(1)

    def hear(self, host, *records, marks=None):
        self.gateway.on_host_report(records, self.now * 1000, host, marks or MARKS[host])

    def step(self):
        """The orders of an instant, but those that begin runs."""
        self.now += 1
        self.gateway.decide(self.now)
        taken = self.gateway.take_output()
        self.become |= dict(taken.batch.jobs)
        self.rows |= {row.first: row for row in taken.batch.submissions}
        self.starts += [order.run for order in taken.orders if isinstance(order, StartRun)]
        self.news = taken.changed_steps
        return [order for order in taken.orders if not isinstance(order, StartRun)]

    def again(self, heard=()):
        """The next service, of what was written."""
        given = [(Submission.from_row(self.rows[1]), {1: self.become[1]})]
        return Site(given, heard)

    def begin(self, run=PART, host="b"):
        """A part that goes on."""
        part = self.gateway.start_step(self.job, run, host, None)
        assert self.gateway.steps.mark_started(part)
        return part

    def run_ends(self, host="a", **how):
        self.gateway.on_run_record(
            record("1.1", **{"state": "over", "code": 0, "why": "exit"} | how), self.now * 1000, host
        )

    def closed(self):
        return [self.gateway.machine.names[node] for node in self.gateway._closed_nodes()]


@pytest.fixture
def site():
    return Site()


LOST = {"state": "unknown", "code": None, "why": "unknown: its job supervisor died before it ended"}


def test_step_that_outlives_its_job_is_ended_and_its_nodes_stay_closed(site):
    site.begin()
    site.run_ends()
    assert site.step() == [ForgetRun("1.1", "a"), EndRun(PART, "b")]
    assert site.job.state is LiveJobState.COMPLETED
    assert site.closed() == ["n2", "n3"]
    site.gateway.on_run_record(record(PART, "over", signal=15, why="cancelled"), 1, "b")
    assert site.step() == [ForgetRun(PART, "b")]
    assert site.closed() == []


def test_step_not_released_before_the_end_of_its_job_never_begins(site):
    part = site.gateway.start_step(site.job, PART, "b", None)
    site.run_ends()
    assert not site.gateway.steps.mark_started(part)
    assert site.step() == [ForgetRun("1.1", "a")]
    assert site.closed() == []


def test_cancelled_job_ends_its_steps_with_its_run(site):
    site.begin()
    site.gateway.cancel(site.job, 1)
    assert site.step() == [EndRun("1.1", "a"), EndRun(PART, "b")]
    site.hear("b", record(PART))
    assert site.step() == [EndRun(PART, "b")], "its host may not have heard it"


def test_exit_record_of_a_step_is_kept_for_its_client_and_the_step_runs_once(site):
    part = site.begin()
    site.gateway.on_run_record(record(PART, "over", code=3, why="exit"), 1, "b")
    assert site.step() == []
    assert site.news == {PART}
    assert site.gateway.steps.get(PART).record["code"] == 3
    site.gateway.steps.discard(part)
    assert site.step() == [ForgetRun(PART, "b")]
    with pytest.raises(InputError, match="has ended"):
        site.gateway.start_step(site.job, PART, "b", None)


def test_step_unknown_to_its_host_has_not_begun_and_unknown_to_another_keeper_is_lost(site):
    part = site.begin()
    site.hear("b")
    assert site.gateway.steps.get(PART) is None
    assert site.gateway.start_step(site.job, PART, "b", part.incarnation) is not None
    site.gateway.steps.mark_started(site.gateway.steps.get(PART))
    site.hear("b", marks=["another's"])
    assert site.gateway.steps.get(PART).record["why"] == FORGOTTEN
    assert site.gateway.start_step(site.job, "1.1.8", "b", None) is None
    assert site.gateway.start_step(site.job, "1.1.9", "a", "a mark that it hasn't any more") is None


def test_step_of_an_unreachable_host_is_not_ended_without_client():
    for host, its in (("b", "b's"), ("a", "a's")):
        site = Site()
        site.begin()
        site.gateway.end_unattended_steps(0.0)
        site.gateway.on_host_lost(host)
        site.gateway.end_unattended_steps(2 * UNATTENDED_S)
        site.hear(host, record(PART) if host == "b" else record("1.1"), marks=[its])
        site.gateway.end_unattended_steps(3 * UNATTENDED_S)
        site.gateway.end_unattended_steps(4 * UNATTENDED_S - 1)
        assert site.step() == []
        site.gateway.end_unattended_steps(4 * UNATTENDED_S)
        assert site.step() == [EndRun(PART, "b")], "it is given again after a silence, too"


def test_step_without_client_is_ended_and_its_exit_record_kept(site):
    part = site.begin()
    part.clients = 1
    for now_s in (0.0, UNATTENDED_S, 2 * UNATTENDED_S):
        site.gateway.end_unattended_steps(now_s)
    part.clients = 0
    site.gateway.end_unattended_steps(3 * UNATTENDED_S)
    site.gateway.end_unattended_steps(4 * UNATTENDED_S - 1)
    assert site.step() == []
    site.gateway.end_unattended_steps(4 * UNATTENDED_S)
    site.gateway.end_unattended_steps(4 * UNATTENDED_S + 1)
    assert site.step() == [EndRun(PART, "b")]
    site.gateway.on_run_record(record(PART, "over", signal=15, why="cancelled"), 1, "b")
    assert site.step() == []
    assert site.gateway.steps.get(PART).record["signal"] == 15


# What runs again.


def test_requeued_job_starts_after_the_steps_of_its_last_run_end(site):
    site.begin()
    site.run_ends(**LOST)
    assert EndRun(PART, "b") in site.step()
    assert (site.job.state, site.job.why) == (
        LiveJobState.WAITING, "waits for the end of its last run on b",
    )  # fmt: skip
    site.gateway.on_run_record(record(PART, "over", signal=15, why="cancelled"), 1, "b")
    site.step()
    assert site.starts == ["1.1", "1.2"]


def test_requeued_job_waits_for_an_unreachable_host_also_after_a_service_restart(site):
    site.gateway.on_host_lost("b")
    site.run_ends(**LOST)
    site.step()
    assert site.job.why == "waits for the end of its last run on b"
    again = site.again(heard=["a"])
    again.step()
    assert (again.job.state, again.starts) == (LiveJobState.WAITING, [])
    again.hear("b", record(PART))
    assert again.step() == [EndRun(PART, "b")]
    assert again.starts == []
    again.gateway.on_run_record(record(PART, "over", signal=15, why="cancelled"), 1, "b")
    again.step()
    assert again.starts == ["1.2"]


@pytest.mark.parametrize(("leased", "waits"), [(("b",), False), (("a",), True)])
def test_leased_steps_end_with_their_lease(leased, waits):
    site = Site(leased=leased)
    site.gateway.on_host_lost("b")
    site.run_ends(**LOST)
    site.step()
    assert site.job.is_pending_rerun
    site.gateway.on_leases_expired("b")
    site.step()
    assert site.job.is_pending_rerun is waits


def test_steps_on_an_abandoned_host_end_and_return_as_orphaned_runs(site):
    site.begin()
    site.gateway.on_host_lost("b")
    assert site.gateway.give_up("n2", 1) == 1
    assert site.gateway.steps.get(PART).record["why"] == "unknown: n2 was declared lost"
    assert site.job.state is LiveJobState.RUNNING
    site.step()
    site.hear("b", record(PART))
    assert site.step() == [EndRun(PART, "b")]
    assert site.closed() == ["n2", "n3"]
    assert site.gateway.start_step(site.job, "1.1.9", "b", None) is None
