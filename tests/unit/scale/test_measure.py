"""Measured rounds, the load they run on, and predictions from them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.choices import Scaling
from dardis.model.job import NO_TIME
from dardis.model.loggp import JobCost, LogGP, flat_round_ns, tree_round_ns, wave_job_ns
from dardis.node_manager import NodePool, RelayingHost
from dardis.node_manager.pool_state import PoolState
from dardis.registry import BUILT_IN_DISPATCHERS
from dardis.scale import experiment as load
from dardis.scale.experiment import Experiment, ExperimentResult, RankGroup
from dardis.scale.measure import measure
from dardis.scale.prediction import RANKS, predictions
from dardis.scale.row import ExperimentRow, predicted_s
from dardis.scale.tally import size_of
from dardis.sim.simulation import Simulation
from dardis.transport.local_transport import LocalHosts
from dardis.wire.codec import decode_nested
from dardis.wire.effects import Send, SendToManager
from dardis.wire.messages import Confirm, GatheredAnswers, Offers, Relay

ALONE = RankGroup(None, None, 1)
SMALL = Experiment(
    nodes=100, ranks=1, task_managers=1, arity=0, sample=0, window=20_000, reservations=3, jobs=25,
    dispatcher=BUILT_IN_DISPATCHERS["dardis-throughput"], hosts_of=8, seed=1,
)  # fmt: skip


class Heard:
    """A host whose messages to and from other hosts are written down."""

    def __init__(self, host, traffic):
        self.inner, self.traffic = host, traffic

    def handle(self, message, now):
        effects = self.inner.handle(message, now)
        host = self.inner.pool.host
        for effect in effects:
            match effect:
                case Send(to=to, message=GatheredAnswers(answers=answers) as up) if to != host:
                    self.traffic["rows"] += sum(len(decode_nested(answer).rows) for answer in answers)
                    self.traffic["bytes"] += size_of(up)
                    self.traffic["most"] = max(self.traffic["most"], size_of(up) if to == 0 else 0)
                case Send(to=to, message=Relay() as down) if to != host:
                    self.traffic["bytes"] += size_of(down)
                case SendToManager(message=Offers() as offers) if host > 0:
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
@pytest.mark.parametrize(("arity", "hosts_of"), [(0, 8), (2, 8), (5, 3), (8, 200)])
def test_virtual_hosts_send_the_messages_of_real_hosts(arity, hosts_of, dispatcher):
    what = replace(SMALL, arity=arity, hosts_of=hosts_of, task_managers=2, dispatcher=BUILT_IN_DISPATCHERS[dispatcher])
    row = measure(what, ALONE)
    schedule, traffic = by_real_hosts(what)
    assert row.schedule_digest == schedule.digest()
    # Numbers of hosts take one byte or more, and a real tree's parcels lie in its questions.
    said = row.message_bytes_per_node_job * what.nodes * what.jobs
    assert said == pytest.approx(traffic["bytes"], rel=0.03 if arity else 0.01)
    if traffic["most"] > 500:  # a message of few rows is smaller than a question
        assert row.root_message_bytes == pytest.approx(traffic["most"], rel=0.03)


def test_a_round_is_predicted_by_what_it_asks():
    network = LogGP(4, 1000.0, 100.0, 100.0, 100.0, 0.0)
    cost = JobCost(10.0, 0.0, 1.0, 1.0)
    ground = RankGroup(None, network, 4)
    driven = ExperimentResult(None, 0, 0, 1.0, 1.0, 1, 0, 0, 0, 4.0, 400.0, 1.0, 1.0, 1.0)  # type: ignore[arg-type]
    what = replace(SMALL, ranks=4, nodes=400)
    flat = predicted_s(what, ground, driven, cost)
    # Three asks, 100 nodes, three answers: at least latency there and back, and the nodes' own work.
    assert 2e-6 + 1e-6 <= flat <= 4e-6
    assert predicted_s(what, RankGroup(None, None, 4), driven, cost) is None
    assert predicted_s(what, ground, driven, None) is None
    assert predicted_s(replace(what, arity=2), ground, driven, cost) == pytest.approx(flat, rel=0.6)
    assert predicted_s(replace(what, sample=2), ground, replace(driven, queried_hosts=1.0), cost) == pytest.approx(4e-6)


def test_overlapped_round_costs_its_share_of_a_wave():
    network = LogGP(4, 1000.0, 100.0, 100.0, 50.0, 0.0)
    driven = ExperimentResult(None, 0, 0, 1.0, None, 20, 0, 0, 0, 4.0, 400.0, 1.0, 1.0, None, 5, 8000.0)  # type: ignore[arg-type]
    what = replace(SMALL, ranks=4, task_managers=2, sample=2, overlap=64, jobs=10)
    # Ten jobs in twenty rounds and five waves: a round takes half of what a job does, a wave settles two jobs.
    job_ns = wave_job_ns(network, 8000.0, 4, 2, 2.0, 4)
    assert predicted_s(what, RankGroup(None, network, 4), driven, None) == pytest.approx(1e-9 * job_ns / 2)


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


NODES = 150


def rows_of(rows, node):
    span = slice(rows.head[node], rows.head[node] + rows.size[node])
    return rows.time[span].tolist(), rows.value[span, 0].tolist()


def filled(first, last, window=86_400, reservations=4, seed=1):
    state = PoolState(load.machine(NODES), first, last, None)
    load.fill(state, window, reservations, seed)
    return state


@given(st.integers(0, 400), st.integers(1, 200), st.integers(1, 6), st.integers(0, 3))
def test_parts_of_the_machine_have_the_load_of_the_machine(low, count, reservations, seed):
    whole = load.background(0, 640, 9_000, reservations, seed)
    part = load.background(low, low + count, 9_000, reservations, seed)
    for of_whole, of_part in zip(whole, part, strict=True):
        assert np.array_equal(of_whole[low : low + count], of_part)


@pytest.mark.parametrize(("window", "reservations"), [(86_400, 4), (10, 5), (3_000, 1), (86_400, 40)])
def test_filled_state_equals_reservations_job_by_job(window, reservations):
    start, end, cores, number = load.background(0, NODES, window, reservations, 3)
    reference = PoolState(load.machine(NODES), 0, NODES, None)
    for job in np.unique(number):
        nodes, layer = np.nonzero(number == job)
        first = nodes[0], layer[0]
        assert np.array_equal(nodes, np.arange(nodes[0], nodes[0] + len(nodes)))
        assert 1 <= len(nodes) <= load.MOST_UNITS
        assert len(np.unique(np.stack([start, end, cores])[:, nodes, layer], axis=1).T) == 1
        one = np.ones(len(nodes), dtype=np.int64)
        request = cores[first].reshape(1)
        assert reference.reserve(nodes, one, request, int(start[first]), int(end[first]), NO_TIME)
        reference.book(nodes, int(job), int(start[first]), NO_TIME)
    state = filled(0, NODES, window, reservations, 3)
    for node in range(NODES):
        assert rows_of(state.profiles, node) == rows_of(reference.profiles, node)
        assert rows_of(state.books, node) == rows_of(reference.books, node)
        assert len(rows_of(state.books, node)[0]) == reservations
    assert start.min() >= 0
    assert end.max() < window
    assert (end > start).all()
    assert number.min() >= load.BACKGROUND
    assert set(np.unique(cores)) <= set(range(1, 17))


def test_jobs_are_as_documented():
    jobs = load.jobs(3_000, 5_000, 7)
    assert [job.submit for job in jobs] == list(range(3_000))
    assert [job.number for job in jobs] == list(range(1, 3_001))
    assert all(job.earliest == job.submit and job.latest == job.submit + 4_999 for job in jobs)
    assert all(job.runtime == job.walltime for job in jobs)
    assert {job.units for job in jobs} == set(range(1, 9))
    assert {job.request for job in jobs} == {(cores,) for cores in range(1, 17)}
    walltimes = np.array([job.walltime for job in jobs])
    assert walltimes.min() >= 600
    assert walltimes.max() < 7_200
    assert np.median(walltimes) == pytest.approx((600 * 7_200) ** 0.5, rel=0.1)
    assert load.jobs(5, 5_000, 7) == jobs[:5]
    assert load.jobs(5, 5_000, 2) != jobs[:5]


NETWORK = LogGP(8, 1500.0, 400.0, 300.0, 600.0, 0.5)
GROUNDS = [RankGroup(None, replace(NETWORK, ranks=4, latency_ns=9.0), 8), RankGroup(None, NETWORK, 8, 2000.0)]
COST = JobCost(50.0, 2000.0, 200.0, 90.0, 3000.0, 7000.0)
EACH, A_BYTE, A_NODE = 48.0, 0.25, 2.5
"""Of a flat round: bytes of a node in an answer, CPU time of a byte of that, and of the task manager for a node."""
SIZES = ((4000, 4), (20_000, 4), (20_000, 8))


def cost_of(nodes: float, ranks: int, arity: int | str) -> JobCost:
    """What a round costs, exactly."""
    if arity != "flat":
        return COST
    answer = COST.answer_bytes + EACH * nodes / ranks
    message_ns, select_ns = COST.message_ns + A_BYTE * answer, COST.select_ns + A_NODE * nodes
    return replace(COST, answer_bytes=answer, message_ns=message_ns, select_ns=select_ns)


def measured(nodes: int, ranks: int, arity: int | str = "flat", reservations: int = 4) -> ExperimentRow:
    """A row that says so."""
    cost = cost_of(nodes, ranks, arity)
    node_ns = cost.node_ns + cost.host_ns / (nodes / ranks)
    return ExperimentRow(
        nodes, ranks, ranks, 1, 1, arity, "all", 86_400, reservations, "d", 1, 9, 1, 9, 9, None, 60.0, 450.0, 1.0, 1, 1,
        0.1, 0.1, 9.0, 0.5, 0.1, 0.1, 0.1, node_ns, cost.message_ns, cost.select_ns, cost.ask_bytes, cost.answer_bytes,
        None, "",
    )  # fmt: skip


ROWS = [measured(nodes, ranks, arity) for arity in ("flat", 8) for nodes, ranks in SIZES]


def test_fitted_lines_recover_their_parameters():
    found = predictions(ROWS, GROUNDS)
    assert {one.arity for one in found} == {"flat", 8}
    assert {one.ranks for one in found if one.scaling is Scaling.STRONG} == {r for r in RANKS if r <= 20_000}
    assert {one.ranks for one in found if one.scaling is Scaling.WEAK} == set(RANKS)
    for one in found:
        nodes = 20_000 if one.scaling is Scaling.STRONG else 5000 * one.ranks
        assert (one.nodes, one.measured_nodes, one.measured_ranks, one.network_ranks) == (nodes, 20_000, 8, 8)
        cost = cost_of(nodes, one.ranks, one.arity)
        if one.arity == "flat":
            expected = flat_round_ns(NETWORK, cost, one.ranks, nodes)
        else:
            expected = tree_round_ns(NETWORK, cost, one.ranks, 8, nodes)
        assert one.predicted_s_per_job == pytest.approx(expected / 1e9)


def strong(rows, grounds, ranks):
    return [one for one in predictions(rows, grounds) if (one.scaling, one.ranks) == (Scaling.STRONG, ranks)]


def test_experiments_of_one_size_are_taken_as_proportional_but_for_messages():
    (one,) = strong([ROWS[0]], GROUNDS[1:], 2)
    seen = cost_of(4000, 4, "flat")
    answer = 2 * seen.answer_bytes
    message_ns = COST.message_ns + A_BYTE * answer
    assert one.message_ns == pytest.approx(message_ns)
    cost = JobCost(50 + 7000 / 1000, message_ns, 200.0, answer, seen.select_ns)
    assert one.predicted_s_per_job == pytest.approx(flat_round_ns(NETWORK, cost, 2, 4000) / 1e9)


@given(st.lists(st.floats(1.0, 1e6), min_size=3, max_size=3))
def test_predicted_costs_are_never_negative(figures):
    rows = [replace(row, node_ns=figure) for row, figure in zip(ROWS[:3], figures, strict=True)]
    assert all(one.predicted_s_per_job > 0 for one in predictions(rows, GROUNDS))
