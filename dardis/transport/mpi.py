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
from dardis.transport.base import Machine, Outbox, answers_of, awaits_answer
from dardis.wire.codec import NOTHING_SPENT, Spent, decode, encode, pack, unpack
from dardis.wire.effects import ALL_HOSTS, Effect, Forward, Send
from dardis.wire.messages import Gathered, Message, Relay

if TYPE_CHECKING:
    from mpi4py import MPI

    Communicator = MPI.Intracomm

Result = TypeVar("Result")
TAG_WORK, TAG_ANSWER, TAG_STOP, TAG_TREE = 1, 2, 3, 4
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
        self._outbox = Outbox(comm.size)
        self._spent = Spent()
        """What this host has spent, and what others have told."""
        self.largest_message = 0
        """Bytes of the largest payload that this rank has sent or got."""

    @property
    def message_bytes(self) -> int:
        """Payload between ranks so far, as far as it has been told."""
        return self._spent.got_bytes

    def exchange(self, sends: Sequence[Send], now: int) -> tuple[list[Message], int]:
        """Deliver in order; the answers of rank 0 come first."""
        before = self._spent.cpu_ns
        own: list[Message] = []
        asked: set[int] = set()
        answers: list[Message] = []
        for send in sends:
            if isinstance(send.message, Relay):
                answers += self._straight(own, asked, now) + self._through_tree(send.message, now)
                own, asked = [], set()
                continue
            for host in range(self._comm.size) if send.to == ALL_HOSTS else (send.to,):
                if host == 0:
                    own.append(send.message)
                    continue
                self._outbox.put(host, send.message, now)
                if awaits_answer(send.message):
                    asked.add(host)
        answers += self._straight(own, asked, now)
        return answers, self._spent.cpu_ns - before

    def _straight(self, own: Sequence[Message], asked: set[int], now: int) -> list[Message]:
        """Let this rank's machine and the hosts that are asked take what there is for them; what they answer."""
        waiting = self._post_batches(sorted(asked))
        answers = self._answers_of(own, now)
        for host in sorted(asked):
            answers += [message for _, message in self._receive(host)]
        for request in waiting:
            request.Wait()
        return answers

    def _answers_of(self, own: Sequence[Message], now: int) -> list[Message]:
        """What this rank's machine answers."""
        return [effect.message for message in own for effect in self._work(message, now) if isinstance(effect, Send)]

    def _post_batches(self, hosts: Sequence[int]) -> list[MPI.Request]:
        """Send hosts what waits for them; what is the same for several is encoded once."""
        requests = []
        payloads: dict[tuple[tuple[int, int], ...], bytes] = {}
        for host in hosts:
            batch = self._outbox.take(host)
            same = tuple((at, id(message)) for at, message in batch)
            if same not in payloads:
                payloads[same] = encode(batch)
            requests.append(self._post(host, TAG_WORK, payloads[same]))
        return requests

    def _through_tree(self, relay: Relay, now: int) -> list[Message]:
        """Ask all hosts down the tree, and wait until this rank's machine has everybody's answer."""
        posted = []
        effects = self._work(self._outbox.load(relay), now)
        while True:
            for effect in effects:
                match effect:
                    case Forward(to=host, message=message) if host >= 0:
                        posted.append(self._post(host, TAG_TREE, encode([(now, message)])))
                    case Forward(message=Gathered(answers=answers)):
                        for request in posted:
                            request.Wait()
                        return answers
                    case Send(message=answer):
                        raise ProtocolError(f"a message on its way with a question was answered by {answer}")
            effects = [effect for at, message in self._receive(-1) for effect in self._work(message, at)]

    def _work(self, message: Message, now: int) -> list[Effect]:
        begun = cpu_ns()
        effects = self._own.handle(message, now)
        self._spent.cpu_ns += cpu_ns() - begun
        return effects

    def close(self) -> int:
        """Send what still waits, end the other ranks, and return the CPU ns they had not told."""
        before = self._spent.cpu_ns
        requests = [self._post(host, TAG_STOP, encode(self._outbox.take(host))) for host in range(1, self._comm.size)]
        for host in range(1, self._comm.size):
            self._receive(host)
        for request in requests:
            request.Wait()
        return self._spent.cpu_ns - before

    def _post(self, host: int, tag: int, payload: bytes) -> MPI.Request:
        self.largest_message = max(self.largest_message, len(payload))
        return self._comm.Isend(payload, dest=host, tag=tag)

    def _receive(self, host: int) -> list[tuple[int, Message]]:
        payload, _ = receive(self._comm, host)
        self.largest_message = max(self.largest_message, len(payload))
        spent, batch = decode(payload)
        spent.got_bytes += len(payload)
        self._spent.add(spent)
        return batch


def receive(comm: Communicator, source: int) -> tuple[bytes, int]:
    """The next payload from a rank (-1: from any), and its tag."""
    from mpi4py import MPI

    status = MPI.Status()
    message = comm.Mprobe(source=MPI.ANY_SOURCE if source < 0 else source, tag=MPI.ANY_TAG, status=status)
    buffer = bytearray(status.Get_count(MPI.BYTE))
    message.Recv(buffer)
    return bytes(buffer), status.Get_tag()


def serve(comm: Communicator, machine: Machine) -> None:
    """Be a host: take messages from rank 0, or what others hand on, and answer until told to stop."""
    unsaid = Spent()
    while True:
        payload, tag = receive(comm, -1)
        told, batch = decode(payload)
        told.got_bytes += len(payload)
        unsaid.add(told)
        answers: list[tuple[int, Message]] = []
        forwards: list[tuple[int, int, Message]] = []
        begun = cpu_ns()
        for now, message in batch:
            effects = machine.handle(message, now)
            said = answers_of(effects)
            if len(said) != (tag != TAG_TREE and awaits_answer(message)):
                raise ProtocolError(f"{type(message).__name__} of a turn was answered by {said}")
            answers += [(now, answer) for answer in said]
            forwards += [(effect.to, now, effect.message) for effect in effects if isinstance(effect, Forward)]
        unsaid.cpu_ns += cpu_ns() - begun
        if tag == TAG_TREE:
            _hand_on(comm, forwards, unsaid)
            continue
        comm.Send(encode(answers, unsaid), dest=0, tag=TAG_ANSWER)
        unsaid = Spent()
        if tag == TAG_STOP:
            return


def _hand_on(comm: Communicator, forwards: Sequence[tuple[int, int, Message]], unsaid: Spent) -> None:
    """Send down what others are to take, or up the answer of this part, with what it has spent."""
    requests = []
    for host, now, message in forwards:
        up = isinstance(message, Gathered)
        payload = encode([(now, message)], unsaid if up else NOTHING_SPENT)
        if up:
            unsaid.cpu_ns = unsaid.got_bytes = 0
        requests.append(comm.Isend(payload, dest=host, tag=TAG_TREE))
    for request in requests:
        request.Wait()
