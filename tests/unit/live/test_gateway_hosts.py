"""Hosts of the gateway that fall silent, come back, are called otherwise, or are given up."""

import pytest

from dardis.live.gateway import FORGOTTEN, Gateway
from dardis.live.gateway_orders import EndRun, StartRun
from dardis.live.job_request import JobRequest
from dardis.live.keeper.log_records import NEVER_BEGUN
from dardis.live.live_decisions import local_hosts
from dardis.live.live_jobs import JobUser, LiveJobState, Submission
from dardis.live.machine import HostFacts, machine_of, machine_of_platform
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform
from dardis.transport.base import HostDownError

ME = JobUser(1000, 1000, "me")
PLATFORM = Platform("m", (NodeGroup("n", 4, {"cores": 4, "memory": 1000}),))
NOW = 1000


def machine(*hosts):
    return machine_of_platform(PLATFORM, hosts)


def marks(host, *more):
    """What the keeper of a host is led under."""
    return [f"{host}'s first", *more]


def record(run, state="over", **more):
    told = {"run": run, "state": state, "started_ms": 1, "ended_ms": 2, "code": 0, "signal": None, "why": "exit"}
    return told | more


class Site:
    """A gateway of hosts a and b with two nodes each, and what it has let begin."""

    def __init__(self, *hosts, given=(), heard=None, reach=None):
        self.gateway = Gateway(machine(*hosts), given, {}, reach, leased=set(hosts))
        self.orders, self.become, self.rows, self.now = [], {}, {}, NOW
        for host in hosts if heard is None else heard:
            self.gateway.on_host_report([], NOW * 1000, host, marks(host))

    def submit(self, first, **more):
        asked = JobRequest(argv=("true",), **({"cpus": 4} | more))
        self.gateway.submit(Submission(first, ME, asked, "", {}, "/", NOW * 1000), NOW * 1000)

    def step(self):
        self.now += 1
        self.gateway.decide(self.now)
        return self.take()

    def take(self):
        taken = self.gateway.take_output()
        self.become |= dict(taken.batch.jobs)
        self.rows |= {row.first: row for row in taken.batch.submissions}
        self.orders = taken.orders
        return [order.run for order in taken.orders if isinstance(order, StartRun)]

    def again(self, *hosts, heard=()):
        """The next service, of what was written."""
        given = [
            (Submission.from_row(row), {first: self.become[first]} if first in self.become else {})
            for first, row in self.rows.items()
        ]
        site = Site(*hosts, given=given, heard=heard)
        site.become, site.rows = self.become, self.rows
        return site

    def job(self, number):
        return self.gateway.job(number)

    def silent_nodes(self):
        return [node["name"] for node in self.gateway.nodes() if node["silent"]]


def site_with_a_job_on_b():
    """Job 1 to 3 fill a and a node of b; what they run on is seen by their hosts."""
    site = Site("a", "b")
    for number in (1, 2, 3):
        site.submit(number, requeue=number == 3)
    assert sorted(site.step()) == ["1.1", "2.1", "3.1"]
    assert [site.job(number).host for number in (1, 2, 3)] == ["a", "a", "b"]
    return site


def test_hosts_are_unreachable_until_their_first_message():
    asked = []
    site = Site(
        "a", "b", heard=(), reach=lambda silent: asked.append(silent) or local_hosts(machine("a").platform, (0, 2, 4))
    )
    site.submit(1)
    assert site.step() == []
    assert (asked, site.gateway.wake(), len(site.silent_nodes())) == ([], FOREVER, 4)
    site.gateway.on_host_report([], 1, "b", marks("b"))
    site.gateway.on_host_report([], 1, "a", marks("a"))
    assert site.step() == ["1.1"]
    assert asked == [set()], "hosts that are heard one after another are one new beginning"


def test_unreachable_host_starts_nothing_and_its_jobs_stay_running():
    site = site_with_a_job_on_b()
    site.gateway.on_host_lost("b")
    site.submit(4)
    assert site.step() == []
    assert site.job(3).state is LiveJobState.RUNNING
    assert site.gateway.liveness.lost_reason(site.job(3)) == "its host b is unreachable"
    assert site.gateway.liveness.lost_reason(site.job(1)) == ""
    assert site.silent_nodes() == ["n2", "n3"]
    site.gateway.on_host_report([record("3.1", "running")], 1, "b", marks("b"))
    assert site.step() == ["4.1"]
    assert site.gateway.liveness.lost_reason(site.job(3)) == ""


def test_job_cancelled_on_an_unreachable_host_ends_when_the_host_returns():
    site = site_with_a_job_on_b()
    site.gateway.on_host_lost("b")
    site.gateway.cancel(site.job(3), 1)
    site.step()
    assert site.orders == [], "nobody would hear it"
    site.gateway.on_host_report([record("3.1", "running")], 1, "b", marks("b"))
    site.step()
    assert site.orders == [EndRun("3.1", "b")]


@pytest.mark.parametrize("told", [{"state": "unknown"}, {"why": NEVER_BEGUN, "code": None}], ids=["unknown", "never"])
def test_copied_keeper_folder_of_another_host_requeues_nothing(told):
    site = Site("a", "b", heard=["b"])
    site.submit(1, requeue=True)
    assert site.step() == ["1.1"]
    site = site.again("a", "b")
    site.gateway.on_host_report(
        [record("1.1", **({"why": "unknown: the host was restarted"} | told))], 1, "a", marks("b")
    )
    assert site.job(1).state is LiveJobState.UNKNOWN


@pytest.mark.parametrize("told", [[], [record("3.1", started_ms=None, why=NEVER_BEGUN)], [record("3.1", "running")]])
def test_keeper_with_a_restored_older_folder_has_forgotten_its_runs(told):
    before = site_with_a_job_on_b().again("a", "b")
    before.gateway.on_host_report([record("3.1", "running")], 1, "b", marks("b", "second"))
    before.step()
    for later in (["third"], ["third", "fourth"]):
        site = before.again("a", "b")
        site.gateway.on_host_report(told, 1, "b", marks("b", *later))
        assert (site.job(3).state, site.job(3).why) == (LiveJobState.UNKNOWN, FORGOTTEN)
        assert not {"3.1", "3.2"} & {*site.step()}


def test_no_job_starts_beside_an_orphaned_run():
    site = site_with_a_job_on_b()
    site.gateway.on_host_lost("b")
    assert site.gateway.give_up("b", 5) == 1
    assert site.job(3).state is LiveJobState.UNKNOWN
    site.step()
    site.step()
    assert site.job(3) is None
    site.gateway.on_host_report([record("3.1", "running")], 1, "b", marks("b"))
    site.submit(4)
    assert site.step() == [], "nobody knows on which of b's nodes it is any more"
    assert site.orders == [EndRun("3.1", "b")]
    site.gateway.on_run_record(record("3.1"), 1, "b")
    assert site.step() == ["4.1"]


def test_orphaned_run_closes_its_nodes_on_all_hosts_at_once():
    site = Site("a", "b")
    site.submit(1, nodes=3, cpus=2)
    site.step()
    assert {share.node for share in site.job(1).shares} == {"n0", "n1", "n2"}
    site.gateway.on_host_lost("a")
    site.gateway.give_up("a", 5)
    site.gateway.on_host_report([], 1, "a", marks("a"))
    site.submit(2, nodes=2, cpus=1)
    site.gateway.decide(NOW + 5)
    site.gateway.on_run_record(record("1.1", "running"), 1, "a")
    site.submit(3, nodes=1, cpus=4)
    site.submit(4, nodes=1, cpus=4)
    site.step()
    on = [share.node for number in (3, 4) for share in site.job(number).shares]
    assert on == ["n3"]


def test_only_leased_jobs_are_requeued_after_lease_expiry():
    site = Site("a", "b")
    site.submit(1, requeue=True)
    site.submit(2, nodes=2)
    site.submit(3, requeue=True, cpus=2)
    site.submit(4, cpus=1)
    site.submit(5, requeue=True, cpus=1)
    site.step()
    at = {number: site.job(number).host for number in range(1, 6)}
    site.gateway.cancel(site.job(5), 1)
    for host in ("a", "b"):
        mine = {number for number, its in at.items() if its == host and number in (1, 3)}
        assert site.gateway.on_leases_expired(host) == 0, "it is heard"
        site.gateway.on_host_lost(host)
        assert site.gateway.on_leases_expired(host) == len(mine)
        assert {
            number for number in at if site.job(number).state is LiveJobState.WAITING and at[number] == host
        } == mine
        assert site.gateway.on_leases_expired(host) == 0
    assert [site.job(number).state for number in (2, 4, 5)] == [LiveJobState.RUNNING] * 3


class Down:
    """Hosts of which some do not answer."""

    def __init__(self, *down):
        self.down = down

    def exchange(self, sends, now):  # noqa: ARG002
        raise HostDownError(self.down)


@pytest.mark.parametrize(("down", "asks"), [((1,), 2), ((1, 2), 2), ((), 2), ((0, 1, 2), 1)])
def test_unresponsive_hosts_are_skipped(down, asks):
    asked = []

    def reach(silent):
        asked.append(silent)
        return Down(*down) if len(asked) == 1 else local_hosts(machine("a").platform, (0, 1, 2, 4))

    site = Site("a", "b", "c", reach=reach)
    site.submit(1)
    site.submit(2)
    assert len(site.step()) == (0 if 0 in down else min(2, 4 - len(site.silent_nodes())))
    assert len(asked) == asks
    for host in [*site.gateway.liveness.unreachable]:
        site.gateway.on_host_report(
            [record(order.run, "running") for order in site.orders if order.host == host], 1, host, marks(host)
        )
    site.step()
    assert [site.job(number).state for number in (1, 2)] == [LiveJobState.RUNNING] * 2


def test_queries_to_unresponsive_hosts_end_and_no_job_is_lost():
    broken = Down(1)
    hosts = local_hosts(machine("a").platform, (0, 2, 4))
    site = Site("a", "b", reach=lambda _: broken)
    site.submit(1)
    for _ in range(2):
        with pytest.raises(HostDownError):
            site.step()
        assert site.gateway.liveness.unreachable == {"b"}
    broken.exchange, asked = hosts.exchange, broken.exchange
    assert site.step() == ["1.1"]
    site.submit(2)
    broken.exchange = asked
    with pytest.raises(HostDownError):
        site.step()
    broken = local_hosts(machine("a").platform, (0, 2, 4))
    assert site.step() == ["2.1"]


def test_duplicate_host_names_are_refused():
    with pytest.raises(InputError, match="two have the name a"):
        machine("a", "b", "a")
    with pytest.raises(InputError, match="two have the name a"):
        machine_of([HostFacts("a", (0,), 1, 0)] * 2)


def test_no_job_starts_while_a_host_follows_a_higher_epoch():
    for back in ("heard", "given up"):
        site = Site("a", "b", heard=["a"])
        site.gateway.on_epoch_refused("b")
        site.submit(1)
        assert site.step() == []
        site.gateway.on_host_lost("a")
        site.gateway.on_host_report([], 1, "a", marks("a", "more"))
        assert site.step() == [], "another one is heard, not the one that refuses"
        if back == "heard":
            site.gateway.on_host_report([], 1, "b", marks("b"))
        else:
            site.gateway.give_up("b", 1)
        assert site.step() == ["1.1"]


def test_abandoned_host_with_a_higher_epoch_is_ignored_until_its_next_message():
    site = Site("a", "b", heard=["a"])
    site.gateway.on_epoch_refused("b")
    assert site.gateway.liveness.refusing == {"b"}
    assert site.gateway.give_up("b", 1) == 0
    site.gateway.on_epoch_refused("b")  # it refuses again, a second later
    site.submit(1)
    assert site.step() == ["1.1"]
    site.gateway.on_host_report([], 1, "b", marks("b"))
    site.gateway.on_epoch_refused("b")
    assert site.gateway.liveness.refusing == {"b"}
