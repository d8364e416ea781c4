"""Node managers spread over MPI ranks, in virtual time: rank 0 drives, every rank holds a host.

Payloads are MessagePack in byte buffers. Messages that nobody answers wait for the next one that is answered and
travel with it. An error on one rank ends all of them with that rank's message.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dardis.engine.clock import cpu_ns
from dardis.model.errors import INTERRUPTED, DardisError, ProtocolError
from dardis.transport.base import Machine, answers_of, awaits_answer
from dardis.wire.codec import decode, encode, pack, unpack
from dardis.wire.effects import ALL_HOSTS, Send
from dardis.wire.messages import Message

if TYPE_CHECKING:
    from mpi4py import MPI

    Communicator = MPI.Intracomm

Result = TypeVar("Result")
TAG_WORK, TAG_ANSWER, TAG_STOP = 1, 2, 3
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")
_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE")


def launched_by_mpi() -> bool:
    """Whether this process was started by an MPI launcher (MPI is not touched where it was not)."""
    return any(name in os.environ for name in _SIZE_VARIABLES) or "PMIX_RANK" in os.environ


def is_first_rank() -> bool:
    """Whether this process is the launcher's rank 0, or alone; what all ranks find out, it tells."""
    return all(os.environ.get(name, "0") == "0" for name in _RANK_VARIABLES)


def world() -> Communicator:
    """The communicator of all ranks; starts MPI."""
    from mpi4py import MPI

    # A launcher that is interrupted ends its ranks by SIGTERM: let them put their files in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return MPI.COMM_WORLD


def broadcast(comm: Communicator, value: object) -> Any:  # noqa: ANN401 (any plain value)
    """Give rank 0's value (plain values and arrays) to all ranks."""
    size = bytearray(8)
    payload = pack(value) if comm.rank == 0 else b""
    if comm.rank == 0:
        size[:] = len(payload).to_bytes(8, "little")
    comm.Bcast(size, root=0)
    buffer = bytearray(payload) if comm.rank == 0 else bytearray(int.from_bytes(size, "little"))
    comm.Bcast(buffer, root=0)
    return unpack(bytes(buffer))


def guarded(comm: Communicator, work: Callable[[], Result]) -> Result:
    """Run `work`; an exception on any rank ends all ranks, with a line that says which rank and why."""
    try:
        return work()
    except KeyboardInterrupt:
        status, text = INTERRUPTED, "interrupted"
    except DardisError as error:
        status, text = error.exit_status, str(error)
    except OSError as error:
        status, text = 1, str(error)
    except BaseException as error:  # noqa: BLE001 (whatever it is, the other ranks must not wait for it)
        traceback.print_exc()
        status, text = 1, f"{type(error).__name__}: {error}"
    where = f"rank {comm.rank}: " if comm.size > 1 else ""
    print(f"dardis: {where}{text}", file=sys.stderr, flush=True)  # noqa: T201 (errors go to standard error)
    comm.Abort(status)
    sys.exit(status)


class MpiHosts:
    """Rank 0's view: host h is on rank h; its own machine runs here."""

    def __init__(self, comm: Communicator, own: Machine) -> None:
        """Take over the ranks, which must be in `serve`."""
        self._comm = comm
        self._own = own
        self._outbox: list[list[tuple[int, Message]]] = [[] for _ in range(comm.size)]
        self.message_bytes = 0

    def exchange(self, sends: Sequence[Send], now: int) -> tuple[list[Message], int]:
        """Deliver in order; the answers of rank 0 come first."""
        own: list[Message] = []
        asked = set()
        for send in sends:
            for host in range(self._comm.size) if send.to == ALL_HOSTS else (send.to,):
                if host == 0:
                    own.append(send.message)
                    continue
                self._outbox[host].append((now, send.message))
                if awaits_answer(send.message):
                    asked.add(host)
        waiting = [self._post(host, TAG_WORK) for host in sorted(asked)]
        begun = cpu_ns()
        answers = [said for message in own for said in answers_of(self._own.handle(message, now))]
        spent = cpu_ns() - begun
        for host in sorted(asked):
            more, batch = self._receive(host)
            spent += more
            answers += [message for _, message in batch]
        for request in waiting:
            request.Wait()
        return answers, spent

    def close(self) -> int:
        """Send what still waits, end the other ranks, and return the CPU ns they had not told."""
        requests = [self._post(host, TAG_STOP) for host in range(1, self._comm.size)]
        spent = sum(self._receive(host)[0] for host in range(1, self._comm.size))
        for request in requests:
            request.Wait()
        return spent

    def _post(self, host: int, tag: int) -> MPI.Request:
        payload = encode(0, self._outbox[host])
        self._outbox[host] = []
        self.message_bytes += len(payload)
        return self._comm.Isend(payload, dest=host, tag=tag)

    def _receive(self, host: int) -> tuple[int, list[tuple[int, Message]]]:
        payload, _ = _receive(self._comm, host)
        self.message_bytes += len(payload)
        return decode(payload)


def _receive(comm: Communicator, source: int) -> tuple[bytes, int]:
    """The next payload from a rank, and its tag."""
    from mpi4py import MPI

    status = MPI.Status()
    message = comm.Mprobe(source=source, tag=MPI.ANY_TAG, status=status)
    buffer = bytearray(status.Get_count(MPI.BYTE))
    message.Recv(buffer)
    return bytes(buffer), status.Get_tag()


def serve(comm: Communicator, machine: Machine) -> None:
    """Be a host: take messages from rank 0 and answer until told to stop."""
    unsaid = 0
    while True:
        payload, tag = _receive(comm, 0)
        _, batch = decode(payload)
        answers: list[tuple[int, Message]] = []
        begun = cpu_ns()
        for now, message in batch:
            said = answers_of(machine.handle(message, now))
            if len(said) != awaits_answer(message):
                raise ProtocolError(f"{type(message).__name__} of a turn was answered by {said}")
            answers += [(now, answer) for answer in said]
        unsaid += cpu_ns() - begun
        comm.Send(encode(unsaid, answers), dest=0, tag=TAG_ANSWER)
        unsaid = 0
        if tag == TAG_STOP:
            return
