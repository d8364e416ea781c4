"""Function call for another machine."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Outcome: TypeAlias = tuple[bytes, str, bool]
"""Pickled result, error line, whether the worker was lost."""


@dataclass(frozen=True)
class RemoteCall:
    """Call, with working folder and module path."""

    pickled: bytes
    alone: bool
    folder: str
    paths: tuple[str, ...]

    @classmethod
    def of(cls, function: Callable[..., object], arguments: tuple[object, ...], *, alone: bool) -> RemoteCall:
        """Pack a call."""
        folder = str(Path.cwd())
        paths = tuple(str(one) or folder for one in sys.path)
        return cls(pickle.dumps((function, arguments)), alone, folder, paths)

    def make(self) -> bytes:
        """Make the call here; return the pickled result."""
        os.chdir(self.folder)
        sys.path += [path for path in self.paths if path not in sys.path]
        function, arguments = pickle.loads(self.pickled)  # noqa: S301 (from the process that submitted it)
        return pickle.dumps(function(*arguments))
