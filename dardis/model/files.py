"""Text files: damaged input is an InputError, output appears whole or not at all, input is read once."""

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
    """A form of compression."""

    name: str
    magic: bytes
    """First bytes of each file."""
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes], bytes]


_PACKINGS: Final = {
    ".gz": _Packing("gzip", b"\x1f\x8b", partial(gzip.compress, mtime=0), gzip.decompress),
    ".bz2": _Packing("bzip2", b"BZh", bz2.compress, bz2.decompress),
    ".xz": _Packing("xz", b"\xfd7zXZ\x00", lzma.compress, lzma.decompress),
}
"""By the ending of a file's name."""
_BEGIN, _BINARY_SHARE = 4096, 0.3
"""A file is binary if so large a share of its first characters is no text; a few damaged ones make a line malformed."""
Read = Callable[[Path], bytes]
"""Returns the bytes of a file, packed ones as they are. Raises OSError, and ValueError for what names no file."""
_PARTLY_WRITTEN = re.compile(r"\.(.+)\.\d+\.part")


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file that takes the place of `path` when the block ends, and vanishes when it fails.

    Lines end as they are written (LF). Raises OSError that names the file.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        # A full disk does not say which file, or names one that is gone.
        if isinstance(error, OSError) and error.filename in {None, str(part)}:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def partly_written(name: str) -> str | None:
    """Which file `atomic_text` was writing to the file of this name when its process was killed; None: none."""
    found = _PARTLY_WRITTEN.fullmatch(name)
    return found and found[1]


def read_text(path: Path, read: Read = Path.read_bytes) -> str:
    """Return the text of a file, unpacked if it is packed; a byte that is no UTF-8 becomes a replacement character.

    InputError for what can't be read, and for a binary file.
    """
    text = read_bytes(path, read).decode("utf-8-sig", errors="replace")
    begin = text[:_BEGIN]
    if sum(c == REPLACEMENT or (c < " " and not c.isspace()) for c in begin) > _BINARY_SHARE * len(begin):
        raise InputError(path, "is a binary file", "text, plain or packed as gzip, bzip2 or xz")
    return text


def plain_name(path: Path) -> str:
    """Name of a file without the ending of its packing: `a.swf` of `a.swf.gz`."""
    return path.stem if path.suffix in _PACKINGS else path.name


def read_bytes(path: Path, read: Read = Path.read_bytes) -> bytes:
    """Return what is in a file, unpacked if it is gzip, bzip2 or xz. InputError for what can't be read."""
    try:
        data = read(path)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "a file that can be read") from None
    except ValueError as error:  # no file can have that name
        raise InputError(path, f"cannot be read ({error})", "a file that can be read") from None
    packing = next((one for one in _PACKINGS.values() if data.startswith(one.magic)), None)
    if packing is None:
        return data
    try:
        return packing.unpack(data)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise InputError(path, f"damaged or truncated {packing.name} file ({error})") from None


def is_file(path: Path) -> bool:
    """Whether there is such a file; a text that can be no name of one names none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def sha256_of(path: Path | None) -> str | None:
    """Digest of a file's bytes; None for no file, or one that can't be read, or not twice (a pipe)."""
    try:
        if path is None or not path.is_file():
            return None
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()
    except OSError:  # whoever reads it says what is wrong with it
        return None


def csv_rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields, without outer blanks, of each line that is not empty; InputError for what is no CSV."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}", f"no CSV ({error})") from None


def csv_table(path: Path, text: str, columns: Sequence[str]) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The header of a CSV, which has these columns at least, and its other lines as `csv_rows` has them.

    InputError where one is missing.
    """
    rows = csv_rows(path, text)
    _, header = next(rows, (1, []))
    missing = [name for name in columns if name not in header]
    if missing:
        raise InputError(f"{path}:1", f"no column {', '.join(missing)}", "columns " + ",".join(columns))
    return header, rows


def by_name(header: Sequence[str], fields: Sequence[str]) -> dict[str, str]:
    """The fields of a line by the names of their columns; ValueError where there are more or fewer."""
    if len(fields) != len(header):
        raise ValueError(f"{len(fields)} fields instead of {len(header)}")
    return dict(zip(header, fields, strict=True))


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step; packed, always to the same bytes, if its name ends in .gz, .bz2 or .xz."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """The same of bytes."""
    if not path.parent.is_dir():
        raise InputError(path, "its folder does not exist", "a file in a folder that exists")
    if path.suffix in _PACKINGS:
        data = _PACKINGS[path.suffix].pack(data)
    with atomic_text(path) as file:
        file.buffer.write(data)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write an object, indented. Raises InputError for a figure that is not finite: too large ones were given."""
    with atomic_text(path) as file:
        try:
            json.dump(value, file, indent=2, allow_nan=False)
        except ValueError:
            found = "a figure that is beyond all numbers"
            raise InputError(path, found, "a platform, prices and weather with figures that make sense") from None
        file.write("\n")


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
