"""Lazy imports of package names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_getattr(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A `__getattr__` for `package`. `homes` maps modules to names."""
    home_of = {name: f"{package}.{home}" for home, names in homes.items() for name in names}

    def find(name: str) -> Any:  # noqa: ANN401 (whatever has that name)
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
