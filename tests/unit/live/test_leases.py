"""Leases of runs that may run again: given by times that hosts have told, over here later than there."""

import asyncio
from types import SimpleNamespace

import pytest
from kit.waiting import until_async

from dardis.engine.clock import monotonic_s
from dardis.live import keeper_mailbox
from dardis.live.host_liveness import HostLiveness
from dardis.live.job_request import JobRequest
from dardis.live.keeper import PROTOCOL
from dardis.live.keeper_client import SupervisorClient, SupervisorError
from dardis.live.keeper_mailbox import Mailbox, SupervisedHost
from dardis.live.live_jobs import HostIncarnation, JobUser, LiveJob, NodeShare, Submission
from dardis.live.machine import machine_of_platform
from dardis.model.platform import NodeGroup, Platform

AHEAD_MS = 7_000_000
"""By so much the host's clock is ahead of the one here."""


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    for name, seconds in {"LEASE_S": 1, "MARGIN_S": 0.3, "CERTAIN_S": 0.2, "RENEW_S": 0.1, "LOOK_S": 0.01,
                          "RETRY_S": 0.01}.items():  # fmt: skip
        monkeypatch.setattr(keeper_mailbox, name, seconds)


LEASED = {"host": "far", "hosts": {"far": HostIncarnation("m", leased=True)}}


class FakeKeeper(SupervisorClient):
    """Answers at once, by a clock of its own."""

    def __init__(self, heard):
        super().__init__(heard)
        self.leases, self.intended = [], []

    async def power(self):
        raise NotImplementedError

    def _send(self, asked):
        answer = {"id": asked["id"], "now": AHEAD_MS + int(monotonic_s() * 1000)}
        match asked["do"]:
            case "hello":
                answer |= {"protocol": PROTOCOL, "marks": [asked["mark"]], "runs": []}
            case "lease":
                self.leases.append((monotonic_s(), asked["from"] + asked["ms"] - AHEAD_MS))
        self._on_message(answer)

    async def read(self, run, offsets, wait_s):
        raise NotImplementedError

    async def intend(self, runs, files, lease):  # noqa: ARG002
        self.intended.append(lease)
        return {}

    def _end(self):
        pass


class Site:
    """A host, whose keeper is there until it is taken away."""

    def __init__(self):
        self.keepers, self.away, self.over_s = [], False, None
        self.certain_s = monotonic_s
        self.journal = SimpleNamespace(epoch=1, last_led_s=lambda: self.certain_s())  # noqa: PLW0108 (it changes)
        machine = machine_of_platform(Platform("m", (NodeGroup("a", 1, {"cores": 1}),)), ["far"])
        self.gateway = SimpleNamespace(
            machine=machine, on_host_report=lambda *_, **__: None, on_host_lost=lambda _: None,
            on_leases_expired=self.lease_is_over, liveness=HostLiveness(("far",)),
        )  # fmt: skip

    def lease_is_over(self, host):
        assert host == "far"
        assert self.over_s is None, "once is enough"
        self.over_s = monotonic_s()
        return 0

    async def connect(self, heard):
        if self.away:
            raise SupervisorError("nobody there")
        self.keepers.append(FakeKeeper(heard))
        return self.keepers[-1]

    def post(self, folder):
        home = SupervisedHost("far", folder, self.connect, leased=True)
        return Mailbox(home, self.gateway, self.journal, lambda: None, as_root=False)


def with_site(folder, talk):
    async def run():
        site = Site()
        here = site.post(folder)
        await asyncio.wait_for(here.tried.wait(), 10)
        try:
            await talk(site, here)
        finally:
            await here.end(stop=False)

    asyncio.run(run())


def test_leases_are_renewed_and_expire_later_here_than_on_the_host(tmp_path):
    async def talk(site, here):
        (keeper,) = site.keepers
        await until_async(lambda: len(keeper.leases) > 15)
        assert site.over_s is None, "it is heard"
        site.away = True
        keeper.close()
        last_ms = keeper.leases[-1][1]
        await until_async(lambda: site.over_s is not None)
        assert site.over_s * 1000 >= last_ms + 300

    with_site(tmp_path, talk)


def test_leases_of_an_earlier_service_are_awaited(tmp_path):
    async def talk(site, here):
        begun_s = monotonic_s()
        site.away = True
        site.keepers[0].close()
        await until_async(lambda: site.over_s is not None)
        assert site.over_s >= begun_s + 1.2

    with_site(tmp_path, talk)


def test_superseded_service_grants_no_lease(tmp_path):
    async def talk(site, here):
        stopped_s = monotonic_s()
        site.certain_s = lambda: stopped_s
        await asyncio.sleep(0.5)
        assert all(at_s < stopped_s + 0.25 for at_s, _ in site.keepers[0].leases)
        asker, asked = JobUser(0, 0, "me"), JobRequest(argv=("true",), requeue=True)
        job = LiveJob(1, Submission(1, asker, asked, "", {}, "/", 0), shares=(NodeShare("a0", (0,)),), **LEASED)
        assert here.intend([job]) is None
        assert site.keepers[0].lost.is_set()
        assert not site.keepers[0].intended

    with_site(tmp_path, talk)


def test_start_requests_name_their_lease(tmp_path):
    async def talk(site, here):
        asker = JobUser(0, 0, "me")
        of = [Submission(n, asker, JobRequest(argv=("true",)), "", {}, "/", 0) for n in (1, 2)]
        shares = (NodeShare("a0", (0,)),)
        here.intend([LiveJob(1, of[0], shares=shares)])
        here.intend([LiveJob(2, of[1], shares=shares, **LEASED)])
        await asyncio.sleep(0.05)
        plain, leased = site.keepers[0].intended
        assert plain == {}
        assert leased["lease_ms"] == 1000
        assert 0 <= AHEAD_MS + monotonic_s() * 1000 - leased["lease_from"] < 2000

    with_site(tmp_path, talk)
