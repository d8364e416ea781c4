"""Attribution of run failures to external dispatchers."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dardis.model.errors import DispatcherError, InputError, ProtocolError, one_line
from dardis.registry import Dispatcher


@contextmanager
def attribute_errors(dispatcher: Dispatcher) -> Iterator[None]:
    """Report errors within as those of an external dispatcher.

    Unexpected ones also print a traceback. Raises ProtocolError, DispatcherError.
    """
    whose = f"dispatcher {dispatcher.name!r} of {dispatcher.origin}"
    try:
        yield
    except (InputError, DispatcherError, OSError, MemoryError):
        raise
    except ProtocolError as error:
        if not dispatcher.origin:
            raise
        raise ProtocolError(f"{whose}: {error}") from error
    except (Exception, SystemExit) as error:
        if not dispatcher.origin:
            raise
        traceback.print_exception(error)
        text = one_line(f"{type(error).__name__}: {error}")
        raise DispatcherError(f"{whose} failed at {_place(error, dispatcher.module)}: {text}") from None


def _place(error: BaseException, theirs: str) -> str:
    frames = [
        (frame.f_globals.get("__name__", ""), frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    tops = [(found[0].partition(".")[0], found) for found in frames]
    mine = [found for top, found in tops if top == theirs]
    others = [found for top, found in tops if top != "dardis"]
    module, frame, line = (mine or others or frames)[-1]
    file = Path(frame.f_code.co_filename)
    parts = module.count(".") + 1 + (file.stem == "__init__")
    return f"{Path(*file.parts[-parts:])}:{line} in {frame.f_code.co_name}"
