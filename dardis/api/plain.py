"""Values of Python programs as our files and options say them: numbers, texts, lists and tables, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np


def plain(value: object) -> Any:  # noqa: ANN401 (whatever TOML can say)
    """The value with NumPy's numbers, tuples, paths and mappings as Python's own numbers, lists, texts and dicts."""
    match value:
        case np.generic():
            return value.item()
        case Mapping():
            return {str(key): plain(one) for key, one in value.items() if one is not None}
        case list() | tuple():
            return [plain(one) for one in value]
        case PathLike():
            return fspath(value)
        case _:
            return value


def is_no_unicode(text: str) -> bool:
    """Whether no file in UTF-8 can hold it, as it has a half of a character."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def setting_text(value: object) -> str:
    """A setting's value as `--set KEY=VALUE` says it: `True` is on, `False` off."""
    match plain(value):
        case True:
            return "on"
        case False:
            return "off"
        case found:
            return str(found)
