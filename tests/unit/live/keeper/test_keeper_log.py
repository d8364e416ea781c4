import errno
import os

import pytest

from dardis.live.keeper import keeper_log as module
from dardis.live.keeper.keeper_log import Log
from dardis.live.keeper.log_records import DamagedLogError


def over(run):
    return ["over", run, {"run": run}]


@pytest.mark.parametrize("failing", ["write", "fdatasync"])
def test_failed_commit_has_no_effect(tmp_path, monkeypatch, failing):
    log = Log(tmp_path)
    log.commit([["intent", "1.1", {}]])
    before = (tmp_path / "log").read_bytes()
    real, calls = getattr(os, failing), []

    def full(file, *data):
        calls.append(file)
        if len(calls) == 1 and failing == "write":
            return real(file, data[0][:5])  # the disk takes some of it
        if len(calls) <= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, *data)

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, full)
        with pytest.raises(OSError, match="No space"):
            log.commit([["intent", "2.1", {}]])
    assert "2.1" not in log.state.runs
    log.commit([["intent", "3.1", {}]])
    assert (tmp_path / "log").read_bytes().startswith(before)
    assert list(Log(tmp_path).state.runs) == ["1.1", "3.1"]


def test_torn_line_is_removed_and_the_next_commit_is_complete(tmp_path):
    Log(tmp_path).commit([["intent", "1.1", {}]])
    with (tmp_path / "log").open("ab") as file:
        file.write(b'0123abcd [["int')
    log = Log(tmp_path)
    log.commit([["intent", "2.1", {}]])
    assert list(Log(tmp_path).state.runs) == ["1.1", "2.1"]


def test_damage_names_the_file_and_the_line(tmp_path):
    log = Log(tmp_path)
    for number in range(3):
        log.commit([["intent", f"{number}.1", {}]])
    data = bytearray((tmp_path / "log").read_bytes())
    data[data.index(b"0.1")] ^= 1
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(DamagedLogError, match=r"log: line 2 is damaged"):
        Log(tmp_path)


def test_log_is_compacted_when_most_entries_are_obsolete(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SLACK", 20)
    log = Log(tmp_path)
    for number in range(100):
        log.commit([["intent", f"{number}.1", {}], over(f"{number}.1"), ["forget", f"{number}.1"]])
    log.commit([["epoch", 7], ["intent", "7.1", {}]])
    assert (tmp_path / "log").read_bytes().count(b"\n") < 25
    known = Log(tmp_path).state
    assert (known.epoch, list(known.runs)) == (7, ["7.1"])


class KilledError(BaseException):
    pass


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "fsync of the folder"])
def test_kill_during_compaction_keeps_the_log(tmp_path, monkeypatch, call):
    log = Log(tmp_path)
    for number in range(30):
        log.commit([["intent", f"{number}.1", {}], over(f"{number}.1")])
        if number:
            log.commit([["forget", f"{number}.1"]])
    expected = log.state.runs.copy()

    def killed(*_):
        raise KilledError

    with monkeypatch.context() as patch:
        if call == "rename":
            patch.setattr(type(tmp_path), "replace", killed)
        elif call == "fsync of the folder":
            patch.setattr(module, "sync_folder", killed)
        else:
            patch.setattr(os, call, killed)
        with pytest.raises(KilledError):
            log._compact()
    assert Log(tmp_path).state.runs == expected


def test_full_disk_during_compaction_is_harmless(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SLACK", 5)
    log = Log(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for number in range(20):
        log.commit([["intent", f"{number}.1", {}], over(f"{number}.1"), ["forget", f"{number}.1"]])
    log.commit([["epoch", 2]])
    assert not (tmp_path / "log.new").exists()
    monkeypatch.undo()
    assert Log(tmp_path).state.epoch == 2
