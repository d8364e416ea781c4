"""Predicts what a round costs in messages and in time on machines larger than this one; pure arithmetic.

The model of a network is LogGP (Alexandrov, Ionescu, Schauser, Scheiman: LogGP: Incorporating Long Messages into the
LogP Model, SPAA 1995): a message of b bytes keeps its sender busy for o, is under way for L + (b - 1) G, and keeps its
receiver busy for o; the next one leaves max(o, g + (b - 1) G) later. To o comes what our own code takes for a message.

A tree of hosts is simulated exactly, each host sending or handling one message at a time. Parts of equal size cost the
same, and a tree has few sizes, so a million hosts take microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dardis.model.addresses import parts_of


@dataclass(frozen=True, slots=True)
class LogGP:
    """A network between ranks as it was measured."""

    ranks: int
    """How many there were; those that did not take part waited for a message meanwhile."""
    latency_ns: float
    send_overhead_ns: float
    receive_overhead_ns: float
    gap_ns: float
    """Time between short messages of a burst."""
    gap_per_byte_ns: float


@dataclass(frozen=True, slots=True)
class JobCost:
    """What a job costs beside the network."""

    node_ns: float
    """CPU time a node that is asked, in all its answers; `host_ns` comes to it."""
    message_ns: float
    """CPU time of our code for a message, at its sender and again at its receiver: encoding, decoding, handing on."""
    ask_bytes: float
    """Payload to a host: asks, and confirmations."""
    answer_bytes: float
    """Payload from a host."""
    select_ns: float = 0.0
    """CPU time of the task manager to select, once all answers are there."""
    host_ns: float = 0.0
    """CPU time a host that is asked, in all its answers, however few of its nodes are."""

    def work_ns(self, nodes: float) -> float:
        """CPU time of a host of which so many nodes are asked."""
        return self.host_ns + self.node_ns * nodes


@dataclass(frozen=True, slots=True)
class _Hop:
    """A message from one host to another."""

    send: float
    """How long the sender is busy with it."""
    flight: float
    """From the begin of sending to when it lies before the receiver."""
    receive: float
    """How long the receiver is busy with it."""


_NOTHING = _Hop(0, 0, 0)
_ASK, _ANSWER = _Hop(1, 1, 0), _Hop(0, 0, 1)
"""In messages: one takes a step, in which its sender and its receiver do nothing else."""


def _gathered(children: Sequence[float], down: _Hop, up: _Hop, work: float) -> float:
    """How long it takes a host to ask its children, who take so long each, do its own work and have all answers."""
    now, ready = 0.0, []
    for child in children:
        ready.append(now + down.flight + down.receive + child + up.flight)
        now += down.send
    now += work
    for moment in sorted(ready):
        now = max(now, moment) + up.receive
    return now


def _gathered_alike(children: int, child: float, down: _Hop, up: _Hop, work: float) -> float:
    """`_gathered` of children that take equally long, at once: what is waited for longest is the first or the last."""
    begun = children * down.send + work
    first = down.flight + down.receive + child + up.flight
    last = (children - 1) * down.send + first
    return max(begun + children * up.receive, first + children * up.receive, last + up.receive) if children else work


@lru_cache(maxsize=4096)
def _of_tree(hosts: int, arity: int, down: _Hop, up: _Hop, work: float) -> float:
    """How long it takes a tree from when its first host has the message to when that could pass on the answer."""
    parts: dict[int, list[int]] = {}
    sizes = {hosts}
    while sizes:
        size = sizes.pop()
        parts[size] = [last - first for first, last in parts_of(1, size, arity)]
        sizes.update(set(parts[size]) - parts.keys())
    cost: dict[int, float] = {}
    for size in sorted(parts):
        cost[size] = _gathered([cost[part] for part in parts[size]], down, up, work)
    return cost[hosts]


def _down_tree(hosts: int, arity: int, chosen: int, down: _Hop) -> float:
    """At most how long it takes from when a tree's first host has a message to when `chosen` of its hosts have it."""
    path = _of_tree(hosts, arity, replace(down, send=0.0), _NOTHING, 0.0)
    return min(path + (chosen - 1) * down.send, _of_tree(hosts, arity, down, _NOTHING, 0.0))


def flat_chain(hosts: int, chosen: int) -> int:
    """The longest chain of messages of a flat round: an ask to and an answer from each host, confirmations.

    The task manager handles one message at a time, and stands beside the hosts.
    """
    return 2 * hosts + chosen


def tree_round_trip(hosts: int, arity: int) -> int:
    """The longest chain of messages from the task manager's ask through a tree of hosts to its answer."""
    return int(_gathered([_of_tree(hosts, arity, _ASK, _ANSWER, 0.0)], _ASK, _ANSWER, 0.0))


def tree_chain(hosts: int, arity: int, chosen: int) -> int:
    """The longest chain of messages of a round through a tree: sums, candidates, and at most this for confirmations."""
    confirmed = 1 + _down_tree(hosts, arity, chosen, _ASK) if chosen else 0
    return 2 * tree_round_trip(hosts, arity) + int(confirmed)


def _hop(network: LogGP, cost: JobCost, size: float) -> _Hop:
    sent = network.send_overhead_ns + cost.message_ns
    received = network.receive_overhead_ns + cost.message_ns
    on_the_wire = max(size - 1, 0) * network.gap_per_byte_ns
    free_again = network.gap_ns + on_the_wire
    return _Hop(max(sent, free_again), sent + on_the_wire + network.latency_ns, max(received, free_again))


def _on_cores(span_ns: float, busy_ns: float, ranks: int, cores: int | None) -> float:
    """How long what takes `span_ns` where each rank has a core takes where fewer `cores` do all the CPU work `busy_ns`.

    The work over the cores comes to it, as far as ranks share cores: what greedy turns would take at most. That waiting
    ranks poll, and that many processes on a core find its caches cold, is not in it.
    """
    cores = min(cores or ranks, ranks)
    return span_ns + (1 - cores / ranks) * busy_ns / cores


def _handling_ns(network: LogGP, cost: JobCost, messages: float) -> float:
    """CPU time of all that send and receive so many messages."""
    return messages * (network.send_overhead_ns + network.receive_overhead_ns + 2 * cost.message_ns)


def sampled_round_ns(
    network: LogGP, cost: JobCost, asked: int, nodes: float, chosen: int = 0, cores: int | None = None
) -> float:
    """How long a round takes that asks `nodes` nodes, on as many hosts beside the task manager's own as `asked` says.

    A host is a rank, and holds an equal part of those nodes; the task manager is in the process of one. `chosen` hosts
    get a message of their own that confirms; 0 where it travels with the next ask. `cores`: how many these
    ranks share; None: each has its own.
    """
    down, up = _hop(network, cost, cost.ask_bytes), _hop(network, cost, cost.answer_bytes)
    work = cost.work_ns(nodes / (asked + 1))
    span = _gathered_alike(asked, work, down, up, work) + cost.select_ns
    span += (chosen - 1) * down.send + down.flight + down.receive if chosen else 0.0
    busy = (asked + 1) * work + cost.select_ns + _handling_ns(network, cost, 2 * asked + chosen)
    return _on_cores(span, busy, asked + 1, cores)


def flat_round_ns(
    network: LogGP, cost: JobCost, hosts: int, nodes: float, chosen: int = 0, cores: int | None = None
) -> float:
    """How long a round takes that asks all nodes on all hosts; the rest is as in `sampled_round_ns`."""
    return sampled_round_ns(network, cost, hosts - 1, nodes, chosen, cores)


def tree_round_ns(
    network: LogGP, cost: JobCost, hosts: int, arity: int, nodes: float, chosen: int = 0, cores: int | None = None
) -> float:
    """How long a round through a tree takes: sums up, candidates up, confirmations down.

    The task manager is in the process of the first host; the rest is as in `sampled_round_ns`.
    """
    down, up = _hop(network, cost, cost.ask_bytes), _hop(network, cost, cost.answer_bytes)
    work = cost.work_ns(nodes / hosts)
    span = _of_tree(hosts, arity, down, up, work) + _of_tree(hosts, arity, down, up, 0.0) + cost.select_ns
    span += _down_tree(hosts, arity, chosen, down) if chosen else 0.0
    busy = hosts * work + cost.select_ns + _handling_ns(network, cost, 4 * (hosts - 1) + chosen)
    return _on_cores(span, busy, hosts, cores)


EXCHANGES = 9
"""Of a wave, by all ranks: asks, answers, claims and refusals, of each first the sizes; and what is settled."""


def wave_job_ns(
    network: LogGP, job_ns: float, ranks: int, task_managers: int, settled: float, cores: int | None = None
) -> float:
    """How long a job takes where many are in flight and `settled` of them are placed a wave.

    Its CPU time `job_ns` is shared by the ranks that have a task manager, as far as there are `cores` for them (None:
    each rank has its own). The exchanges of a wave, in each of which all ranks send to all others, are shared by the
    jobs that it settles; fewer cores than ranks stretch what they cost.
    """
    cores = cores or ranks
    overhead_ns = (network.send_overhead_ns + network.receive_overhead_ns) * max(1.0, ranks / cores)
    exchange_ns = (ranks - 1) * max(overhead_ns, network.gap_ns) + network.latency_ns if ranks > 1 else 0.0
    return job_ns / min(task_managers, ranks, cores) + EXCHANGES * exchange_ns / settled
