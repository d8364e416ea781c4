"""Which hosts ranks become, and that a folder is waited for a little."""

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from dardis.live import ranks
from dardis.live.host_liveness import RankInfo, rank_placements
from dardis.live.machine import HostFacts
from dardis.live.serve import check_former_hosts
from dardis.model.errors import DardisError, InputError

FOLDER = Path("/var/dardis")


def says(name="a", boot="1", cores=range(4), version="1.0", gpus=2, memory=9000):
    return RankInfo(version, boot, HostFacts(name, tuple(cores), memory, gpus), str(FOLDER), f"key of {name}")


def test_ranks_on_one_machine_divide_its_processors():
    seats = rank_placements([says("a"), says("b", "2"), says("a"), says("b", "2"), says("a")], bound=True)
    assert [(seat.facts.name, str(seat.folder)) for seat in seats] == [
        ("a", "/var/dardis"), ("b", "/var/dardis"), ("a-1", "/var/dardis/host-1"), ("b-1", "/var/dardis/host-1"),
        ("a-2", "/var/dardis/host-2"),
    ]  # fmt: skip
    assert [seat.facts.cores for seat in seats] == [(0,), (0, 1), (1,), (2, 3), (2, 3)]
    assert [seat.facts.memory_mib for seat in seats] == [3000, 4500, 3000, 4500, 3000]
    assert [seat.facts.gpus for seat in seats] == [2, 2, 0, 0, 0]


def test_more_ranks_than_processors_are_refused_unless_unbound():
    said = [says(cores=[0, 1]), says(cores=[0, 1]), says(cores=[0, 1])]
    with pytest.raises(InputError, match="a: 3 ranks share 2 processors; expected at most one rank for each, or"):
        rank_placements(said, bound=True)
    assert len(rank_placements(said, bound=False)) == 3


def test_hosts_of_different_versions_are_refused():
    with pytest.raises(InputError, match=r"b: has dardis 0\.9; expected 1\.0, as a has"):
        rank_placements([says("a"), says("b", "2", version="0.9")], bound=True)


@pytest.mark.parametrize(("said", "asked", "found"), [
    ([says("a"), says("a")], None, ("127.0.0.1", "a")),
    ([says("a"), says("b", "2")], None, (ranks.ANYWHERE, "a")),
    ([says("a"), says("b", "2")], "10.0.0.1", ("10.0.0.1", "10.0.0.1")),
    ([says("a"), says("a")], "localhost", (ranks.ANYWHERE, "localhost")),
])  # fmt: skip
def test_address_of_the_first_rank_is_loopback_its_name_or_an_option(said, asked, found):
    assert ranks._address(said, asked) == found


@pytest.mark.parametrize("asked", ["foo bar", "x:y", "no.such.name.invalid", "::1", "1.2.3.4.5", "é" * 70])
def test_invalid_address_is_refused(asked):
    with pytest.raises(InputError, match=r"--address: .*expected an IPv4 address"):
        ranks._address([says("a"), says("b", "2")], asked)


def test_single_machine_loads_neither_mpi_nor_zmq():
    code = "import sys, dardis.cli.serve_command, dardis.live.serve; print({'mpi4py', 'zmq'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


HOLDER = """
import sys, time
from pathlib import Path
from dardis.model.out_folder import lock_folder
with lock_folder(Path(sys.argv[1]), "there", sys.argv[3]):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def holder(tmp_path):
    processes = []

    def hold(seconds, name="a.lock"):
        words = [sys.executable, "-c", HOLDER, tmp_path, str(seconds), name]
        processes.append(subprocess.Popen(words, stdout=subprocess.PIPE))
        processes[-1].stdout.readline()

    yield hold
    for process in processes:
        process.kill()
        process.communicate()


def test_folder_lock_is_awaited_for_a_limited_time(tmp_path, holder, monkeypatch):
    holder(0.5)
    with ExitStack() as stack:
        ranks._lock_folder(stack, tmp_path, "a.lock")
    holder(60)
    monkeypatch.setattr(ranks, "LOCK_S", 0.3)
    begun = time.monotonic()
    with ExitStack() as stack, pytest.raises(InputError, match="is in use by another dardis process"):
        ranks._lock_folder(stack, tmp_path, "a.lock")
    assert time.monotonic() - begun >= 0.3


def test_fewer_hosts_are_refused_while_earlier_hosts_have_runs(tmp_path):
    runs = tmp_path / "host-2" / "keeper" / "runs"
    for number in (1, 2):
        (tmp_path / f"host-{number}" / "keeper" / "runs").mkdir(parents=True)
    check_former_hosts(tmp_path, 1)
    (runs / "7.1").touch()
    check_former_hosts(tmp_path, 3)
    for hosts in (1, 2):
        with pytest.raises(InputError, match=r"host-2: its job supervisor has runs.*expected at least 3 hosts"):
            check_former_hosts(tmp_path, hosts)


def test_agent_with_a_locked_folder_exits_with_a_retryable_status(tmp_path, holder, monkeypatch):
    monkeypatch.setattr(ranks, "LOCK_S", 0.3)
    monkeypatch.setattr(ranks, "prepare_folder", lambda folder, **_: folder)
    holder(60, "service.lock")
    with ExitStack() as stack, pytest.raises(DardisError, match="is in use by another dardis process") as raised:
        ranks._agent(stack, SimpleNamespace(users=False), tmp_path, None)
    assert raised.value.exit_status == 1, "2 ends launch/serve for good"
