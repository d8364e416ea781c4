"""Messages to MessagePack and back, exactly; a payload opens with the protocol's version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgpack
import numpy as np

from dardis.model.errors import ProtocolError
from dardis.wire import messages
from dardis.wire.messages import Message

VERSION = 3
_ARRAY = 1
_TYPES: tuple[type[Any], ...] = (
    messages.Ask, messages.Offers, messages.Confirm, messages.Reserved, messages.Refused, messages.Commit,
    messages.Committed, messages.Release, messages.Released, messages.Ended, messages.Later, messages.Finished,
    messages.Noted, messages.HostDown, messages.Timer, messages.Announce, messages.Look, messages.Published,
    messages.Switch,
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


def encode(cpu_ns: int, batch: Sequence[tuple[int, Message]]) -> bytes:
    """Encode (time, message) pairs that travel together, with the CPU time that the sender's machines took."""
    return pack([VERSION, cpu_ns, batch])


def decode(payload: bytes) -> tuple[int, list[tuple[int, Message]]]:
    """Return (cpu_ns, pairs) of a payload. Raises ProtocolError for another version's."""
    version, cpu_ns, batch = unpack(payload)
    if version != VERSION:
        raise ProtocolError(f"a message of protocol version {version}, this is version {VERSION}")
    return cpu_ns, [(now, _TYPES[tag](*values)) for now, (tag, *values) in batch]
