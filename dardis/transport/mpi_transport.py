"""Node managers on MPI ranks in virtual time, driven by rank 0.

Messages without answers travel with the next answered one. An error ends all ranks.
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
from dardis.transport.base import Outbox, StateMachine, answers_to_batch, awaits_answer, receivers
from dardis.transport.local_transport import Interpreter
from dardis.wire.codec import NO_COSTS, HostCosts, decode, decode_nested, encode, pack, unpack
from dardis.wire.effects import Reply, ToHosts, ToManagers
from dardis.wire.messages import GatheredAnswers, Message, Relay

if TYPE_CHECKING:
    from mpi4py import MPI

    Communicator = MPI.Intracomm

Result = TypeVar("Result")
TAG_WORK, TAG_ANSWER, TAG_STOP, TAG_TREE = 1, 2, 3, 4


def world() -> Communicator:
    """Start MPI; return the communicator of all ranks."""
    from mpi4py import MPI

    # Interrupted launchers send SIGTERM: let ranks clean up their files.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return MPI.COMM_WORLD


def finish() -> None:
    """Finalize MPI, so ranks end independently."""
    from mpi4py import MPI

    MPI.Finalize()


def broadcast(comm: Communicator, value: object) -> Any:  # noqa: ANN401 (any plain value)
    """Broadcast rank 0's value (plain values and arrays)."""
    size = bytearray(8)
    payload = pack(value) if comm.rank == 0 else b""
    if comm.rank == 0:
        size[:] = len(payload).to_bytes(8, "little")
    comm.Bcast(size, root=0)
    buffer = bytearray(payload) if comm.rank == 0 else bytearray(int.from_bytes(size, "little"))
    comm.Bcast(buffer, root=0)
    return unpack(buffer)


def run_or_abort(comm: Communicator, work: Callable[[], Result]) -> Result:
    """Run `work`; exceptions end all ranks with a message."""
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


def run_after_first_rank(
    comm: Communicator, prepare: Callable[[ExitStack], tuple[Any, Callable[[], Result]]], follow: Callable[[Any], int]
) -> Result | int:
    """Let rank 0 prepare, then all ranks work; return rank 0's result or an exit status.

    `prepare` returns a plan for `follow` on the other ranks, and rank 0's work. An integer plan is the others' exit
    status. The stack closes after rank 0's work. Errors in `prepare` end the others silently.
    """
    if comm.rank > 0:
        plan = broadcast(comm, None)
        return plan if isinstance(plan, int) else run_or_abort(comm, lambda: follow(plan))
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

    return run_or_abort(comm, work)


class Rank:
    """Rank's machine, which forwards tree messages."""

    def __init__(self, comm: Communicator, machine: StateMachine) -> None:
        from mpi4py import MPI

        self._comm = comm
        self._status = MPI.Status()
        self._host = HostId(comm.rank)
        self._machine = machine
        self.spent = HostCosts()
        self.largest_message = 0
        """Bytes of the largest payload."""
        self._interpreter = Interpreter(self)
        self._said: list[Message] = []
        self._to_do: deque[tuple[int, Message]] = deque()
        self._posted: list[MPI.Request] = []
        self._gathered: list[Message] | None = None

    def answer_message(self, message: Message, now: int) -> list[Message]:
        """Handle a message; return the answers."""
        begun = cpu_ns()
        effects = self._machine.handle(message, now)
        self.spent.cpu_ns += cpu_ns() - begun
        self._said = []
        self._interpreter.perform(self._host, effects, now)
        return self._said

    def send(self, who: Address, said: ToHosts, now: int) -> None:
        """Forward a message; messages to this host come next."""
        message = said.message
        for host in receivers(said, self._comm.size):
            if host == who:
                self._to_do.appendleft((now, message))
            else:
                told = self.spent.take() if isinstance(message, GatheredAnswers) else NO_COSTS
                self._posted.append(self.start_send(host, TAG_TREE, self.encoded([(now, message)], told)))

    def send_to_managers(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002
        """Collect answers."""
        match said:
            case Reply(message=GatheredAnswers(answers=gathered)):
                self._gathered = [*map(decode_nested, gathered)]
            case _:
                self._said.append(said.message)

    def encoded(self, batch: Sequence[tuple[int, Message]], told: HostCosts = NO_COSTS) -> bytes:
        """Encode a batch."""
        begun = cpu_ns()
        payload = encode(batch, told)
        self.spent.codec_ns += cpu_ns() - begun
        return payload

    def start_send(self, host: HostId, tag: int, payload: bytes) -> MPI.Request:
        """Start to send a payload."""
        self.largest_message = max(self.largest_message, len(payload))
        return self._comm.Isend(payload, dest=host, tag=tag)

    def next(self) -> tuple[int, list[tuple[int, Message]]]:
        """Next tag and (time, message) pairs."""
        message = self._comm.Mprobe(status=self._status)
        payload = bytearray(self._status.count)
        tag = self._status.tag
        message.Recv(payload)
        return tag, self._read(payload)

    def next_of(self, hosts: Iterable[HostId]) -> Iterator[list[tuple[int, Message]]]:
        """Iterate over the next payloads, received in parallel."""
        coming: deque[tuple[MPI.Request, bytearray]] = deque()
        for host in hosts:
            message = self._comm.Mprobe(source=host, status=self._status)
            payload = bytearray(self._status.count)
            coming.append((message.Irecv(payload), payload))
        while coming:  # read payloads are freed
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

    def process_tree_messages(self, batch: Sequence[tuple[int, Message]]) -> list[Message] | None:
        """Handle tree messages; return final answers."""
        self._to_do.extend(batch)
        while self._to_do:
            now, message = self._to_do.popleft()
            for said in self.answer_message(message, now):
                raise ProtocolError(f"a message sent with a query was answered by {said}")
        for request in self._posted:
            request.Wait()
        self._posted.clear()
        gathered, self._gathered = self._gathered, None
        return gathered


class MpiHosts:
    """Hosts on MPI ranks; host h is on rank h."""

    def __init__(self, comm: Communicator, own: StateMachine) -> None:
        self._comm = comm
        self._own = Rank(comm, own)
        self._outbox = Outbox(comm.size)

    @property
    def message_bytes(self) -> int:
        """Reported payload bytes."""
        return self._own.spent.got_bytes

    @property
    def message_ns(self) -> float:
        """Mean CPU ns per encoded or decoded message."""
        return self._own.spent.codec_ns / max(2 * self._own.spent.payloads, 1)

    @property
    def largest_message(self) -> int:
        """Bytes of the largest payload."""
        return self._own.largest_message

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver in order; answers of rank 0 come first."""
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
        waiting = self._send_batches(sorted(asked))
        answers = self._answers_of(own, now)
        answers += [message for batch in self._own.next_of(sorted(asked)) for _, message in batch]
        for request in waiting:
            request.Wait()
        return answers

    def _answers_of(self, own: Sequence[Message], now: int) -> list[Message]:
        return [answer for message in own for answer in self._own.answer_message(message, now)]

    def _send_batches(self, hosts: Sequence[HostId]) -> list[MPI.Request]:
        payloads = self._outbox.take_encoded(hosts, self._own.encoded)
        return [self._own.start_send(host, TAG_WORK, payload) for host, payload in payloads.items()]

    def _through_tree(self, relay: Relay, now: int) -> list[Message]:
        answers = self._own.process_tree_messages([(now, self._outbox.load(relay))])
        while answers is None:
            _, batch = self._own.next()
            answers = self._own.process_tree_messages(batch)
        return answers

    def close(self) -> int:
        """Send waiting messages, stop the ranks; return unreported CPU ns."""
        before = self._own.spent.cpu_ns
        requests = [
            self._own.start_send(host, TAG_STOP, self._own.encoded(self._outbox.take(host)))
            for host in all_hosts(self._comm.size)[1:]
        ]
        list(self._own.next_of(all_hosts(self._comm.size)[1:]))
        for request in requests:
            request.Wait()
        return self._own.spent.cpu_ns - before


def serve(comm: Communicator, machine: StateMachine) -> None:
    """Act as a host until stopped."""
    own = Rank(comm, machine)
    while True:
        tag, batch = own.next()
        if tag == TAG_TREE:
            if own.process_tree_messages(batch) is not None:
                raise ProtocolError("the queried host does not belong to the task manager")
            continue
        answers = answers_to_batch(batch, own.answer_message)
        comm.Send(own.encoded(answers, own.spent.take()), dest=0, tag=TAG_ANSWER)
        if tag == TAG_STOP:
            return
