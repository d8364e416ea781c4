"""The gateway's decisions under any order of events, restarts at any moment and a keeper that may forget orders."""

import json
import random
import re
from contextlib import closing

import pytest

from dardis.live.gateway import Gateway
from dardis.live.gateway_orders import EndRun, ForgetRun, StartRun
from dardis.live.job_option_texts import KINDS, Array, Dependency
from dardis.live.job_request import JobRequest
from dardis.live.journal import Journal, read_instants
from dardis.live.keeper.log_records import NEVER_BEGUN
from dardis.live.live_decisions import local_hosts, replay
from dardis.live.live_jobs import JobUser, LiveJobState, Submission, new_jobs
from dardis.live.machine import HostFacts, machine_of, machine_of_platform
from dardis.live.node_switching import STATES, NodeState, NodeSwitching, SwitchSettings
from dardis.live.orphaned_runs import ORPHANS, is_step, job_run
from dardis.live.power_cap import CAP, Cap
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.transport.base import HostDownError

POWER_OF_NODE = NodePower(idle_w=10, core_w=5, device_w={"gpu": 20})


def platform(count, cores):
    one, other = {"cores": cores, "memory": 1000}, {"cores": 8, "gpu": 2}
    return Platform("m", (NodeGroup("a", count, one, POWER_OF_NODE), NodeGroup("b", 1, other, POWER_OF_NODE)))


PLATFORM = platform(3, 4)
OTHERS = [platform(2, 4), platform(5, 4), platform(3, 2), platform(4, 6)]
HOSTS = 3
NAMES = [f"{letter}{host}" for letter in "hx" for host in range(HOSTS + 1)]
"""Of all hosts that there may be: some are called otherwise at times."""
ME = JobUser(1000, 1000, "me")


class Keeper:
    """Runs that have begun, which it knows for good; orders that it has not heard may be lost."""

    def __init__(self, site):
        self.site, self.rng = site, site.rng
        self.records, self.shares, self.intended, self.told = {}, {}, {}, set()
        self.of = {}
        """Submission of each run that has begun; None: of a part."""
        self.epoch, self.marks, self.written = 0, [], 0
        """Under how many marks what it knows was written by who led it."""
        self.copies = []

    def intend(self, order):
        """It may begin when it is told to, if the journal has it."""
        job = order.job
        assert (job.state, job.run) == (LiveJobState.RUNNING, order.run)
        assert job.run not in self.intended
        assert job.run not in self.records, "a name is given again that is known"
        self.intended[job.run] = (job.submission, job.shares)

    def hello(self):
        """Somebody leads anew, as service or keeper has died, or the host; what didn't begin never will."""
        dead = self.rng.choice([None, None, "keeper", "host"])
        for run in self.intended if dead else ():
            self.records[run] = record(run, "over", why=NEVER_BEGUN)
            if dead == "host":
                self.records[run] = record(run, "unknown", why="unknown: the host was restarted")
        self.intended.clear()
        if dead or self.epoch < self.site.epoch:
            self.site.marks += 1
            self.marks.append(f"m{self.site.marks}")
        self.epoch = self.site.epoch
        return [*self.marks]

    def copy(self):
        """Somebody makes a copy of its folder."""
        if not self.intended:
            self.copies.append((self.epoch, [*self.marks], {**self.records}))

    def put_back(self):
        """Somebody puts back a copy from before its last mark; what has become of its runs since is forgotten."""
        older = [copy for copy in self.copies if len(copy[1]) < self.written]
        if not older:
            return
        self.epoch, self.marks, records = self.rng.choice(older)
        self.marks, now, self.records, self.written = [*self.marks], self.records, {**records}, 0
        self.copies = [copy for copy in older if len(copy[1]) <= len(self.marks)]
        self.intended.clear()
        self.site.excused.update(now)
        self.site.forgotten.update(now)
        self.site.reset.add(self.site.keepers.index(self))
        for run, told in records.items():
            if told["state"] == "running" and now.get(run, {}).get("state") != "running":
                self.end(run, self.site.now_ms, state="unknown", why="unknown: it has ended unseen")

    def hear(self, order, now_ms):
        match order:
            case StartRun(run=run) if run in self.intended:
                of = self.let_begin(run, now_ms)
                if self.rng.random() < 0.05:
                    self.records[run] = record(run, "over", why=NEVER_BEGUN)
                    return
                self.site.begins(run, of, self.shares[run])
            case EndRun(run=run) if run in self.records and self.records[run]["state"] == "running":
                self.end(run, now_ms, why="cancelled", signal=15)
            case ForgetRun(run=run) if run in self.records:  # else it was told twice
                if self.records[run]["state"] == "running":  # it is not forgotten by that
                    assert run in self.site.given_up
                    assert is_step(run)
                else:
                    del self.records[run]

    def let_begin(self, run, now_ms):
        of, self.shares[run] = self.intended.pop(run)
        self.of[run] = of
        self.records[run] = record(run, "running", started_ms=now_ms)
        return of

    @property
    def running(self):
        return [run for run, told in self.records.items() if told["state"] == "running"]

    def end(self, run, now_ms, why="exit", code=None, signal=None, state="over"):
        started = self.records[run]["started_ms"]
        self.records[run] = record(run, state, started, now_ms, code, signal, why)
        if state == "unknown":
            self.site.excused.add(run)
        if code == 1:
            self.site.failed[run] = now_ms


def record(run, state, started_ms=None, ended_ms=None, code=None, signal=None, why=""):
    return {
        "run": run, "state": state, "started_ms": started_ms, "ended_ms": ended_ms, "code": code, "signal": signal,
        "why": why,
    }  # fmt: skip


class Client:
    """Somebody within a job who wants a part of it, again and again until he has its end."""

    def __init__(self, job, share, number):
        self.job, self.share, self.run = job.number, share, f"{job.run}.{number}"
        self.mark, self.has_end = None, False


class Breaking:
    """Hosts of which some may not answer, once they have heard or before; it may even be said of the wrong ones."""

    def __init__(self, hosts, count, rng):
        self.hosts, self.count, self.rng = hosts, count, rng

    def exchange(self, sends, now):
        fails = self.rng.random() < 0.02
        if not fails or self.rng.random() < 0.5:
            answers = self.hosts.exchange(sends, now)
        if fails:
            raise HostDownError(self.rng.sample(range(self.count), self.rng.choice([0, 1, 1, 1, self.count])))
        return answers


class Site:
    """A gateway with journal and keepers, as the service holds them."""

    def __init__(self, folder, rng, journal, *, is_capped=False):
        self.rng, self.now_ms, self.is_capped, self.decided_cap = rng, 1_000_000_000, is_capped, None
        self.journal = journal
        self.journal._db.execute("PRAGMA synchronous=OFF")  # here nobody pulls the plug
        self.keepers = [Keeper(self) for _ in range(HOSTS + 1)]
        self.folder, self.next, self.acknowledged = folder, 1, {}
        self.epoch = self.marks = 0
        self.clients, self.asking = [], []
        """Who want parts, and the parts of which keepers were told and that they were not told to let begin."""
        self.begun, self.excused, self.given_up, self.released = [], set(), set(), set()
        self.failed = {}
        """When runs ended with an exit code that is retried."""
        """Runs that have begun; of which nobody knows how they ended; that were given up; again let begin."""
        self.forgotten = set()
        """Runs whose keeper's folder was put back, with what it knew of them."""
        self.dropped = set()
        """Parts on hosts that were given up."""
        self.without = set()
        """Runs that go on, and the keepers, by number, where their parts were given up."""
        self.reset = set()
        """Keepers, by number, whose folder was put back or is gone."""
        self.programs, self.switches, self.offs = [], rng.random() < 0.5, 0
        """Programs that switch nodes and go on, whether there are any, and how many have switched nodes off."""
        self.kept = False
        """Whether a job has begun under a hard cap."""
        self.changes, self.hosts_are_nodes = True, rng.random() < 0.3
        self.restart(PLATFORM, range(HOSTS))

    def restart(self, of=None, hosts=None):
        """Somebody serves on; at times another machine, with another number of hosts or other names."""
        rng = self.rng
        self.epoch += 1
        if of is None and self.changes and rng.random() < 0.3:
            of = rng.choice([PLATFORM, *OTHERS])
            hosts = rng.sample(range(HOSTS + 1), rng.randint(1, HOSTS + 1))
        if of is not None:
            self.names = {rng.choice([f"h{host}"] * 3 + [f"x{host}"]): self.keepers[host] for host in hosts}
            self.machine = self.machine_of(of)
        rows = [(Submission.from_row(row), become) for row, become in self.journal.unfinished()]
        cap = Cap.from_text(self.journal.setting(CAP))
        leased = set(self.machine.hosts)
        states = json.loads(self.journal.setting(STATES) or "{}")
        settings = SwitchSettings(self.is_capped and self.switches, rng.choice([0, 0, 1]), rng.choice([0, 0, 5]), 30)
        switching = NodeSwitching(self.machine, settings, None, states)
        self.programs.clear()
        self.gateway = Gateway(
            self.machine, rows, self.journal.drains(), self.reach, leased, self.how, cap, switching,
            self.journal.setting(ORPHANS),
        )  # fmt: skip
        self.next = self.journal.next_job()
        self.asking.clear()
        self.clients = [client for client in self.clients if not client.has_end]
        for name in self.names:
            if rng.random() < 0.7:
                self.hear(name)

    @property
    def hearing(self):
        return self.gateway.liveness

    def machine_of(self, of):
        """Nodes that hosts stand for, or, of as many cores, the hosts themselves: they are called as these are now."""
        if not self.hosts_are_nodes:
            return machine_of_platform(of, [*self.names])
        cores = of.capacity[0].tolist()[of.kinds.index("cores")]
        return machine_of([HostFacts(name, tuple(range(cores)), 1000, 0) for name in self.names])

    def place(self, node):
        """What a node is, however it is called."""
        return node[1:] if self.hosts_are_nodes else node

    def reach(self, silent):
        assert len(silent) < len(self.machine.hosts)
        return Breaking(local_hosts(self.machine.platform, self.machine.bounds), len(self.machine.hosts), self.rng)

    def hear(self, name):
        """A host that was silent is back."""
        keeper = self.names[name]
        marks = keeper.hello()
        self.gateway.on_host_report(list(keeper.records.values()), self.now_ms, name, marks)
        keeper.told = {run for run, told in keeper.records.items() if told["state"] != "running"}

    def tell(self):
        """Keepers that are heard tell what has ended."""
        for name, keeper in self.names.items():
            for run, told in [*keeper.records.items()] if name not in self.hearing.unreachable else ():
                if told["state"] != "running" and run not in keeper.told:
                    keeper.told.add(run)
                    self.gateway.on_run_record(told, self.now_ms, name)

    @property
    def running(self):
        return [(keeper, run) for keeper in self.keepers for run in keeper.running]

    def begins(self, run, of, shares):
        """A run begins: its job doesn't run, and did not but where nobody can say so; and on cores that are empty."""
        assert run not in self.begun, "a run begins once"
        for before in self.begun:
            if before.partition(".")[0] == run.partition(".")[0] and not is_step(before):
                if of.request.retries and before in self.failed:
                    late = self.failed[before] + 1000 <= self.now_ms
                    assert late or before in self.released | self.excused
                    continue
                assert before in self.excused | self.given_up, f"{before} was, and {run} is"
                assert of.request.requeue or before in self.released, f"{run} begins without a word"
        for _, other in self.running:
            if other.partition(".")[0] == run.partition(".")[0] and is_step(other):
                assert other in self.given_up or job_run(other) in self.released, f"{other} goes on, and {run} begins"
        self.has_for_itself(run, shares)
        self.keeps_cap()
        self.may_begin(of, shares, int(run.partition(".")[0]))

    def keeps_cap(self):
        """What all take, idle nodes too, is within the cap when a job begins, if the cap is hard.

        Runs that were given up, or of which their keepers know nothing, are not counted.
        """
        cap = self.decided_cap
        if cap is None or not cap.is_hard or (limit := cap.at(self.now_ms // 1000)) is None:
            return
        idle_mw, switching = self.machine.power.idle_mw, self.gateway.switching
        names = [*enumerate(self.machine.names)]
        off = [node for node, name in names if switching.state(name) is NodeState.OFF]
        used, counted = (int(idle_mw.sum() - idle_mw[off].sum()) if cap.is_power else 0), set()
        for keeper, run in self.running:
            name = job_run(run)
            of = next((there.of[name] for there in self.keepers if there.of.get(name) is not None), None)
            if name in counted or {run, name} & (self.given_up | self.forgotten | self.dropped) or of is None:
                continue
            asked, is_whole = of.request, any(name in there.running for there in self.keepers)
            if not is_whole and keeper not in self.names.values():  # a part on a host that was removed
                continue
            counted.add(name)
            nodes = asked.nodes if is_whole else len(keeper.shares[run])  # a part takes its node alone
            cores = self.machine.most_cores if asked.exclusive else asked.cpus
            used += nodes * (self.machine.node_mw(asked) if cap.is_power else cores)
        assert used <= limit * (1000 if cap.is_power else 1), (used, limit)
        self.kept = True

    def some_cap(self):
        """Any cap that the machine can keep, or none."""
        rng, now = self.rng, self.now_ms // 1000
        kind = rng.choice(["power", "power", "cores"])
        idle_w = -(-int(self.machine.power.idle_mw.sum()) // 1000)
        idle_w = rng.choice([0, idle_w]) if self.switches else idle_w
        values = [idle_w + rng.randint(0, 80) if kind == "power" else rng.randint(0, 16) for _ in range(3)]
        times = sorted(rng.sample(range(now - 100, now + 100), 3))
        steps = [(times[0], values[0])] if rng.random() < 0.6 else zip(times, values, strict=True)
        return rng.choice([None, *4 * [Cap(kind, rng.random() < 0.8, tuple(steps))]])

    def set_cap(self):
        try:
            self.gateway.set_cap(self.some_cap())
        except InputError as error:
            if not re.search("knows no power|below the power|another kind or rule", str(error)):
                raise

    def may_begin(self, of, shares, number):
        """What a job asks for beside resources is so when it begins: its moment, its dependencies, its nodes alone."""
        asked = of.request
        late = (self.now_ms // 1000) * 1000
        assert asked.begin_ms is None or asked.begin_ms <= late
        assert asked.deadline_ms is None or late + asked.walltime_s * 1000 <= asked.deadline_ms
        for other in self.gateway.jobs() if asked.singleton else ():
            assert other.submission.request.name != asked.name or other.number >= number
        if asked.exclusive or asked.memory_mib == 0:
            nodes = {share.node for share in shares}
            for job in self.gateway.jobs():
                if job.number != number and job.state is LiveJobState.RUNNING and not job.why:
                    assert nodes.isdisjoint(share.node for share in job.shares), "its nodes are its own"
        if asked.exclusive:
            holds = dict(zip(self.machine.names, self.machine.platform.capacity, strict=True))
            assert all(len(share.cores) == holds[share.node][0] for share in shares if share.node in holds)
        met = [self.is_met(after, of, number) for after in asked.after]
        assert (any if asked.after_any else all)(met) or not met

    def is_met(self, after, of, number):
        one = self.gateway.job(after.id)
        jobs = self.gateway.array(after.id) or ([one] if one else self.how(after.id))
        if after.kind == "each":
            mine = of.indices[number - of.first] if of.indices else None
            jobs = [job for job in jobs if job.index == mine]
        states = {job.state for job in jobs}
        waits = {LiveJobState.WAITING, LiveJobState.HELD}
        again = any(f"{job.number}." in run for job in jobs for run in self.released)  # it was over before
        match after.kind:
            case "start":
                return again or states.isdisjoint(waits) or any(job.attempt for job in jobs)
            case "any":
                return again or states.isdisjoint({*waits, LiveJobState.RUNNING})
            case "fail":
                return again or (
                    states.isdisjoint({*waits, LiveJobState.RUNNING}) and states != {LiveJobState.COMPLETED}
                )
        return again or states == {LiveJobState.COMPLETED}

    def part_begins(self, run, shares):
        """A part begins: it never has, and its job runs, as far as anybody knows."""
        assert run not in self.begun, "a part begins once"
        assert self.gateway.job_of_run(job_run(run)) is not None
        self.has_for_itself(run, shares)

    def has_for_itself(self, run, shares):
        self.begun.append(run)
        mine = {(kind, self.place(share.node), one) for share in shares for kind, one in resources_of_share(share)}
        lost = self.given_up | self.forgotten
        for name, keeper in [*self.names.items(), *((None, keeper) for keeper in self.keepers)]:
            for other in keeper.running:
                if job_run(other) == job_run(run) or (
                    other in lost and (name is None or name in self.hearing.unreachable)
                ):
                    continue
                for share in self.known_shares(keeper, other):
                    if not (is_step(other) or other in lost) or self.machine.host(share.node) == name:
                        its = {(kind, self.place(share.node), one) for kind, one in resources_of_share(share)}
                        assert mine.isdisjoint(its), (run, other)

    def known_shares(self, keeper, run):
        """Those of a run, but where its parts would be and were given up, or the keeper has forgotten what it knew."""
        return [
            share for share in keeper.shares[run]
            if not self.hosts_are_nodes or self.keepers.index(keeper) == (at := int(self.place(share.node)))
            or not (at in self.reset or (run, at) in self.without)
        ]  # fmt: skip

    def ask_for_part(self, client):
        """Once; whether it may be asked for again."""
        job = self.gateway.job(client.job)
        host = self.machine.host(client.share.node)
        if job is None or self.gateway.job_of_run(job_run(client.run)) is not job:
            return False
        part = self.gateway.steps.get(client.run)
        if part is not None and part.record is not None:
            if self.rng.random() < 0.8:
                self.gateway.steps.discard(part)
                client.has_end = True
            return client.has_end  # a question of before may come late
        if part is None and not job.cancelled and self.hearing.is_reachable(host):
            try:
                part = self.gateway.start_step(job, client.run, host, client.mark)
            except InputError:
                return False
            if part is None:
                return False
            client.mark, keeper = part.incarnation, self.names[host]
            assert client.run not in keeper.records, "a name is given again that is known"
            keeper.intended[client.run] = (None, (client.share,))
            self.asking.append((part, keeper, client.share))
        elif part is not None and self.rng.random() < 0.1:
            self.gateway.steps.discard(part)
            client.has_end = True
        return True

    def let_parts_begin(self):
        """Keepers have answered that they know what is to begin, if nobody has led them anew since."""
        asking, self.asking = self.asking, []
        for part, keeper, share in asking:
            if self.rng.random() < 0.2:
                self.asking.append((part, keeper, share))
            elif (
                self.names.get(part.host) is keeper
                and self.hearing.is_reachable(part.host)
                and part.run in keeper.intended
            ):
                if self.gateway.steps.mark_started(part) and self.rng.random() < 0.9:
                    keeper.let_begin(part.run, self.now_ms)
                    self.part_begins(part.run, (share,))
                elif part.is_started:  # the word is lost, with the talk
                    self.gateway.on_host_lost(part.host)

    def release(self, job):
        """Somebody lets a job begin, again if it has; the runs that it has had are known by its words."""
        if self.gateway.release(job) or (self.rng.random() < 0.5 and self.gateway.retry(job)):
            self.released.update(f"{job.number}.{attempt}" for attempt in range(job.attempt + 1))

    def how(self, number):
        found = self.journal.find_job(number)
        if found is None:
            return []
        jobs = self.ended(found[0])
        return jobs if jobs[0].number == number else [jobs[number - jobs[0].number]]

    def ended(self, row):
        jobs, become = new_jobs(Submission.from_row(row)), self.journal.job_states(row.first, row.count)
        for job in jobs:
            if job.number in become:
                job.restore(become[job.number])
        return jobs

    def submit(self, asked):
        submission = Submission(self.next, ME, asked, "", {}, "/", self.now_ms)
        try:
            self.gateway.submit(submission, self.now_ms)
        except InputError:
            return
        self.next += submission.count

    def step(self, *, dies=None, between=lambda: None):
        """An instant; the service may die before or after it has written, or with its orders half heard.

        `between` is what happens in the meantime, again and again.
        """
        self.tell()
        self.decided_cap = self.gateway.account.cap
        try:
            self.gateway.decide(self.now_ms // 1000)
        except HostDownError:
            if self.rng.random() < 0.5:
                return self.restart()
        taken = self.gateway.take_output()
        marks = [
            (keeper, len(keeper.marks)) for name, keeper in self.names.items() if name not in self.hearing.unreachable
        ]
        orders = sorted(taken.orders, key=lambda order: [ForgetRun, StartRun, EndRun].index(type(order)))
        starts = [order for order in orders if isinstance(order, StartRun)]
        for order in starts[: self.rng.randint(0, len(starts))] if dies == "before" else starts:
            assert self.hearing.is_reachable(order.host)
            self.names[order.host].intend(order)
        between()
        if dies == "before":
            return self.restart()
        self.journal.write(taken.batch)
        for keeper, count in marks:
            keeper.written = count
        for row in taken.batch.submissions:
            self.acknowledged[row.first] = row.count
        between()
        if dies == "within":
            orders = orders[: self.rng.randint(0, len(orders))]
        for order in orders:
            if isinstance(order, StartRun) and self.gateway.job_of_run(order.run) is None:
                continue
            if order.host not in self.hearing.unreachable or self.rng.random() < 0.5:
                self.names[order.host].hear(order, self.now_ms)
        self.programs += taken.switches
        between()
        return self.restart() if dies else None


def resources_of_share(share):
    return [("core", core) for core in share.cores] + [("gpu", gpu) for gpu in share.gpus]


def some_job(rng, before, now_ms):
    after, after_any = (), rng.random() < 0.3
    if before > 1 and rng.random() < 0.3:
        kinds = [kind for kind in KINDS if kind != "each" or not after_any]
        after = tuple(Dependency(rng.choice(kinds), rng.randrange(1, before)) for _ in range(rng.choice([1, 1, 2])))
    array = Array((range(rng.randint(1, 6)),), rng.choice([None, 1, 2])) if rng.random() < 0.2 else None
    kinds = {"gpus": rng.randint(0, 2)} if rng.random() < 0.2 else {"memory_mib": rng.choice([None, 300, 0])}
    walltime_s, begin_ms = rng.choice([1, 30, 500]), now_ms + rng.choice([0, 1500, 40_000])
    if rng.random() < 0.2:
        kinds |= {"begin_ms": begin_ms, "deadline_ms": begin_ms + walltime_s * 1000 + rng.choice([5000, 90_000])}
    return JobRequest(
        argv=("true",), array=array, walltime_s=walltime_s, cpus=rng.randint(1, 4), after=after, after_any=after_any,
        retries=rng.choice([0, 0, 2]), retry_delay_s=1, name=rng.choice("ab"),
        singleton=rng.random() < 0.1, exclusive=rng.random() < 0.1,
        nodes=rng.choice([1, 1, 2]), requeue=rng.random() < 0.3, hold=rng.random() < 0.05,
        watts=rng.choice([None, None, 1, 7, 40]), **kinds,
    )  # fmt: skip


def something(site, rng):
    """Somebody asks for something, or something happens to a host or a run."""
    rng.choice([asked, asked, happens])(site, rng)


def asked(site, rng):
    gateway, open_jobs = site.gateway, site.gateway.jobs()
    if site.is_capped and rng.random() < 0.1:
        site.set_cap()
    match rng.randrange(8):
        case 0 | 1 | 2:
            site.submit(some_job(rng, site.next, site.now_ms))
        case 3 if open_jobs:
            job = rng.choice(open_jobs)
            rng.choice([lambda: gateway.cancel(job, site.now_ms), lambda: gateway.hold(job)])()
        case 4 | 5 if open_jobs:
            site.release(rng.choice(open_jobs))
            parts(site, rng)
        case 6:
            node = rng.choice(site.machine.names)
            rng.choice([lambda: gateway.drain(node, "why"), lambda: gateway.resume(node)])()
        case 7:
            give_up(site, rng.choice([*site.machine.names, *NAMES]))


def parts(site, rng):
    """Jobs begin parts of theirs on their nodes, and ask for them again."""
    running = {run for _, run in site.running}
    for job in site.gateway.jobs():
        if job.state is LiveJobState.RUNNING and job.run in running and rng.random() < 0.5:
            site.clients.append(Client(job, rng.choice(job.shares), rng.getrandbits(63)))
    site.clients = [client for client in site.clients if site.ask_for_part(client)]
    site.let_parts_begin()


def program_ends(site, rng):
    """A program that switches nodes ends well, fails, or lies: their hosts do not follow."""
    switch = site.programs.pop(rng.randrange(len(site.programs)))
    error = rng.choice(["", "", "", "it failed"])
    site.gateway.switching.on_program_end(switch.names, on=switch.on, error=error, now=site.now_ms // 1000)
    site.offs += not (error or switch.on)
    for name in switch.names if not error and site.hosts_are_nodes else ():
        if rng.random() < 0.8 and switch.on is (name in site.hearing.unreachable):
            site.hear(name) if switch.on else site.gateway.on_host_lost(name)


def happens(site, rng):
    if site.programs and rng.random() < 0.3:
        program_ends(site, rng)
    gateway, running, name = site.gateway, site.running, rng.choice([*site.names])
    match rng.randrange(8):
        case 0 | 1 if running:
            keeper, run = rng.choice(running)
            keeper.end(run, site.now_ms, code=rng.choice([0, 0, 0, 1]))
        case 2 if running:
            keeper, run = rng.choice(running)
            keeper.end(run, site.now_ms, state="unknown", why="unknown: the parent died")
        case 3:
            site.hear(name) if name in gateway.liveness.unreachable else gateway.on_host_lost(name)
        case 4 if name in gateway.liveness.unreachable:
            leases_end(site, name)
        case 5:
            site.tell()
            parts(site, rng)
            gateway.end_unattended_steps(site.now_ms / 1000)
        case 6 if (
            name in gateway.liveness.unreachable and rng.random() < 0.1
        ):  # its folder is gone, and what it had begun
            gone = site.names[name]
            site.reset.add(site.keepers.index(gone))
            site.excused.update(gone.records)
            site.names[name] = site.keepers[site.keepers.index(gone)] = Keeper(site)
        case 7:
            keeper = site.names[name]
            keeper.put_back() if name in gateway.liveness.unreachable and rng.random() < 0.3 else keeper.copy()


def leases_end(site, name):
    """The guard of a silent host has ended what had a lease, and enough time has passed to know that."""
    keeper, again = site.names[name], 0
    for run in keeper.running:
        job = site.gateway.job(int(run.partition(".")[0]))
        if job is None or job.submission.request.requeue:
            keeper.end(run, site.now_ms, signal=9, why="lease")
            site.excused.add(run)
    for job in site.gateway.jobs():
        if (
            (job.state, job.host) == (LiveJobState.RUNNING, name)
            and job.submission.request.requeue
            and not job.cancelled
        ):
            again += 1
            site.excused.add(job.run)
    assert site.gateway.on_leases_expired(name) == again


def give_up(site, name):
    of_one_heard = site.hearing.is_reachable(site.machine.host(name))
    lost = {
        job.run for job in site.gateway.jobs() if site.hearing.lost_reason(job)
        and (name == job.host or (not of_one_heard and name in {share.node for share in job.shares}))
    }  # fmt: skip
    without = {
        job.run for job in site.gateway.jobs() for host in job.hosts
        if (job.is_pending_rerun or (job.state is LiveJobState.RUNNING and job.run not in lost and host != job.host))
        and not site.hearing.is_reachable(host)
        and name in (host, *(share.node for share in job.shares if site.machine.host(share.node) == host))
    }  # fmt: skip
    heard = [keeper for host, keeper in site.names.items() if site.hearing.is_reachable(host)]
    unheard = {run for keeper, run in site.running if keeper not in heard and is_step(run)}
    site.dropped.update(
        run for host, keeper in site.names.items() for run in keeper.running
        if is_step(run) and not site.hearing.is_reachable(host) and name in (host, *site.machine.nodes(host))
    )  # fmt: skip
    site.given_up |= lost | {run for run in unheard if job_run(run) in lost | without}
    if site.hosts_are_nodes and not site.hearing.is_reachable(name):
        site.without.update((run, int(site.place(name))) for _, run in site.running)
    assert site.gateway.give_up(name, site.now_ms) >= len(lost) + len(without)  # beside jobs of orphaned runs


def check(folder, seed, *, is_capped=False):
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    with closing(Journal(folder)) as journal:
        site = Site(folder, rng, journal, is_capped=is_capped)
        play(site, rng)
    return site.kept, site.offs


def play(site, rng):
    def between():
        while rng.random() < 0.2:
            something(site, rng)

    for _ in range(rng.randint(10, 80)):
        site.now_ms += rng.choice([0, 3, 900, 20_000])
        for _ in range(rng.randint(0, 3)):
            something(site, rng)
        site.step(dies=rng.choice([None] * 12 + ["before", "within", "after"]), between=between)
    settle(site)
    judge(site)


def settle(site):
    """Everything comes to an end on a machine that stays as it is, of which all hosts are heard again and again."""
    site.changes = site.is_capped = site.switches = False
    site.restart(PLATFORM, range(HOSTS + 1))
    for _ in range(400):
        site.now_ms += 1000
        if site.gateway.account.cap is not None:
            site.gateway.set_cap(None)
        for name in [*site.gateway.drained]:
            site.gateway.resume(name)
        for job in site.gateway.jobs():
            site.release(job)
        for keeper, run in site.running:
            keeper.end(run, site.now_ms, code=0)
        for name in [*site.hearing.unreachable]:
            site.hear(name)
        for job in site.gateway.jobs():
            if site.hearing.lost_reason(job):  # its host was called otherwise then, and has another keeper now
                assert not any(job.incarnation in keeper.marks for keeper in site.keepers)
                give_up(site, job.host)
            for host in [*job.hosts] if job.is_pending_rerun else []:
                if host not in site.names:
                    give_up(site, host)
        site.let_parts_begin()
        site.step()
        if not site.gateway.jobs() and not any(keeper.records for keeper in site.keepers):
            break


def judge(site):
    """All that was acknowledged is over, no run began twice, and the journal's starts are found again."""
    assert not list(site.journal.unfinished()), [job.as_dict() for job in site.gateway.jobs()]
    ended = [job for first in site.acknowledged for job in site.ended(site.journal.find_job(first)[0])]
    assert len(ended) == sum(site.acknowledged.values())
    for job in ended:
        assert job.state.is_over
        assert job.state is not LiveJobState.COMPLETED or job.run in site.begun
    replayed = replay(read_instants(site.folder))
    assert not replayed.differs
    assert replayed.starts >= sum(not is_step(run) for run in site.begun)


def check_many(tmp_path, seeds, **options):
    found = []
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.append(check(folder, seed, **options))
    return found


GATE = range(0, 80, 20)
MORE = range(80, 11_960, 330)


@pytest.mark.parametrize(
    ("first", "count"),
    [*((first, 20) for first in GATE), *(pytest.param(first, 330, marks=pytest.mark.slow) for first in MORE)],
)
def test_no_job_is_lost_and_none_runs_twice(tmp_path, first, count):
    check_many(tmp_path, range(first, first + count))


@pytest.mark.parametrize(
    ("first", "count"),
    [
        *((first, 25) for first in range(0, 100, 25)),
        *(pytest.param(first, 350, marks=pytest.mark.slow) for first in range(100, 9_900, 350)),
    ],
)
def test_sum_never_exceeds_a_hard_cap_when_a_job_begins(tmp_path, first, count):
    kept, offs = zip(*check_many(tmp_path, range(first, first + count), is_capped=True), strict=True)
    assert sum(kept) > count // 3, "else this would show nothing"
    assert sum(offs) > 0
