"""The gateway's decisions under any order of events, restarts at any moment and a keeper that may forget orders."""

import random

import pytest

from dardis.live.asked import After, Array, JobAsked
from dardis.live.gateway import Gateway
from dardis.live.jobs import Asker, State, Submission, new_jobs
from dardis.live.journal import Journal, told_instants
from dardis.live.keeper.fates import NEVER_BEGUN
from dardis.live.machine import many_nodes
from dardis.live.orders import EndRun, ForgetRun, StartRun
from dardis.live.replay import replay
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform

MACHINE = many_nodes(
    Platform("m", (NodeGroup("a", 2, {"cores": 4, "memory": 1000}), NodeGroup("b", 1, {"cores": 8, "gpu": 2})))
)
ME = Asker(1000, 1000, "me")


class Keeper:
    """Runs that have begun, which it knows for good; orders that it has not heard may be lost."""

    def __init__(self, rng):
        self.rng, self.records, self.shares, self.begun, self.intended = rng, {}, {}, [], {}

    def intend(self, job):
        """It may begin when it is told to, if the journal has it."""
        assert job.run not in self.intended
        assert job.run not in self.records, "a name is given again that is known"
        self.intended[job.run] = (job.of, job.shares)

    def hello(self):
        """Somebody leads anew, as service or keeper has died, or the host; what didn't begin never will."""
        dead = self.rng.choice([None, None, "keeper", "host"])
        for run in self.intended if dead else ():
            self.records[run] = record(run, "over", why=NEVER_BEGUN)
            if dead == "host":
                self.records[run] = record(run, "unknown", why="unknown: the host was restarted")
        self.intended.clear()

    def hear(self, order, now_ms):
        match order:
            case StartRun(job=job):
                assert job.state is State.RUNNING
                assert self.intended.pop(job.run) == (job.of, job.shares)
                self.records[job.run] = record(job.run, "running", started_ms=now_ms)
                self.shares[job.run] = job.shares
                if self.rng.random() < 0.05:
                    self.records[job.run] = record(job.run, "over", why=NEVER_BEGUN)
                    return
                self.begun.append(job.run)
                self.see_room(job.run)
            case EndRun(run=run) if run in self.records and self.records[run]["state"] == "running":
                self.end(run, now_ms, why="cancelled", signal=15)
            case ForgetRun(run=run):
                assert self.records.pop(run)["state"] != "running"

    def see_room(self, run):
        """No core is two runs' at once."""
        for other in self.running:
            if other != run:
                for mine in self.shares[run]:
                    for theirs in self.shares[other]:
                        if mine.node == theirs.node:
                            assert not set(mine.cores) & set(theirs.cores)
                            assert not set(mine.gpus) & set(theirs.gpus)

    @property
    def running(self):
        return [run for run, told in self.records.items() if told["state"] == "running"]

    def end(self, run, now_ms, why="exit", code=None, signal=None, state="over"):
        started = self.records[run]["started_ms"]
        self.records[run] = record(run, state, started, now_ms, code, signal, why)


def record(run, state, started_ms=None, ended_ms=None, code=None, signal=None, why=""):
    return {
        "run": run, "state": state, "started_ms": started_ms, "ended_ms": ended_ms, "code": code, "signal": signal,
        "why": why,
    }  # fmt: skip


class Site:
    """A gateway with journal and keeper, as the service holds them."""

    def __init__(self, folder, rng):
        self.rng, self.now_ms = rng, 1_000_000_000
        self.journal = Journal(folder)
        self.journal._db.execute("PRAGMA synchronous=OFF")  # here nobody pulls the plug
        self.keeper = Keeper(rng)
        self.folder, self.next, self.acknowledged = folder, 1, {}
        self.restart()

    def restart(self):
        rows = [(Submission.from_row(row), become) for row, become in self.journal.unfinished()]
        self.gateway = Gateway(MACHINE, rows, self.journal.drains())
        self.next = self.journal.next_job()
        self.keeper.hello()
        for run, told in [*self.keeper.records.items()]:
            if told["state"] != "running" and self.gateway.running_as(run) is None:
                self.keeper.hear(ForgetRun(run), self.now_ms)
        records = list(self.keeper.records.values())
        for told in records:
            self.gateway.told(told, self.now_ms)
        self.gateway.missing([told["run"] for told in records], self.now_ms)
        self.told = {run for run, told in self.keeper.records.items() if told["state"] != "running"}

    def how(self, number):
        found = self.journal.holder(number)
        if found is None:
            return []
        jobs = self.ended(found[0])
        return [job.state for job in jobs] if jobs[0].number == number else [jobs[number - jobs[0].number].state]

    def ended(self, row):
        jobs, become = new_jobs(Submission.from_row(row)), self.journal.become(row.first, row.count)
        for job in jobs:
            if job.number in become:
                job.recall(become[job.number])
        return jobs

    def submit(self, asked):
        submission = Submission(self.next, ME, asked, "", {}, "/", self.now_ms)
        try:
            self.gateway.submit(submission, self.how)
        except InputError:
            return
        self.next += submission.count

    def step(self, *, dies=None):
        """An instant; the service may die before or after it has written, or with its orders half heard."""
        for run, told in [*self.keeper.records.items()]:
            if told["state"] != "running" and run not in self.told:
                self.told.add(run)
                self.gateway.told(told, self.now_ms)
        self.gateway.decide(self.now_ms // 1000)
        taken = self.gateway.take()
        orders = sorted(taken.orders, key=lambda order: [ForgetRun, StartRun, EndRun].index(type(order)))
        starts = [order for order in orders if isinstance(order, StartRun)]
        for order in starts[: self.rng.randint(0, len(starts))] if dies == "before" else starts:
            self.keeper.intend(order.job)
        if dies == "before":
            return self.restart()
        self.journal.write(taken.batch)
        for row in taken.batch.submissions:
            self.acknowledged[row.first] = row.count
        if dies == "within":
            orders = orders[: self.rng.randint(0, len(orders))]
        for order in orders:
            self.keeper.hear(order, self.now_ms)
        return self.restart() if dies else None


def some_job(rng, before):
    after = ()
    if before > 1 and rng.random() < 0.2:
        after = (After(rng.choice(["ok", "any", "fail"]), rng.randrange(1, before)),)
    array = Array(0, rng.randint(0, 5), 1, rng.choice([None, 1, 2])) if rng.random() < 0.2 else None
    kinds = {"gpus": rng.randint(0, 2)} if rng.random() < 0.2 else {"memory_mib": rng.choice([None, 300])}
    return JobAsked(
        argv=("true",), array=array, walltime_s=rng.choice([1, 30, 500]), cpus=rng.randint(1, 4), after=after,
        nodes=rng.choice([1, 1, 2]), requeue=rng.random() < 0.3, hold=rng.random() < 0.05, **kinds,
    )  # fmt: skip


def something(site, rng):
    gateway, keeper, open_jobs = site.gateway, site.keeper, site.gateway.jobs()
    match rng.randrange(9):
        case 0 | 1 | 2:
            site.submit(some_job(rng, site.next))
        case 3 | 4 if keeper.running:
            keeper.end(rng.choice(keeper.running), site.now_ms, code=rng.choice([0, 0, 0, 1]))
        case 5 if keeper.running:
            keeper.end(rng.choice(keeper.running), site.now_ms, state="unknown", why="unknown: the parent died")
        case 6 if open_jobs:
            job = rng.choice(open_jobs)
            rng.choice([lambda: gateway.cancel(job, site.now_ms), lambda: gateway.hold(job)])()
        case 7 if open_jobs:
            gateway.release(rng.choice(open_jobs))
        case 8:
            name = rng.choice(MACHINE.names)
            rng.choice([lambda: gateway.drain(name, "why"), lambda: gateway.resume(name)])()


def check(folder, seed):
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    site = Site(folder, rng)
    for _ in range(rng.randint(10, 80)):
        site.now_ms += rng.choice([0, 3, 900, 20_000])
        for _ in range(rng.randint(0, 3)):
            something(site, rng)
        site.step(dies=rng.choice([None] * 12 + ["before", "within", "after"]))
    for name in MACHINE.names:
        site.gateway.resume(name)
    for _ in range(400):
        site.now_ms += 1000
        for job in site.gateway.jobs():
            site.gateway.release(job)
        site.step()
        for run in site.keeper.running:
            site.keeper.end(run, site.now_ms, code=0)
        if not site.gateway.jobs() and not site.keeper.records:
            break
    judge(site)


def judge(site):
    """All that was acknowledged is over, no run began twice, and the journal's starts are found again."""
    assert not list(site.journal.unfinished()), [job.as_dict(MACHINE.names) for job in site.gateway.jobs()]
    begun = site.keeper.begun
    assert len(begun) == len(set(begun)), "a run begins once"
    ended = [job for first in site.acknowledged for job in site.ended(site.journal.holder(first)[0])]
    assert len(ended) == sum(site.acknowledged.values())
    for job in ended:
        assert job.state.is_over
        assert job.state is not State.COMPLETED or job.run in begun
    replayed = replay(told_instants(site.folder))
    assert not replayed.differs
    assert replayed.starts >= len(begun)


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_no_job_is_lost_and_none_runs_twice(tmp_path, first):
    for seed in range(first, first + 50):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check(folder, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 21_000, 500))
def test_no_job_is_lost_and_none_runs_twice_in_many_seeds(tmp_path, first):
    for seed in range(first, first + 500):
        folder = tmp_path / str(seed)
        folder.mkdir()
        check(folder, seed)
