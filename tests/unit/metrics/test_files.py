"""Output files are whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from dardis.model.files import atomic_text


def test_the_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with atomic_text(path) as file:
        file.write("né\r\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == "né\r\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")

    def interrupted() -> None:
        with atomic_text(path) as file:
            file.write("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
