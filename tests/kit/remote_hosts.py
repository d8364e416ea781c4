"""Who decides over hosts here or far, and what may happen to them."""

import asyncio
import random

from dardis.live import live_decisions as decisions
from dardis.model.platform import NodeGroup, Platform
from dardis.runs.hosts import even_bounds
from dardis.transport.links import Link
from dardis.transport.remote_hosts import RemoteHost, RemoteHosts


class Site:
    """A machine and its hosts."""

    def __init__(self, hosts, nodes=6, cores=4):
        groups = NodeGroup("a", nodes - 2, {"cores": cores, "memory": 100}), NodeGroup("b", 2, {"cores": 2, "gpu": 1})
        self.platform = Platform("m", groups)
        self.hosts, self.bounds = hosts, even_bounds(nodes, hosts)
        self.plan = decisions.plan_of_hosts(self.platform, self.bounds)

    def machine(self, host):
        return decisions.host_of_plan(self.plan, host)

    def far_host(self):
        return RemoteHost(decisions.host_of_plan)

    def local(self):
        return decisions.local_hosts(self.platform, self.bounds)

    def far(self, switchboard, here=(), session=1, patience_s=60.0):
        here = {host: self.machine(host) for host in here}
        return RemoteHosts(switchboard, self.plan, self.hosts, session, patience_s, here)

    def decider(self, hosts):
        return decisions.LiveDecider(self.platform, self.bounds, hosts)


class Chance:
    """What happens at a site, at random; it is told who has started."""

    def __init__(self, site, seed):
        self.rng = random.Random(seed)  # noqa: S311
        self.nodes, self.kinds = site.platform.node_count, site.platform.kinds
        self.now, self.next, self.waiting, self.running = 1000, 1, [], []

    def happens(self):
        rng = self.rng
        self.now += rng.choice((0, 0, 1, 5, 40, 400))
        ended = tuple(job for job in self.running if rng.random() < 0.3)
        withdrawn = tuple(job for job in self.waiting if rng.random() < 0.1)
        closes = rng.random() < 0.2
        closed = tuple(node for node in range(self.nodes) if rng.random() < 0.3) if closes else None
        runs = self.runs() if self.next == 1 else ()
        submitted = tuple(self.asks() for _ in range(rng.choice((0, 1, 2, 6))))
        self.running = [job for job in self.running if job not in ended]
        self.waiting = [job for job in self.waiting if job not in withdrawn] + [asks.job for asks in submitted]
        return decisions.InstantEvents(self.now, ended, withdrawn, closed, runs, submitted)

    def runs(self):
        """What runs already when all begins."""
        rng = self.rng
        nodes = sorted(rng.sample(range(self.nodes), rng.randrange(self.nodes)))
        found = []
        while nodes:
            placed, nodes = tuple(nodes[:2]), nodes[2:]
            request = tuple(int(kind == "cores") for kind in self.kinds)
            found.append(
                decisions.RunningJob(
                    decisions.SchedulingRequest(self.next, 900, 300, len(placed), request),
                    placed,
                    rng.choice((-5, 10, 200)),
                )
            )
            self.next += 1
        self.running = [run.request.job for run in found]
        return tuple(found)

    def asks(self):
        rng = self.rng
        number, self.next = self.next, self.next + 1
        request = {
            "cores": rng.choice((1, 1, 2, 4)), "memory": rng.choice((0, 10, 60)), "gpu": rng.choice((0, 0, 0, 1)),
        }  # fmt: skip
        if request["gpu"]:
            request["memory"] = 0
        return decisions.SchedulingRequest(
            number, self.now, rng.choice((10, 60, 600)), rng.choice((1, 1, 1, 2, 4)),
            tuple(request[kind] for kind in self.kinds),
        )  # fmt: skip

    def started(self, starts, refused):
        for start in starts:
            self.waiting.remove(start.job)
            self.running.append(start.job)
        self.waiting = [job for job in self.waiting if job not in refused]


def serve_far_host(places, server, keys):
    """Be a host that is asked over a link."""
    asyncio.run(Link(places, server, keys).run(Site(1).far_host().answer, lambda _: None))
