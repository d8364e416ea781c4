"""What happens at a site, drawn at random: machines, jobs, queues that stop, nodes that fail; and how it is played."""

from dataclasses import dataclass, replace

from hypothesis import strategies as st
from kit.actual import actual, asking
from kit.machine import jobs, platforms, with_reservations, with_shapes

from dardis.dispatch.cp.setups import CP_SETUPS, DecisionCost
from dardis.metrics.audit import audit
from dardis.metrics.requested_jobs import ChangedJob, RequestedJobs
from dardis.model.choices import EventOrder, UnitsPerNode
from dardis.model.events import JobChanged, NodesDown, NodesUp, QueueStarted, QueueStopped, ReservationMade, SiteEvent
from dardis.model.job import ActualJob
from dardis.model.node_layout import make_layout
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue
from dardis.model.target import Target
from dardis.registry import Dispatcher, find_dispatcher
from dardis.runs.play import SimulatedRun, play
from dardis.sim.recorder import Keep

WINDOW_S = 1000
LAST = 90
"""When the last event may be."""


@dataclass
class Case:
    """What a run is made of."""

    site: Platform
    jobs: list[ActualJob]
    events: list[SiteEvent]
    order: EventOrder = EventOrder.BATCHED
    cost: DecisionCost = DecisionCost.NONE
    units_per_node: UnitsPerNode = UnitsPerNode.PACK

    def dispatcher(self, name: str) -> Dispatcher:
        settings = [f"event_order={self.order}", *(["composite=off"] if name == "pcp14" else [])]
        settings += [f"units_per_node={self.units_per_node}"]
        settings += [f"decision_cost={self.cost}"] if name in CP_SETUPS else []
        settings += ["aged_after_s=5"] if name == "dardis-late" else []  # so that jobs grow old
        return find_dispatcher(name, settings)

    def play(self, name: str, keep: Keep | None = None, task_managers: int = 1) -> SimulatedRun:
        dispatcher = self.dispatcher(name)
        return play(
            self.site, self.jobs, dispatcher, Target(), 1, events=self.events, keep=keep, task_managers=task_managers
        )

    def as_it_was(self, run: SimulatedRun) -> list[str]:
        expected = [job.number for job in self.jobs]
        named = {event.job for event in self.events if isinstance(event, JobChanged)}
        changed = [
            ChangedJob(job.number, job.walltime, job.queue, run.recorder.cut.get(place))
            for place, job in enumerate(run.jobs)
            if job.number in named or place in run.recorder.cut
        ]
        asked = RequestedJobs.of(self.jobs, self.site.kinds).apply_changes(changed)
        return list(map(str, audit(run.schedule, run.site.platform_after_events, expected=expected, asked=asked)))


@st.composite
def stops(draw, queues: list[str]) -> list[SiteEvent]:
    """Queues are stopped and, most of the time, started."""
    found: list[SiteEvent] = []
    for queue in queues:
        times = sorted(draw(st.sets(st.integers(0, LAST), max_size=4)))
        kinds = (QueueStopped, QueueStarted)
        found += [kinds[place % 2](time, queue) for place, time in enumerate(times)]
    return found


@st.composite
def failures(draw, platform: Platform) -> list[SiteEvent]:
    """Nodes fail and, most of the time, come back."""
    found: list[SiteEvent] = []
    for node in range(platform.node_count):
        if draw(st.booleans()):
            times = sorted(draw(st.sets(st.integers(0, LAST), max_size=4)))
            found += [(NodesDown, NodesUp)[place % 2](time, (node,)) for place, time in enumerate(times)]
    return found


def on_groups(job: ActualJob, bits: int) -> ActualJob:
    """The same on these groups, with all its parts."""
    requests = tuple(
        replace(request, parts=tuple(replace(part, groups=bits) for part in request.parts))
        for request in job.job.requests
    )
    return asking(job, requests=requests, groups=bits)


@st.composite
def stories(draw, *, shaped: bool = False) -> Case:
    """A machine with reservations, some of them made while it runs, and all kinds of events."""
    platform = draw(platforms())
    site, listed = draw(with_reservations(platform, draw(jobs(platform, following=True))))
    listed = [replace(job, job=replace(job.job, latest=job.earliest + WINDOW_S)) for job in listed]
    if shaped:
        inside = {queue.name: queue.groups for queue in make_layout(site).machine.queues if queue.name != "all"}
        listed = [
            on_groups(job, sum(1 << group for group in inside[job.queue])) if job.queue in inside else job
            for job in draw(with_shapes(site, listed))
        ]
    events = draw(stops([queue.name for queue in site.queues]))
    for job in listed:
        if not job.job.requests and draw(st.integers(0, 3)) == 0:
            walltime = draw(st.none() | st.integers(1, 40))
            queue = draw(st.sampled_from([None, *(queue.name for queue in site.queues)]))
            bits = {queue.name: queue.groups for queue in make_layout(site).machine.queues}
            groups = sum(1 << group for group in bits[queue] or ()) if queue is not None else 0
            events.append(JobChanged(draw(st.integers(0, LAST)), job.number, walltime, queue, groups))
    events += draw(failures(platform))
    standing = []
    for one in site.reservations:
        made = draw(st.none() | st.integers(0, one.spans[0][0]))
        standing.append(replace(one, stands=made is None))
        events += [] if made is None else [ReservationMade(made, one.name)]
    site = replace(site, reservations=tuple(standing))
    events.sort(key=lambda event: event.at)
    return Case(
        site, listed, events, draw(st.sampled_from(EventOrder)), draw(st.sampled_from(DecisionCost)),
        draw(st.sampled_from(UnitsPerNode)),
    )  # fmt: skip


def ask(number: int, walltime: int, units: int = 1, queue: str = "a", submit: int = 0, cores: int = 4) -> ActualJob:
    return actual(number, submit, submit, submit + WINDOW_S, walltime, units, (cores,), 1, queue, "u", runtime=walltime)


@st.composite
def stopped_crowds(draw) -> Case:
    """Many jobs that grow old while their queues stop and start: who comes again has another age."""
    queues = [Queue(name, priority=draw(st.integers(0, 3))) for name in "abc"]
    nodes, cores = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    site = Platform("crowded", (NodeGroup("n", nodes, {"cores": cores}),), queues=tuple(queues))
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(1, nodes * cores), st.sampled_from("abc")),
            min_size=15, max_size=25,
        )
    )  # fmt: skip
    listed = [
        ask(number, walltime, units, queue, submit, cores=1)
        for number, (submit, walltime, units, queue) in enumerate(sorted(rows), 1)
    ]
    events = sorted(draw(stops(["a", "b"])), key=lambda event: event.at)
    return Case(site, listed, events, draw(st.sampled_from(EventOrder)))
