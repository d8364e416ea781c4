"""Conversion of Python values to plain values."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dardis.config.option import path_of
from dardis.model.errors import InputError
from dardis.model.files import sha256_of

Result = TypeVar("Result")


def plain_value(value: object) -> Any:  # noqa: ANN401 (whatever TOML can say)
    """Convert NumPy numbers, tuples, paths and mappings to plain values."""
    match value:
        case np.generic():
            return value.item()
        case Mapping():
            return {str(key): plain_value(one) for key, one in value.items() if one is not None}
        case list() | tuple() | range():
            return [plain_value(one) for one in value]
        case PathLike():
            return fspath(value)
        case _:
            return value


def is_no_unicode(text: str) -> bool:
    """Whether a text has surrogates, so UTF-8 cannot encode it."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def unchanged_file(file: Path, digest: str | None) -> Path:
    """File read before. Raises InputError if its content has changed."""
    if sha256_of(file) != digest:
        raise InputError(file, "has changed since it was read, or is gone", "the same file, or another read of it")
    return file


def copy_file(file: Path, path: str | PathLike[str]) -> Path:
    """Copy a file to `path`, replacing any file there. Raises InputError."""
    where = path_of("path", path)
    try:
        return Path(shutil.copyfile(file, where))
    except (OSError, ValueError) as error:
        raise InputError(where, getattr(error, "strerror", None) or str(error), "a file that can be written") from None


def settings_of(settings: object) -> dict[str, object]:
    """Settings as a dict. Raises InputError."""
    if settings is None:
        return {}
    if isinstance(settings, Mapping) and all(isinstance(key, str) for key in settings):
        return dict(settings)
    raise InputError("settings", f"is a {type(settings).__name__}", "a mapping from names of settings to values")


def setting_text(value: object) -> str:
    """Value as in `--set`: True is `on`, False `off`."""
    match plain_value(value):
        case True:
            return "on"
        case False:
            return "off"
        case found:
            return str(found)


def setting_texts(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Settings as `KEY=VALUE` texts."""
    return tuple(f"{key}={setting_text(value)}" for key, value in settings.items())


def within(
    out: str | PathLike[str] | None, make: Callable[[Path], Result], parent: Path | None = None
) -> Result:  # fmt: skip
    """Call `make` with `out`, or a temporary folder (in `parent`) removed with the result."""
    if out is not None:
        return make(path_of("--out", out))
    folder = Path(tempfile.mkdtemp(prefix="dardis-", dir=parent))
    try:
        result = make(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return result
