"""Real keepers, guards and processes: what has a lease doesn't outlive it, whoever is stopped or killed."""

import os
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest
from kit.keeper import Keeper, finish, lives, start
from kit.waiting import until

from dardis.live.keeper.lease import Lease, boot_ms

LEASE_MS = 4000
"""Processes are there and renewals are read in that time, however busy the machine is."""
MARGIN_MS = 5000
"""What whoever gave a lease waits for after its end."""


@pytest.fixture(params=["auto", pytest.param("none", marks=pytest.mark.slow)])
def keeper(tmp_path, request):
    with Keeper(tmp_path / "keeper", f"--cgroups={request.param}") as one:
        yield one


def lease(asker, runs, ms):
    """Let runs begin with a lease of so many ms from now on; when it ends."""
    given = {"lease_from": asker.now_ms, "lease_ms": ms}
    assert asker.ask("intend", runs=[run | {"lease": True} for run in runs], **given)["refused"] == {}
    assert asker.ask("go", runs=[run["run"] for run in runs])["refused"] == {}
    return given["lease_from"] + ms


def watchdog_of(keeper):
    """The guard that the keeper's file names, if it lives."""
    _, pid, _ = struct.unpack_from("3Q", (keeper.folder / "lease").read_bytes())
    return pid if pid and lives(pid) else None


def watchdogs_of(keeper):
    """All that live."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            is_one = (place / "comm").read_text() == "dardis-guard\n"
            if is_one and str(keeper.folder).encode() in (place / "cmdline").read_bytes() and lives(int(place.name)):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def pids(path, count):
    """Numbers that processes have written, once all have."""
    until(lambda: path.exists() and len(path.read_text().split()) >= count)
    return [int(word) for word in path.read_text().split()]


def beside(tmp_path):
    """A run without a lease that says its number."""
    return start("9.1", tmp_path, "sh", "-c", f"echo $$ > {tmp_path}/beside; exec sleep 100")


def many(tmp_path):
    """A run of several processes that say their numbers: a child, one in a session of its own, and a daemon."""
    say = f"echo \\$\\$ >> {tmp_path}/pids; exec sleep 100"
    script = f'sh -c "{say}" & setsid sh -c "{say}" & (setsid sh -c "{say}" &); echo $$ >> {tmp_path}/pids; wait'
    return start("1.1", tmp_path, "sh", "-c", script)


def assert_killed_in_time(processes, end_ms):
    until(lambda: not any(map(lives, processes)))
    assert end_ms <= boot_ms() < end_ms + MARGIN_MS


def begin(keeper, tmp_path, ms):
    """A run with a lease and one without: the processes of each, when the lease ends, who asked."""
    asker = keeper.lead()
    asker.start([beside(tmp_path)])
    other = pids(tmp_path / "beside", 1)
    asker.hello()
    end_ms = lease(asker, [many(tmp_path)], ms)
    until(lambda: watchdogs_of(keeper) == [watchdog_of(keeper)])  # it has its name, and ignores signals
    return pids(tmp_path / "pids", 4), other, end_ms, asker


def test_a_run_lives_as_long_as_its_lease_is_renewed(keeper, tmp_path):
    mine, other, end_ms, asker = begin(keeper, tmp_path, LEASE_MS)
    while boot_ms() < end_ms + 1000:
        time.sleep(0.3)
        told_ms = asker.now_ms
        asker.ask("lease", **{"from": told_ms, "ms": LEASE_MS})
        assert all(map(lives, mine))
    assert_killed_in_time(mine, told_ms + LEASE_MS)
    record = asker.over("1.1")
    assert (record["state"], record["why"], record["signal"]) == ("over", "lease", signal.SIGKILL)
    assert all(map(lives, other))
    until(lambda: watchdogs_of(keeper) == [])  # nothing is left that needs one


def test_watchdog_kills_leased_runs_of_a_stopped_keeper(keeper, tmp_path):
    mine, other, end_ms, asker = begin(keeper, tmp_path, LEASE_MS)
    keeper.process.send_signal(signal.SIGSTOP)
    assert_killed_in_time(mine, end_ms)
    assert all(map(lives, other))
    asker.tell("lease", **{"from": asker.now_ms, "ms": 60_000})  # it comes too late
    keeper.process.send_signal(signal.SIGCONT)
    record = asker.over("1.1")
    assert (record["state"], record["why"], record["signal"]) == ("over", "lease", signal.SIGKILL)


def test_watchdog_kills_leased_runs_of_a_dead_keeper(keeper, tmp_path):
    mine, other, end_ms, _ = begin(keeper, tmp_path, LEASE_MS)
    keeper.kill()
    assert_killed_in_time(mine, end_ms)
    assert all(map(lives, other))
    until(lambda: watchdogs_of(keeper) == [])  # nobody would end it
    keeper.begin()
    asker = keeper.connect()
    records = asker.hello(epoch=2)
    record = asker.over("1.1") if records["1.1"]["state"] == "running" else records["1.1"]  # nobody had taken it in yet
    assert (record["state"], record["why"]) == ("over", "lease")
    assert records["9.1"]["state"] == "running"


@pytest.mark.parametrize("mode", ["auto", pytest.param("v1", marks=pytest.mark.slow)])
def test_detached_process_is_found_by_cgroup_after_keeper_death(tmp_path, mode):
    with Keeper(tmp_path / "keeper", f"--cgroups={mode}") as keeper:
        asker = keeper.connect()
        if asker.ask("hello", epoch=1)["cgroup"] is None:
            pytest.skip("no cgroups may be made here")
        say = f"echo \\$\\$ >> {tmp_path}/pids; exec sleep 100"
        script = f'(setsid env -i PATH=/bin sh -c "{say}" &); echo $$ >> {tmp_path}/pids; exec sleep 100'
        end_ms = lease(asker, [start("1.1", tmp_path, "sh", "-c", script)], LEASE_MS)
        mine = pids(tmp_path / "pids", 2)
        keeper.kill()
        assert_killed_in_time(mine, end_ms)


def test_detached_process_is_found_as_child_of_a_stopped_keeper(plain, tmp_path):
    asker = plain.lead()
    say = f"echo \\$\\$ >> {tmp_path}/pids; exec sleep 100"
    script = f'(setsid env -i PATH=/bin sh -c "{say}" &); echo $$ >> {tmp_path}/pids; exec sleep 100'
    end_ms = lease(asker, [start("1.1", tmp_path, "sh", "-c", script)], LEASE_MS)
    mine = pids(tmp_path / "pids", 2)
    time.sleep(0.05)  # what is older can't be of the run without a lease
    asker.start([beside(tmp_path)])
    other = pids(tmp_path / "beside", 1)
    plain.process.send_signal(signal.SIGSTOP)
    assert_killed_in_time(mine, end_ms)
    assert all(map(lives, other))
    plain.process.send_signal(signal.SIGCONT)


def test_dead_watchdog_is_replaced(keeper, tmp_path):
    mine, _, end_ms, _ = begin(keeper, tmp_path, LEASE_MS)
    first = watchdog_of(keeper)
    os.kill(first, signal.SIGKILL)
    until(lambda: watchdog_of(keeper) not in {None, first})
    keeper.process.send_signal(signal.SIGSTOP)
    assert_killed_in_time(mine, end_ms)
    keeper.process.send_signal(signal.SIGCONT)


def test_watchdog_is_not_killed_as_a_leftover_process(plain, tmp_path):
    asker = plain.lead()
    lease(asker, [start("1.1", tmp_path, "true")], 60_000)
    asker.over("1.1")
    first = watchdog_of(plain)
    asker.hello()
    lease(asker, [start("2.1", tmp_path, "sleep", "100")], 60_000)
    asker.start([start("3.1", tmp_path, "true")])
    asker.over("3.1")
    asker.hello()
    until(lambda: watchdogs_of(plain) == [first] == [watchdog_of(plain)])


def test_keeper_kills_leased_runs_of_a_stopped_watchdog(keeper, tmp_path):
    mine, other, end_ms, asker = begin(keeper, tmp_path, LEASE_MS)
    os.kill(watchdog_of(keeper), signal.SIGTERM)  # it takes no notice
    os.kill(watchdog_of(keeper), signal.SIGSTOP)
    assert_killed_in_time(mine, end_ms)
    assert asker.over("1.1")["why"] == "lease"
    assert all(map(lives, other))


@pytest.mark.slow
def test_next_keeper_starts_its_own_watchdog_and_leases_continue(plain, tmp_path):
    keeper = plain
    mine, _, _, asker = begin(keeper, tmp_path, 5000)
    seen = set()
    for epoch in range(2, 4):
        seen.add(watchdog_of(keeper))
        keeper.kill()
        keeper.begin()
        asker = keeper.connect()
        assert asker.hello(epoch)["1.1"]["state"] == "running"
        until(lambda: len(watchdogs_of(keeper)) == 1)
        assert watchdog_of(keeper) in set(watchdogs_of(keeper)) - seen
        end_ms = asker.now_ms + 4000
        asker.ask("lease", **{"from": asker.now_ms, "ms": 4000})
    os.kill(watchdog_of(keeper), signal.SIGSTOP)
    assert_killed_in_time(mine, end_ms)
    assert asker.over("1.1")["why"] == "lease"


def test_run_with_expired_lease_does_not_execute_its_program(keeper, tmp_path):
    asker = keeper.lead()
    out = tmp_path / "1.1.out"
    out.write_text("of another host")
    lease(asker, [start("1.1", tmp_path, "touch", f"{tmp_path}/ran")], 0)
    record = asker.over("1.1")
    assert (record["state"], record["why"]) == ("over", "lease")
    assert ((tmp_path / "ran").exists(), out.read_text()) == (False, "of another host")
    asker.ask("intend", runs=[start("2.1", tmp_path, "true", lease=True)], lease_from=asker.now_ms, lease_ms=9000)
    asker.ask("go", runs=["2.1"])
    assert asker.over("2.1")["why"] == "exit"


def test_lease_of_an_earlier_boot_is_invalid(tmp_path):
    path = str(tmp_path / "lease")
    one = Lease(path, "a")
    one.renew(7)
    one.renew(5)
    one.watchdog = 3, 4
    again = Lease(path, "a")
    assert (again.end_ms, again.watchdog, Lease(path, "another").end_ms) == (7, (3, 4), 0)


@pytest.fixture
def small_disk(tmp_path):
    """A file system that can be frozen, so that what writes to it waits."""
    place, image = tmp_path / "disk", tmp_path / "image"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(32 << 20)
    for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            pytest.skip(f"no file system may be made here: {error}")
        if done.returncode != 0:
            pytest.skip(f"no file system may be made here: {done.stderr.strip()}")
    yield place
    subprocess.run(["fsfreeze", "-u", place], capture_output=True, check=False)
    until(lambda: subprocess.run(["umount", place], capture_output=True, check=False).returncode == 0)


@pytest.mark.parametrize("mode", ["auto", pytest.param("none", marks=pytest.mark.slow)])
def test_watchdog_kills_while_the_disk_hangs(tmp_path, small_disk, mode):
    keeper = Keeper(small_disk / "keeper", f"--cgroups={mode}")
    try:
        mine, other, end_ms, asker = begin(keeper, tmp_path, LEASE_MS)
        asker.tell("intend", runs=[start("2.1", tmp_path, "true")])  # the keeper waits with it
        subprocess.run(["fsfreeze", "-f", small_disk], check=True)
        asker.tell("intend", runs=[start("3.1", tmp_path, "true")])
        assert_killed_in_time(mine, end_ms)
        assert all(map(lives, other))
        subprocess.run(["fsfreeze", "-u", small_disk], check=True)
        assert asker.over("1.1")["why"] == "lease"
    finally:
        subprocess.run(["fsfreeze", "-u", small_disk], capture_output=True, check=False)
        finish(keeper)
