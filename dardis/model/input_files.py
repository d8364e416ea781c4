"""The input files of one command: each is read once, and its digest is of the bytes that were read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from dardis.model.files import Read, is_file, sha256_of

T = TypeVar("T")
P = ParamSpec("P")


class InputFiles:
    """What one command has read. Another command makes its own, as a file may change between two."""

    def __init__(self) -> None:
        """Nothing has been read."""
        self._loaded: dict[tuple[object, ...], Any] = {}
        self._digests: dict[Path, str | None] = {}

    def once(
        self, load: Callable[Concatenate[Path, Read, P], T], path: Path, *args: P.args, **options: P.kwargs
    ) -> T:  # fmt: skip
        """What `load` makes of a file, which it reads by its second argument. Raises what `load` raises."""
        key = (load, path, args, *sorted(options.items()))
        if key not in self._loaded:
            self._loaded[key] = load(path, self._read, *args, **options)
        return self._loaded[key]  # type: ignore[no-any-return]

    def content(self, path: Path) -> bytes:
        """The bytes of a small file, which are kept; see `Read`."""
        return self.once(_content, path)

    def digest(self, path: Path | None) -> str | None:
        """SHA-256 of a file as it was when it was read, or now; None as of `sha256_of`."""
        if path is None:
            return None
        if path not in self._digests:
            self._digests[path] = sha256_of(path)
        return self._digests[path]

    def _read(self, path: Path) -> bytes:
        data = path.read_bytes()
        self._digests[path] = hashlib.sha256(data).hexdigest() if is_file(path) else None
        return data


def _content(path: Path, read: Read) -> bytes:
    return read(path)
