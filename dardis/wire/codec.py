"""Messages to MessagePack and back, exactly; a payload opens with the protocol's version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import msgpack
import numpy as np

from dardis.model.errors import ProtocolError
from dardis.wire import messages
from dardis.wire.messages import Message

VERSION = 4
_ARRAY = 1
_TYPES: tuple[type[Any], ...] = (
    messages.Ask, messages.Offers, messages.Confirm, messages.Reserved, messages.Refused, messages.Commit,
    messages.Committed, messages.Release, messages.Released, messages.Ended, messages.Later, messages.Finished,
    messages.Noted, messages.HostDown, messages.Timer, messages.Announce, messages.Look, messages.Published,
    messages.Switch, messages.Sums, messages.Candidates, messages.Relay, messages.Gathered,
    messages.JointAsk, messages.JointOffers,
)  # fmt: skip
_TAG = {cls: tag for tag, cls in enumerate(_TYPES)}
_FIELDS = {cls: tuple(field.name for field in fields(cls)) for cls in _TYPES}


def _write(value: object) -> object:
    if isinstance(value, np.ndarray) and value.dtype == np.int64 and value.ndim in (1, 2):
        columns = value.shape[1] if value.ndim == 2 else 0
        return msgpack.ExtType(_ARRAY, columns.to_bytes(4, "little") + value.astype("<i8").tobytes())
    if isinstance(value, np.integer):
        return int(value)
    kind = type(value)
    if kind in _TAG:
        return [_TAG[kind], *(getattr(value, name) for name in _FIELDS[kind])]
    raise TypeError(f"{kind.__name__} is no part of a message")


def _read_array(code: int, data: bytes) -> object:
    if code != _ARRAY:
        raise ProtocolError(f"unknown extension {code} in a message")
    values = np.frombuffer(data, dtype="<i8", offset=4).astype(np.int64)
    columns = int.from_bytes(data[:4], "little")
    return values.reshape(-1, columns) if columns else values


def pack(value: object) -> bytes:
    """Pack plain values, int64 arrays of one or two dimensions, and messages, nested as they like."""
    packed: bytes = msgpack.packb(value, default=_write)
    return packed


def unpack(payload: bytes) -> Any:  # noqa: ANN401 (any plain value)
    """Unpack what `pack` packed; messages come as lists (see `decode`)."""
    return msgpack.unpackb(payload, ext_hook=_read_array, strict_map_key=False, max_ext_len=2**31 - 1)


@dataclass(slots=True)
class Spent:
    """What hosts have spent that nobody has told yet: CPU ns of their machines, and bytes of the payloads they got."""

    cpu_ns: int = 0
    got_bytes: int = 0

    def add(self, more: Spent) -> None:
        """Count another's."""
        self.cpu_ns += more.cpu_ns
        self.got_bytes += more.got_bytes


NOTHING_SPENT = Spent()


def encode(batch: Sequence[tuple[int, Message]], spent: Spent = NOTHING_SPENT) -> bytes:
    """Encode (time, message) pairs that travel together, with what their sender has spent."""
    return pack([VERSION, spent.cpu_ns, spent.got_bytes, batch])


def decode(payload: bytes) -> tuple[Spent, list[tuple[int, Message]]]:
    """Return (spent, pairs) of a payload. Raises ProtocolError for another version's."""
    version, *rest = unpack(payload)
    if version != VERSION:
        raise ProtocolError(f"a message of protocol version {version}, this is version {VERSION}")
    cpu_ns, got_bytes, batch = rest
    return Spent(cpu_ns, got_bytes), [(now, _message(written)) for now, written in batch]


def _message(written: Sequence[Any]) -> Message:
    """The message that was written, with those that it carries."""
    tag, *values = written
    message: Message = _TYPES[tag](*values)
    match message:
        case messages.Relay(parcels=parcels, message=inner):
            carried = [(host, now, _message(parcel)) for host, now, parcel in parcels]  # type: ignore[arg-type]
            return replace(message, parcels=carried, message=_message(inner))  # type: ignore[arg-type]
        case messages.JointAsk(ask=asked):
            return replace(message, ask=_message(asked))  # type: ignore[arg-type]
        case messages.Gathered(answers=answers):
            return replace(message, answers=[_message(answer) for answer in answers])  # type: ignore[arg-type]
    return message
