"""Messages to MessagePack and back, exactly; a payload opens with the protocol's version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from dardis.model.errors import ProtocolError
from dardis.wire import messages
from dardis.wire.messages import Message

VERSION = 5
Array = NDArray[Any]
_TYPES: tuple[type[Any], ...] = (
    messages.Ask, messages.Offers, messages.Confirm, messages.Reserved, messages.Refused, messages.Commit,
    messages.Committed, messages.Release, messages.Released, messages.Ended, messages.Later, messages.Finished,
    messages.Noted, messages.HostDown, messages.Timer, messages.Announce, messages.Look, messages.Published,
    messages.Switch, messages.Sums, messages.Candidates, messages.Relay, messages.Gathered,
    messages.JointAsk, messages.JointOffers,
)  # fmt: skip
_TAG = {cls: tag for tag, cls in enumerate(_TYPES)}
_ARRAY = 1
_PLAIN = [tuple(field.name for field in fields(cls) if field.type != "Ints") for cls in _TYPES]
_ARRAYS = [tuple(field.name for field in fields(cls) if field.type == "Ints") for cls in _TYPES]


def _write(value: object) -> object:
    """A message is its tag, its plain fields, the shapes of its arrays, and what these hold, one after the other."""
    tag = _TAG.get(type(value))
    if tag is not None:
        plain = [getattr(value, name) for name in _PLAIN[tag]]
        arrays = [getattr(value, name) for name in _ARRAYS[tag]]
        return [tag, plain, [array.shape for array in arrays], _joined(arrays)] if arrays else [tag, plain]
    if isinstance(value, np.ndarray):
        return msgpack.ExtType(_ARRAY, msgpack.packb([value.shape, _joined([value])]))
    if isinstance(value, np.integer):
        return int(value)
    raise TypeError(f"{type(value).__name__} is no part of a message")


def _joined(arrays: Sequence[Array]) -> memoryview:
    try:
        values = np.concatenate([array.ravel() for array in arrays], dtype=np.int64, casting="no")
    except TypeError as error:
        raise TypeError(f"what is not 64-bit integers is no part of a message: {error}") from None
    return values.astype("<i8", copy=False).data


def _split(shapes: Sequence[Sequence[int]], data: bytes) -> list[Array]:
    """Arrays of these shapes, one after the other; they may be written to."""
    values = np.frombuffer(data, dtype="<i8").astype(np.int64)
    arrays, begin = [], 0
    for shape in shapes:
        end = begin + prod(shape)
        arrays.append(values[begin:end] if len(shape) == 1 else values[begin:end].reshape(shape))
        begin = end
    return arrays


def _read_array(code: int, data: bytes) -> Array:
    if code != _ARRAY:
        raise ProtocolError(f"unknown extension {code} in a message")
    shape, values = msgpack.unpackb(data)
    return _split([shape], values)[0]


def pack(value: object) -> bytes:
    """Pack plain values, int64 arrays, and messages, nested as they like."""
    packed: bytes = msgpack.packb(value, default=_write)
    return packed


def unpack(payload: bytes | bytearray) -> Any:  # noqa: ANN401 (any plain value)
    """Unpack what `pack` packed; messages and tuples come as lists (see `decode`)."""
    return msgpack.unpackb(payload, ext_hook=_read_array, strict_map_key=False)


@dataclass(slots=True)
class Spent:
    """What hosts have spent that nobody has told yet."""

    cpu_ns: int = 0
    """CPU ns of their machines."""
    codec_ns: int = 0
    """CPU ns of encoding and decoding."""
    payloads: int = 0
    """How many payloads they got."""
    got_bytes: int = 0
    """Bytes of these."""

    def add(self, more: Spent) -> None:
        """Count another's."""
        self.cpu_ns += more.cpu_ns
        self.codec_ns += more.codec_ns
        self.payloads += more.payloads
        self.got_bytes += more.got_bytes

    def take(self) -> Spent:
        """What has not been told, which counts as told from now on."""
        taken = replace(self)
        self.cpu_ns = self.codec_ns = self.payloads = self.got_bytes = 0
        return taken


NOTHING_SPENT = Spent()


def encode(batch: Sequence[tuple[int, Message]], spent: Spent = NOTHING_SPENT) -> bytes:
    """Encode (time, message) pairs that travel together, with what their sender has spent."""
    return pack([VERSION, [spent.cpu_ns, spent.codec_ns, spent.payloads, spent.got_bytes], batch])


def decode(payload: bytes | bytearray) -> tuple[Spent, list[tuple[int, Message]]]:
    """Return (spent, pairs) of a payload. Raises ProtocolError for another version's."""
    version, *rest = unpack(payload)
    if version != VERSION:
        raise ProtocolError(f"a message of protocol version {version}, this is version {VERSION}")
    spent, batch = rest
    return Spent(*spent), [(now, _message(written)) for now, written in batch]


def _message(written: Sequence[Any]) -> Message:
    """The message that was written, with those that it carries."""
    tag, plain, *arrays = written
    named = dict(zip(_PLAIN[tag], plain, strict=True))
    for name, read in _CARRIED[tag]:
        named[name] = read(named[name])
    if arrays:
        named.update(zip(_ARRAYS[tag], _split(*arrays), strict=True))
    message: Message = _TYPES[tag](**named)
    return message


_READ_AS: dict[str, Callable[[Any], Any]] = {
    "Message": _message,
    "Ask": _message,
    "list[Message]": lambda carried: [_message(written) for written in carried],
    "list[tuple[int, int, Message]]": lambda parcels: [(host, now, _message(parcel)) for host, now, parcel in parcels],
}
"""Types of the fields that hold messages."""
_CARRIED = [
    [(field.name, _READ_AS[str(field.type)]) for field in fields(cls) if field.type in _READ_AS] for cls in _TYPES
]
