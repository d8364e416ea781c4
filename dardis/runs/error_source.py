"""Whose mistake it is when a run fails: another package's dispatcher is told of in one line, with the place."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dardis.model.errors import DispatcherError, InputError, ProtocolError, one_line
from dardis.registry import Dispatcher


@contextmanager
def blamed(dispatcher: Dispatcher) -> Iterator[None]:
    """Within, let what goes wrong be told as the dispatcher's doing; where it is ours, it is a defect as any other.

    What its author has not foreseen is printed with its traceback. Raises ProtocolError, DispatcherError.
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
    """File, line and function: the innermost of their module, else the innermost that is not of this package."""
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
