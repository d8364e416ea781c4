"""Calls of functions, and their results, as bytes between processes of one user."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cloudpickle

from dardis.model.errors import InputError


class RemoteTracebackError(Exception):
    """Cause of an exception that a worker raised, with the traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def pickled_call(function: Callable[..., Any], words: Sequence[Any], named: Mapping[str, Any]) -> bytes:
    """Bytes of a call. Raises InputError if it cannot be pickled."""
    try:
        return bytes(cloudpickle.dumps((function, tuple(words), dict(named))))
    except Exception as error:  # noqa: BLE001 (any, from a class's own code)
        name = getattr(function, "__qualname__", repr(function))
        raise InputError("submit", f"{name} and its arguments can't be pickled ({error})", "picklable values") from None


def result_of(call: bytes) -> tuple[bool, bytes]:
    """Run a call; return whether it succeeded, and the bytes of its value, or of its exception with a traceback."""
    try:
        function, words, named = pickle.loads(call)  # noqa: S301 (from a client with the key)
        return True, cloudpickle.dumps(function(*words, **named))
    except BaseException as error:  # noqa: BLE001 (of the function)
        text = traceback.format_exc()
        try:
            return False, cloudpickle.dumps((error, text))
        except Exception:  # noqa: BLE001 (the exception holds what cannot be pickled)
            return False, cloudpickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), text))


def value_of(succeeded: bool, data: bytes) -> tuple[Any, BaseException | None]:
    """Value and exception (None: success) of a result."""
    try:
        value = pickle.loads(data)  # noqa: S301 (from a worker with the key)
    except Exception as error:  # noqa: BLE001 (of the value's own code)
        return None, error
    if succeeded:
        return value, None
    raised, text = value
    raised.__cause__ = RemoteTracebackError(text)
    return None, raised
