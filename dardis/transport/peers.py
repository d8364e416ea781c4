"""Equal ranks that exchange messages at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from dardis.engine.clock import cpu_ns
from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.wire.codec import decode, encode, pack, unpack
from dardis.wire.messages import Message

if TYPE_CHECKING:
    from dardis.transport.mpi_transport import Communicator

Batch = list[tuple[JobId, Message]]
"""Messages with their jobs."""


class Peers(Protocol):
    """Collective operations of equal ranks."""

    rank: int
    size: int
    message_bytes: int
    """Payload bytes received."""
    largest_message: int
    """Bytes of the largest payload."""
    waiting_ns: int
    """CPU time of sends and waits."""

    def exchange(self, batches: Sequence[Batch]) -> Batch:
        """Send a batch to each rank; return received ones. Collective."""

    def gather_all(self, *values: int) -> Ints:
        """All ranks' values, (ranks, values). Collective."""

    def gather(self, value: object) -> list[Any] | None:
        """All values on rank 0, else None. Collective."""


class SingleRank:
    """Single rank."""

    rank = 0
    size = 1
    message_bytes = 0
    largest_message = 0
    waiting_ns = 0

    def exchange(self, batches: Sequence[Batch]) -> Batch:
        """Only batch."""
        return batches[0]

    def gather_all(self, *values: int) -> Ints:
        """Only values."""
        return np.array([values], dtype=np.int64)

    def gather(self, value: object) -> list[Any] | None:
        """Only value."""
        return [value]


class MpiPeers:
    """MPI ranks. Own batches are not encoded."""

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self.rank = comm.rank
        self.size = comm.size
        self.message_bytes = 0
        self.largest_message = 0
        self.waiting_ns = 0

    def exchange(self, batches: Sequence[Batch]) -> Batch:
        """Send a batch to each rank; return received ones."""
        others = [encode(batch) if batch and rank != self.rank else b"" for rank, batch in enumerate(batches)]
        sent = np.array([len(payload) for payload in others], dtype=np.int64)
        got = np.empty(self.size, dtype=np.int64)
        payload = b"".join(others)
        begun = cpu_ns()
        self._comm.Alltoall(sent, got)
        buffer = bytearray(int(got.sum()))
        self._comm.Alltoallv((payload, sent), (buffer, got))
        self.waiting_ns += cpu_ns() - begun
        self.message_bytes += len(buffer)
        self.largest_message = max(self.largest_message, int(got.max()), int(sent.max()))
        ends = np.cumsum(got).tolist()
        found: Batch = []
        for rank, (end, size) in enumerate(zip(ends, got.tolist(), strict=True)):
            if rank == self.rank:
                found += batches[rank]
            elif size:
                found += cast("Batch", decode(buffer[end - size : end])[1])
        return found

    def gather_all(self, *values: int) -> Ints:
        """All values, (ranks, values)."""
        result = np.empty((self.size, len(values)), dtype=np.int64)
        begun = cpu_ns()
        self._comm.Allgather(np.array(values, dtype=np.int64), result)
        self.waiting_ns += cpu_ns() - begun
        return result

    def gather(self, value: object) -> list[Any] | None:
        """All values on rank 0, else None."""
        payload = pack(value)
        sizes = np.empty(self.size, dtype=np.int64) if self.rank == 0 else None
        self._comm.Gather(np.array([len(payload)], dtype=np.int64), sizes)
        if sizes is None:
            self._comm.Gatherv(payload, None)
            return None
        buffer = bytearray(int(sizes.sum()))
        self._comm.Gatherv(payload, (buffer, sizes))
        ends = np.cumsum(sizes).tolist()
        return [unpack(buffer[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]
