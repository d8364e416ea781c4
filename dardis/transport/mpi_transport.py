"""Node managers spread over MPI ranks, in virtual time: rank 0 drives, every rank holds a host.

Payloads are blocks of integers in byte buffers (`wire/codec.py`). Messages that nobody answers wait for the next one
that is answered and travel with it. An error on one rank ends all of them with that rank's message.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from dardis.engine.clock import cpu_ns
from dardis.model.addresses import FIRST_HOST, Address, HostId, all_hosts
from dardis.model.errors import INTERRUPTED, DardisError, ProtocolError
from dardis.transport.base import Machine, Outbox, answered, awaits_answer, receivers
from dardis.transport.local_transport import Interpreter
from dardis.wire.codec import NOTHING_SPENT, Spent, decode, encode, opened, pack, unpack
from dardis.wire.effects import Return, ToHosts, ToManagers
from dardis.wire.messages import Gathered, Message, Relay

if TYPE_CHECKING:
    from mpi4py import MPI

    Communicator = MPI.Intracomm

Result = TypeVar("Result")
TAG_WORK, TAG_ANSWER, TAG_STOP, TAG_TREE = 1, 2, 3, 4


def world() -> Communicator:
    """The communicator of all ranks; starts MPI."""
    from mpi4py import MPI

    # A launcher that is interrupted ends its ranks by SIGTERM: let them put their files in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return MPI.COMM_WORLD


def finish() -> None:
    """Make no MPI call any more, on no rank: each ends when it likes. A launcher still ends all when one dies."""
    from mpi4py import MPI

    MPI.Finalize()


def broadcast(comm: Communicator, value: object) -> Any:  # noqa: ANN401 (any plain value)
    """Give rank 0's value (plain values and arrays) to all ranks."""
    size = bytearray(8)
    payload = pack(value) if comm.rank == 0 else b""
    if comm.rank == 0:
        size[:] = len(payload).to_bytes(8, "little")
    comm.Bcast(size, root=0)
    buffer = bytearray(payload) if comm.rank == 0 else bytearray(int.from_bytes(size, "little"))
    comm.Bcast(buffer, root=0)
    return unpack(buffer)


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


def led_by_first(
    comm: Communicator, prepare: Callable[[ExitStack], tuple[Any, Callable[[], Result]]], follow: Callable[[Any], int]
) -> Result | int:
    """Let rank 0 prepare, then all ranks work: what it returns then, or the others' exit status.

    `prepare` returns what the others are told, which these `follow`, and what rank 0 does meanwhile. A number is no
    plan but their exit status: there is nothing for them to do. What is entered on the stack is held until rank 0 has
    worked, and let go before an error ends all ranks. What `prepare` raises ends the others without a word.
    """
    if comm.rank > 0:
        plan = broadcast(comm, None)
        return plan if isinstance(plan, int) else guarded(comm, lambda: follow(plan))
    with ExitStack() as stack:
        try:
            plan, lead = prepare(stack)
        except BaseException as error:
            interrupted = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            broadcast(comm, getattr(error, "exit_status", interrupted))
            raise
        broadcast(comm, plan)
        held = stack.pop_all()

    def work() -> Result:
        with held:
            return lead()

    return guarded(comm, work)


class Rank:
    """A rank's machine: lets it work, and hands on what goes through the tree."""

    def __init__(self, comm: Communicator, machine: Machine) -> None:
        """Nothing has been spent yet."""
        from mpi4py import MPI

        self._comm = comm
        self._status = MPI.Status()
        self._host = HostId(comm.rank)
        self._machine = machine
        self.spent = Spent()
        """What it has spent, and what others have told, that it has told nobody."""
        self.largest_message = 0
        """Bytes of the largest payload that this rank has sent or got."""
        self._interpreter = Interpreter(self)
        self._said: list[Message] = []
        self._to_do: deque[tuple[int, Message]] = deque()
        """What came through the tree, or is handed on here, with its time."""
        self._posted: list[MPI.Request] = []
        self._gathered: list[Message] | None = None
        """What a task manager here is answered through the tree."""

    def answers(self, message: Message, now: int) -> list[Message]:
        """Let the machine take a message, and count the CPU time; what it answers."""
        begun = cpu_ns()
        effects = self._machine.handle(message, now)
        self.spent.cpu_ns += cpu_ns() - begun
        self._said = []
        self._interpreter.obey(self._host, effects, now)
        return self._said

    def send(self, who: Address, said: ToHosts, now: int) -> None:
        """Take what the machine hands on: it takes next what is for itself; the rest goes to other ranks."""
        message = said.message
        for host in receivers(said, self._comm.size):
            if host == who:
                self._to_do.appendleft((now, message))
            else:
                told = self.spent.take() if isinstance(message, Gathered) else NOTHING_SPENT
                self._posted.append(self.post(host, TAG_TREE, self.encoded([(now, message)], told)))

    def tell(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002
        """Take an answer of the machine's, or those that it has gathered."""
        match said:
            case Return(message=Gathered(answers=gathered)):
                self._gathered = [*map(opened, gathered)]
            case _:
                self._said.append(said.message)

    def encoded(self, batch: Sequence[tuple[int, Message]], told: Spent = NOTHING_SPENT) -> bytes:
        """The payload of what travels together; the CPU time that it takes is counted."""
        begun = cpu_ns()
        payload = encode(batch, told)
        self.spent.codec_ns += cpu_ns() - begun
        return payload

    def post(self, host: HostId, tag: int, payload: bytes) -> MPI.Request:
        """Begin to send a payload."""
        self.largest_message = max(self.largest_message, len(payload))
        return self._comm.Isend(payload, dest=host, tag=tag)

    def next(self) -> tuple[int, list[tuple[int, Message]]]:
        """The next payload of any host, decoded: its tag, and (time, message) pairs."""
        message = self._comm.Mprobe(status=self._status)
        payload = bytearray(self._status.count)
        tag = self._status.tag
        message.Recv(payload)
        return tag, self._read(payload)

    def next_of(self, hosts: Iterable[HostId]) -> Iterator[list[tuple[int, Message]]]:
        """The next payload of each host, in their order, decoded. Long ones are under way side by side."""
        coming: deque[tuple[MPI.Request, bytearray]] = deque()
        for host in hosts:
            message = self._comm.Mprobe(source=host, status=self._status)
            payload = bytearray(self._status.count)
            coming.append((message.Irecv(payload), payload))
        while coming:  # what has been read is let go
            request, payload = coming.popleft()
            request.Wait()
            yield self._read(payload)

    def _read(self, payload: bytearray) -> list[tuple[int, Message]]:
        begun = cpu_ns()
        told, batch = decode(payload)
        spent = self.spent
        spent.codec_ns += cpu_ns() - begun
        spent.payloads += 1
        spent.got_bytes += len(payload)
        spent.add(told)
        self.largest_message = max(self.largest_message, len(payload))
        return batch

    def hand_on(self, batch: Sequence[tuple[int, Message]]) -> list[Message] | None:
        """Take what came through the tree, and send on what others are to take; what the task manager is answered."""
        self._to_do.extend(batch)
        while self._to_do:
            now, message = self._to_do.popleft()
            for said in self.answers(message, now):
                raise ProtocolError(f"a message on its way with a question was answered by {said}")
        for request in self._posted:
            request.Wait()
        self._posted.clear()
        gathered, self._gathered = self._gathered, None
        return gathered


class MpiHosts:
    """Rank 0's view: host h is on rank h; its own machine runs here."""

    def __init__(self, comm: Communicator, own: Machine) -> None:
        """Take over the ranks, which must be in `serve`."""
        self._comm = comm
        self._own = Rank(comm, own)
        self._outbox = Outbox(comm.size)

    @property
    def message_bytes(self) -> int:
        """Payload between ranks so far, as far as it has been told."""
        return self._own.spent.got_bytes

    @property
    def message_ns(self) -> float:
        """CPU time of encoding or of decoding a message, the mean so far."""
        return self._own.spent.codec_ns / max(2 * self._own.spent.payloads, 1)

    @property
    def largest_message(self) -> int:
        """Bytes of the largest payload that this rank has sent or got."""
        return self._own.largest_message

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver in order; the answers of rank 0 come first."""
        before = self._own.spent.cpu_ns
        own: list[Message] = []
        asked: set[HostId] = set()
        answers: list[Message] = []
        for send in sends:
            if isinstance(send.message, Relay):
                answers += self._straight(own, asked, now) + self._through_tree(send.message, now)
                own, asked = [], set()
                continue
            for host in receivers(send, self._comm.size):
                if host == FIRST_HOST:
                    own.append(send.message)
                    continue
                self._outbox.put(host, send.message, now)
                if awaits_answer(send.message):
                    asked.add(host)
        answers += self._straight(own, asked, now)
        return answers, self._own.spent.cpu_ns - before

    def _straight(self, own: Sequence[Message], asked: set[HostId], now: int) -> list[Message]:
        """Let this rank's machine and the hosts that are asked take what there is for them; what they answer."""
        waiting = self._post_batches(sorted(asked))
        answers = self._answers_of(own, now)
        answers += [message for batch in self._own.next_of(sorted(asked)) for _, message in batch]
        for request in waiting:
            request.Wait()
        return answers

    def _answers_of(self, own: Sequence[Message], now: int) -> list[Message]:
        """What this rank's machine answers."""
        return [answer for message in own for answer in self._own.answers(message, now)]

    def _post_batches(self, hosts: Sequence[HostId]) -> list[MPI.Request]:
        """Send hosts what waits for them."""
        payloads = self._outbox.take_encoded(hosts, self._own.encoded)
        return [self._own.post(host, TAG_WORK, payload) for host, payload in payloads.items()]

    def _through_tree(self, relay: Relay, now: int) -> list[Message]:
        """Ask all hosts down the tree, and wait until this rank's machine has everybody's answer."""
        answers = self._own.hand_on([(now, self._outbox.load(relay))])
        while answers is None:
            _, batch = self._own.next()
            answers = self._own.hand_on(batch)
        return answers

    def close(self) -> int:
        """Send what still waits, end the other ranks, and return the CPU ns they had not told."""
        before = self._own.spent.cpu_ns
        requests = [
            self._own.post(host, TAG_STOP, self._own.encoded(self._outbox.take(host)))
            for host in all_hosts(self._comm.size)[1:]
        ]
        list(self._own.next_of(all_hosts(self._comm.size)[1:]))
        for request in requests:
            request.Wait()
        return self._own.spent.cpu_ns - before


def serve(comm: Communicator, machine: Machine) -> None:
    """Be a host: take messages from rank 0, or what others hand on, and answer until told to stop."""
    own = Rank(comm, machine)
    while True:
        tag, batch = own.next()
        if tag == TAG_TREE:
            if own.hand_on(batch) is not None:
                raise ProtocolError("a host that is not the task manager's was to answer it")
            continue
        answers = answered(batch, own.answers)
        comm.Send(own.encoded(answers, own.spent.take()), dest=0, tag=TAG_ANSWER)
        if tag == TAG_STOP:
            return
