"""Experiment's counters."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from dardis.engine.clock import cpu_ns, monotonic_s
from dardis.kernels.ranking import LONGEST_TO_ROOT, SENT
from dardis.model.addresses import HostId, JobId, split_hosts
from dardis.model.loggp import flat_chain, tree_chain, tree_round_trip
from dardis.node_manager import RelayingHost
from dardis.node_manager.pool_state import PoolState
from dardis.scale.experiment import Experiment
from dardis.transport.base import Hosts, receivers
from dardis.wire.codec import decode, encode
from dardis.wire.effects import ToHosts
from dardis.wire.messages import Candidates, Confirm, GatheredAnswers, Message, OfferQuery, Offers, Relay, Sums

_REPETITIONS, _BATCH = 9, 50


def size_of(message: Message) -> int:
    """Payload bytes."""
    return len(encode([(0, message)]))


def short_message_ns() -> float:
    """CPU ns to encode or decode a short message."""
    one = np.ones(1, dtype=np.int64)
    message = Offers(1, HostId(1), 1, 1, 1, one, np.ones((1, 6), dtype=np.int64))
    taken = []
    for _ in range(_REPETITIONS):
        begun = cpu_ns()
        for _ in range(_BATCH):
            decode(encode([(0, message)]))
        taken.append((cpu_ns() - begun) / (2 * _BATCH))
    return median(taken)


@dataclass(slots=True)
class Traffic:
    """Payload between hosts: total, queries, answers, largest at the first host."""

    bytes: int = 0
    ask_bytes: int = 0
    query_count: int = 0
    answer_bytes: int = 0
    root_bytes: int = 0

    def count_queries(self, count: int, size: int) -> None:
        """Count queries, sent by the first host."""
        self.query_count += count
        self.ask_bytes += count * size
        self.bytes += count * size
        self.root_bytes = max(self.root_bytes, size if count else 0)

    def count_answers(self, size: int, largest: int) -> None:
        """Count answers; `largest`: to the first host."""
        self.answer_bytes += size
        self.bytes += size
        self.root_bytes = max(self.root_bytes, largest)


class Tally:
    """Message counter. `pool`: of all virtual hosts.

    The task manager shares the first host's process, without payload.
    """

    def __init__(self, hosts: int, nodes: int, arity: int, pool: PoolState | None) -> None:
        self._hosts, self._nodes, self._arity = hosts, nodes, arity
        self._pool = pool
        self._chain: dict[JobId, int] = {}
        self.traffic = Traffic()
        """Without a pool: queries only."""
        self.rounds = 0
        self.asked_hosts = self.asked_nodes = 0

    @property
    def chain(self) -> int:
        """Longest message chain of a job."""
        return max(self._chain.values(), default=0)

    def note(self, sends: Sequence[ToHosts], answers: Sequence[Message]) -> bool:
        """Count messages; return whether there was a query."""
        rounds: set[int] = set()
        chosen: dict[JobId, int] = {}
        for send in sends:
            match send.message:
                case Relay(message=OfferQuery() as ask) as relay:
                    rounds.add(ask.round)
                    self._through_tree(relay, ask, answers)
                case OfferQuery() as ask:
                    rounds.add(ask.round)
                    self._add_query(send, ask, answers)
                case Confirm() as confirm:
                    chosen[confirm.job] = chosen.get(confirm.job, 0) + self._confirmed(confirm)
        self.rounds += len(rounds)
        for job, count in chosen.items():
            self._add(job, self._confirm_chain(count))
        return bool(rounds)

    def _add(self, job: JobId, messages: int) -> None:
        self._chain[job] = self._chain.get(job, 0) + messages

    def _confirm_chain(self, chosen: int) -> int:
        if self._arity:
            return tree_chain(self._hosts, self._arity, chosen) - tree_chain(self._hosts, self._arity, 0)
        return flat_chain(0, chosen)

    def _through_tree(self, relay: Relay, ask: OfferQuery, answers: Sequence[Message]) -> None:
        others = self._hosts - 1
        self.asked_hosts += self._hosts
        self.asked_nodes += self._nodes
        for job in ask.job.tolist():
            self._add(job, tree_round_trip(self._hosts, self._arity))
        self.traffic.count_queries(others, size_of(relay))
        if self._pool is None or not others:
            return
        answer = next(answer for answer in answers if isinstance(answer, Sums | Candidates))
        empty = size_of(
            GatheredAnswers(relay.serial, relay.origin, HostId(1), 0, [replace(answer, rows=answer.rows[:0])])
        )
        row = 8 * answer.rows.shape[1]
        sent, longest = int(self._pool.sent[SENT]), int(self._pool.sent[LONGEST_TO_ROOT])
        self.traffic.count_answers(sent * row + others * empty, longest * row + empty)

    def _add_query(self, said: ToHosts, ask: OfferQuery, answers: Sequence[Message]) -> None:
        if self._pool is None:
            asked = receivers(said, self._hosts)
            hosts, others = len(asked), len(asked) - (0 in asked)
            self.traffic.count_queries(others, size_of(ask))
        else:
            hosts = self._of_virtual_hosts(ask, answers)
        self.asked_hosts += hosts
        self.asked_nodes += len(ask.sample) or self._nodes * hosts // self._hosts
        for job in ask.job.tolist():
            self._add(job, flat_chain(hosts, 0))

    def _of_virtual_hosts(self, ask: OfferQuery, answers: Sequence[Message]) -> int:
        assert self._pool is not None
        block = self._pool.virtual_hosts.block
        sample = ask.sample // block
        hosts = np.unique(sample) if len(sample) else np.arange(self._hosts)
        others = int(np.count_nonzero(hosts))
        blank = replace(ask, sample=ask.sample[:0])
        named = 8 * int(np.count_nonzero(sample))  # hosts get only their own nodes
        self.traffic.count_queries(others, size_of(blank) + named // max(others, 1))
        for answer in answers:
            if isinstance(answer, Offers) and others:
                rows = np.bincount(answer.rows[:, 0] // block, minlength=2)[1:]
                empty, row = size_of(replace(answer, rows=answer.rows[:0])), 8 * answer.rows.shape[1]
                self.traffic.count_answers(int(rows.sum()) * row + others * empty, int(rows.max()) * row + empty)
        return len(hosts)

    def _confirmed(self, confirm: Confirm) -> int:
        if self._pool is None:
            return 1
        hosts, nodes = np.unique(confirm.nodes // self._pool.virtual_hosts.block, return_counts=True)
        empty = size_of(replace(confirm, nodes=confirm.nodes[:0], units=confirm.units[:0]))
        for host, count in zip(hosts.tolist(), nodes.tolist(), strict=True):
            hops = _depth_of(host, self._hosts, self._arity) if self._arity else int(host > 0)
            self.traffic.bytes += hops * (empty + 16 * count)
        return len(hosts)


def tally_of(what: Experiment, host: RelayingHost) -> Tally:
    """Experiment's counter."""
    return Tally(what.hosts, what.nodes, what.arity, host.pool.state if what.ranks == 1 else None)


class TalliedHosts:
    """Hosts with counted messages."""

    def __init__(self, inner: Hosts, tally: Tally) -> None:
        self._inner = inner
        self._tally = tally
        self._exchanges_s: list[float] = []
        self.noting_s = 0.0
        self.spent_ns = 0

    @property
    def message_bytes(self) -> int:
        """Payload bytes."""
        return self._inner.message_bytes

    @property
    def exchange_s(self) -> float | None:
        """Median time of a query."""
        return median(self._exchanges_s) if self._exchanges_s else None

    def close(self) -> int:
        """Stop the hosts."""
        spent = self._inner.close()
        self.spent_ns += spent
        return spent

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver and count."""
        begun = monotonic_s()
        answers, spent = self._inner.exchange(sends, now)
        done = monotonic_s()
        self.spent_ns += spent
        if self._tally.note(sends, answers):
            self._exchanges_s.append(done - begun)
        self.noting_s += monotonic_s() - done
        return answers, spent


def _depth_of(host: int, hosts: int, arity: int) -> int:
    depth, first, last = 0, 0, hosts
    while host != first:
        first, last = next(part for part in split_hosts(first + 1, last, arity) if part[0] <= host < part[1])
        depth += 1
    return depth


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_SMALL, _LARGE = 1 << 16, 1 << 25


def resident_bytes() -> int:
    """Resident memory, without freed memory."""
    gc.collect()
    with suppress(AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def untouched_pages() -> Iterator[None]:
    """Give large arrays their own memory, resident only when written."""
    _set(_SMALL)
    try:
        yield
    finally:
        _set(_LARGE)


def _set(threshold: int) -> None:
    with suppress(AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, threshold)
        library.mallopt(_TRIM_THRESHOLD, 2 * threshold)
