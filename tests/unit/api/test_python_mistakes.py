"""A mistake from Python is an InputError with the line of the command."""

from __future__ import annotations

import re

import pytest

import dardis
from dardis.cli.main import run

PLATFORM = 'name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4 }\n'
TABLE = "job_id,submit_s,runtime_s,walltime_s,units,req_cores\n1,0,50,60,1,4\n2,3,50,60,1,4\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "bad.toml").write_text(PLATFORM.replace("count", "cuont"))
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "bad.csv").write_text(TABLE.replace("submit_s", "begin_s"))
    (tmp_path / "odd.csv").write_text(TABLE + "x,y,z,1,1,1\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    return tmp_path


MISTAKES = {
    "no trace": {"trace": "none.csv"},
    "no table": {"trace": "bad.csv"},
    "a malformed line": {"trace": "odd.csv", "strict": True},
    "no platform": {"platform": "none.toml"},
    "a key that there is not": {"platform": "bad.toml"},
    "no such dispatcher": {"dispatcher": "eazy"},
    "no such module": {"dispatcher": "nowhere:Mine"},
    "no such setting": {"set": {"ordr": "fcfs"}},
    "no such value": {"set": {"order": "best"}},
    "a number out of range": {"set": {"backfill_depth": 0}},
    "no jobs": {"from_": 900},
    "no job": {"jobs": 0},
    "no time": {"from_": "monday"},
    "no such overrun": {"overrun": "spare"},
    "no factor": {"walltime_factor": 0.5},
    "a date of a trace without one": {"to": "2012-02-03"},
    "no seed": {"seed": -1},
    "no whole seed": {"seed": 1.5},
    "too many task managers": {"task_managers": 5000},
    "a trim that is none": {"trim": (1, "x")},
    "nothing before": {"to": 0},
    "nothing left": {"trim": (900, 900)},
    "no deadline rule": {"deadlines": "soon"},
    "no profile": {"profile": "none.csv"},
    "no events": {"events": "none.toml"},
    "no moment": {"calendar_start": "monday"},
    "no arity": {"arity": "one"},
    "no sample": {"sample": -4},
    "nodes are not asked": {"sample": 4, "dispatcher": "dardis-late"},
    "no decisions to keep": {"save_instances": "kept"},
    "a folder of something else": {"out": "full"},
}


@pytest.mark.parametrize("what", MISTAKES)
def test_it_has_the_words_of_the_command(site, capsys, what):
    asked = {"trace": "t.csv", "platform": "p.toml", "dispatcher": "easy"} | MISTAKES[what]
    words = ["simulate", asked["trace"], "--no-report"]
    for name, value in ({"out": "out"} | asked).items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if name == "set":
            words += [f"--set={key}={one}" for key, one in value.items()]
        elif value is True:
            words.append(option)
        elif name != "trace":
            words.append(f"{option}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    settings = asked.pop("set", {})
    status = run(words)
    line = capsys.readouterr().err.splitlines()[-1]
    assert (status, line[:8]) == (2, "dardis: ")
    with pytest.raises(dardis.InputError) as mistake:
        dardis.simulate(**asked, **settings)
    assert str(mistake.value) == line.removeprefix("dardis: ")


@pytest.mark.parametrize(
    ("keywords", "line"),
    [
        ({"seed": True}, "--seed: 'True'; expected a whole number"),
        ({"trim": 5}, "--trim: '5'; expected WARMUP,COOLDOWN: of each whole seconds or a span as 2d"),
        ({"task_manager": 3}, "--set task_manager=3: unknown setting; expected the option task_managers, or one of "),
        ({"think_time": True}, "--set think_time=on: unknown setting; expected the option think_times, or one of "),
    ],
)
def test_what_the_shell_would_see_is_seen(site, keywords, line):
    with pytest.raises(dardis.InputError, match=re.escape(line)):
        dardis.simulate("t.csv", "p.toml", "easy", **keywords)


def test_what_is_no_trace_or_machine(site):
    with pytest.raises(dardis.InputError, match=r"trace: is a int; expected a path, a dardis.Trace or a DataFrame"):
        dardis.simulate(5, "p.toml", "easy")
    with pytest.raises(dardis.InputError, match=r"platform: is a dict; expected a path, or a dardis.Platform"):
        dardis.simulate("t.csv", {}, "easy")
    with pytest.raises(dardis.InputError, match="dispatcher int: has no changed, decide, "):
        dardis.simulate("t.csv", "p.toml", int)


COLUMNS = {"job_id": [1, 2], "submit_s": [0, 3], "runtime_s": [5, 6], "units": [1, 1], "req_cores": [4, 4]}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"runtime_s": [5]}, "june: columns of several lengths (job_id 2, "),
        ({"begin": [1, 2]}, "june:1: unknown column 'begin'; expected columns among job_id"),
        ({"units": [1, "x"]}, "june:3: units: 'x'"),
        ({"req_memory": ["1 furlong", ""]}, "june:2: req_memory: "),
        ({"units": [1, 0.5]}, "june:3: units: '0.5'"),
        ({"runtime_s": [None, None]}, "june: no valid job (2 lines skipped, the first: line 2: no runtime: it runs"),
        ({"user": ["a", "\ud800"]}, r"june:3: user: '\ud800'; expected a text that UTF-8 can hold"),
        ({"submit_s": [0, -3]}, "june:3: negative submit time; expected a well-formed job"),
    ],
)
def test_a_trace_is_checked_as_a_table(change, line):
    with pytest.raises(dardis.InputError) as mistake:
        dardis.Trace(COLUMNS | change, name="june")
    assert str(mistake.value).startswith(line)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"procs": [1, 1], "begin": [1, 2]},
            "trace:1: unknown column 'begin'; expected columns among job_id, submit_s",
        ),
        ({"procs": [1, 1], "runtime_s": None}, "trace:1: no column runtime_s; expected columns among"),
        ({"procs": [1, 1], "user": ["7", "ann"]}, "trace:3: "),
        ({"procs": [1, -7]}, "trace:3: negative number of processors"),
    ],
)
def test_a_trace_of_processors_is_checked_as_swf(change, line):
    columns = {
        name: values for name, values in (COLUMNS | change).items() if values and name not in ("units", "req_cores")
    }
    with pytest.raises(dardis.InputError) as mistake:
        dardis.Trace(columns)
    assert str(mistake.value).startswith(line)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({}, ""),
        ({"queue": []}, "platform: queue: unknown key; expected one of cooling, "),
        ({"nodes": dardis.nodes(0, cores=4)}, "platform: nodes[0].count: 0; expected "),
        ({"nodes": dardis.nodes(1, memory="4GiB")}, "platform: nodes[0].resources: no cores; expected at least 1"),
        ({"nodes": dardis.nodes(1, cores="4 dozens")}, "platform: nodes[0].resources: cores: "),
        (
            {"nodes": dardis.nodes(1, cores=4, power={"idle": 4})},
            "platform: nodes[0].power.idle: unknown key; expected",
        ),
        ({"partitions": {"a": ["x"]}}, "platform: partitions.a: no node group 'x'; expected one of n"),
        ({"prices": "none.csv"}, "platform: prices: no file 'none.csv'; expected a number, or a file"),
    ],
)
def test_a_platform_is_checked_as_a_file(keys, line):
    if not line:
        assert dardis.Platform(dardis.nodes(3, cores=4)).cores == 12
        return
    with pytest.raises(dardis.InputError) as mistake:
        dardis.Platform(**({"nodes": dardis.nodes(1, cores=4)} | keys))
    assert str(mistake.value).startswith(line)


def test_what_fails_in_a_dispatcher_is_told(site, capsys):
    class Broken(dardis.Rule):
        def key(self, job, now):  # noqa: ARG002 (it never comes so far)
            raise ZeroDivisionError("mine")

    with pytest.raises(
        dardis.DardisError,
        match=r"dispatcher '.*test_python_mistakes:.*Broken' of test_python_mistakes.py \w+ failed at .*: mine",
    ):
        dardis.simulate("t.csv", "p.toml", Broken)
    assert "Traceback" in capsys.readouterr().err, "its author needs it"
