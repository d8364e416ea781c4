from __future__ import annotations

import os

import pytest

from dardis.model.errors import InputError
from dardis.model.out_folder import PART_PREFIX, OutFolder

FOLDER = OutFolder("a plan", ("a.csv", "b.csv", "c.html"))


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def test_who_may_write(tmp_path):
    FOLDER.check(tmp_path / "absent", force=False)
    FOLDER.check(tmp_path, force=False)
    (tmp_path / "a.csv").write_text("1")
    with pytest.raises(InputError, match="is not empty; expected an empty folder, or --force to replace a plan"):
        FOLDER.check(tmp_path, force=False)
    FOLDER.check(tmp_path, force=True)
    (tmp_path / "mine").write_text("1")
    with pytest.raises(InputError, match="holds something else than a plan"):
        FOLDER.check(tmp_path, force=True)
    with pytest.raises(InputError, match=r"a\.csv"):
        FOLDER.check(tmp_path / "a.csv", force=True)


def test_files_take_the_place_of_older_ones_all_at_once(tmp_path):
    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "c.html").write_text("old")
    with FOLDER.written_together(tmp_path) as part:
        (part / "a.csv").write_text("new")
        (part / "b.csv").write_text("new")
        assert (tmp_path / "a.csv").read_text() == "old"
    assert names(tmp_path) == ["a.csv", "b.csv"]
    assert (tmp_path / "a.csv").read_text() == "new"


def test_what_fails_changes_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("old")

    def half():
        with FOLDER.written_together(tmp_path) as part:
            (part / "a.csv").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


def test_made_for_a_block_that_fails_it_leaves_no_new_folder(tmp_path):
    def fails(out):
        with FOLDER.made(out):
            assert out.is_dir()
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails(tmp_path / "new" / "deep")
    assert names(tmp_path) == []
    (tmp_path / "old").mkdir()
    with pytest.raises(ValueError, match="no"):
        fails(tmp_path / "old")
    assert names(tmp_path) == ["old"]
    with FOLDER.made(tmp_path / "new"):
        (tmp_path / "new" / "a.csv").write_text("1")
    assert names(tmp_path / "new") == ["a.csv"]


def test_leftovers_of_what_never_ended_go(tmp_path):
    (tmp_path / f"{PART_PREFIX}x").mkdir()
    FOLDER.check(tmp_path, force=True)
    FOLDER.make(tmp_path)
    assert names(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_closed(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="a folder that can be written"):
        FOLDER.make(tmp_path)


def test_a_folder_below_a_file(tmp_path):
    (tmp_path / "file").write_text("1")
    with pytest.raises(InputError, match="--out"):
        FOLDER.make(tmp_path / "file" / "below")
