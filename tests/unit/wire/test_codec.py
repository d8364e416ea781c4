from dataclasses import dataclass, fields
from typing import NewType, get_args

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.message_types import types_of

from dardis.model import blocks
from dardis.model.arrays import Ints
from dardis.model.errors import ProtocolError
from dardis.wire import codec, messages
from dardis.wire.messages import Message

whole = st.integers(-(2**63), 2**63 - 1)
lists = st.lists(whole, max_size=5).map(lambda values: np.array(values, dtype=np.int64))
tables = st.tuples(st.integers(0, 4), st.integers(1, 6)).map(lambda s: np.arange(s[0] * s[1]).reshape(s) - 2**62)
carried = st.builds(messages.Noted, whole, whole) | st.builds(messages.Candidates, whole, lists, tables)
VALUES = {
    int: whole,
    bool: st.booleans(),
    Ints: lists | tables,
    messages.Ask: st.deferred(lambda: any_of(messages.Ask)),
    Message | messages.Written: carried | carried.map(codec.written),
    list[Message | messages.Written]: st.lists(carried, max_size=3),
    list[messages.Parcel]: st.lists(st.tuples(whole, whole, carried), max_size=3),
}


def any_of(kind):
    return st.builds(kind, **{name: VALUES[said] for name, said in types_of(kind).items()})


def same(a: object, b: object) -> bool:
    """Whether they say the same, be it read or not."""
    a, b = (codec.opened(one) if isinstance(one, messages.Written) else one for one in (a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if type(a) in get_args(Message):
        return type(a) is type(b) and all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("kind", get_args(Message), ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_message_comes_back_as_it_was(kind, data):
    sent = data.draw(st.lists(st.tuples(whole, any_of(kind)), max_size=3))
    spent, batch = codec.decode(codec.encode(sent, codec.Spent(7, 8, 9, 10)))
    assert spent == codec.Spent(7, 8, 9, 10)
    assert same(batch, sent)


def test_messages_are_carried_by_others_as_deep_as_they_go():
    """A parcel to a host far below travels in the questions of all hosts above it."""
    inner = messages.Relay(1, -1, 0, 3, 4, 2, 0, 0, 0, np.array([2]), [(3, 9, messages.Noted(5, 6))], messages.Look())
    outer = messages.Gathered(1, -1, 0, 0, [inner, messages.Look()])
    assert same(codec.decode(codec.encode([(5, outer)]))[1], [(5, outer)])


def test_what_is_carried_is_handed_on_as_it_was_written():
    asked = codec.written(messages.Noted(5, 6))
    sent = messages.Relay(1, -1, 0, 3, 4, 2, 0, 0, 0, np.array([2]), [], asked)
    payload = bytearray(codec.encode([(5, sent)]))
    _, [(_, got)] = codec.decode(payload)
    assert np.shares_memory(got.message.block, np.frombuffer(payload, dtype=np.int64))
    assert codec.encode([(5, got)]) == payload
    assert codec.opened(got.message) == codec.opened(messages.Noted(5, 6)) == messages.Noted(5, 6)


def test_arrays_that_do_not_lie_in_a_row_and_their_numbers_are_written_as_they_are_read():
    sent = [(5, messages.Later(0, np.arange(9)[::3], 0)), (6, messages.Noted(np.int64(4), np.int32(2)))]
    assert same(codec.decode(codec.encode(sent))[1], [sent[0], (6, messages.Noted(4, 2))])


def test_what_comes_back_may_be_written_to():
    sent = messages.Offers(1, 0, 0, 0, 0, offset=np.arange(3), rows=np.zeros((2, 6), dtype=np.int64))
    _, [(_, message)] = codec.decode(codec.encode([(5, sent)]))
    message.rows[0] = 9
    assert (sent.rows == 0).all()


def test_another_version_is_refused_by_name():
    payload = np.array([codec.VERSION + 1, 0, 0, 0, 0, 0]).tobytes()
    with pytest.raises(ProtocolError, match=f"version {codec.VERSION + 1}.*version {codec.VERSION}"):
        codec.decode(payload)


def test_unknown_extensions_are_refused():
    with pytest.raises(ProtocolError, match="extension 9"):
        codec.unpack(msgpack.packb(msgpack.ExtType(9, b"")))


@pytest.mark.parametrize(
    "value", [np.zeros(2), np.zeros(2, dtype=np.int32), {1, 2}, object(), messages.Later(0, np.zeros(1), 0)]
)
def test_what_is_no_part_of_a_message_is_refused(value):
    with pytest.raises(TypeError, match="no part of a message"):
        codec.pack(value)
    with pytest.raises(TypeError, match="no part of a message"):
        codec.encode([(0, messages.Later(0, value, 0))])


def test_kernels_find_what_the_codec_has_written():
    """Tags, numbers and arrays stand where `dardis.model.blocks` says."""
    ask, sums, best = (codec._FORMS[codec._TAG[kind]] for kind in (messages.Ask, messages.Sums, messages.Candidates))
    assert [codec._TAG[form.kind] for form in (ask, sums, best)] == [
        blocks.ASK_TAG, blocks.SUMS_TAG, blocks.CANDIDATES_TAG,
    ]  # fmt: skip
    assert (ask.numbers, ask.arrays) == (blocks.ASK_NUMBERS, blocks.ASK_ARRAYS)
    assert (sums.numbers, best.numbers) == (blocks.SUMS_NUMBERS, blocks.CANDIDATES_NUMBERS)
    places = blocks.ROUND, blocks.HOSTS, blocks.HORIZON, blocks.LAST_END, blocks.DOWN_UNTIL
    assert sums.names == ("round", "hosts", "horizon", "last_end", "down_until", "offset", "rows")
    assert places == (2, 3, 4, 5, 6)
    assert best.names == ("round", "hosts", "offset", "rows")
    numbers = (
        "round", "generator", "grain", "desired_binds", "held_only", "as_if_up", "want", "policy", "choice", "distinct",
    )  # fmt: skip
    assert ask.names[: ask.numbers] == numbers
    assert [*range(2, 12)] == [
        blocks.ROUND, blocks.GENERATOR, blocks.GRAIN, blocks.BINDS, blocks.HELD_ONLY, blocks.AS_IF_UP, blocks.WANT,
        blocks.POLICY, blocks.CHOICE, blocks.DISTINCT,
    ]  # fmt: skip
    arrays = (
        "job", "draw_key", "first", "last", "walltime", "units", "quota", "groups", "request", "sample_offset",
        "sample", "needed", "start",
    )  # fmt: skip
    assert ask.names[ask.numbers :] == arrays


Street = NewType("Street", int)
House = NewType("House", Street)


@dataclass
class Addressed:
    to: House | Street
    numbers: Ints


@dataclass
class Spoken:
    number: int
    words: str


def test_names_of_numbers_are_written_as_numbers_and_a_field_of_an_unknown_type_is_refused():
    form = codec._Form(Addressed)
    assert (form.names, form.numbers, form.arrays) == (("to", "numbers"), 1, 1)
    with pytest.raises(TypeError, match="Spoken has a field of a type that is not written: words"):
        codec._Form(Spoken)
