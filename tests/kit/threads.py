"""Ranks as threads of this process: what they exchange goes through the wire's encoding, as between processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Barrier, Thread
from typing import Any

import numpy as np

from dardis.transport.peers import Batch
from dardis.wire.codec import decode, encode, pack, unpack

PATIENCE_S = 60


class ThreadPeers:
    """One rank of several threads; in `laid` ranks lay down what they have for each other."""

    def __init__(self, barrier: Barrier, laid: list[Any], rank: int) -> None:
        self._barrier, self._laid = barrier, laid
        self.rank = rank
        self.size = len(laid)
        self.message_bytes = 0
        self.largest_message = 0
        self.waiting_ns = 0

    def _all(self, value: object) -> list[Any]:
        self._laid[self.rank] = value
        self._barrier.wait()
        laid = list(self._laid)
        self._barrier.wait()
        return laid

    def exchange(self, batches: Sequence[Batch]) -> Batch:
        payloads = [encode(batch) for batch in batches]
        return [about for row in self._all(payloads) for about in decode(row[self.rank])[1]]

    def gather_all(self, *values: int) -> np.ndarray:
        return np.array(self._all(values), dtype=np.int64)

    def gather(self, value: object) -> list[Any] | None:
        laid = self._all(pack(value))
        return [unpack(payload) for payload in laid] if self.rank == 0 else None


def on_ranks(size: int, work: Callable[[ThreadPeers], object]) -> list[Any]:
    """What `work` returns on each rank; an exception on one ends all."""
    barrier, laid, results, errors = Barrier(size, timeout=PATIENCE_S), [None] * size, [None] * size, []

    def run(rank: int) -> None:
        try:
            results[rank] = work(ThreadPeers(barrier, laid, rank))
        except BaseException as error:  # noqa: BLE001 (whatever it is, the other ranks must not wait for it)
            errors.append(error)
            barrier.abort()

    threads = [Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
