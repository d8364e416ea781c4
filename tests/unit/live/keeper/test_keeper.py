"""Real keepers and real processes."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from kit.keeper import Asker, Keeper, lives, start
from kit.waiting import until

from dardis.live.keeper import PROTOCOL
from dardis.live.keeper.log_records import ALREADY_KNOWN, END_REASONS, RecoveredState

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
NOBODY = 65534


@pytest.fixture(
    params=["auto", pytest.param("v1", marks=pytest.mark.slow), pytest.param("none", marks=pytest.mark.slow)]
)
def keeper(tmp_path, request):
    with Keeper(tmp_path / "keeper", f"--cgroups={request.param}") as one:
        yield one


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def test_run_receives_input_environment_folder_and_output_files(keeper, tmp_path):
    begun_ms, asker = int(time.time() * 1000), keeper.connect()
    assert asker.hello() == {}
    script = "pwd; echo $A $DARDIS_RUN; cat; echo err >&2; exit 3"
    asker.start([start("1.1", tmp_path, "sh", "-c", script, env={"A": "b", "PATH": "/bin"})])
    record = asker.over("1.1")
    assert record | {"pid": 0, "started_ms": 0, "ended_ms": 0} == {
        "run": "1.1", "state": "over", "pid": 0, "started_ms": 0, "ended_ms": 0, "code": 3, "signal": None,
        "why": "exit",
    }  # fmt: skip
    assert begun_ms <= record["started_ms"] <= record["ended_ms"] <= time.time() * 1000 + 1
    first, second, third = lines(tmp_path / "1.1.out")
    assert (first, third) == (str(tmp_path), "err")
    assert second.startswith("b 1.1@")
    assert (tmp_path / "1.1.out").stat().st_mode & 0o777 == 0o600
    assert asker.ask("stop") == {"id": 4}
    assert keeper.process.wait() == 0
    assert not (tmp_path / "keeper" / "keeper.sock").exists()


def test_exit_codes_signals_and_start_failures_are_recorded(keeper, tmp_path):
    asker = keeper.lead()
    asker.start([
        start("1.1", tmp_path, "true"), start("1.2", tmp_path, "sh", "-c", "kill -SEGV $$"),
        start("1.3", tmp_path, "sh", "-c", "exit 127"), start("1.4", tmp_path, "/no/such"),
        start("1.5", tmp_path, "nosuch"), start("1.6", tmp_path, "true", chdir="/no/folder"),
        start("1.7", tmp_path, "true", output="/no/folder/out"), start("1.8", tmp_path, "true", cores=[100_000]),
    ])  # fmt: skip
    told = {run: asker.over(run) for run in (f"1.{number}" for number in range(1, 9))}
    assert [told[run]["code"] for run in ("1.1", "1.3")] == [0, 127]
    assert (told["1.2"]["code"], told["1.2"]["signal"], told["1.2"]["why"]) == (None, signal.SIGSEGV, "exit")
    whys = [told[f"1.{number}"]["why"] for number in range(4, 9)]
    assert whys == [
        "failed to start: /no/such: No such file or directory",
        "failed to start: nosuch: No such file or directory",
        "failed to start: /no/folder: No such file or directory",
        "failed to start: /no/folder/out: No such file or directory",
        "failed to start: cores [100000]: Invalid argument",
    ]
    assert all(told[f"1.{number}"]["state"] == "over" for number in range(4, 9))


def test_job_inherits_nothing_from_the_keeper(plain, tmp_path):
    asker = plain.lead()
    core = min(os.sched_getaffinity(0))
    code = (
        "import os, signal; names = os.listdir('/proc/self/fd'); print(sorted(map(int, names))[:-1]);"
        "print([n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN and n not in (13, 25)]);"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, ()) or '', os.getsid(0) == os.getpid());"
        "print(os.sched_getaffinity(0));"
        "print(oct(os.umask(0)))"
    )
    asker.start([start("1.1", tmp_path, sys.executable, "-S", "-c", code, cores=[core])])
    assert asker.over("1.1")["code"] == 0
    assert lines(tmp_path / "1.1.out") == ["[0, 1, 2]", "[]", " True", f"{{{core}}}", "0o22"]
    status = "grep -E 'SigIgn|SigBlk' /proc/self/status"
    asker.start([start("1.2", tmp_path, "sh", "-c", status)])
    asker.over("1.2")
    assert {int(line.split()[1], 16) for line in lines(tmp_path / "1.2.out")} == {0}


def test_output_is_truncated_or_appended(plain, tmp_path):
    asker = plain.lead()
    for run, append in (("1.1", False), ("1.2", False), ("1.3", True)):
        more = {"output": str(tmp_path / "out"), "error": str(tmp_path / "err"), "append": append}
        asker.start([start(run, tmp_path, "sh", "-c", f"echo {run}; echo {run} >&2", **more)])
        asker.over(run)
    assert lines(tmp_path / "out") == lines(tmp_path / "err") == ["1.2", "1.3"]


def test_repeated_request_starts_one_run(keeper, tmp_path):
    asker = keeper.lead()
    run = start("1.1", tmp_path, "sh", "-c", f"echo ran >> {tmp_path}/ran")
    assert "twice" in asker.ask("intend", runs=[run, run])["refused"]["1.1"]
    assert asker.hello() == {}
    asker.tell("intend", runs=[run])
    asker.tell("intend", runs=[run])
    assert asker.line()["refused"] == {}
    assert asker.line()["refused"] == {"1.1": ALREADY_KNOWN}
    assert asker.ask("go", runs=["1.1", "1.1"])["refused"] == {}
    assert asker.ask("intend", runs=[run])["refused"] == {"1.1": ALREADY_KNOWN}
    assert "not intended" in asker.ask("go", runs=["1.1"])["refused"]["1.1"]
    assert asker.over("1.1")["code"] == 0
    assert asker.ask("intend", runs=[run])["refused"] == {"1.1": ALREADY_KNOWN}
    assert lines(tmp_path / "ran") == ["ran"]
    assert list(asker.hello()) == ["1.1"]
    asker.ask("forget", runs=["1.1", "9.9"])
    assert asker.hello() == {}


def test_the_walltime_is_followed_by_sigterm_and_the_grace_by_sigkill(keeper, tmp_path):
    asker = keeper.lead()
    stubborn = "trap 'echo term' TERM; echo ready; while :; do sleep 0.05; done"
    asker.start([
        start("1.1", tmp_path, "sleep", "100", walltime_ms=300),
        start("1.2", tmp_path, "sh", "-c", stubborn, walltime_ms=700, grace_ms=300),
        start("1.3", tmp_path, "sh", "-c", "kill -STOP $$", walltime_ms=300, grace_ms=200),
    ])  # fmt: skip
    gentle, hard, stopped = (asker.over(run) for run in ("1.1", "1.2", "1.3"))
    assert {record["why"] for record in (gentle, hard, stopped)} == {"walltime"}
    assert gentle["signal"] == signal.SIGTERM
    assert gentle["ended_ms"] - gentle["started_ms"] >= 299
    assert hard["signal"] == stopped["signal"] == signal.SIGKILL
    assert hard["ended_ms"] - hard["started_ms"] >= 999
    assert "term" in lines(tmp_path / "1.2.out")


@pytest.mark.parametrize("keeper", ["auto", "v1", "none"], indirect=True)
def test_no_process_of_a_run_survives_its_end(keeper, tmp_path):
    asker = keeper.lead()
    # A child, one in a session of its own, a daemon forked twice, one that hides its environment, one that is deaf.
    tail = f"tail -f /dev/null {tmp_path}/x"
    script = (
        f"touch {tmp_path}/x; {tail} & setsid {tail} & (setsid {tail} &) ; setsid env -i PATH=/bin {tail} &"
        f"sh -c 'trap \"\" TERM HUP; exec {tail}' & sleep 0.3; echo begun; exit 5"
    )
    asker.start([start("1.1", tmp_path, "sh", "-c", script)])
    until(lambda: lines(tmp_path / "1.1.out"))
    assert asker.over("1.1")["code"] == 5
    assert leftover_processes(tmp_path) == []


def leftover_processes(tmp_path):
    """Processes that have a file of this test in their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (place / "cmdline").read_bytes()
            if f"{tmp_path}/x".encode() in words and b"pytest" not in words.split(b"\0")[0] and lives(int(place.name)):
                found.append(words)
    return found


def test_sigterm_reaches_all_processes_of_a_run(keeper, tmp_path):
    asker = keeper.lead()
    child = f"trap 'echo child >> {tmp_path}/got; exit' TERM; echo >> {tmp_path}/ready; while :; do sleep 0.05; done"
    script = (
        f"setsid sh -c \"$0\" & trap 'sleep 0.3; echo first >> {tmp_path}/got; exit' TERM; while :; do sleep 0.05; done"
    )
    asker.start([start("1.1", tmp_path, "sh", "-c", script, child, grace_ms=5000)])
    until(lambda: lines(tmp_path / "ready"))
    asker.ask("end", runs=["1.1"])
    asker.over("1.1")
    assert sorted(lines(tmp_path / "got")) == ["child", "first"]


def test_runs_are_adopted_and_their_walltime_holds(keeper, tmp_path):
    asker = keeper.lead()
    waits = "while ! [ -e go ]; do sleep 0.02; done; exit 4"
    asker.start([
        start("1.1", tmp_path, "sh", "-c", waits),
        start("1.2", tmp_path, "sleep", "100", walltime_ms=1500),
        start("1.3", tmp_path, "sleep", "100"),
        start("1.4", tmp_path, "sh", "-c", "setsid sleep 100 & exit 0"),
        start("1.5", tmp_path, "sh", "-c", "trap '' TERM; touch deaf; while :; do sleep 0.05; done", grace_ms=500),
    ])  # fmt: skip
    asker.over("1.4")
    until((tmp_path / "deaf").exists)
    asker.ask("end", runs=["1.5"])
    keeper.kill()
    os.kill(asker_pid(asker, "1.3", keeper), signal.SIGKILL)
    keeper.begin()
    asker = keeper.connect()
    runs = asker.hello(epoch=2)
    assert runs["1.1"]["state"] == "running"
    assert (runs["1.4"]["state"], runs["1.4"]["code"]) == ("over", 0)
    killed = asker.over("1.3") if runs["1.3"]["state"] == "running" else runs["1.3"]  # nobody had taken it in yet
    assert killed["state"] == "unknown" or killed["signal"] == signal.SIGKILL
    limited, deaf = asker.over("1.2"), asker.over("1.5")
    assert (limited["state"], limited["why"]) == ("over", "walltime")
    assert limited["ended_ms"] - limited["started_ms"] >= 1499
    assert (deaf["state"], deaf["why"]) == ("over", "cancelled")
    (tmp_path / "go").touch()
    first = asker.over("1.1")
    assert (first["state"], first["code"]) in {("over", 4), ("unknown", None)}
    assert first["state"] == "over" or first["why"].startswith("unknown: ")


def test_timed_signal_reaches_a_run_once_also_after_keeper_death(keeper, tmp_path):
    asker = keeper.lead()
    child = f"trap 'echo child >> {tmp_path}/got' USR1; echo >> {tmp_path}/ready; while :; do sleep 0.05; done"
    script = f"sh -c \"$0\" & trap 'echo $DARDIS_RUN >> {tmp_path}/got' USR1; while [ ! -e end ]; do sleep 0.05; done"

    def timed(after_ms, first_only):
        return {"number": signal.SIGUSR1, "after_ms": after_ms, "first_only": first_only}

    asker.start([start("1.1", tmp_path, "sh", "-c", script, child, signal=timed(900, first_only=False))])
    asker.start([start("2.1", tmp_path, "sh", "-c", script, child, signal=timed(900, first_only=True))])
    asker.start([start("3.1", tmp_path, "sh", "-c", script, child, signal=timed(3000, first_only=True))])
    until(lambda: len(lines(tmp_path / "got")) == 3)
    keeper.kill()
    keeper.begin()
    keeper.connect().hello(epoch=2)
    until(lambda: len(lines(tmp_path / "got")) == 4)
    assert sorted(line.partition("@")[0] for line in lines(tmp_path / "got")) == ["1.1", "2.1", "3.1", "child"]


def test_temporary_folder_of_a_run_is_private_and_removed_also_after_keeper_death(keeper, tmp_path):
    asker = keeper.lead()
    script = "echo $TMPDIR; stat -c %a:%u $TMPDIR; mkdir $TMPDIR/a; touch $TMPDIR/a/b; "
    script += "while [ ! -e end ]; do sleep 0.05; done"
    asker.start([start(run, tmp_path, "sh", "-c", script, tmp=True) for run in ("1.1", "1.2")])
    asker.start([start("1.3", tmp_path, "sh", "-c", "echo $TMPDIR; touch end", tmp=True)])
    asker.over("1.3")
    until(lambda: all(len(lines(tmp_path / f"1.{run}.out")) == 2 for run in (1, 2)))
    folders = [Path(lines(tmp_path / f"1.{run}.out")[0]) for run in (1, 2, 3)]
    assert lines(tmp_path / "1.1.out")[1] == f"700:{os.getuid()}"
    keeper.kill()
    keeper.begin()
    keeper.connect().hello(epoch=2)
    until(lambda: not any(folder.exists() for folder in folders))


def asker_pid(asker, run, keeper):
    """The process of a run, by what it has begun with."""
    return json.loads((keeper.folder / "runs" / run).read_text())["pid"]


def test_run_not_begun_before_keeper_death_never_begins(plain, tmp_path):
    from dardis.live.keeper.keeper_log import Log

    plain.connect()
    plain.kill()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    intent = {"boot": boot, "walltime_ms": None, "grace_ms": 0, "cgroup": None, "memory": None}
    log = Log(plain.folder)
    log.commit([["intent", "1.1", intent], ["intent", "2.1", intent | {"boot": "another"}]])
    plain.begin()
    asker = plain.connect()
    runs = asker.hello()
    assert (runs["1.1"]["state"], runs["1.1"]["why"]) == ("over", "failed to start: the keeper died")
    assert (runs["2.1"]["state"], runs["2.1"]["why"]) == ("unknown", "unknown: the host was restarted")
    assert (plain.folder / "runs" / "1.1").read_bytes() == b""
    asker.ask("forget", runs=["1.1"])
    asker.start([ran_of(tmp_path, "1.1", "new")])
    assert asker.over("1.1")["code"] == 0
    assert lines(tmp_path / "ran") == ["new"]


def test_begun_run_missing_from_the_log_is_not_started_again(plain, tmp_path):
    asker = plain.lead()
    (plain.folder / "runs" / "1.1").touch()
    asker.start([start("1.1", tmp_path, "touch", str(tmp_path / "ran"))])
    assert asker.over("1.1")["state"] == "unknown"
    assert not (tmp_path / "ran").exists()


def ran_of(tmp_path, run, word):
    """A run that says which one of its name it is."""
    return start(run, tmp_path, "sh", "-c", f"echo {word} >> {tmp_path}/ran")


@pytest.mark.parametrize("epoch", [1, 2])
def test_next_leader_drops_intended_runs_and_may_reuse_their_names(plain, tmp_path, epoch):
    first = plain.lead()
    first.ask("intend", runs=[ran_of(tmp_path, "1.1", "old")])
    second = plain.connect()
    assert second.hello(epoch) == {}
    with pytest.raises(OSError):  # noqa: PT011 (the connection is closed)
        first.ask("go", runs=["1.1"])
    assert "not intended" in second.ask("go", runs=["1.1"])["refused"]["1.1"]
    second.start([ran_of(tmp_path, "1.1", "new")])
    assert second.over("1.1")["code"] == 0
    assert lines(tmp_path / "ran") == ["new"]


def test_refused_start_does_not_delay_others(plain, tmp_path):
    asker = plain.connect()
    assert asker.ask("hello", epoch=1)["protocol"] == PROTOCOL
    odd = ran_of(tmp_path, "2.1", "odd") | {"chdir": "nowhere"}
    runs = [ran_of(tmp_path, "1.1", "a"), odd, ran_of(tmp_path, "3.1", "b")]
    assert asker.ask("intend", runs=runs)["refused"] == {"2.1": "its chdir is invalid"}
    assert asker.ask("go", runs=["1.1", "2.1", "3.1"])["refused"].keys() == {"2.1"}
    assert [asker.over(run)["code"] for run in ("1.1", "3.1")] == [0, 0]
    assert sorted(lines(tmp_path / "ran")) == ["a", "b"]
    again = [ran_of(tmp_path, "1.1", "again"), ran_of(tmp_path, "2.1", "c")]
    assert asker.start(again)["refused"].keys() == {"1.1"}
    assert asker.over("2.1")["code"] == 0
    assert "no name" in asker.ask("intend", runs=[ran_of(tmp_path, "4.1", "d"), odd | {"run": "x"}])["error"]
    assert asker.hello().keys() == {"1.1", "2.1", "3.1"}
    assert sorted(lines(tmp_path / "ran")) == ["a", "b", "c"]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_runs_survive_keeper_kills_and_none_runs_twice(keeper, tmp_path, seed):
    chance = random.Random(seed)  # noqa: S311 (no secret)
    runs = [
        start(f"{number}.1", tmp_path, "sh", "-c", f"echo {number} >> {tmp_path}/ran; sleep 0.0{number % 10}")
        for number in range(60)
    ]
    told = {}
    for epoch in range(1, 7):
        asker = keeper.connect()
        known = asker.hello(epoch)
        told |= {run: record for run, record in known.items() if record["state"] != "running"}
        for run in runs:
            if run["run"] not in known:
                (asker.tell_start([run]) if chance.random() < 0.8 else asker.tell("intend", runs=[run]))
        time.sleep(chance.random() * 0.15)
        keeper.kill()
        keeper.begin()
    asker = keeper.connect()
    known = asker.hello(7)
    told |= {run: record for run, record in known.items() if record["state"] != "running"}
    asker.start([run for run in runs if run["run"] not in known])
    told |= {run["run"]: asker.over(run["run"]) for run in runs if run["run"] not in told}
    ran = lines(tmp_path / "ran")
    assert len(set(ran)) == len(ran)
    for number in range(60):
        record = told[f"{number}.1"]
        if record["why"] == "failed to start: the keeper died":
            assert str(number) not in ran
        elif record["state"] == "over":
            assert str(number) in ran
        else:
            assert record["why"].startswith("unknown: ")


def test_lower_epochs_are_always_refused(plain, tmp_path):
    first = plain.lead(5)
    second = plain.connect()
    assert second.ask("hello", epoch=4) == {"id": 1, "error": "epoch", "highest": 5}
    run = start("1.1", tmp_path, "true")
    assert second.start([run]) == {"id": 2, "error": "epoch", "highest": 5}
    third = plain.lead(6)
    with pytest.raises(ConnectionError):
        first.start([run])
    assert third.hello(6) == {}
    plain.kill()
    plain.begin()
    assert plain.connect().ask("hello", epoch=5) == {"id": 1, "error": "epoch", "highest": 6}


def test_incarnations_of_leaders_are_kept_unless_the_folder_is_lost_or_restored(plain):
    def marks(epoch, mark):
        return plain.connect().ask("hello", epoch=epoch, mark=mark)["marks"]

    log = plain.folder / "log"
    assert marks(1, "a") == ["a"]
    assert marks(1, "b") == ["a"], "it has forgotten nothing since"
    assert marks(2, "c") == ["a", "c"]
    copy = log.read_bytes()
    assert marks(3, "d") == ["a", "c", "d"]
    assert "error" in plain.connect().ask("hello", epoch=2, mark="e")
    plain.kill()
    plain.begin()
    assert marks(3, "f") == ["a", "c", "d", "f"], "whoever begins may have been given an older log"
    plain.kill()
    log.write_bytes(copy)
    plain.begin()
    assert marks(3, "g") == ["a", "c", "g"]
    plain.kill()
    shutil.rmtree(plain.folder)
    plain.begin()
    assert marks(3, "h") == ["h"]


@AS_ROOT
def test_files_of_a_run_belong_to_its_user_only(keeper, tmp_path):
    tmp_path.chmod(0o711)
    for place in tmp_path.parents:
        if place.stat().st_mode & 0o001 == 0:
            place.chmod(place.stat().st_mode | 0o011)
    asker = keeper.lead()
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    user = {"uid": NOBODY, "gid": NOBODY, "groups": [NOBODY, 7]}
    (tmp_path / "secret").write_text("root's")
    (tmp_path / "secret").chmod(0o600)
    (folder / "link").symlink_to(tmp_path / "secret")
    script = "id -u; id -G; env | grep -c HOME; grep -E '^(Uid|Gid|Cap(Eff|Prm)):' /proc/self/status"
    asker.start([
        start("1.1", folder, "sh", "-c", script, user=user),
        start("1.2", folder, "true", user=user, output=str(folder / "link")),
        start("1.3", folder, "true", user=user, chdir="/root"),
        start("1.4", folder, "sleep", "100", user=user),
    ])  # fmt: skip
    asker.over("1.1")
    uid, gids, home, *status = lines(folder / "1.1.out")
    assert (uid, sorted(gids.split()), home) == (str(NOBODY), ["65534", "7"], "0")
    assert {word for line in status for word in line.split()[1:]} == {str(NOBODY), "0" * 16}
    owner = (folder / "1.1.out").stat()
    assert (owner.st_uid, owner.st_gid) == (NOBODY, NOBODY)
    assert "Permission denied" in asker.over("1.2")["why"]
    assert (tmp_path / "secret").read_text() == "root's"
    assert "Permission denied" in asker.over("1.3")["why"] or Path("/root").stat().st_mode & 0o001
    asker.ask("end", runs=["1.4"])
    assert asker.over("1.4")["signal"] == signal.SIGTERM


@AS_ROOT
def test_other_users_get_no_response(plain, tmp_path):
    plain.connect()
    code = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534);socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    )
    tried = subprocess.run(
        [sys.executable, "-c", code, str(plain.folder / "keeper.sock")], capture_output=True, check=False
    )
    assert b"PermissionError" in tried.stderr
    assert (plain.folder / "keeper.sock").stat().st_mode & 0o077 == 0
    assert plain.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("keeper", ["auto", "v1", "none"], indirect=True)
def test_memory_is_limited(keeper, tmp_path):
    asker = keeper.connect()
    held = asker.ask("hello", epoch=1)["memory"]
    code = "held = bytearray(200 << 20); print('held', flush=True)"
    size = 100 << 20
    asker.start([
        start("1.1", tmp_path, sys.executable, "-S", "-c", code, memory_bytes=size),
        start("1.2", tmp_path, sys.executable, "-S", "-c", code),
    ])  # fmt: skip
    record = asker.over("1.1")
    assert asker.over("1.2")["code"] == 0
    assert "held" not in lines(tmp_path / "1.1.out")
    if held is None:
        assert record["code"] == 1
        assert "MemoryError" in lines(tmp_path / "1.1.out")
    else:
        assert (record["signal"], record["memory"]) == (signal.SIGKILL, True)


def test_full_disk_starts_nothing_and_the_keeper_survives(tmp_path):
    folder = tmp_path / "keeper"
    folder.mkdir()
    code = (
        "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); sys.argv[0] = 'keeper';"
        "runpy.run_module('dardis.live.keeper', run_name='__main__')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder), "--foreground", "--cgroups=none"], stderr=subprocess.PIPE
    )
    try:
        asker = Asker(folder / "keeper.sock", process)
        asker.hello()
        asker.start([start("1.1", tmp_path, "true")])
        many = [start(f"2.{number}", tmp_path, "touch", f"{tmp_path}/ran") for number in range(100)]
        assert "can't be written" in asker.start(many)["error"]
        assert not (tmp_path / "ran").exists()
        assert list(asker.hello()) == ["1.1"]
        asker.over("1.1")
        asker.start([start("3.1", tmp_path, "true")])
        assert asker.over("3.1")["code"] == 0
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 4096))
        assert "can't be written" in asker.ask("hello", epoch=1)["error"], "who could begin nothing isn't led"
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        assert "runs" in asker.ask("hello", epoch=1)
        process.terminate()
        assert b"can't be written" in process.communicate()[1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def call(*words):
    return subprocess.run(
        [sys.executable, "-m", "dardis.live.keeper", *words], capture_output=True, text=True, check=False
    )


def test_keeper_errors_are_one_line(plain, tmp_path):
    plain.connect()
    deep = tmp_path / ("x" * 120)
    for words, said in (
        ((), "expected FOLDER"), ((str(tmp_path), "--fast"), "--fast: expected FOLDER"),
        ((str(tmp_path / "no" / "k"),), "No such file or directory"), ((str(deep),), "too long for a socket"),
        ((str(plain.folder),), "another job supervisor uses it"),
    ):  # fmt: skip
        told = call(*words)
        assert (told.returncode, told.stdout) == (2, "")
        assert said in told.stderr
        assert told.stderr.count("\n") == 1


def test_ended_step_ends_its_runs_and_the_next_keeper_records_it(tmp_path):
    with Keeper(tmp_path / "keeper", "--step", "--cgroups=none") as keeper:
        asker = keeper.lead()
        obeys = "trap 'exit 0' TERM; touch obeys; while :; do sleep 0.02; done"
        asker.start([
            start("1.1", tmp_path, "sleep", "100"),
            start("1.2", tmp_path, "sh", "-c", obeys),
            start("1.3", tmp_path, "sh", "-c", "trap '' TERM; touch ignores; sleep 100"),
            start("1.4", tmp_path, "true"),
        ])  # fmt: skip
        until(lambda: (tmp_path / "obeys").exists() and (tmp_path / "ignores").exists())
        assert asker.over("1.4")["state"] == "over"
        first = asker.hello()["1.1"]["pid"]
        keeper.process.send_signal(signal.SIGSTOP)
        os.kill(first, signal.SIGTERM)
        asker.tell("hello", epoch=1)
        asker.tell_start([start("1.5", tmp_path, "touch", f"{tmp_path}/ran")])
        keeper.process.send_signal(signal.SIGTERM)
        keeper.process.send_signal(signal.SIGCONT)
        assert keeper.process.wait(20) == 0
        keeper.begin()
        known = keeper.connect().hello()
        told = {run: (record["state"], record["code"], record["signal"]) for run, record in known.items()}
        assert told == {
            "1.1": ("unknown", None, signal.SIGTERM), "1.2": ("unknown", 0, None),
            "1.3": ("unknown", None, signal.SIGKILL), "1.4": ("over", 0, None),
        }  # fmt: skip
        assert {known[run]["why"] for run in ("1.1", "1.2", "1.3")} == {END_REASONS[RecoveredState.HOST_ENDS]}
        assert not (tmp_path / "ran").exists()
        keeper.process.send_signal(signal.SIGTERM)
        assert keeper.process.wait(20) == 0  # nothing runs


@pytest.mark.parametrize("words", [("sleep", "100"), ("sh", "-c", "sleep 100; exit $?")])
def test_run_killed_just_before_its_step_ends_with_the_step(tmp_path, words, monkeypatch):
    code = (
        "import dardis.live.keeper.server as server; server.KILL_DELAY_MS = 4000"  # what is 0.2 s here may be a second
    )
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with Keeper(tmp_path / "keeper", "--step", "--cgroups=none") as keeper:
        asker = keeper.lead()
        asker.start([start(f"1.{number}", tmp_path, *words) for number in (1, 2, 3)])
        below = {run: told["pid"] for run, told in asker.hello().items()}
        until(lambda: all((tmp_path / "keeper" / "runs" / run).exists() for run in below))
        if words[0] == "sh":
            below = {run: child_of(pid) for run, pid in below.items()}
        os.kill(below["1.1"], signal.SIGKILL)
        assert asker.over("1.1")["why"] == "exit"
        os.kill(below["1.2"], signal.SIGKILL)
        time.sleep(0.2)
        keeper.process.send_signal(signal.SIGTERM)
        assert keeper.process.wait(20) == 0
        keeper.begin()
        known = keeper.connect().hello()
        assert [known[run]["why"] for run in ("1.2", "1.3")] == [END_REASONS[RecoveredState.HOST_ENDS]] * 2
        asker = keeper.lead()
        asker.start([start("2.1", tmp_path, *words)])
        (pid,) = [told["pid"] for run, told in asker.hello().items() if run == "2.1"]
        until((tmp_path / "keeper" / "runs" / "2.1").exists)
        os.kill(child_of(pid) if words[0] == "sh" else pid, signal.SIGKILL)
        time.sleep(0.2)
        keeper.process.kill()
        keeper.process.wait()
        keeper.begin()
        assert keeper.connect().hello()["2.1"]["state"] == "unknown"


def child_of(pid):
    """The process that another one has started, once it has."""
    place = Path(f"/proc/{pid}/task/{pid}/children")
    until(place.read_text)
    return int(place.read_text())


def test_keeper_imports_only_the_standard_library():
    code = (
        "import sys; import dardis.live.keeper.__main__;"
        "print(*{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names) - {'__main__'});"
        "print(*sorted(name for name in sys.modules if name.startswith('dardis')"
        " and not name.startswith('dardis.live.keeper')))"
    )
    said = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(Path(__file__).parents[4])}).stdout  # fmt: skip
    assert said.splitlines() == ["dardis", "dardis dardis.live"]


def test_invalid_request_gets_an_error_response(plain, tmp_path):
    asker = plain.connect()
    assert "hello" in asker.start([start("1.1", tmp_path, "true")])["error"]
    asker.hello()
    for do, more in (("dance", {}), ("intend", {"runs": [{"run": "1"}]}), ("end", {"runs": [1]}), ("hello", {}),
                     ("hello", {"epoch": 9, "mark": 1}), ("intend", {"runs": 3}), ("forget", {"runs": ["../x"]}),
                     ("go", {"runs": ["1"]})):  # fmt: skip
        assert "error" in asker.ask(do, **more)
    assert asker.hello() == {}
    asker.socket.sendall(b"nonsense\n")
    assert asker.line()["id"] is None
    with pytest.raises(ConnectionError):
        asker.line()
