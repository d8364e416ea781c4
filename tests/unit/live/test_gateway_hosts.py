"""Hosts of the gateway that fall silent, come back, are called otherwise, or are given up."""

import pytest

from dardis.live.asked import JobAsked
from dardis.live.deciding import hosts_here
from dardis.live.gateway import FORGOTTEN, Gateway
from dardis.live.jobs import Asker, State, Submission
from dardis.live.keeper.fates import NEVER_BEGUN
from dardis.live.machine import HostFacts, machine_of, many_nodes
from dardis.live.orders import EndRun, ForgetRun, StartRun
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform
from dardis.transport.base import HostDownError

ME = Asker(1000, 1000, "me")
PLATFORM = Platform("m", (NodeGroup("n", 4, {"cores": 4, "memory": 1000}),))
NOW = 1000


def machine(*hosts):
    return many_nodes(PLATFORM, hosts)


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
            self.gateway.heard([], NOW * 1000, host, marks(host))

    def submit(self, first, **more):
        asked = JobAsked(argv=("true",), **({"cpus": 4} | more))
        self.gateway.submit(Submission(first, ME, asked, "", {}, "/", NOW * 1000), lambda _: [])

    def step(self):
        self.now += 1
        self.gateway.decide(self.now)
        return self.take()

    def take(self):
        taken = self.gateway.take()
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


def test_all_hosts_are_silent_until_they_are_heard_and_nobody_is_asked_then():
    asked = []
    site = Site("a", "b", heard=(), reach=lambda silent: asked.append(silent) or hosts_here(PLATFORM, (0, 2, 4)))
    site.submit(1)
    assert site.step() == []
    assert (asked, site.gateway.wake(), len(site.silent_nodes())) == ([], FOREVER, 4)
    site.gateway.heard([], 1, "b", marks("b"))
    site.gateway.heard([], 1, "a", marks("a"))
    assert site.step() == ["1.1"]
    assert asked == [set()], "hosts that are heard one after another are one new beginning"


def test_nothing_starts_on_a_silent_host_and_its_jobs_are_lost_and_not_over():
    site = site_with_a_job_on_b()
    site.gateway.fell_silent("b")
    site.submit(4)
    assert site.step() == []
    assert site.job(3).state is State.RUNNING
    assert site.gateway.hearing.why_lost(site.job(3)) == "its host b is silent"
    assert site.gateway.hearing.why_lost(site.job(1)) == ""
    assert site.silent_nodes() == ["n2", "n3"]
    site.gateway.heard([record("3.1", "running")], 1, "b", marks("b"))
    assert site.step() == ["4.1"]
    assert site.gateway.hearing.why_lost(site.job(3)) == ""


def test_what_was_cancelled_while_its_host_was_silent_is_ended_when_that_is_back():
    site = site_with_a_job_on_b()
    site.gateway.fell_silent("b")
    site.gateway.cancel(site.job(3), 1)
    site.step()
    assert site.orders == [], "nobody would hear it"
    site.gateway.heard([record("3.1", "running")], 1, "b", marks("b"))
    site.step()
    assert site.orders == [EndRun("3.1", "b")]


def test_the_journal_says_where_a_job_runs_whatever_hosts_there_are_now():
    site = site_with_a_job_on_b().again("a", heard=["a"])  # n2, n3 are a's now, which knows nothing of 3.1
    assert site.gateway.hearing.why_lost(site.job(3)) == "its host b is not there any more"
    assert site.job(1).state is State.WAITING, "a says that it has not begun"
    site.submit(4, nodes=4)
    site.step()
    assert site.job(4).state is State.WAITING, "the lost job's cores are not given away"
    assert site.gateway.give_up("b", 5) == 1
    assert site.job(3).state is State.UNKNOWN


def test_a_host_that_is_called_otherwise_now_still_has_its_runs():
    site = site_with_a_job_on_b().again("a", "bb", heard=["a"])
    site.gateway.heard([record("3.1", "running")], 1, "bb", marks("b"))
    assert (site.job(3).host, site.gateway.hearing.why_lost(site.job(3))) == ("bb", "")
    site.gateway.cancel(site.job(3), 1)
    site.step()
    assert EndRun("3.1", "bb") in site.orders
    assert site.again("a", "bb").job(3).host == "bb", "it is written"


def test_of_what_a_host_of_another_name_was_ordered_its_keepers_folder_may_be_a_copy_that_does_not_know():
    site = site_with_a_job_on_b().again("a", "bb", heard=["a"])
    assert site.gateway.hearing.why_lost(site.job(3)) == "its host b is not there any more"
    site.gateway.heard([], 1, "bb", marks("b"))
    assert (site.job(3).state, site.job(3).why) == (State.UNKNOWN, FORGOTTEN)


@pytest.mark.parametrize("told", [{"state": "unknown"}, {"why": NEVER_BEGUN, "code": None}], ids=["unknown", "never"])
def test_what_a_copied_folder_tells_of_another_host_runs_nothing_again(told):
    site = Site("a", "b", heard=["b"])
    site.submit(1, requeue=True)
    assert site.step() == ["1.1"]
    site = site.again("a", "b")
    site.gateway.heard([record("1.1", **({"why": "unknown: the host was restarted"} | told))], 1, "a", marks("b"))
    assert site.job(1).state is State.UNKNOWN


@pytest.mark.parametrize("told", [["another"], marks("a")], ids=["new", "swapped"])
def test_what_another_keeper_was_ordered_is_unknown_however_often_the_service_dies(told):
    before = site_with_a_job_on_b()
    for later in ([], ["even later"]):
        site = before.again("a", "b")
        site.gateway.heard([], 1, "b", [*told, *later])  # and it dies before it has written what it makes of that
        assert (site.job(3).state, site.job(3).why) == (State.UNKNOWN, FORGOTTEN)
        assert not {"3.1", "3.2"} & {*site.step()}


@pytest.mark.parametrize("told", [[], [record("3.1", started_ms=None, why=NEVER_BEGUN)], [record("3.1", "running")]])
def test_a_keeper_whose_folder_was_put_back_from_an_older_copy_has_forgotten(told):
    before = site_with_a_job_on_b().again("a", "b")
    before.gateway.heard([record("3.1", "running")], 1, "b", marks("b", "second"))
    before.step()
    for later in (["third"], ["third", "fourth"]):
        site = before.again("a", "b")
        site.gateway.heard(told, 1, "b", marks("b", *later))
        assert (site.job(3).state, site.job(3).why) == (State.UNKNOWN, FORGOTTEN)
        assert not {"3.1", "3.2"} & {*site.step()}


def test_hosts_that_swap_names_tell_of_their_own_runs():
    site = site_with_a_job_on_b().again("a", "b")
    site.gateway.heard([record("3.1", "running")], 1, "a", marks("b"))
    assert (site.job(3).host, site.gateway.hearing.why_lost(site.job(3))) == ("a", "")
    assert {site.job(number).state for number in (1, 2)} == {State.UNKNOWN}, "a is another now, and nobody has told"
    site.gateway.heard([record("1.1", "running")], 1, "b", marks("a"))
    assert site.job(1).state is State.UNKNOWN
    site.step()
    assert site.orders == [EndRun("1.1", "b")]


def test_a_keeper_is_known_for_a_copy_of_one_that_is_heard():
    site = Site("a", "b")
    assert site.gateway.hearing.twin(marks("b", "now")) == "b"
    assert site.gateway.hearing.twin(["another"]) is None
    site.gateway.fell_silent("b")
    assert site.gateway.hearing.twin(marks("b", "now")) is None


@pytest.mark.parametrize("hosts", [("a", "b"), ("a", "bb")])
def test_an_intent_of_the_same_name_that_was_not_written_is_another_run(hosts):
    """A gateway dies when b has an intent and the journal doesn't; the next one begins the job elsewhere."""
    site = Site(*hosts, heard=["a"])
    site.submit(1)
    assert site.step() == ["1.1"]
    ghost = record("1.1", started_ms=None, code=None, why=NEVER_BEGUN)
    if hosts[-1] == "bb":
        site = site.again("bb", "c")
    site.gateway.heard([ghost], 1, hosts[-1], marks(hosts[-1]))
    assert site.job(1).state is State.RUNNING
    assert site.step() == []
    assert site.orders == [ForgetRun("1.1", hosts[-1])]


def test_names_that_keepers_know_and_the_journal_does_not_are_not_given_again():
    site = Site("a")
    site.gateway.heard(
        [record(run, started_ms=None, why=NEVER_BEGUN) for run in ("1.1", "2.3", "2.2")], 1, "a", marks("a")
    )
    site.submit(1)
    site.submit(2)
    site.submit(3)
    assert site.step() == ["1.2", "2.4", "3.1"]


def test_a_start_that_was_not_taken_when_its_run_was_no_more_is_not_ordered():
    site = Site("a", "b")
    site.submit(1)
    site.gateway.decide(NOW)
    site.gateway.heard([], 1, "a", marks("a"))  # it has begun nothing
    site.gateway.decide(NOW + 1)
    assert site.take() == ["1.2"]


def test_orders_to_a_host_that_has_fallen_silent_are_not_given():
    site = site_with_a_job_on_b()
    site.gateway.cancel(site.job(3), 1)
    site.gateway.cancel(site.job(1), 1)
    site.gateway.fell_silent("b")
    site.take()
    assert site.orders == [EndRun("1.1", "a")]


def test_nothing_starts_beside_a_run_that_is_nobodys():
    site = site_with_a_job_on_b()
    site.gateway.fell_silent("b")
    assert site.gateway.give_up("b", 5) == 1
    assert site.job(3).state is State.UNKNOWN
    site.step()
    site.step()
    assert site.job(3) is None
    site.gateway.heard([record("3.1", "running")], 1, "b", marks("b"))
    site.submit(4)
    assert site.step() == [], "nobody knows on which of b's nodes it is any more"
    assert site.orders == [EndRun("3.1", "b")]
    site.gateway.told(record("3.1"), 1, "b")
    assert site.step() == ["4.1"]


def test_a_run_that_is_nobodys_closes_its_nodes_on_other_hosts_too_and_at_once():
    site = Site("a", "b")
    site.submit(1, nodes=3, cpus=2)
    site.step()
    assert {share.node for share in site.job(1).shares} == {"n0", "n1", "n2"}
    site.gateway.fell_silent("a")
    site.gateway.give_up("a", 5)
    site.gateway.heard([], 1, "a", marks("a"))
    site.submit(2, nodes=2, cpus=1)
    site.gateway.decide(NOW + 5)
    site.gateway.told(record("1.1", "running"), 1, "a")
    site.submit(3, nodes=1, cpus=4)
    site.submit(4, nodes=1, cpus=4)
    site.step()
    on = [share.node for number in (3, 4) for share in site.job(number).shares]
    assert on == ["n3"]


def test_a_node_of_a_host_that_is_heard_gives_up_nothing():
    site = Site("a", "b")
    site.submit(1, nodes=3, cpus=2)
    site.step()
    site.gateway.fell_silent("a")
    assert site.gateway.give_up("n2", 5) == 0, "that is b's"
    assert site.job(1).state is State.RUNNING
    assert site.gateway.give_up("n1", 5) == 1
    assert site.job(1).state is State.UNKNOWN


def test_what_has_a_lease_runs_again_when_that_has_ended_and_nothing_else_does():
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
        assert site.gateway.lease_is_over(host) == 0, "it is heard"
        site.gateway.fell_silent(host)
        assert site.gateway.lease_is_over(host) == len(mine)
        assert {number for number in at if site.job(number).state is State.WAITING and at[number] == host} == mine
        assert site.gateway.lease_is_over(host) == 0
    assert [site.job(number).state for number in (2, 4, 5)] == [State.RUNNING] * 3


class Down:
    """Hosts of which some do not answer."""

    def __init__(self, *down):
        self.down = down

    def exchange(self, sends, now):  # noqa: ARG002
        raise HostDownError(self.down)


@pytest.mark.parametrize(("down", "asks"), [((1,), 2), ((1, 2), 2), ((), 2), ((0, 1, 2), 1)])
def test_hosts_that_do_not_answer_are_done_without(down, asks):
    asked = []

    def reach(silent):
        asked.append(silent)
        return Down(*down) if len(asked) == 1 else hosts_here(PLATFORM, (0, 1, 2, 4))

    site = Site("a", "b", "c", reach=reach)
    site.submit(1)
    site.submit(2)
    assert len(site.step()) == (0 if 0 in down else min(2, 4 - len(site.silent_nodes())))
    assert len(asked) == asks
    for host in [*site.gateway.hearing.silent]:
        site.gateway.heard(
            [record(order.run, "running") for order in site.orders if order.host == host], 1, host, marks(host)
        )
    site.step()
    assert [site.job(number).state for number in (1, 2)] == [State.RUNNING] * 2


def test_whoever_is_left_and_does_not_answer_is_not_asked_for_ever_and_nothing_is_lost():
    broken = Down(1)
    hosts = hosts_here(PLATFORM, (0, 2, 4))
    site = Site("a", "b", reach=lambda _: broken)
    site.submit(1)
    for _ in range(2):
        with pytest.raises(HostDownError):
            site.step()
        assert site.gateway.hearing.silent == {"b"}
    broken.exchange, asked = hosts.exchange, broken.exchange
    assert site.step() == ["1.1"]
    site.submit(2)
    broken.exchange = asked
    with pytest.raises(HostDownError):
        site.step()
    broken = hosts_here(PLATFORM, (0, 2, 4))
    assert site.step() == ["2.1"]


def test_two_hosts_of_one_name_are_refused():
    with pytest.raises(InputError, match="two are called a"):
        machine("a", "b", "a")
    with pytest.raises(InputError, match="two are called a"):
        machine_of([HostFacts("a", (0,), 1, 0)] * 2)


def test_jobs_that_wait_go_on_waiting_where_nodes_are_closed_and_opened():
    site = Site("a", "b")
    for name in site.gateway.machine.names:
        site.gateway.drain(name, "why")
    for number in (1, 2):
        site.submit(number, nodes=4)
    assert site.step() == []
    for name in site.gateway.machine.names[1:]:
        site.gateway.resume(name)
        assert site.step() == []
    site.gateway.resume(site.gateway.machine.names[0])
    assert site.step() == ["1.1"]
    site.gateway.drain(site.gateway.machine.names[3], "why")
    site.gateway.told(record("1.1"), 1, "a")
    assert site.step() == []
    site.gateway.resume(site.gateway.machine.names[3])
    assert site.step() == ["2.1"]


def test_while_a_host_was_led_under_a_higher_epoch_nothing_starts_anywhere():
    """The journal may be an older copy: what it has waiting may be over, as another host would know."""
    for back in ("heard", "given up"):
        site = Site("a", "b", heard=["a"])
        site.gateway.led_otherwise("b")
        site.submit(1)
        assert site.step() == []
        site.gateway.fell_silent("a")
        site.gateway.heard([], 1, "a", marks("a", "more"))
        assert site.step() == [], "another one is heard, not the one that refuses"
        if back == "heard":
            site.gateway.heard([], 1, "b", marks("b"))
        else:
            site.gateway.give_up("b", 1)
        assert site.step() == ["1.1"]


def test_a_host_that_stays_silent_is_no_news():
    site = Site("a", "b", heard=["a"])
    site.submit(1, nodes=3)
    site.step()
    for _ in range(3):
        site.gateway.fell_silent("b")
        site.gateway.decide(NOW + 2)
        assert site.gateway.take().batch.instants == []


def test_nothing_starts_beside_what_a_host_has_run_under_its_old_name():
    def named(*names):
        return machine_of([HostFacts(name, (0, 1), 1000, 0) for name in names])

    def gateway(names, given=()):
        return Gateway(named(*names), given, {}, None)

    first = gateway(["old", "b"])
    for host in ("old", "b"):
        first.heard([], 1, host, marks(host))
    asked = JobAsked(argv=("true",), cpus=2, nodes=2)
    first.submit(Submission(1, ME, asked, "", {}, "/", 1), lambda _: [])
    first.decide(NOW)
    become = dict(first.take().batch.jobs)
    on = first.job(1).host
    other = "b" if on == "old" else "old"
    names = {"old": "new", "b": "b"} if on == "old" else {"old": "old", "b": "new"}
    for called in (names, {"old": "new 1", "b": "new 2"}):
        again = gateway(called.values(), [(Submission(1, ME, asked, "", {}, "/", 1), become)])
        again.heard([], 1, called[other], marks(other, f"{other}'s next"))
        again.heard([record("1.1", "running")], 1, called[on], marks(on, f"{on}'s next"))
        again.submit(Submission(2, ME, JobAsked(argv=("true",)), "", {}, "/", 1), lambda _: [])
        again.decide(NOW)
        assert [type(order) for order in again.take().orders] == [], "it may have begun something on both"
        again.told(record("1.1"), 1, called[on])
        again.decide(NOW + 1)
        assert StartRun in map(type, again.take().orders)


def test_who_gives_up_a_host_that_was_led_under_a_higher_epoch_is_believed_until_it_is_heard():
    site = Site("a", "b", heard=["a"])
    site.gateway.led_otherwise("b")
    assert site.gateway.hearing.refusing == {"b"}
    assert site.gateway.give_up("b", 1) == 0
    site.gateway.led_otherwise("b")  # it refuses again, a second later
    site.submit(1)
    assert site.step() == ["1.1"]
    site.gateway.heard([], 1, "b", marks("b"))
    site.gateway.led_otherwise("b")
    assert site.gateway.hearing.refusing == {"b"}
