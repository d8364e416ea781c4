"""Files: damaged input raises InputError, output is atomic."""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TextIO, TypeVar

from dardis.model.errors import REPLACEMENT, InputError


class _Packing(NamedTuple):
    name: str
    magic: bytes
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


_PACKINGS: Final = {
    ".gz": _Packing("gzip", b"\x1f\x8b", partial(gzip.compress, mtime=0), gzip.decompress),
    ".bz2": _Packing("bzip2", b"BZh", bz2.compress, bz2.decompress),
    ".xz": _Packing("xz", b"\xfd7zXZ\x00", lzma.compress, lzma.decompress),
}
_BEGIN, _BINARY_SHARE = 4096, 0.3
"""Binary above this share of non-text."""
Read = Callable[[Path], bytes]
"""Reads raw bytes. Raises OSError or ValueError."""
_PARTLY_WRITTEN = re.compile(r"\.(.+)\.\d+\.part")


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 file that replaces `path` after a successful block. Raises OSError naming `path`.

    Links stay. Devices and pipes are written directly.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    target = path.resolve() if path.is_symlink() else path
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        # A full disk gives no file name, or a deleted one.
        if isinstance(error, OSError) and error.filename in {None, str(part)}:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def partly_written(name: str) -> str | None:
    """Target of a temporary file of `atomic_text`, or None."""
    found = _PARTLY_WRITTEN.fullmatch(name)
    return found and found[1]


def read_text(path: Path, read: Read = Path.read_bytes) -> str:
    """Text of a plain or packed file; invalid UTF-8 is replaced. Raises InputError."""
    text = read_bytes(path, read).decode("utf-8-sig", errors="replace")
    begin = text[:_BEGIN]
    if sum(c == REPLACEMENT or (c < " " and not c.isspace()) for c in begin) > _BINARY_SHARE * len(begin):
        raise InputError(path, "is a binary file", "text, plain or packed as gzip, bzip2 or xz")
    return text


def is_json(text: str) -> bool:
    """Whether a text begins as JSON with objects does. TOML may begin with `[[`."""
    return _JSON.match(text) is not None


_JSON = re.compile(r"\s*(?:\{|\[\s*\{)")


def plain_name(path: Path) -> str:
    """Strip a compression suffix: `a.swf` for `a.swf.gz`."""
    return path.stem if path.suffix in _PACKINGS else path.name


def read_bytes(path: Path, read: Read = Path.read_bytes) -> bytes:
    """Bytes, unpacked from gzip, bzip2 or xz. Raises InputError."""
    try:
        data = read(path)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "a readable file") from None
    except ValueError as error:  # invalid file name
        raise InputError(path, f"cannot be read ({error})", "a readable file") from None
    packing = next((one for one in _PACKINGS.values() if data.startswith(one.magic)), None)
    if packing is None:
        return data
    try:
        return packing.unpack(data)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise InputError(path, f"damaged or truncated {packing.name} file ({error})") from None


def is_file(path: Path) -> bool:
    """Whether the file exists; False for invalid names."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def sha256_of(path: Path | None) -> str | None:
    """Digest, or None if absent, unreadable or a pipe."""
    try:
        if path is None or not path.is_file():
            return None
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()
    except OSError:  # the reader reports the error
        return None


def csv_rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and stripped fields of nonempty lines. Raises InputError."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}", f"no CSV ({error})") from None


def csv_table(path: Path, text: str, columns: Sequence[str]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Header, including `columns`, and the lines of `csv_rows`. Raises InputError."""
    rows = csv_rows(path, text)
    _, header = next(rows, (1, []))
    missing = [name for name in columns if name not in header]
    if missing:
        raise InputError(f"{path}:1", f"no column {', '.join(missing)}", "columns " + ",".join(columns))
    return header, rows


def by_name(header: Sequence[str], fields: Sequence[str]) -> dict[str, str]:
    """Map column names to fields. Raises ValueError if counts differ."""
    if len(fields) != len(header):
        raise ValueError(f"{len(fields)} fields instead of {len(header)}")
    return dict(zip(header, fields, strict=True))


def write_text(path: Path, text: str) -> None:
    """Replace `path` atomically; packed for .gz, .bz2 or .xz."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes as `write_text`. Raises InputError without a parent folder."""
    if not path.parent.is_dir():
        raise InputError(path, "its folder does not exist", "a file in an existing folder")
    if path.suffix in _PACKINGS:
        data = _PACKINGS[path.suffix].pack(data)
    with atomic_text(path) as file:
        file.buffer.write(data)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write an indented JSON object. Raises InputError for infinite numbers."""
    with atomic_text(path) as file:
        try:
            json.dump(value, file, indent=2, allow_nan=False)
        except ValueError:
            found = "a figure is infinite or undefined"
            raise InputError(path, found, "a platform, prices and weather with plausible figures") from None
        file.write("\n")


T = TypeVar("T")
P = ParamSpec("P")


class InputFiles:
    """Cache of files read by one command."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[object, ...], Any] = {}
        self._digests: dict[Path, str | None] = {}

    def once(
        self, load: Callable[Concatenate[Path, Read, P], T], path: Path, *args: P.args, **options: P.kwargs
    ) -> T:  # fmt: skip
        """Cached result of `load(path, read, ...)`. Errors pass through."""
        key = (load, path, args, *sorted(options.items()))
        if key not in self._loaded:
            self._loaded[key] = load(path, self._read, *args, **options)
        return self._loaded[key]  # type: ignore[no-any-return]

    def content(self, path: Path) -> bytes:
        """Cached bytes of a small file."""
        return self.once(_content, path)

    def digest(self, path: Path | None) -> str | None:
        """SHA-256 when read, or now if unread; None as in `sha256_of`."""
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
