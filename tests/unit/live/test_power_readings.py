"""Power of nodes: counters of a kernel, lines of a program, and what a program may do wrong."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from kit.keeper import lives
from kit.waiting import until

from dardis.live.power_readings import parse_watts, read_counters, watts_of
from dardis.live.time_limited_program import MOST_OUTPUT, executable_program, run_program
from dardis.model.errors import InputError


def zone(system, number, name, energy, most=1_000_000):
    folder = system / "class" / "powercap" / f"intel-rapl:{number}"
    folder.mkdir(parents=True)
    for file, text in (("name", name), ("energy_uj", energy), ("max_energy_range_uj", most)):
        (folder / file).write_text(f"{text}\n")


def test_zones_of_processors_and_memory_add_up(tmp_path):
    zone(tmp_path, "0", "package-0", 5)
    zone(tmp_path, "0:0", "core", 3)
    zone(tmp_path, "0:1", "dram", 7)
    zone(tmp_path, "1", "psys", 9)
    reading = read_counters(tmp_path)
    assert reading == {"zones": {"intel-rapl:0": [5, 1_000_000], "intel-rapl:0:1": [7, 1_000_000]}}


def test_meter_of_the_machine_counts_before_zones(tmp_path):
    zone(tmp_path, "0", "package-0", 5)
    for number, (name, watts) in enumerate([("coretemp", None), ("power_meter", 250_000_000)]):
        folder = tmp_path / "class" / "hwmon" / f"hwmon{number}"
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        if watts is not None:
            (folder / "power1_average").write_text(f"{watts}\n")
    assert read_counters(tmp_path) == {"watts": 250.0}
    assert watts_of({}, {"watts": 250.0}, 0) == 250.0


def test_machine_without_readable_counters_tells_nothing(tmp_path):
    assert read_counters(tmp_path) == {}
    zone(tmp_path, "0", "package-0", "no number")
    assert read_counters(tmp_path) == {}
    assert watts_of({}, {}, 10) is None


@pytest.mark.parametrize(("before", "after", "seconds", "watts"), [
    ([100, 99_999_999], [50_000_100, 99_999_999], 10, 5.0),
    ([90_000_000, 99_999_999], [10_000_000, 99_999_999], 10, 2.0),
    ([100, 99_999_999], [50_000_100, 99_999_999], 0, None),
])  # fmt: skip
def test_power_is_the_energy_of_the_time_and_counters_begin_again(before, after, seconds, watts):
    found = watts_of({"zones": {"a": before}}, {"zones": {"a": after}}, seconds)
    assert found == (None if watts is None else pytest.approx(watts, rel=1e-3))
    assert watts_of({"zones": {"b": before}}, {"zones": {"a": after}}, seconds) is None


def test_lines_of_nodes_are_read():
    assert parse_watts("n1 100\n\n n0  0.5\n", ["n0", "n1"], "p") == {"n1": 100.0, "n0": 0.5}


@pytest.mark.parametrize(("text", "found"), [
    ("", "p: prints no node; expected lines with a node and its power in W"),
    ("n0\n", "p, line 1: 'n0'; expected a node and its power in W"),
    ("n0 many\n", "p, line 1: 'n0 many'; expected a node and its power in W"),
    ("n0 nan\n", "p, line 1: 'n0 nan'; expected a node and its power, from 0"),
    ("n0 5 W\n", "p, line 1: 'n0 5 W'; expected a node and its power, from 0"),
    ("n0 -1\n", "p, line 1: 'n0 -1'; expected a node and its power, from 0"),
    ("n0 5\nn9 5\n", "p, line 2: unknown node 'n9'; expected a node of dardis nodes"),
    ("n0 5\nn0 5\n", "p, line 2: a second value of n0; expected each node once"),
])  # fmt: skip
def test_other_lines_are_rejected(text, found):
    with pytest.raises(InputError) as error:
        parse_watts(text, ["n0"], "p")
    assert str(error.value).startswith(found)


def script(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def run(path, words=(), limit_s=600.0):
    return asyncio.run(run_program(path, words, limit_s))


def test_program_gets_words_as_they_are_and_no_shell(tmp_path):
    path = script(tmp_path / "p", 'printf "%s|" "$@"')
    assert run(path, ["a b", "$HOME;x", "*"]) == "a b|$HOME;x|*|"


def test_program_that_hangs_ends_with_its_children(tmp_path):
    child = tmp_path / "child"
    path = script(tmp_path / "p", f"sleep 600 & echo $! > {child}.new; mv {child}.new {child}; wait")
    for limit_s in (0.5, 5, 60):  # on a busy machine it may begin late
        with pytest.raises(InputError, match=rf"p: runs for more than {limit_s} s"):
            run(path, limit_s=limit_s)
        if child.exists():
            break
    number = int(child.read_text())
    until(lambda: not lives(number))


def test_program_that_leaves_a_child_has_ended(tmp_path):
    path = script(tmp_path / "p", f"echo here; sleep 600 & echo $! > {tmp_path}/child")
    try:
        assert run(path) == "here\n"
    finally:
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_output_beyond_the_limit_is_dropped(tmp_path):
    path = script(tmp_path / "p", "head -c 9000000 /dev/zero")
    assert len(run(path)) == MOST_OUTPUT


def test_program_that_fails_shows_its_last_line(tmp_path):
    path = script(tmp_path / "p", "echo one >&2; echo two >&2; exit 3")
    with pytest.raises(InputError, match="p: ended with status 3: two"):
        run(path)


def test_program_must_be_executable(tmp_path):
    plain = tmp_path / "plain"
    with pytest.raises(InputError, match=r"--x: .*plain is no file"):
        executable_program(plain, "--x")
    plain.write_text("")
    if os.geteuid() != 0 or not os.access(plain, os.X_OK):
        with pytest.raises(InputError, match=r"--x: .*plain is not executable"):
            executable_program(plain, "--x")
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(InputError, match="broken: cannot be started"):
        run(broken)
