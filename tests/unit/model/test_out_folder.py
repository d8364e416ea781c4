"""Files that commands read and folders that they write."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dardis.model.errors import InputError
from dardis.model.files import atomic_text, plain_name, read_text, write_text
from dardis.model.out_folder import LOCK_FILE, PART_PREFIX, OutFolder

FOLDER = OutFolder("a plan", ("a.csv", "s.json", "b.csv", "c.html"), last_file="s.json")
PROGRAM = """
import os, sys, time
from pathlib import Path
from dardis.model.errors import InputError
from dardis.model.out_folder import OutFolder
FOLDER = OutFolder("a plan", ("a.csv", "s.json", "b.csv", "c.html"), last_file="s.json")
out = Path(sys.argv[1])
"""


def names(path):
    return sorted(entry.name for entry in path.iterdir())


def contents(path):
    return {entry.name: entry.read_text() for entry in path.iterdir() if entry.name in FOLDER.files}


def write(out, *, force=False, **files):
    with FOLDER.lock(out, force=force), FOLDER.replace_files(out) as part:
        for name, text in files.items():
            (part / name.replace("_", ".")).write_text(text)


def program(text, *arguments, **options):
    return subprocess.Popen([sys.executable, "-c", PROGRAM + text, *map(str, arguments)], text=True, **options)


def test_only_empty_folders_are_written_unless_forced(tmp_path):
    write(tmp_path / "absent" / "deep", s_json="1")
    folder = tmp_path / "absent" / "deep"
    with pytest.raises(InputError, match="is not empty; expected an empty folder, or --force to replace a plan"):
        write(folder, s_json="2")
    write(folder, force=True, s_json="2")
    (folder / "mine").write_text("1")
    with pytest.raises(InputError, match="has other content than a plan"):
        write(folder, force=True, s_json="3")
    assert {name: (folder / name).read_text() for name in names(folder)} == {"mine": "1", "s.json": "2"}
    for no_folder in (folder / "s.json", folder / "s.json" / "below"):
        with pytest.raises(InputError, match=r"--out .*s\.json"):
            write(no_folder, force=True, s_json="3")


def fails(out, error):
    with FOLDER.lock(out, force=True), FOLDER.replace_files(out) as part:
        (part / "a.csv").write_text("new")
        assert contents(out).get("a.csv") != "new"
        raise error


def test_failed_write_changes_nothing(tmp_path):
    write(tmp_path, a_csv="old", s_json="old")
    with pytest.raises(KeyboardInterrupt):
        fails(tmp_path, KeyboardInterrupt)
    with pytest.raises(OSError, match=r"/data/trace\.swf"):  # told of there
        fails(tmp_path, OSError(errno.EIO, "gone", "/data/trace.swf"))
    with pytest.raises(FileNotFoundError, match=r"s\.json"):
        write(tmp_path, force=True, a_csv="new")
    assert names(tmp_path) == ["a.csv", "s.json"]
    assert set(contents(tmp_path).values()) == {"old"}


def test_leftover_temporary_files_are_ignored_and_removed(tmp_path):
    (tmp_path / f"{PART_PREFIX}x").mkdir()
    (tmp_path / f"{PART_PREFIX}x" / "a.csv").write_text("1")
    (tmp_path / ".c.html.123.part").write_text("half a report")
    (tmp_path / LOCK_FILE).write_text("process 1 on moon")
    with FOLDER.lock(tmp_path, force=False):
        assert names(tmp_path) == [LOCK_FILE]
        assert str(os.getpid()) in (tmp_path / LOCK_FILE).read_text()
    assert names(tmp_path) == []
    (tmp_path / ".thesis.tex.123.part").write_text("not of us")
    with pytest.raises(InputError, match="other content"):
        write(tmp_path, force=True, s_json="1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_folder_is_reported(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="a writable folder"):
        write(tmp_path, s_json="1")


KILLED = """
die_at, steps = int(sys.argv[2]), 0
def counted(change):
    def step(*arguments, **options):
        global steps
        steps += 1
        if steps == die_at:
            os._exit(9)
        return change(*arguments, **options)
    return step
for name in ("replace", "unlink", "rmdir", "mkdir", "write_text"):
    setattr(Path, name, counted(getattr(Path, name)))
os.rmdir = counted(os.rmdir)
with FOLDER.lock(out, force=True), FOLDER.replace_files(out) as part:
    for name in ("a.csv", "b.csv", "s.json"):
        (part / name).write_text("new")
"""
OLD = {"a.csv": "old", "c.html": "old", "s.json": "old"}
NEW = {"a.csv": "new", "b.csv": "new", "s.json": "new"}


@pytest.mark.parametrize("old", [OLD, pytest.param({}, marks=pytest.mark.slow)])
def test_killed_write_leaves_the_old_or_new_folder_or_an_unfinished_mark(tmp_path, old):
    found = []
    for die_at in range(1, 100):
        out = tmp_path / str(die_at)
        if old:
            write(out, **{name.replace(".", "_"): text for name, text in old.items()})
        status = program(KILLED, out, die_at).wait(60)
        holds = contents(out) if out.exists() else {}
        if holds in (old, NEW):
            FOLDER.check_finished(out)
            found.append("old" if holds == old else "new")
        else:
            with pytest.raises(InputError, match=r"is not finished \(a plan without s\.json\)"):
                FOLDER.check_finished(out)
            found.append("unfinished")
        write(out, force=True, a_csv="later", s_json="later")
        assert names(out) == ["a.csv", "s.json"], "nothing of it is in the way"
        if status == 0:
            break
        assert status == 9
    order = list(dict.fromkeys(found))
    assert order == ["old", "unfinished", "new"], found
    assert sorted(found, key=order.index) == found
    assert status == 0
    assert found.count("unfinished") >= (4 if old else 3)


HOLDS = """
with FOLDER.lock(out, force=True), FOLDER.replace_files(out) as part:
    (part / "a.csv").write_text("half")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds `tmp_path / "o"`, and has a part of it written."""
    with program(HOLDS, tmp_path / "o", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("force", [False, True])
def test_second_writer_is_refused_and_changes_nothing(tmp_path, holder, force):
    before = names(tmp_path / "o")
    assert [name[:6] for name in before] == [LOCK_FILE[:6], PART_PREFIX]
    with pytest.raises(InputError) as refused:
        write(tmp_path / "o", force=force, s_json="mine")
    assert str(refused.value).startswith(f"--out {tmp_path / 'o'}: is in use by another dardis process (process ")
    assert f"process {holder.pid} on " in str(refused.value)
    assert names(tmp_path / "o") == before


RACES = """
done = 0
while done < 25:
    try:
        with FOLDER.lock(out, force=True):
            count = out / "a.csv"
            value = int(count.read_text()) if count.exists() else 0
            count.write_text(str(value + 1))
            done += 1
    except InputError as error:
        assert "another dardis" in str(error), error
"""


def test_lock_is_exclusive_under_contention(tmp_path):
    racing = [program(RACES, tmp_path / "o") for _ in range(4)]
    assert [process.wait(60) for process in racing] == [0] * 4
    assert (tmp_path / "o" / "a.csv").read_text() == "100", "none was overwritten unseen"


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_it_goes_on_with_one_warning(tmp_path, monkeypatch, capsys, code):
    def flock(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    write(tmp_path, s_json="1")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"dardis: warning: --out {tmp_path}: the file system has no locks")
    assert names(tmp_path) == ["s.json"]


@pytest.mark.parametrize(("code", "kind"), [(errno.ENOSPC, OSError), (errno.EROFS, InputError)])
def test_lock_failure_is_reported(tmp_path, monkeypatch, code, kind):
    def refused(*_):
        raise OSError(code, os.strerror(code), str(tmp_path / "o" / LOCK_FILE))

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(kind) as failed:
        write(tmp_path / "o", s_json="1")
    monkeypatch.undo()
    assert not (tmp_path / "o").exists()
    if kind is OSError:
        assert failed.value.filename == str(tmp_path / "o"), "no mistake of the user's"


def test_links_are_kept_and_pipes_written_directly(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write_text(tmp_path / "link", "a")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "file").read_text()) == (True, "a")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "b")
    assert os.read(reader, 9) == b"b"
    os.close(reader)


def test_write_failure_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("os.getpid", lambda: "x" * 300)
    with pytest.raises(OSError, match="too long") as failed, atomic_text(tmp_path / "a.csv"):
        pass
    assert failed.value.filename == str(tmp_path / "a.csv")


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
