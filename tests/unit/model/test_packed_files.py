"""Packed and binary files: read by their content, written by their name, damaged ones refused in one line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dardis.model.errors import InputError, one_line
from dardis.model.files import plain_name, read_text, write_text

TEXT = "; a header\n" + "1 0 0 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n" * 50
ENDINGS = (".gz", ".bz2", ".xz")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_packed_file_is_read_by_its_content(tmp_path: Path, ending: str) -> None:
    path, same = tmp_path / f"a.swf{ending}", tmp_path / f"b.swf{ending}"
    write_text(path, TEXT)
    write_text(same, TEXT)
    assert path.read_bytes() == same.read_bytes()
    assert len(path.read_bytes()) < len(TEXT) / 5
    assert read_text(path) == TEXT
    assert read_text(path.rename(tmp_path / "c.swf")) == TEXT
    assert plain_name(path) == "a.swf"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_or_truncated_one_is_refused_in_one_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.swf{ending}"
    write_text(path, TEXT)
    whole = path.read_bytes()
    for data in (whole[:-9], whole[:20], whole[:12] + b"\xff" * 9 + whole[21:]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"damaged or truncated (gzip|bzip2|xz) file") as error:
            read_text(path)
        assert str(error.value).isprintable()


def test_a_binary_file_is_refused_without_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.swf"
    path.write_bytes(random.Random(1).randbytes(5000))  # noqa: S311
    with pytest.raises(InputError) as error:
        read_text(path)
    assert str(error.value) == f"{path}: is a binary file; expected text, plain or packed as gzip, bzip2 or xz"


def test_a_message_escapes_what_is_no_text() -> None:
    text = b"BZh91\xff\xfe\x07\x9c".decode(errors="replace")
    assert one_line(text) == "BZh91\\ufffd\\ufffd\\x07\\ufffd"
    assert one_line("caf\u00e9") == "caf\u00e9"
