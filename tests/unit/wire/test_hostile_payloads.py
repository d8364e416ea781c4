"""Whatever bytes come, decoding them gives what could have been sent, or one ProtocolError, in bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any, get_args

import msgpack
import numpy as np
import pytest
from kit.message_types import types_of

from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.wire import codec, messages
from dardis.wire.messages import Message

FEW, MANY, BLOCK = 3_000, 100_000, 10_000
KINDS = get_args(Message)
EDGES = (0, 1, -1, 127, 128, 255, 2**31, 2**62, 2**63 - 1, -(2**63))
STRANGE = (None, True, 1.5, "text", b"", b"12345678", 2**64 - 1, -1, 2**40, [], [[]], [-1], [2**62, 0], {1: 2}, [0, 6])


def example(kind: type[Any], rng: np.random.Generator, depth: int = 0) -> Any:
    """A message of a kind, drawn."""
    return kind(**{name: _value(said, rng, depth) for name, said in types_of(kind).items()})


def _value(said: object, rng: np.random.Generator, depth: int) -> object:
    if said is int:
        return int(rng.choice(EDGES)) if rng.random() < 0.3 else int(rng.integers(-99, 99))
    if said is bool:
        return bool(rng.random() < 0.5)
    if said == Ints:
        shape = tuple(rng.integers(0, 4, size=int(rng.integers(1, 3))).tolist())
        return rng.integers(-(2**62), 2**62, size=shape)
    if said == messages.Ask:
        return example(messages.Ask, rng)
    if said == Message:
        return _carried(rng, depth)
    if said == list[Message]:
        return [_carried(rng, depth) for _ in range(int(rng.integers(0, 4)))]
    return [(int(rng.integers(9)), int(rng.integers(99)), _carried(rng, depth)) for _ in range(2)]


def _carried(rng: np.random.Generator, depth: int) -> Message:
    return example(KINDS[int(rng.integers(len(KINDS)))] if depth < 2 else messages.Noted, rng, depth + 1)


def payloads(rng: np.random.Generator) -> Iterator[bytes]:
    """Without end: random bytes, and good payloads that something has happened to."""
    while True:
        good = [codec.encode([(int(rng.integers(99)), example(kind, rng))]) for kind in rng.permuted(KINDS)]
        for payload in good:
            yield _with_other_bytes(payload, good, rng)
            yield msgpack.packb(_with_another_part(msgpack.unpackb(payload), rng))
        yield rng.bytes(int(rng.integers(0, 200)))


def _with_other_bytes(payload: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    data, at = bytearray(payload), int(rng.integers(len(payload)))
    match int(rng.integers(6)):
        case 0:
            return payload[:at]
        case 1:
            return payload + rng.bytes(int(rng.integers(1, 9)))
        case 2:
            data[at] ^= 1 << int(rng.integers(8))
        case 3:
            data[at] = int(rng.integers(0x90, 0xE0))  # heads of lists, texts, and what says its length
        case 4:
            data[at:at] = b"\xdd" + rng.bytes(4)
        case _:
            other = others[int(rng.integers(len(others)))]
            return payload[:at] + other[int(rng.integers(len(other))) :]
    return bytes(data)


def _with_another_part(value: Any, rng: np.random.Generator) -> Any:
    """The same with something else in one of its places, or that place doubled or left out."""
    if not isinstance(value, list) or not value or rng.random() < 0.1:
        return STRANGE[int(rng.integers(len(STRANGE)))]
    place, chance = int(rng.integers(len(value))), rng.random()
    part = [] if chance < 0.05 else [value[place]] * 2 if chance < 0.1 else [_with_another_part(value[place], rng)]
    return [*value[:place], *part, *value[place + 1 :]]


def is_sound(message: Any) -> bool:
    """Whether each field is of the type that its dataclass says."""
    return all(_is_of(said, getattr(message, name)) for name, said in types_of(type(message)).items())


def _is_of(said: object, value: Any) -> bool:
    if said is int:
        return type(value) is int and -(2**63) <= value < 2**63
    if said is bool:
        return type(value) is bool
    if said == Ints:
        return isinstance(value, np.ndarray) and value.dtype == np.int64 and value.flags.writeable
    if said == messages.Ask:
        return isinstance(value, messages.Ask) and is_sound(value)
    if said == Message:
        return type(value) in KINDS and is_sound(value)
    if said == list[Message]:
        return type(value) is list and all(type(one) in KINDS and is_sound(one) for one in value)
    return all(_is_of(int, host) and _is_of(int, now) and is_sound(one) for host, now, one in value)


def read(payload: bytes, *, measured: bool = False) -> bool:
    """Decode; return whether it was good. Whatever is not good raises ProtocolError, and nothing else."""
    if measured:
        tracemalloc.start()
    try:
        spent, batch = codec.decode(payload)
        complaint = ""
    except ProtocolError as error:
        complaint = str(error)
    finally:
        if measured:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= codec.MEMORY_FACTOR * len(payload) + codec.MEMORY_BASE, (peak, payload[:60])
    if complaint:
        assert "\n" not in complaint
        assert len(complaint) < 200
        return False
    assert all(type(now) is int and is_sound(message) for now, message in batch)
    again = codec.encode(batch, spent)
    assert codec.encode(codec.decode(again)[1], spent) == again
    return True


def check(seed: int, count: int) -> None:
    rng, good = np.random.default_rng(seed), 0
    for place, payload in enumerate(payloads(rng)):
        if place == count:
            break
        good += read(payload, measured=place % 50 == 0)
    assert 0.02 * count < good < 0.5 * count  # some changes do no harm: another number is a number


def test_what_is_no_message_is_refused():
    check(1, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, BLOCK))
def test_what_is_no_message_is_refused_of_many(first):
    check(2 + first, BLOCK)


def within(message: object) -> bytes:
    """A payload with this in the place of a message."""
    return msgpack.packb([codec.VERSION, [0, 0, 0, 0], [[5, message]]])


def tag(kind: type) -> int:
    return codec._TYPES.index(kind)


def nested(levels: int) -> object:
    message: object = [tag(messages.Look), []]
    for _ in range(levels):
        message = [tag(messages.Gathered), [1, -1, 0, 0, [message]]]
    return message


def later(shapes: object, data: object) -> bytes:
    """A `Later`, which has one array."""
    return within([tag(messages.Later), [0, 0], shapes, data])


LONG = 50_000
LOOK = bytes([0x92, 0x05, 0x92, tag(messages.Look), 0x90])
HEAD = msgpack.packb([codec.VERSION, [0, 0, 0, 0]])[1:]
BOMBS = {
    "nothing": b"",
    "lists in lists that are long only by their own word": (b"\xdd" + LONG.to_bytes(4)) * 500 + b"\xc0" * LONG,
    "the same in a short payload": (b"\xdc\x02\x00" * 170)[:511],
    "lists in lists without an end": b"\x91" * LONG,
    "lists of nothing": msgpack.packb([codec.VERSION, [0, 0, 0, 0], [[]] * LONG]),
    "a table of nothing": msgpack.packb({}),
    "a long table": msgpack.packb(dict.fromkeys(range(LONG))),
    "a list as a key": b"\x81\x90\x90",
    "a text of 4 GiB": b"\xdb\xff\xff\xff\xff" + bytes(LONG),
    "bytes of 4 GiB": b"\xc6\xff\xff\xff\xff" + bytes(LONG),
    "an extension of 4 GiB": b"\xc9\xff\xff\xff\xff\x01" + bytes(LONG),
    "a moment": b"\xd7\xff\xff\xff\xff\xff1234",
    "no such byte": b"\xc1",
    "no text": b"\xa2\xff\xfe",
    "no batch": msgpack.packb([codec.VERSION, [0, 0, 0, 0]]),
    "no list": msgpack.packb(codec.VERSION),
    "a version of lists": msgpack.packb([[[]] * LONG, [], []]),
    "five kinds of time spent": msgpack.packb([codec.VERSION, [0, 0, 0, 0, 0], []]),
    "no pair": msgpack.packb([codec.VERSION, [0, 0, 0, 0], [5]]),
    "no kind": within([]),
    "an unknown kind": within([len(codec._TYPES), []]),
    "a kind counted from the end": within([-1, []]),
    "a kind that is a list": within([[], []]),
    "bytes as a message": within(b"\x10\x00"),
    "a field too few": within([tag(messages.Noted), [1]]),
    "a field too many": within([tag(messages.Noted), [1, 2, 3]]),
    "a yes as a number": within([tag(messages.Noted), [1, True]]),
    "a number as a yes": within([tag(messages.Switch), [1], [[0], [0]], b""]),
    "more than 64 bits": within([tag(messages.Noted), [1, 2**63]]),
    "a time of more than 64 bits": msgpack.packb([codec.VERSION, [0, 0, 0, 0], [[2**63, [tag(messages.Look), []]]]]),
    "arrays of a kind that has none": within([tag(messages.Noted), [1, 2], [[1]], bytes(8)]),
    "no arrays of a kind that has some": within([tag(messages.Later), [0, 0]]),
    "an array too many": later([[1], [0]], bytes(8)),
    "data of more than the shape": later([[1]], bytes(16)),
    "data of less than the shape": later([[3]], bytes(16)),
    "no whole number of values": later([[1]], bytes(9)),
    "a length less than 0": later([[-1]], b""),
    "lengths less than 0 whose product fits": later([[-2, -1]], bytes(16)),
    "lengths that cancel out": within([tag(messages.Switch), [True], [[3], [-1]], bytes(16)]),
    "a length that is no number": later([[1.0]], bytes(8)),
    "a length that is a yes": later([[True]], bytes(8)),
    "bytes as a shape": later([b"\x01"], bytes(8)),
    "a shape that no memory holds": later([[2**62, 0]], b""),
    "a shape whose product is 0 and cannot be held": later([[2**31 - 1, 2**31 - 1, 0]], b""),
    "a shape of many lengths": later([[2**62] * LONG], b""),
    "a text as data": within([tag(messages.Later), [0, 0], [[1]], "12345678"]),
    "many shapes": later([[0]] * LONG, b""),
    "an answer that is no message": within([tag(messages.Gathered), [1, -1, 0, 0, [7]]]),
    "answers that are no list": within([tag(messages.Gathered), [1, -1, 0, 0, 7]]),
    "another message than an Ask": within([tag(messages.JointAsk), [[tag(messages.Look), []]], [[0]], b""]),
    "a message within itself, as deep as can be read": within(nested(300)),
    "one level too many": within(nested(codec.DEEPEST + 1)),
}


@pytest.mark.parametrize("payload", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_in_bounded_memory(payload):
    assert not read(payload, measured=True)
    assert not read(payload[: codec.SHORT + 1], measured=True)


SMALL = {
    kind.__name__: codec.encode(
        [(5, kind(**{name: _value(said, np.random.default_rng(3), 2) for name, said in types_of(kind).items()}))]
    )
    for kind in KINDS
}


@pytest.mark.parametrize("payload", SMALL.values(), ids=SMALL)
def test_many_small_messages_take_bounded_memory(payload):
    _, [pair] = codec.decode(payload)
    assert read(codec.encode([pair] * 2_000), measured=True)


def test_many_of_the_smallest_message_take_bounded_memory():
    count = 10_000
    assert read(b"\x93" + HEAD + b"\xdd" + count.to_bytes(4) + LOOK * count, measured=True)
    assert read(within([tag(messages.Gathered), [1, -1, 0, 0, [[tag(messages.Look), []]] * count]]), measured=True)
    nothing = np.zeros(0, dtype=np.int64)
    assert read(codec.encode([(0, messages.Candidates(0, nothing, nothing))] * count), measured=True)


def test_messages_are_read_as_deep_as_is_said():
    assert read(within(nested(codec.DEEPEST)))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x92\x01",
        (b"\xdd" + LONG.to_bytes(4)) * 500 + b"\xc0" * LONG,
        b"\x81\x90\x90",
        msgpack.packb(msgpack.ExtType(1, b"")),
        msgpack.packb(msgpack.ExtType(1, msgpack.packb([[3], bytes(16)]))),
        msgpack.packb(msgpack.ExtType(1, msgpack.packb([[-1], b""]))),
        msgpack.packb(msgpack.ExtType(1, msgpack.packb([7, b""]))),
        msgpack.packb(msgpack.ExtType(1, (b"\xdd" + LONG.to_bytes(4)) * 500 + b"\xc0" * LONG)),
    ],
)
def test_plain_values_are_unpacked_as_carefully(payload):
    tracemalloc.start()
    with pytest.raises(ProtocolError):
        codec.unpack(payload)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= codec.MEMORY_FACTOR * len(payload) + codec.MEMORY_BASE
