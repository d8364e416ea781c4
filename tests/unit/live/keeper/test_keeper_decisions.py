"""What the keeper decides without any process."""

import pytest

from dardis.live.keeper import log_records as records
from dardis.live.keeper.process_tree import ProcessInfo, Root, members
from dardis.live.keeper.run_request import InvalidRequestError, read_start, run_name

BEGUN = records.StartRecord(pid=7, start=99, boot="b", unix_ms=5, boot_ms=3)
ASKED = {
    "run": "12.1", "argv": ["true"], "env": {"A": "1"}, "chdir": "/", "output": "/o", "error": "/e", "append": False,
    "cores": None, "memory_bytes": None, "walltime_ms": 1, "grace_ms": 0, "user": None,
}  # fmt: skip


def test_begin_file_round_trips():
    text = records.start_record_text(7, 99, "b", 5, 3)
    assert records.parse_start_record(text) == BEGUN
    assert records.parse_start_record(text + records.failure_text("no\nsuch file")).failed == "no\nsuch file"
    assert records.parse_start_record(text + b"failed: torn").failed == "torn"
    ended = records.parse_start_record(
        text + records.failure_text("no lease") + records.LEASE_LINE + records.LEASE_LINE
    )
    assert (ended.failed, ended.lease) == ("no lease", True)
    assert records.parse_start_record(text + records.LEASE_LINE).failed is None


@pytest.mark.parametrize(("intent_boot", "begun", "lives", "expected"), [
    ("b", None, False, records.RecoveredState.NEVER_BEGAN),
    ("b", BEGUN, True, records.RecoveredState.RUNS),
    ("b", BEGUN, False, records.RecoveredState.ENDED_UNSEEN),
    ("b", records.StartRecord(7, 99, "b", 5, 3, failed="no such file"), False, records.RecoveredState.FAILED),
    ("b", records.StartRecord(7, 99, "older", 5, 3), True, records.RecoveredState.HOST_RESTARTED),
    ("older", None, False, records.RecoveredState.HOST_RESTARTED),
    ("older", BEGUN, True, records.RecoveredState.HOST_RESTARTED),
])  # fmt: skip
def test_exit_record_after_a_keeper_restart(intent_boot, begun, lives, expected):
    assert records.recovered_state(intent_boot, "b", begun, lives=lives) is expected


@pytest.mark.parametrize("amiss", [
    {"run": "../1"}, {"run": "1"}, {"run": 1.1}, {"run": "1.1\n"}, {"argv": []}, {"argv": "true"},
    {"argv": ["a\0"]},
    {"env": {"A": 1}}, {"env": []}, {"chdir": "x"}, {"output": None}, {"error": "/a\0"}, {"append": 1},
    {"cores": []}, {"cores": [-1]}, {"cores": [True]}, {"memory_bytes": -1}, {"memory_bytes": 1.5},
    {"walltime_ms": "1"}, {"grace_ms": None}, {"user": {"uid": 1}}, {"user": {"uid": -1, "gid": 1, "groups": []}},
    {"user": {"uid": 1, "gid": 1, "groups": None}},
])  # fmt: skip
def test_invalid_start_request_is_refused(amiss):
    with pytest.raises(InvalidRequestError):
        read_start(ASKED | amiss)


@pytest.mark.parametrize("said", [None, [], "1.1"])
def test_start_request_must_be_an_object(said):
    with pytest.raises(InvalidRequestError):
        read_start(said)


@pytest.mark.parametrize("name", ["1.", ".1", "1.1.1.1", "1.1/", "\u0661.1", 3, None])
def test_invalid_run_name_is_refused(name):
    with pytest.raises(InvalidRequestError):
        run_name(name)


def seen(pid, parent, *, session=1, start=50, run=None):
    return pid, ProcessInfo(pid, parent, session, start, dead=False, run=run)


def test_run_includes_its_process_tree_session_and_marked_processes():
    processes = dict([
        seen(1, 0),
        seen(10, 1, session=10),  # the first
        seen(11, 10, session=11),  # its child, in a session of its own
        seen(12, 11, session=11),
        seen(20, 1, session=10),  # an orphan in its session
        seen(30, 1, session=30, run="1.1"),  # a daemon that kept its environment
        seen(31, 30, session=31),
        seen(40, 1, session=40, run="2.1"),
        seen(50, 1, session=50),
    ])  # fmt: skip
    assert members(Root("1.1", 10, 50), processes) == {10, 11, 12, 20, 30, 31}


def test_reused_process_number_is_not_part_of_the_run():
    taken = dict([seen(10, 1, session=10, start=70), seen(11, 10, session=10, start=71), seen(12, 1, run="1.1")])
    assert members(Root("1.1", 10, 50, over=True), taken) == {12}
    free = dict([seen(11, 1, session=10, start=60)])
    assert members(Root("1.1", 10, 50, over=True), free) == {11}
