"""LogGP measurements between ranks, and collective times."""

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
"""Bytes. The gap per byte is their slope."""
_BURST = 32
_PEERS = 8
"""Most measured ranks, evenly spaced."""
_TAG_DATA, _TAG_MARK = 11, 12


def measure(comm: Communicator, repetitions: int = 15) -> LogGP | None:
    """Medians between rank 0 and others, or None for one rank. Collective.

    With more ranks than cores, waiting ranks are included in the cost.
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
    one_way = [_ping_ns(comm, peer, size, repetitions) / 2 for size in (_SHORT, *_LONG)]
    sending, burst, receiving = np.median([_burst_ns(comm, peer) for _ in range(repetitions)], axis=0).tolist()
    latency = max(one_way[0] - sending - receiving, 0.0)
    gap = max((burst - 2 * one_way[0]) / (_BURST - 1), 0.0)
    # Relative errors are similar over sizes, so weights are inverse times.
    per_byte = np.polyfit((_SHORT, *_LONG), one_way, 1, w=1 / np.asarray(one_way))[0]
    return latency, sending, receiving, gap, max(float(per_byte), 0.0)


def _ping_ns(comm: Communicator, peer: int, size: int, repetitions: int) -> float:
    message, answer = bytearray(size), bytearray(size)
    taken = []
    for _ in range(repetitions):
        begun = monotonic_s()
        comm.Send(message, dest=peer, tag=_TAG_DATA)
        comm.Recv(answer, source=peer, tag=_TAG_DATA)
        taken.append(monotonic_s() - begun)
    return float(np.median(taken)) * 1e9


def _burst_ns(comm: Communicator, peer: int) -> tuple[float, float, float]:
    begun, spent = monotonic_s(), cpu_ns()
    _send_burst(comm, peer)
    sending = (cpu_ns() - spent) / _BURST
    mark = bytearray(_SHORT)
    comm.Recv(mark, source=peer, tag=_TAG_MARK)
    burst = (monotonic_s() - begun) * 1e9
    comm.Send(mark, dest=peer, tag=_TAG_MARK)
    comm.Recv(mark, source=peer, tag=_TAG_MARK)
    spent = cpu_ns()
    _receive_burst(comm, peer)  # already here, as the mark came after
    return sending, burst, (cpu_ns() - spent) / _BURST


def _echo(comm: Communicator, repetitions: int) -> None:
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
    """Times of `Bcast` and `Gatherv`, in ns; (repetitions,). Collective.

    `up_bytes`: one size per rank.
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
