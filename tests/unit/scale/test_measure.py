"""An experiment's figures: virtual hosts count what real hosts send, chains follow the model, schedules are alike."""

from collections import Counter
from dataclasses import replace

import pytest

from dardis.kernels.sums import SENT
from dardis.model.host_tree import levels_below
from dardis.model.loggp import JobCost, LogGP, flat_chain, tree_chain, wave_job_ns
from dardis.node_manager import NodePool, RelayingHost
from dardis.node_manager.state import VirtualHosts
from dardis.registry import OURS
from dardis.scale import load
from dardis.scale.experiment import Driven, Experiment, Ground
from dardis.scale.measure import measure
from dardis.scale.row import predicted_s
from dardis.scale.tally import depth_of, size_of
from dardis.sim.simulation import Simulation
from dardis.transport.local import LocalHosts
from dardis.wire.codec import opened
from dardis.wire.effects import Send, Tell
from dardis.wire.messages import Confirm, Gathered, Offers, Relay

ALONE = Ground(None, None, 1)
SMALL = Experiment(
    nodes=100, ranks=1, task_managers=1, arity=0, sample=0, window=20_000, reservations=3, jobs=25,
    dispatcher=OURS["dardis-throughput"], hosts_of=8, seed=1,
)  # fmt: skip
HOSTS = 13


class Heard:
    """A host whose messages to and from other hosts are written down."""

    def __init__(self, host, traffic):
        self.inner, self.traffic = host, traffic

    def handle(self, message, now):
        effects = self.inner.handle(message, now)
        host = self.inner.pool.host
        for effect in effects:
            match effect:
                case Send(to=to, message=Gathered(answers=answers) as up) if to != host:
                    self.traffic["rows"] += sum(len(opened(answer).rows) for answer in answers)
                    self.traffic["bytes"] += size_of(up)
                    self.traffic["most"] = max(self.traffic["most"], size_of(up) if to == 0 else 0)
                case Send(to=to, message=Relay() as down) if to != host:
                    self.traffic["bytes"] += size_of(down)
                case Tell(message=Offers() as offers) if host > 0:
                    self.traffic["bytes"] += size_of(offers) + size_of(message)
                    self.traffic["most"] = max(self.traffic["most"], size_of(offers))
        if isinstance(message, Confirm) and host > 0:
            self.traffic["bytes"] += size_of(message)
        return effects


def by_real_hosts(what):
    """The same experiment over hosts of their own, and what they said."""
    platform = load.machine(what.nodes)
    bounds = (*range(0, what.nodes, what.hosts_of), what.nodes)
    traffic = Counter()
    machines = []
    for host, first in enumerate(bounds[:-1]):
        pool = NodePool(platform, first, bounds[host + 1], host=host, seed=what.seed)
        load.fill(pool.state, what.window, what.reservations, what.seed)
        machines.append(Heard(RelayingHost(pool), traffic))
    jobs = load.jobs(what.jobs, what.window, what.seed)
    turns = what.dispatcher.turns(replace(what.cluster, bounds=bounds))
    simulation = Simulation(jobs, turns, LocalHosts(machines))
    simulation.run()
    return simulation.recorder.schedule(jobs, platform.kinds), traffic


@pytest.mark.parametrize("dispatcher", ["dardis-throughput", "dardis-balance"])
@pytest.mark.parametrize("arity", [0, 2, 8])
def test_virtual_hosts_send_what_real_ones_do(arity, dispatcher):
    what = replace(SMALL, arity=arity, dispatcher=OURS[dispatcher])
    row = measure(what, ALONE)
    schedule, traffic = by_real_hosts(what)
    assert row.schedule_digest == schedule.digest()
    # Numbers of hosts take one byte or more, and a real tree's parcels lie in its questions.
    said = row.message_bytes_per_node_job * what.nodes * what.jobs
    assert said == pytest.approx(traffic["bytes"], rel=0.03 if arity else 0.01)
    if traffic["most"] > 500:  # a message of few rows is smaller than a question
        assert row.root_message_bytes == pytest.approx(traffic["most"], rel=0.03)


def test_rows_between_virtual_hosts_are_counted_exactly():
    what = replace(SMALL, arity=3)
    _, traffic = by_real_hosts(what)
    platform = load.machine(what.nodes)
    inside = VirtualHosts(what.hosts_of, what.arity)
    pool = NodePool(platform, 0, what.nodes, seed=what.seed, virtual_hosts=inside)
    load.fill(pool.state, what.window, what.reservations, what.seed)
    rows = 0

    class Watched(LocalHosts):
        def deliver(self, sends, now):
            nonlocal rows
            answered = super().deliver(sends, now)
            if any(isinstance(send.message, Relay) for send in sends):
                rows += int(pool.state.sent[SENT])
            return answered

    jobs = load.jobs(what.jobs, what.window, what.seed)
    Simulation(jobs, what.dispatcher.turns(what.cluster), Watched([RelayingHost(pool)])).run()
    assert rows == traffic["rows"] > 0


def test_the_schedule_does_not_depend_on_how_nodes_are_reached():
    digests = {
        measure(replace(SMALL, arity=arity, hosts_of=hosts_of, task_managers=managers), ALONE).schedule_digest
        for arity, hosts_of, managers in [(0, 8, 1), (2, 8, 1), (5, 3, 3), (8, 200, 1)]
    }
    assert len(digests) == 1
    other = measure(replace(SMALL, seed=2), ALONE)
    assert other.schedule_digest not in digests


def test_rounds_and_chain_follow_the_model():
    flat, tree = (measure(replace(SMALL, arity=arity), ALONE) for arity in (0, 2))
    assert flat.completed == flat.jobs == flat.rounds == 25
    assert tree.rounds == 50
    assert flat.hosts == HOSTS
    alone = measure(replace(SMALL, arity=2, hosts_of=100), ALONE)
    assert (alone.hosts, alone.message_bytes_per_node_job, alone.root_message_bytes) == (1, 0, 0)
    assert flat_chain(HOSTS, 1) <= flat.chain <= flat_chain(HOSTS, 8)
    assert tree_chain(HOSTS, 2, 1) <= tree.chain <= tree_chain(HOSTS, 2, 8)


def test_a_sample_asks_fewer_nodes():
    what = replace(SMALL, nodes=3_000)
    every, some = (measure(replace(what, sample=sample), ALONE) for sample in (0, 2))
    assert some.message_bytes_per_node_job < every.message_bytes_per_node_job / 4
    assert some.completed == every.completed == 25


def test_what_no_machine_holds_is_not_completed():
    row = measure(replace(SMALL, nodes=1, jobs=30, reservations=0), ALONE)
    assert 0 < row.completed < 30


@pytest.mark.parametrize(("hosts", "arity"), [(1, 2), (13, 2), (200, 3), (64, 8)])
def test_depth_in_the_tree(hosts, arity):
    depths = [depth_of(host, hosts, arity) for host in range(hosts)]
    assert depths[0] == 0
    assert max(depths) == levels_below(hosts, arity)
    assert Counter(depths)[1] == min(arity, hosts - 1)


def test_a_round_is_predicted_by_what_it_asks():
    """Through the tree a round is half of the model's, sums and candidates; a sampled one asks few hosts."""
    network = LogGP(4, 1000.0, 100.0, 100.0, 100.0, 0.0)
    cost = JobCost(10.0, 0.0, 1.0, 1.0)
    ground = Ground(None, network, 4)
    driven = Driven(None, 0, 0, 1.0, 1.0, 1, 0, 0, 0, 4.0, 400.0, 1.0, 1.0, 1.0)  # type: ignore[arg-type]
    what = replace(SMALL, ranks=4, nodes=400)
    flat = predicted_s(what, ground, driven, cost)
    # Three asks, 100 nodes, three answers: at least latency there and back, and the nodes' own work.
    assert 2e-6 + 1e-6 <= flat <= 4e-6
    assert predicted_s(what, Ground(None, None, 4), driven, cost) is None
    assert predicted_s(what, ground, driven, None) is None
    assert predicted_s(replace(what, arity=2), ground, driven, cost) == pytest.approx(flat, rel=0.6)
    assert predicted_s(replace(what, sample=2), ground, replace(driven, asked_hosts=1.0), cost) == pytest.approx(4e-6)


def test_a_round_of_jobs_in_flight_is_its_part_of_a_wave():
    network = LogGP(4, 1000.0, 100.0, 100.0, 50.0, 0.0)
    driven = Driven(None, 0, 0, 1.0, None, 20, 0, 0, 0, 4.0, 400.0, 1.0, 1.0, None, 5, 8000.0)  # type: ignore[arg-type]
    what = replace(SMALL, ranks=4, task_managers=2, sample=2, overlap=64, jobs=10)
    # Ten jobs in twenty rounds and five waves: a round takes half of what a job does, a wave settles two jobs.
    job_ns = wave_job_ns(network, 8000.0, 4, 2, 2.0, 4)
    assert predicted_s(what, Ground(None, network, 4), driven, None) == pytest.approx(1e-9 * job_ns / 2)


@pytest.mark.parametrize("managers", [1, 3])
def test_jobs_in_flight_are_all_placed_and_counted(managers):
    what = replace(SMALL, nodes=300, task_managers=managers, sample=2, jobs=40)
    turns, waves, again = (measure(replace(what, overlap=overlap), ALONE) for overlap in (what.overlap, 8, 8))
    assert waves.completed == turns.completed == 40
    assert waves.rounds >= 40
    assert 40 / 8 <= waves.waves <= waves.rounds
    assert (turns.waves, turns.job_ns) == (None, None)
    figures = (waves.job_ns, waves.chain, waves.root_message_bytes, waves.message_bytes_per_node_job)
    assert min(figures) > 0
    assert again.schedule_digest == waves.schedule_digest
