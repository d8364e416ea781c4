"""Messages come back as they were sent; whatever bytes come, one ProtocolError refuses them in bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.addresses import Address, HostId, JobId, ManagerAddress
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.wire import codec, messages
from dardis.wire.messages import Message

FEW, MANY, BLOCK = 1_500, 100_000, 10_000
KINDS = get_args(Message)
EDGES = (0, 1, -1, 127, 128, 255, 2**31, 2**62, 2**63 - 1, -(2**63))
STRANGE = (*range(-3, 40), 127, 2**20, 2**31, 2**40, 2**62, 2**63 - 1, -(2**40), -(2**63))


NUMBERS = {int, JobId, HostId, ManagerAddress, Address}


def types_of(kind: type) -> dict[str, object]:
    """The type of each field, in order; names of numbers are numbers."""
    return {name: int if said in NUMBERS else said for name, said in get_type_hints(kind).items()}


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
    if said == messages.OfferQuery:
        return example(messages.OfferQuery, rng)
    if said == Message | messages.EncodedMessage:
        return _carried(rng, depth, written=True)
    if said == list[Message | messages.EncodedMessage]:
        return [_carried(rng, depth) for _ in range(int(rng.integers(0, 4)))]
    return [(int(rng.integers(9)), int(rng.integers(99)), _carried(rng, depth)) for _ in range(2)]


def _carried(rng: np.random.Generator, depth: int, *, written: bool = False) -> Message | messages.EncodedMessage:
    message = example(KINDS[int(rng.integers(len(KINDS)))] if depth < 2 else messages.FinishedAck, rng, depth + 1)
    return codec.encode_nested(message) if written and rng.random() < 0.5 else message


def same(a: object, b: object) -> bool:
    """Whether they say the same, be it read or not."""
    a, b = (codec.decode_nested(one) if isinstance(one, messages.EncodedMessage) else one for one in (a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if type(a) in get_args(Message):
        return type(a) is type(b) and all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(0, 5))
def test_every_message_round_trips(kind, seed, count):
    rng = np.random.default_rng(seed)
    sent = [(int(rng.choice(EDGES)), example(kind, rng)) for _ in range(count)]
    spent, batch = codec.decode(codec.encode(sent, codec.HostCosts(7, 8, 9, 10)))
    assert spent == codec.HostCosts(7, 8, 9, 10)
    assert same(batch, sent)


def test_enclosed_message_is_forwarded_unchanged():
    asked = codec.encode_nested(messages.FinishedAck(5, 6))
    sent = messages.Relay(1, -1, 0, 3, 4, 2, 0, 0, 0, np.array([2]), [], asked)
    payload = bytearray(codec.encode([(5, sent)]))
    _, [(_, got)] = codec.decode(payload)
    assert np.shares_memory(got.message.block, np.frombuffer(payload, dtype=np.int64))
    assert codec.encode([(5, got)]) == payload
    assert (
        codec.decode_nested(got.message)
        == codec.decode_nested(messages.FinishedAck(5, 6))
        == messages.FinishedAck(5, 6)
    )


@pytest.mark.parametrize("block", [[], [5], [*codec.encode_nested(messages.FinishedAck(5, 6)).block, 7]])
def test_enclosed_message_of_wrong_length_is_refused(block):
    with pytest.raises(ProtocolError, match="a nested message of the wrong length"):
        codec.decode_nested(messages.EncodedMessage(np.array(block, dtype=np.int64)))


def test_another_version_is_refused_by_name():
    payload = np.array([codec.VERSION + 1, 0, 0, 0, 0, 0]).tobytes()
    with pytest.raises(ProtocolError, match=f"version {codec.VERSION + 1}.*version {codec.VERSION}"):
        codec.decode(payload)


@pytest.mark.parametrize(
    "value", [np.zeros(2), np.zeros(2, dtype=np.int32), {1, 2}, object(), messages.CapacityFreed(0, np.zeros(1), 0)]
)
def test_unsupported_value_is_refused(value):
    with pytest.raises(TypeError, match="no part of a message"):
        codec.pack(value)
    with pytest.raises(TypeError, match="no part of a message"):
        codec.encode([(0, messages.CapacityFreed(0, value, 0))])


def payloads(rng: np.random.Generator) -> Iterator[bytes]:
    """Without end: random bytes, and good payloads that something has happened to."""
    while True:
        good = [codec.encode([(int(rng.integers(99)), example(kind, rng))]) for kind in rng.permuted(KINDS)]
        for payload in good:
            yield _with_other_bytes(payload, good, rng)
            yield _with_another_number(payload, rng)
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
            data[at] = int(rng.integers(256))
        case 4:
            data[at:at] = rng.bytes(8)
        case _:
            other = others[int(rng.integers(len(others)))]
            return payload[:at] + other[int(rng.integers(len(other))) :]
    return bytes(data)


def _with_another_number(payload: bytes, rng: np.random.Generator) -> bytes:
    """The same with something else in one of its places, or that place doubled or left out."""
    values = np.frombuffer(payload, dtype=np.int64).tolist()
    place, chance = int(rng.integers(len(values))), rng.random()
    other = STRANGE[int(rng.integers(len(STRANGE)))]
    part = [] if chance < 0.1 else [values[place]] * 2 if chance < 0.2 else [other]
    return np.array([*values[:place], *part, *values[place + 1 :]], dtype=np.int64).tobytes()


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
    if said == messages.OfferQuery:
        return isinstance(value, messages.OfferQuery) and is_sound(value)
    if said == Message | messages.EncodedMessage:
        return _is_written(value)
    if said == list[Message | messages.EncodedMessage]:
        return type(value) is list and all(map(_is_written, value))
    return all(_is_of(int, host) and _is_of(int, now) and is_sound(one) for host, now, one in value)


def _is_written(value: Any) -> bool:
    """Whether what is carried is sound when it is read, or is refused then."""
    if not isinstance(value, messages.EncodedMessage):
        return False
    try:
        return is_sound(codec.decode_nested(value))
    except ProtocolError:
        return True


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


def test_invalid_message_is_refused():
    check(1, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, BLOCK))
def test_invalid_message_among_many_is_refused(first):
    check(2 + first, BLOCK)


def payload_of(*numbers: int, count: int = 1) -> bytes:
    """A payload with these numbers behind its head, which says that they are so many messages."""
    return np.array([codec.VERSION, 0, 0, 0, 0, count, *numbers], dtype=np.int64).tobytes()


def within(*numbers: int) -> bytes:
    """A payload with these numbers in the place of a message."""
    return payload_of(5, *numbers)


def tag(kind: type) -> int:
    return codec._TYPES.index(kind)


def nested(levels: int) -> Message:
    """A question whose parcel is a question, and so on."""
    message: Message = messages.PublishRequest()
    for _ in range(levels):
        none = np.zeros(0, dtype=np.int64)
        message = messages.Relay(1, -1, -1, 0, 1, 2, 0, 0, 0, none, [(0, 0, message)], messages.PublishRequest())
    return message


def later(*numbers: int) -> bytes:
    """A `CapacityFreed`, which has one array, with these numbers behind its own."""
    return within(tag(messages.CapacityFreed), 4 + len(numbers), 0, 0, *numbers)


LONG = 50_000
LOOK = tag(messages.PublishRequest), 2
HUGE = 2**62
BOMBS = {
    "nothing": b"",
    "no whole number of integers": within(*LOOK)[:-1],
    "no messages that are said to be some": payload_of(count=3),
    "more messages than are said": payload_of(5, *LOOK, count=0),
    "fewer than no messages": payload_of(count=-1),
    "more messages than any memory holds": payload_of(5, *LOOK, count=HUGE),
    "a tag and no length": within(tag(messages.PublishRequest)),
    "an unknown kind": within(len(codec._TYPES), 2),
    "a message without an end": within(tag(messages.PublishRequest), HUGE),
    "a field too many": within(tag(messages.FinishedAck), 5, 1, 2, 3),
    "a number as a yes": within(tag(messages.Switch), 7, 2, 1, 0, 1, 0),
    "no arrays of a kind that has some": within(tag(messages.CapacityFreed), 4, 0, 0),
    "an array too many": later(1, 1, 1, 0, 7),
    "data of more than the shape": later(1, 1, 7, 7),
    "lengths that cancel out": within(tag(messages.Switch), 9, 1, 1, 3, 1, -1, 7, 7),
    "fewer dimensions than none": later(-1, 1, 7),
    "a shape whose product is 0 and cannot be held": later(3, 2**31 - 1, 2**31 - 1, 0),
    "a shape of many lengths": later(LONG, *[HUGE] * LONG),
    "a shape of more lengths than there are": later(HUGE, 1, 1),
    "an answer that is longer than what carries it": within(tag(messages.GatheredAnswers), 9, 1, -1, 0, 0, 1, 16, 3),
    "more answers than there are": within(tag(messages.GatheredAnswers), 9, 1, -1, 0, 0, HUGE, *LOOK),
    "another message than an Ask": within(tag(messages.JointQuery), 6, 1, 0, *LOOK),
    "a message within itself, deeper than is read": codec.encode([(5, nested(300))]),
    "one level too many": codec.encode([(5, nested(codec.DEEPEST + 1))]),
}


@pytest.mark.parametrize("payload", BOMBS.values(), ids=BOMBS)
def test_oversized_message_is_refused_in_bounded_memory(payload):
    assert not read(payload, measured=True)
    assert not read(payload[:512], measured=True)


SMALL = {kind.__name__: codec.encode([(5, example(kind, np.random.default_rng(3), 2))]) for kind in KINDS}


@pytest.mark.parametrize("payload", SMALL.values(), ids=SMALL)
def test_many_small_messages_take_bounded_memory(payload):
    _, [pair] = codec.decode(payload)
    assert read(codec.encode([pair] * 600), measured=True)


def test_nesting_depth_is_limited():
    assert read(codec.encode([(5, nested(codec.DEEPEST))]))


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
