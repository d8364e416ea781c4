"""Measures the network between the ranks at hand as LogGP describes it, and what bare collective calls take on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dardis.engine.clock import cpu_ns, monotonic_s
from dardis.model.arrays import Floats
from dardis.model.loggp import LogGP
from dardis.transport.mpi_transport import broadcast

if TYPE_CHECKING:
    from dardis.transport.mpi_transport import Communicator

_SHORT = 8
_LONG = (1 << 14, 1 << 16, 1 << 18, 1 << 20)
"""Sizes in bytes. The gap per byte is the slope over all of them."""
_BURST = 32
_PEERS = 8
"""At most so many ranks are measured, at equal distances: the middle of them is on another node where most are."""
_TAG_DATA, _TAG_MARK = 11, 12


def measure(comm: Communicator, repetitions: int = 15) -> LogGP | None:
    """Measure between rank 0 and some others: medians over repetitions, then over ranks; None for a single rank.

    All ranks call it, and all get the answer. Works with more ranks than cores: the ranks that are not measured wait
    for messages, as hosts in a round do, and what that costs the others is in the figures.
    """
    if comm.size < 2:
        return None
    rows = []
    for peer in np.unique(np.linspace(1, comm.size - 1, _PEERS).round().astype(int)).tolist():
        if comm.rank == 0:
            rows.append(_drive(comm, peer, repetitions))
        elif comm.rank == peer:
            _echo(comm, repetitions)
        comm.Barrier()
    middle = broadcast(comm, np.median(rows, axis=0).tolist() if comm.rank == 0 else None)
    return LogGP(comm.size, *middle)


def _drive(comm: Communicator, peer: int, repetitions: int) -> tuple[float, float, float, float, float]:
    """Rank 0's part with a peer: latency, overheads of sending and receiving, gap, gap per byte, in ns."""
    one_way = [_ping_ns(comm, peer, size, repetitions) / 2 for size in (_SHORT, *_LONG)]
    sending, burst, receiving = np.median([_burst_ns(comm, peer) for _ in range(repetitions)], axis=0).tolist()
    latency = max(one_way[0] - sending - receiving, 0.0)
    gap = max((burst - 2 * one_way[0]) / (_BURST - 1), 0.0)
    # Relative errors are alike over the sizes, so each counts by its own time.
    per_byte = np.polyfit((_SHORT, *_LONG), one_way, 1, w=1 / np.asarray(one_way))[0]
    return latency, sending, receiving, gap, max(float(per_byte), 0.0)


def _ping_ns(comm: Communicator, peer: int, size: int, repetitions: int) -> float:
    """The time of a message of so many bytes there and back, in the middle."""
    message, answer = bytearray(size), bytearray(size)
    taken = []
    for _ in range(repetitions):
        begun = monotonic_s()
        comm.Send(message, dest=peer, tag=_TAG_DATA)
        comm.Recv(answer, source=peer, tag=_TAG_DATA)
        taken.append(monotonic_s() - begun)
    return float(np.median(taken)) * 1e9


def _burst_ns(comm: Communicator, peer: int) -> tuple[float, float, float]:
    """CPU time of sending a short message, time of a burst until the peer says it has it, CPU time of receiving."""
    begun, spent = monotonic_s(), cpu_ns()
    _send_burst(comm, peer)
    sending = (cpu_ns() - spent) / _BURST
    mark = bytearray(_SHORT)
    comm.Recv(mark, source=peer, tag=_TAG_MARK)
    burst = (monotonic_s() - begun) * 1e9
    comm.Send(mark, dest=peer, tag=_TAG_MARK)
    comm.Recv(mark, source=peer, tag=_TAG_MARK)
    spent = cpu_ns()
    _receive_burst(comm, peer)  # it lies here: the mark was sent after it
    return sending, burst, (cpu_ns() - spent) / _BURST


def _echo(comm: Communicator, repetitions: int) -> None:
    """The peer's part."""
    for size in (_SHORT, *_LONG):
        message = bytearray(size)
        for _ in range(repetitions):
            comm.Recv(message, source=0, tag=_TAG_DATA)
            comm.Send(message, dest=0, tag=_TAG_DATA)
    mark = bytearray(_SHORT)
    for _ in range(repetitions):
        _receive_burst(comm, 0)
        comm.Send(mark, dest=0, tag=_TAG_MARK)
        comm.Recv(mark, source=0, tag=_TAG_MARK)
        _send_burst(comm, 0)
        comm.Send(mark, dest=0, tag=_TAG_MARK)


def _send_burst(comm: Communicator, to: int) -> None:
    message = bytes(_SHORT)
    requests = [comm.Isend(message, dest=to, tag=_TAG_DATA) for _ in range(_BURST)]
    for request in requests:
        request.Wait()


def _receive_burst(comm: Communicator, source: int) -> None:
    message = bytearray(_SHORT)
    for _ in range(_BURST):
        comm.Recv(message, source=source, tag=_TAG_DATA)


def collective_ns(comm: Communicator, down_bytes: int, up_bytes: Sequence[int], repetitions: int = 31) -> Floats:
    """What a bare `Bcast` of `down_bytes` and a `Gatherv` of `up_bytes` (one a rank) take, on rank 0; (repetitions,).

    All ranks call it with the same figures, and all get the answer.
    """
    if len(up_bytes) != comm.size:
        raise ValueError(f"{len(up_bytes)} sizes for {comm.size} ranks")
    down, up = bytearray(down_bytes), bytearray(up_bytes[comm.rank])
    gathered: Any = [bytearray(sum(up_bytes)), list(up_bytes)] if comm.rank == 0 else None
    comm.Barrier()
    taken = []
    for _ in range(repetitions):
        begun = monotonic_s()
        comm.Bcast(down, root=0)
        comm.Gatherv(up, gathered, root=0)
        taken.append((monotonic_s() - begun) * 1e9)
    return np.array(broadcast(comm, taken if comm.rank == 0 else None))
