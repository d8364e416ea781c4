"""Exact encoding of messages as integers, headed by the protocol version.

Any payload yields valid messages or a ProtocolError, in linear time and `MEMORY_FACTOR` times its bytes plus
`MEMORY_BASE`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import attrgetter, itemgetter
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

import msgpack
import numpy as np
from numpy.typing import NDArray

from dardis.model.addresses import HostId
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.model.offer_rows import LENGTH, NUMBERS
from dardis.wire import messages
from dardis.wire.messages import EncodedMessage, Message

VERSION = 10
MEMORY_FACTOR, MEMORY_BASE = 128, 1 << 20
"""Memory limit of decoding: factor of the payload, and extra bytes."""
SHORT = 512
"""Longest payload in bytes without a check of declared lengths: msgpack may allocate 8 bytes per byte, at each third
level."""
DEEPEST = 8
"""Levels of nested messages."""
LONGEST, MOST_DIMENSIONS = 1 << 40, 8
"""Limits of tables."""
_INTS, _YES_OR_NO = {int}, (0, 1)
_INT64 = np.dtype(np.int64)
_HEAD = 6
"""Version, sender's costs, number of messages."""
Array = NDArray[Any]
Piece = Any
"""Bytes-like: type checkers accept arrays only from Python 3.12."""
_TYPES: tuple[type[Any], ...] = (
    messages.OfferQuery, messages.Offers, messages.Confirm, messages.Reserved, messages.Refused, messages.Commit,
    messages.Committed, messages.Release, messages.Released, messages.UnitsEnded, messages.CapacityFreed,
    messages.Finished,
    messages.FinishedAck, messages.HostDown, messages.Timer, messages.Announce, messages.PublishRequest,
    messages.Published,
    messages.Switch, messages.Sums, messages.Candidates, messages.Relay, messages.GatheredAnswers,
    messages.JointQuery, messages.JointOffers, messages.Reminder, messages.Closures, messages.BacklogReport,
)  # fmt: skip
_TAG = {cls: tag for tag, cls in enumerate(_TYPES)}
_ARRAY = 1


def _write_array(value: object) -> object:
    if isinstance(value, np.ndarray):
        _check_numbers(value)
        return msgpack.ExtType(_ARRAY, msgpack.packb([value.shape, value.astype("<i8", copy=False).tobytes()]))
    if isinstance(value, np.integer):
        return int(value)
    raise TypeError(f"{type(value).__name__} is no part of a message")


def _check_numbers(values: object) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != _INT64:
        kind = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
        raise TypeError(f"{kind} is no part of a message, only 64-bit integers")


def _count(shape: list[int]) -> int:
    if len(shape) > MOST_DIMENSIONS or (shape and min(shape) < 0) or prod(length or 1 for length in shape) > LONGEST:
        raise ProtocolError("an array too large for memory")
    return prod(shape)


def _read_array(code: int, data: bytes) -> Array:
    if code != _ARRAY:
        raise ProtocolError(f"unknown extension {code} in a message")
    written = _parsed(data)
    if type(written) is not list or [*map(type, written)] != [list, bytes] or len(written[1]) % 8:
        raise ProtocolError("an array without a shape, or not of 64-bit integers")
    shape, values = written
    if {*map(type, shape)} - _INTS or _count(shape) * 8 != len(values):
        raise ProtocolError("an array with the wrong number of values")
    return np.frombuffer(values, dtype="<i8").astype(np.int64).reshape(shape)


def _parsed(payload: bytes | bytearray, **options: object) -> Any:  # noqa: ANN401 (any plain value)
    try:
        if len(payload) > SHORT:
            # Check first: msgpack allocates lists by declared length, even beyond the end.
            scout = msgpack.Unpacker(max_buffer_size=len(payload), read_size=len(payload))
            scout.feed(payload)
            scout.skip()
        return msgpack.unpackb(payload, **options)
    except (msgpack.UnpackException, ValueError, TypeError, OverflowError) as error:
        raise ProtocolError(f"a payload that can't be read: {str(error) or type(error).__name__}") from None


def pack(value: object) -> bytes:
    """Pack plain values and int64 arrays."""
    packed: bytes = msgpack.packb(value, default=_write_array)
    return packed


def unpack(payload: bytes | bytearray) -> Any:  # noqa: ANN401 (any plain value)
    """Unpack; tuples become lists. Raises ProtocolError."""
    return _parsed(payload, ext_hook=_read_array, strict_map_key=False)


@dataclass(slots=True)
class HostCosts:
    """Costs of hosts, not yet reported."""

    cpu_ns: int = 0
    codec_ns: int = 0
    payloads: int = 0
    got_bytes: int = 0

    def add(self, more: HostCosts) -> None:
        """Add other costs."""
        self.cpu_ns += more.cpu_ns
        self.codec_ns += more.codec_ns
        self.payloads += more.payloads
        self.got_bytes += more.got_bytes

    def take(self) -> HostCosts:
        """Return and reset the costs."""
        taken = HostCosts(self.cpu_ns, self.codec_ns, self.payloads, self.got_bytes)
        self.cpu_ns = self.codec_ns = self.payloads = self.got_bytes = 0
        return taken


NO_COSTS = HostCosts()


def encode(batch: Sequence[tuple[int, Message]], spent: HostCosts = NO_COSTS) -> bytes:
    """Encode (time, message) pairs with costs."""
    head = (VERSION, spent.cpu_ns, spent.codec_ns, spent.payloads, spent.got_bytes, len(batch))
    pieces: list[Piece] = [array("q", head)]
    for now, message in batch:
        pieces.append(array("q", (now,)))
        _put(message, pieces)
    return b"".join(pieces)


def decode(payload: bytes | bytearray) -> tuple[HostCosts, list[tuple[int, Message]]]:
    """Costs and pairs. Raises ProtocolError.

    Arrays are views of the payload, or of a copy if read-only.
    """
    if len(payload) < 8 * _HEAD or len(payload) % 8:
        raise ProtocolError("a payload without a batch of messages")
    values = np.frombuffer(payload if type(payload) is bytearray else bytearray(payload), dtype=np.int64)
    ints = values.data
    version, *figures, count = ints[:_HEAD].tolist()
    if version != VERSION:
        raise ProtocolError(f"a message of protocol version {version}, this is version {VERSION}")
    batch, at = [], _HEAD
    try:
        while at < len(ints):
            now = ints[at]
            message, at = _message(ints, values, at + 1, DEEPEST)
            batch.append((now, message))
    except IndexError:
        raise ProtocolError("a message longer than its payload") from None
    if len(batch) != count:
        raise ProtocolError(f"a payload of {len(batch)} messages with a count of {count}")
    return HostCosts(*figures), batch


def encode_nested(message: Message | EncodedMessage) -> EncodedMessage:
    """Encode a message for nesting."""
    if isinstance(message, EncodedMessage):
        return message
    pieces: list[Piece] = []
    _put(message, pieces)
    return EncodedMessage(np.frombuffer(bytearray().join(pieces), dtype=np.int64))


def decode_nested(message: Message | EncodedMessage) -> Message:
    """Decode a nested message. Raises ProtocolError."""
    if not isinstance(message, EncodedMessage):
        return message
    block = message.block
    try:
        found, end = _message(block.data, block, 0, DEEPEST)
    except IndexError:
        end = -1
    if end != len(block):
        raise ProtocolError("a nested message of the wrong length")
    return found


def _put(message: Message | EncodedMessage, pieces: list[Piece]) -> int:
    if isinstance(message, EncodedMessage):
        pieces.append(message.block)
        return len(message.block)
    tag = _TAG.get(type(message))
    if tag is None:
        raise TypeError(f"{type(message).__name__} is no part of a message")
    form = _FORMS[tag]
    head = [tag, 0, *form.numbers_of(message)]
    place, size = len(pieces), 0
    pieces.append(b"")
    for values in form.arrays_of(message):
        _check_numbers(values)
        head += (values.ndim, *values.shape)
        size += values.size
        pieces.append(values if values.flags.c_contiguous else values.tobytes())
    for name, put, _ in form.carried:
        size += put(getattr(message, name), pieces)
    head[LENGTH] = length = len(head) + size
    pieces[place] = array("q", head)
    return length


def _message(ints: memoryview, values: Ints, at: int, levels: int) -> tuple[Message, int]:
    tag, end = ints[at], at + ints[at + LENGTH]
    if not 0 <= tag < len(_FORMS):
        raise ProtocolError("a message of an unknown kind")
    form = _FORMS[tag]
    at += NUMBERS
    begin = at + form.numbers
    if not begin <= end <= len(ints):
        raise ProtocolError(f"a {form.kind.__name__} with invalid fields")
    fields: list[Any] = ints[at:begin].tolist()
    for place in form.yes_or_no:
        if fields[place] not in _YES_OR_NO:
            raise ProtocolError(f"a {form.kind.__name__} with a number instead of yes or no")
        fields[place] = fields[place] == 1
    if form.arrays:
        begin = _arrays(ints, values, begin, form.arrays, fields)
    for _, _, read in form.carried:
        if not levels:
            raise ProtocolError(f"messages within messages, more than {DEEPEST} levels")
        value, begin = read(ints, values, begin, levels - 1)
        fields.append(value)
    if begin != end:
        raise ProtocolError(f"a {form.kind.__name__} with the wrong number of fields")
    return form.kind(*form.in_order(fields)), end


def _arrays(ints: memoryview, values: Ints, at: int, count: int, fields: list[Any]) -> int:
    shapes: list[tuple[int, list[int] | None]] = []
    for _ in range(count):
        dimensions = ints[at]
        if dimensions == 1:
            shapes.append((ints[at + 1], None))
            at += 2
            continue
        lengths = ints[at + 1 : at + 1 + dimensions].tolist()
        if len(lengths) != dimensions:
            raise ProtocolError("an array without a shape")
        shapes.append((_count(lengths), lengths))
        at += 1 + dimensions
    for size, shape in shapes:
        if not 0 <= size <= len(values) - at:
            raise ProtocolError("an array with the wrong number of values")
        part = values[at : at + size]
        fields.append(part if shape is None else part.reshape(shape))
        at += size
    return at


def _put_all(carried: Sequence[Message | EncodedMessage], pieces: list[Piece]) -> int:
    pieces.append(array("q", (len(carried),)))
    return 1 + sum(_put(message, pieces) for message in carried)


def _put_parcels(parcels: Sequence[messages.Parcel], pieces: list[Piece]) -> int:
    pieces.append(array("q", (len(parcels),)))
    size = 1
    for host, now, message in parcels:
        pieces.append(array("q", (host, now)))
        size += 2 + _put(message, pieces)
    return size


def _ask(ints: memoryview, values: Ints, at: int, levels: int) -> tuple[messages.OfferQuery, int]:
    message, end = _message(ints, values, at, levels)
    if type(message) is not messages.OfferQuery:
        raise ProtocolError(f"a {type(message).__name__} instead of an OfferQuery")
    return message, end


def _unread(ints: memoryview, values: Ints, at: int, _: int) -> tuple[EncodedMessage, int]:
    end = at + ints[at + LENGTH]
    if not at + NUMBERS <= end <= len(ints):
        raise ProtocolError("a message longer than its carrier")
    return EncodedMessage(values[at:end]), end


def _all_unread(ints: memoryview, values: Ints, at: int, levels: int) -> tuple[list[EncodedMessage], int]:
    found: list[EncodedMessage] = []
    count, at = ints[at], at + 1
    while len(found) < count:
        message, at = _unread(ints, values, at, levels)
        found.append(message)
    return found, _past(at, count)


def _parcels(ints: memoryview, values: Ints, at: int, levels: int) -> tuple[list[messages.Parcel], int]:
    found: list[messages.Parcel] = []
    count, at = ints[at], at + 1
    while len(found) < count:
        host, now = ints[at], ints[at + 1]
        message, at = _message(ints, values, at + 2, levels)
        found.append((HostId(host), now, message))
    return found, _past(at, count)


def _past(at: int, count: int) -> int:
    if count < 0:
        raise ProtocolError("a negative number of messages")
    return at


_CARRIED: dict[object, tuple[Callable[..., int], Callable[..., tuple[Any, int]]]] = {
    messages.OfferQuery: (_put, _ask), Message | EncodedMessage: (_put, _unread),
    list[Message | EncodedMessage]: (_put_all, _all_unread),
    list[messages.Parcel]: (_put_parcels, _parcels),
}  # fmt: skip


def _getter(names: Sequence[str]) -> Callable[[object], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda message: (getattr(message, names[0]),)) if names else lambda _: ()


def _plain(said: object) -> object:
    while isinstance(said, NewType):
        said = said.__supertype__
    parts = {_plain(part) for part in get_args(said)} if get_origin(said) is Union else {said}
    return parts.pop() if len(parts) == 1 else said


class _Form:
    def __init__(self, kind: type[Any]) -> None:
        types = {name: _plain(said) for name, said in get_type_hints(kind).items()}
        numbers = [name for name, said in types.items() if said in (int, bool)]
        arrays = [name for name, said in types.items() if said == Ints]
        carried = [name for name, said in types.items() if said in _CARRIED]
        self.names = (*numbers, *arrays, *carried)
        if unknown := types.keys() - self.names:
            raise TypeError(f"{kind.__name__} has a field of an unsupported type: {', '.join(sorted(unknown))}")
        self.kind = kind
        self.numbers, self.arrays = len(numbers), len(arrays)
        self.yes_or_no = [place for place, name in enumerate(numbers) if types[name] is bool]
        self.numbers_of, self.arrays_of = _getter(numbers), _getter(arrays)
        self.carried = [(name, *_CARRIED[types[name]]) for name in carried]
        self.in_order: Callable[[list[Any]], Any] = (
            itemgetter(*map(self.names.index, types)) if len(types) > 1 else tuple
        )


_FORMS = [_Form(cls) for cls in _TYPES]
