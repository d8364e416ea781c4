"""Messages to MessagePack and back, exactly; a payload opens with the protocol's version.

Whatever the bytes, what is read is what could have been written, or a ProtocolError; and to find out takes time in
proportion to the payload's length, and at most `MEMORY_FACTOR` times its bytes and `MEMORY_BASE` more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from operator import itemgetter
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

import msgpack
import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.wire import messages
from dardis.wire.messages import Message

VERSION = 8
MEMORY_FACTOR, MEMORY_BASE = 128, 1 << 20
"""What decoding takes, in bytes: so often the payload's, and so many more. A list of one byte is 72 in memory."""
SHORT = 512
"""Bytes of a payload of which msgpack may make as much as it says there is: 8 for each byte, on a level each 3."""
DEEPEST = 8
"""Levels of messages within messages. (A question down the tree carries others, which carry none.)"""
LARGEST = (1 << 63) - 1
LONGEST, MOST_DIMENSIONS = 1 << 40, 8
"""Values of a table, and its dimensions."""
_INTS, _LISTS = {int}, {list}
Array = NDArray[Any]
_TYPES: tuple[type[Any], ...] = (
    messages.Ask, messages.Offers, messages.Confirm, messages.Reserved, messages.Refused, messages.Commit,
    messages.Committed, messages.Release, messages.Released, messages.Ended, messages.Later, messages.Finished,
    messages.Noted, messages.HostDown, messages.Timer, messages.Announce, messages.Look, messages.Published,
    messages.Switch, messages.Sums, messages.Candidates, messages.Relay, messages.Gathered,
    messages.JointAsk, messages.JointOffers, messages.Reminder, messages.Closures, messages.Backlog,
    messages.Seek, messages.Sought, messages.Improve, messages.Improved,
    messages.Bind, messages.Bound,
)  # fmt: skip
_TAG = {cls: tag for tag, cls in enumerate(_TYPES)}
_ARRAY = 1


def _write(value: object) -> object:
    """A message is its tag, its plain fields, the shapes of its arrays, and what these hold, one after the other."""
    tag = _TAG.get(type(value))
    if tag is not None:
        form = _FORMS[tag]
        plain = [getattr(value, name) for name in form.plain]
        arrays = [getattr(value, name) for name in form.arrays]
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


def _split(shapes: object, data: object, count: int) -> list[Array]:
    """So many arrays of these shapes, one after the other, which the data fill exactly; they may be written to."""
    if type(shapes) is not list or type(data) is not bytes or len(data) % 8:
        raise ProtocolError("arrays without shapes, or of something else than 64-bit integers")
    if len(shapes) != count or {*map(type, shapes)} != _LISTS:
        raise ProtocolError(f"{len(shapes)} shapes for {count} arrays")
    lengths = [*chain.from_iterable(shapes)]
    if lengths and ({*map(type, lengths)} != _INTS or min(lengths) < 0):
        raise ProtocolError("an array whose length is no length")
    sizes = [shape[0] if len(shape) == 1 else _count(shape) for shape in shapes]
    values = np.frombuffer(data, dtype="<i8").astype(np.int64)
    if sum(sizes) != len(values):
        raise ProtocolError(f"arrays that need {sum(sizes)} values, and have {len(values)}")
    arrays, begin = [], 0
    for shape, size in zip(shapes, sizes, strict=True):
        array = values[begin : begin + size]
        arrays.append(array if len(shape) == 1 else array.reshape(shape))
        begin += size
    return arrays


def _count(shape: list[int]) -> int:
    """How many values a table has; one that has none is not to seem large."""
    if len(shape) > MOST_DIMENSIONS or prod(length or 1 for length in shape) > LONGEST:
        raise ProtocolError("an array that no memory holds")
    return prod(shape)


def _read_array(code: int, data: bytes) -> Array:
    if code != _ARRAY:
        raise ProtocolError(f"unknown extension {code} in a message")
    shape, values = _parsed(data)
    return _split([shape], values, 1)[0]


def _parsed(payload: bytes | bytearray, **options: object) -> Any:  # noqa: ANN401 (any plain value)
    """The value that a payload holds, all of it. Options are msgpack's."""
    try:
        if len(payload) > SHORT:
            # Looked through first: lists are made as long as it says they are, even if it ends before them.
            scout = msgpack.Unpacker(max_buffer_size=len(payload), read_size=len(payload))
            scout.feed(payload)
            scout.skip()
        return msgpack.unpackb(payload, **options)
    except (msgpack.UnpackException, ValueError, TypeError, OverflowError) as error:
        raise ProtocolError(f"a payload that can't be read: {str(error) or type(error).__name__}") from None


def pack(value: object) -> bytes:
    """Pack plain values, int64 arrays, and messages, nested as they like."""
    packed: bytes = msgpack.packb(value, default=_write)
    return packed


def unpack(payload: bytes | bytearray) -> Any:  # noqa: ANN401 (any plain value)
    """Unpack what `pack` packed; messages and tuples come as lists (see `decode`). Raises ProtocolError."""
    return _parsed(payload, ext_hook=_read_array, strict_map_key=False)


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
    """Return (spent, pairs) of a payload. Raises ProtocolError for one of another version, or that nobody has encoded.

    Takes time in proportion to the payload's length, and memory as `MEMORY_FACTOR` says.
    """
    written = _parsed(payload, max_map_len=0, max_str_len=0, max_ext_len=0)
    if type(written) is not list or not written:
        raise ProtocolError("a payload that is no batch of messages")
    if written[0] != VERSION:
        other = written[0] if type(written[0]) is int else "?"
        raise ProtocolError(f"a message of protocol version {other}, this is version {VERSION}")
    if len(written) != 3 or not _are_ints(written[1], 4) or type(written[2]) is not list:
        raise ProtocolError("a payload that is no batch of messages")
    _, spent, batch = written
    return Spent(*spent), [(_time(pair), _message(pair[1], DEEPEST)) for pair in batch]


def _time(pair: object) -> int:
    if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not int or pair[0] > LARGEST:
        raise ProtocolError("a message without a time")
    now: int = pair[0]
    return now


def _are_ints(values: object, count: int) -> bool:
    """Whether that is a list of so many 64-bit integers."""
    return type(values) is list and len(values) == count and {*map(type, values)} == _INTS and max(values) <= LARGEST


def _message(written: object, levels: int) -> Message:
    """The message that was written, with those that it carries, on at most so many levels."""
    if type(written) is not list or not written or type(written[0]) is not int or not 0 <= written[0] < len(_FORMS):
        raise ProtocolError("a message of no known kind")
    form = _FORMS[written[0]]
    if len(written) != form.parts or type(written[1]) is not list or tuple(map(type, written[1])) != form.types:
        raise ProtocolError(f"a {form.kind.__name__} whose fields are not what they should be")
    values: list[Any] = written[1]
    if form.numbers and max(values[: form.numbers]) > LARGEST:
        raise ProtocolError(f"a {form.kind.__name__} with a number of more than 64 bits")
    for place, read in form.carried:
        if not levels:
            raise ProtocolError(f"messages within messages, more than {DEEPEST} levels")
        values[place] = read(values[place], levels - 1)
    if form.arrays:
        values = form.in_order([*values, *_split(written[2], written[3], len(form.arrays))])
    message: Message = form.kind(*values)
    return message


def _ask(written: object, levels: int) -> messages.Ask:
    message = _message(written, levels)
    if type(message) is not messages.Ask:
        raise ProtocolError(f"a {type(message).__name__} where an Ask was due")
    return message


def _messages(written: list[object], levels: int) -> list[Message]:
    return [_message(message, levels) for message in written]


def _parcels(written: list[Any], levels: int) -> list[messages.Parcel]:
    for parcel in written:
        if type(parcel) is not list or len(parcel) != 3 or not _are_ints(parcel[:2], 2):
            raise ProtocolError("a parcel without a host and a time")
    return [(host, now, _message(message, levels)) for host, now, message in written]


_CARRIED: dict[object, Callable[[Any, int], Any]] = {
    Message: _message, messages.Ask: _ask, list[Message]: _messages, list[messages.Parcel]: _parcels,
}  # fmt: skip
"""How to read fields that hold messages, by their types."""


def _plain(said: object) -> object:
    """The type whose values a field has while the program runs: who or what a number names is the checker's alone."""
    while isinstance(said, NewType):
        said = said.__supertype__
    parts = {_plain(part) for part in get_args(said)} if get_origin(said) is Union else {said}
    return parts.pop() if len(parts) == 1 else said


class _Form:
    """How a kind of message is written: what its dataclass says, looked up once."""

    def __init__(self, kind: type[Any]) -> None:
        types = {name: _plain(said) for name, said in get_type_hints(kind).items()}
        numbers = [name for name, said in types.items() if said in (int, bool)]
        carried = [name for name, said in types.items() if said in _CARRIED]
        self.kind = kind
        self.plain = (*numbers, *carried)
        self.arrays = tuple(name for name, said in types.items() if said == Ints)
        written = [*self.plain, *self.arrays]
        if unknown := types.keys() - written:
            raise TypeError(f"{kind.__name__} has a field of a type that is not written: {', '.join(sorted(unknown))}")
        self.numbers = len(numbers)
        self.types = (*(types[name] for name in numbers), *(list for _ in carried))
        """Of the plain fields, as they are unpacked."""
        self.carried = [(len(numbers) + place, _CARRIED[types[name]]) for place, name in enumerate(carried)]
        self.parts = 4 if self.arrays else 2
        self.in_order: Callable[[list[Any]], Any] = itemgetter(*map(written.index, types)) if len(types) > 1 else tuple
        """From what was written to the order of the fields."""


_FORMS = [_Form(cls) for cls in _TYPES]
