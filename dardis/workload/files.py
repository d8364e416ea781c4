"""Reads and writes whole text files, plain or gzipped: damage is an InputError, a written file whole or absent."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.files import atomic_text

_GZIP_MAGIC = b"\x1f\x8b"


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked when it is gzip; a byte that is no UTF-8 becomes a replacement character."""
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP_MAGIC):
            data = gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(path, f"damaged or truncated gzip file ({error})") from None
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "a trace or table file") from None
    return data.decode("utf-8-sig", errors="replace")


def csv_rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields, without outer blanks, of each line that is not empty; InputError for what is no CSV."""
    reader = csv.reader(text.splitlines())
    try:
        for fields in reader:
            if fields:
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}", f"no CSV ({error})") from None


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step; gzipped (the same bytes each time) when its name ends in `.gz`."""
    if not path.parent.is_dir():
        raise InputError(path, "its folder does not exist", "a file in a folder that exists")
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    with atomic_text(path) as file:
        file.buffer.write(data)
