"""Prediction of messages and time of a round on larger machines.

Network model LogGP (Alexandrov and others, SPAA 1995): a message of b bytes occupies its sender for o, travels for
L + (b - 1) G, and occupies its receiver for o. The next message leaves max(o, g + (b - 1) G) later. o includes our
code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from dardis.model.addresses import split_hosts


@dataclass(frozen=True, slots=True)
class LogGP:
    """Measured network between ranks."""

    ranks: int
    latency_ns: float
    send_overhead_ns: float
    receive_overhead_ns: float
    gap_ns: float
    """Time between short messages of a burst."""
    gap_per_byte_ns: float


@dataclass(frozen=True, slots=True)
class JobCost:
    """Costs of a job besides the network."""

    node_ns: float
    """CPU time per asked node, besides `host_ns`."""
    message_ns: float
    """CPU time of our code per message and end."""
    ask_bytes: float
    """Payload of queries and confirmations."""
    answer_bytes: float
    select_ns: float = 0.0
    host_ns: float = 0.0

    def work_ns(self, nodes: float) -> float:
        """CPU time of a host with `nodes` asked nodes."""
        return self.host_ns + self.node_ns * nodes


@dataclass(frozen=True, slots=True)
class _Hop:
    send: float
    flight: float
    """Time from start of sending until arrival."""
    receive: float


_NOTHING = _Hop(0, 0, 0)
_ASK, _ANSWER = _Hop(1, 1, 0), _Hop(0, 0, 1)
"""In messages: each takes one exclusive step."""


def _gather_ns(children: Sequence[float], down: _Hop, up: _Hop, work: float) -> float:
    now, ready = 0.0, []
    for child in children:
        ready.append(now + down.flight + down.receive + child + up.flight)
        now += down.send
    now += work
    for moment in sorted(ready):
        now = max(now, moment) + up.receive
    return now


def _gather_equal_ns(children: int, child: float, down: _Hop, up: _Hop, work: float) -> float:
    """`_gather_ns` for equal children."""
    begun = children * down.send + work
    first = down.flight + down.receive + child + up.flight
    last = (children - 1) * down.send + first
    return max(begun + children * up.receive, first + children * up.receive, last + up.receive) if children else work


@lru_cache(maxsize=4096)
def _of_tree(hosts: int, arity: int, down: _Hop, up: _Hop, work: float) -> float:
    parts: dict[int, list[int]] = {}
    sizes = {hosts}
    while sizes:
        size = sizes.pop()
        parts[size] = [last - first for first, last in split_hosts(1, size, arity)]
        sizes.update(set(parts[size]) - parts.keys())
    cost: dict[int, float] = {}
    for size in sorted(parts):
        cost[size] = _gather_ns([cost[part] for part in parts[size]], down, up, work)
    return cost[hosts]


def _down_tree(hosts: int, arity: int, chosen: int, down: _Hop) -> float:
    path = _of_tree(hosts, arity, replace(down, send=0.0), _NOTHING, 0.0)
    return min(path + (chosen - 1) * down.send, _of_tree(hosts, arity, down, _NOTHING, 0.0))


def flat_chain(hosts: int, chosen: int) -> int:
    """Longest message chain of a flat round: queries, answers and confirmations."""
    return 2 * hosts + chosen


def tree_round_trip(hosts: int, arity: int) -> int:
    """Longest message chain through a tree and back."""
    return int(_gather_ns([_of_tree(hosts, arity, _ASK, _ANSWER, 0.0)], _ASK, _ANSWER, 0.0))


def tree_chain(hosts: int, arity: int, chosen: int) -> int:
    """Longest message chain of a tree round, at most."""
    confirmed = 1 + _down_tree(hosts, arity, chosen, _ASK) if chosen else 0
    return 2 * tree_round_trip(hosts, arity) + int(confirmed)


def _hop(network: LogGP, cost: JobCost, size: float) -> _Hop:
    sent = network.send_overhead_ns + cost.message_ns
    received = network.receive_overhead_ns + cost.message_ns
    on_the_wire = max(size - 1, 0) * network.gap_per_byte_ns
    free_again = network.gap_ns + on_the_wire
    return _Hop(max(sent, free_again), sent + on_the_wire + network.latency_ns, max(received, free_again))


def _on_cores(span_ns: float, busy_ns: float, ranks: int, cores: int | None) -> float:
    """Time on `cores`, given `span_ns` with a core per rank and total CPU work `busy_ns`.

    Adds work in proportion to shared cores. Ignores polling and cold caches.
    """
    cores = min(cores or ranks, ranks)
    return span_ns + (1 - cores / ranks) * busy_ns / cores


def _handling_ns(network: LogGP, cost: JobCost, messages: float) -> float:
    return messages * (network.send_overhead_ns + network.receive_overhead_ns + 2 * cost.message_ns)


def sampled_round_ns(
    network: LogGP, cost: JobCost, asked: int, nodes: float, chosen: int = 0, cores: int | None = None
) -> float:
    """Time of a round for `nodes` nodes on `asked` hosts besides the task manager's.

    Hosts: ranks with equal shares of nodes. `chosen` hosts get separate confirmations (0: with the next query).
    `cores`: shared by ranks; None: one each.
    """
    down, up = _hop(network, cost, cost.ask_bytes), _hop(network, cost, cost.answer_bytes)
    work = cost.work_ns(nodes / (asked + 1))
    span = _gather_equal_ns(asked, work, down, up, work) + cost.select_ns
    span += (chosen - 1) * down.send + down.flight + down.receive if chosen else 0.0
    busy = (asked + 1) * work + cost.select_ns + _handling_ns(network, cost, 2 * asked + chosen)
    return _on_cores(span, busy, asked + 1, cores)


def flat_round_ns(
    network: LogGP, cost: JobCost, hosts: int, nodes: float, chosen: int = 0, cores: int | None = None
) -> float:
    """Time of a round for all nodes; see `sampled_round_ns`."""
    return sampled_round_ns(network, cost, hosts - 1, nodes, chosen, cores)


def tree_round_ns(
    network: LogGP, cost: JobCost, hosts: int, arity: int, nodes: float, chosen: int = 0, cores: int | None = None
) -> float:
    """Time of a round through a tree; see `sampled_round_ns`."""
    down, up = _hop(network, cost, cost.ask_bytes), _hop(network, cost, cost.answer_bytes)
    work = cost.work_ns(nodes / hosts)
    span = _of_tree(hosts, arity, down, up, work) + _of_tree(hosts, arity, down, up, 0.0) + cost.select_ns
    span += _down_tree(hosts, arity, chosen, down) if chosen else 0.0
    busy = hosts * work + cost.select_ns + _handling_ns(network, cost, 4 * (hosts - 1) + chosen)
    return _on_cores(span, busy, hosts, cores)


EXCHANGES = 9
"""Exchanges per wave, all-to-all: sizes and contents of queries, answers, claims and refusals; results."""


def wave_job_ns(
    network: LogGP, job_ns: float, ranks: int, task_managers: int, settled: float, cores: int | None = None
) -> float:
    """Time per job with many jobs in flight and `settled` jobs placed per wave.

    Ranks with a task manager share `job_ns`, limited by `cores` (None: one per rank). Settled jobs share the exchanges.
    """
    cores = cores or ranks
    overhead_ns = (network.send_overhead_ns + network.receive_overhead_ns) * max(1.0, ranks / cores)
    exchange_ns = (ranks - 1) * max(overhead_ns, network.gap_ns) + network.latency_ns if ranks > 1 else 0.0
    return job_ns / min(task_managers, ranks, cores) + EXCHANGES * exchange_ns / settled
