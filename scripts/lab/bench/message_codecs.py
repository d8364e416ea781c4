"""What msgpack would cost as the encoding of protocol messages, beside the integers that are used.

The messages are those of rounds on two hosts. With msgpack, arrays are bytes or lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgpack
import numpy as np

from dardis.model.addresses import Address
from dardis.node_manager import NodePool, RelayingHost
from dardis.scale import experiment as load
from dardis.task_manager import SETUPS, PlannedManager, Reach
from dardis.task_manager.layout import layout_of
from dardis.transport.local_transport import LocalHosts, Lockstep
from dardis.turns.turn import run_dialogue
from dardis.wire.codec import decode, encode
from dardis.wire.effects import Effect, ExecutorAction
from dardis.wire.messages import Message, Offers
from scripts.lab.bench.measure import Row, cpu_of
from scripts.lab.bench.rounds import RESERVATIONS, SEED, WINDOW_S
from scripts.lab.kit.spread import Spread

JOBS = {300: 500, 10_000: 100}
"""By number of nodes."""


class Recorder:
    """A host that notes the messages to and from it."""

    def __init__(self, pool: NodePool, heard: list[Message]) -> None:
        """Around a pool of nodes."""
        self._host, self._heard = RelayingHost(pool), heard

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Handle a message."""
        effects = self._host.handle(message, now)
        self._heard += [message, *(effect.message for effect in effects if isinstance(effect.message, Offers))]  # type: ignore[union-attr]
        return effects

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:
        """Ignore launches and kills."""


def recorded(nodes: int, jobs: int) -> list[Message]:
    """The messages of placing so many jobs on nodes of two hosts."""
    platform, cuts, heard = load.machine(nodes), (0, nodes // 2, nodes), list[Message]()
    pools = [NodePool(platform, first, end) for first, end in pairwise(cuts)]
    for pool in pools:
        load.fill(pool.state, WINDOW_S, RESERVATIONS, SEED)
    hosts = [Recorder(pool, heard) for pool in pools]
    lockstep = Lockstep(LocalHosts(hosts), hosts[0])
    manager = PlannedManager(SETUPS["dardis-throughput"], layout_of(platform, cuts, None), SEED, reach=Reach())
    for job in load.jobs(jobs, WINDOW_S, SEED):
        lockstep.run_turn(run_dialogue(manager, manager.submit(job.job, job.submit), list, job.submit), job.submit)
    return heard


def _as_bytes(value: object) -> object:
    return [value.shape, value.tobytes()] if isinstance(value, np.ndarray) else value


def _as_list(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _of_bytes(value: Any) -> object:  # noqa: ANN401 (what msgpack gives)
    return np.frombuffer(value[1], dtype=np.int64).reshape(value[0]) if type(value) is list else value


def _of_list(value: Any) -> object:  # noqa: ANN401 (what msgpack gives)
    return np.array(value, dtype=np.int64) if type(value) is list else value


def _packed(message: Message, plain: Callable[[object], object]) -> bytes:
    payload: bytes = msgpack.packb([plain(getattr(message, name)) for name in message.__slots__])
    return payload


def _round_trip(messages: Sequence[Message], there: Callable[[object], object], back: Callable[[Any], object]) -> None:
    for message in messages:
        kind: Callable[..., Message] = type(message)
        read = kind(*map(back, msgpack.unpackb(_packed(message, there))))
    assert encode([(0, read)]) == encode([(0, messages[-1])])


def _round_trip_of_integers(messages: Sequence[Message]) -> None:
    for message in messages:
        decode(encode([(0, message)]))


def message_codecs(repeats: int) -> list[Row]:
    """Two rows for each size: encoding and decoding each message once."""
    rows = []
    for nodes, jobs in JOBS.items():
        messages = recorded(nodes, jobs)
        forms = {"bytes": (_as_bytes, _of_bytes), "lists": (_as_list, _of_list)}
        taken: dict[str, list[float]] = {name: [] for name in ("", *forms)}
        for _ in range(repeats):
            taken[""].append(cpu_of(partial(_round_trip_of_integers, messages))[1])
            for name, (there, back) in forms.items():
                taken[name].append(cpu_of(partial(_round_trip, messages, there, back))[1])
        size = sum(len(encode([(0, message)])) for message in messages)
        rows += [
            Row(
                "messages", f"{nodes} nodes, msgpack with arrays as {name}", jobs, Spread.of(taken[name]),
                ratio=Spread.ratio(taken[name], taken[""]), ratio_of="the integers'",
                notes={"us_per_message": round(Spread.of(taken[name]).median * 1e6 / len(messages), 1),
                       "bytes": round(sum(len(_packed(one, there)) for one in messages) / len(messages)),
                       "bytes_of_integers": round(size / len(messages))},
            )
            for name, (there, _) in forms.items()
        ]  # fmt: skip
    return rows
