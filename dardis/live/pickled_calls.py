"""Pickled calls and results between processes of one user."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import cloudpickle

from dardis.model.errors import InputError

_VALUE: Final = b"+"
_EXCEPTION: Final = b"-"


class RemoteTracebackError(Exception):
    """Cause of an exception of a worker, with the traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def pickled_call(function: Callable[..., Any], words: Sequence[Any], named: Mapping[str, Any]) -> bytes:
    """Call's bytes. Raises InputError if it cannot be pickled."""
    try:
        return bytes(cloudpickle.dumps((function, tuple(words), dict(named))))
    except Exception as error:  # noqa: BLE001 (any, from a class's own code)
        name = getattr(function, "__qualname__", repr(function))
        raise InputError("submit", f"{name} and its arguments can't be pickled ({error})", "picklable values") from None


def result_of(call: bytes) -> bytes:
    """Run a call; return the bytes of its value or exception. In a forked process, exceptions pass."""
    process = os.getpid()
    try:
        function, words, named = pickle.loads(call)  # noqa: S301 (from a client with the key)
        value: bytes = cloudpickle.dumps(function(*words, **named))
        return _VALUE + value
    except BaseException as error:
        if os.getpid() != process:
            raise
        return _EXCEPTION + pickle.dumps((traceback.format_exc(), _text_of(error), _pickled(error)))


def _text_of(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 (of the exception's own code)
        return type(error).__name__


def _pickled(error: BaseException) -> bytes:
    try:
        data: bytes = cloudpickle.dumps(error)
        pickle.loads(data)  # noqa: S301 (made here)
    except Exception:  # noqa: BLE001 (it holds what cannot be pickled, or needs other arguments)
        return b""
    return data


def value_of(result: bytes) -> tuple[Any, BaseException | None]:
    """Value and exception (None: success) of a result."""
    try:
        value = pickle.loads(result[1:])  # noqa: S301 (from a worker with the key)
    except BaseException as error:  # noqa: BLE001 (of the value's own code)
        return None, error
    if result[:1] == _VALUE:
        return value, None
    trace, text, data = value
    try:
        raised = pickle.loads(data) if data else RuntimeError(text)  # noqa: S301 (from a worker with the key)
        raised.__cause__ = RemoteTracebackError(trace)
        if isinstance(raised, BaseException):
            return None, raised
    except BaseException:  # noqa: BLE001, S110 (of the exception's own code)
        pass
    raised = RuntimeError(text)
    raised.__cause__ = RemoteTracebackError(trace)
    return None, raised
