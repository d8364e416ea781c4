"""A mistake from Python is an InputError with the line of the command."""

from __future__ import annotations

import re
import warnings
from functools import partial

import pandas as pd
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
    "no platform": {"platform": "none.toml"},
    "a key that there is not": {"platform": "bad.toml"},
    "no such dispatcher": {"dispatcher": "eazy"},
    "no such module": {"dispatcher": "nowhere:Mine"},
    "no such setting": {"set": {"ordr": "fcfs"}},
    "a number out of range": {"set": {"backfill_depth": 0}},
    "no jobs": {"from_": 900},
    "no time": {"from_": "monday"},
    "no such overrun": {"overrun": "spare"},
    "no factor": {"walltime_factor": 0.5},
    "too many task managers": {"task_managers": 5000},
    "a trim that is none": {"trim": (1, "x")},
    "nothing before": {"to": 0},
    "no deadline rule": {"deadlines": "soon"},
    "no profile": {"profile": "none.csv"},
    "no events": {"events": "none.toml"},
    "no moment": {"calendar_start": "monday"},
    "no sample": {"sample": -4},
    "nodes are not asked": {"sample": 4, "dispatcher": "dardis-late"},
    "no decisions to keep": {"save_instances": "kept"},
    "a folder of something else": {"out": "full"},
}


@pytest.mark.parametrize("what", MISTAKES)
def test_error_text_is_that_of_the_command(site, capsys, what):
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
        ({"out": 5}, "--out: is a int; expected a path"),
        ({"profile": 5}, "--profile: is a int; expected a path"),
        ({"profile": "hard"}, '--profile: no file \'hard\'; expected a file, or settings={"profile": "hard"}'),
        ({"save_instances": 5}, "--save-instances: is a int; expected a path"),
        ({"strict": "no"}, "--strict: 'no'; expected True or False"),
        ({"no_report": "no"}, "--no-report: 'no'; expected True or False"),
        ({"settings": ["order=sjbf"]}, "settings: is a list; expected a mapping"),
        ({"settings": {5: 1}}, "settings: is a dict; expected a mapping from names"),
        ({"seed": True}, "--seed: 'True'; expected a whole number"),
        ({"trim": 5}, "--trim: '5'; expected WARMUP,COOLDOWN, each in seconds, as a span such as 2d"),
        ({"task_manager": 3}, "--set task_manager=3: unknown setting; expected the option task_managers, or one of "),
    ],
)
def test_shell_errors_are_raised_in_python(site, keywords, line):
    with pytest.raises(dardis.InputError, match=re.escape(line)):
        dardis.simulate("t.csv", "p.toml", "easy", **keywords)


ONE = {"job_id": [1], "submit_s": [0], "runtime_s": [5], "units": [1], "req_cores": [4]}
OF_TEXTS = partial(
    dardis.Trace, {"job_id": [1], "submit_s": [0], "runtime_s": [5], "procs": [1], "user": ["ann"]}, name="june"
)
DONE = partial(dardis.simulate, "t.csv", "p.toml", "easy")
KINDS = {
    "a number for a trace": (lambda: dardis.simulate(5, "p.toml", "easy"), "trace: is a int; expected a path, a "),
    "a mapping for a machine": (lambda: dardis.simulate("t.csv", {}, "easy"), "platform: is a dict; expected a path"),
    "a class of no kind": (lambda: dardis.simulate("t.csv", "p.toml", int), "dispatcher int: has no changed, decide, "),
    "a dispatcher that is a number": (lambda: dardis.simulate("t.csv", "p.toml", 5), "dispatcher: is a int"),
    "dispatchers": (lambda: dardis.simulate("t.csv", "p.toml", ["easy"]), "dispatcher: is a list"),
    "a file": (lambda: dardis.Trace("t.csv"), "trace: is a str; expected a DataFrame, or a mapping"),
    "one number": (lambda: dardis.Trace(ONE | {"job_id": 5}), "trace: job_id is a int; expected a DataFrame, or"),
    "one text": (lambda: dardis.Trace(ONE | {"user": "a"}), "trace: user is a str"),
    "a number for a name": (lambda: dardis.Trace(ONE, name=5), "name: 5; expected a file name of up to 200"),
    "a long name": (lambda: dardis.Trace(ONE, name="x" * 300), "name: 'xxx"),
    "half a sign": (lambda: dardis.Trace(ONE, name="\ud800"), "name: '"),
    "no file": (lambda: dardis.read_trace(5), "trace: is a int; expected a path"),
    "no file of a machine": (lambda: dardis.read_platform(None), "platform: is a NoneType; expected a path"),
    "no nodes": (lambda: dardis.Platform(None), "platform: nodes: is a NoneType; expected one or several results"),
    "no traces": (lambda: dardis.compare([], "p.toml", ["easy"]), "traces: none; expected one or several"),
    "one name twice": (
        lambda: dardis.compare([pd.DataFrame(ONE), dardis.Trace(ONE)], "p.toml", ["easy"]),
        "traces: two have the name 'trace'; expected unique names",
    ),
    "a number for traces": (lambda: dardis.compare(5, "p.toml", ["easy"]), "traces: is a int; expected one or"),
    "numbers for them": (lambda: dardis.compare("t.csv", "p.toml", [5]), "--dispatchers: has a int"),
    "a number for dispatchers": (lambda: dardis.compare("t.csv", "p.toml", 5), "--dispatchers: is a int"),
    "a keyword": (lambda: dardis.compare("t.csv", "p.toml", "easy", seed=1), "seed: is no keyword (did you mean"),
    "no folder": (lambda: dardis.compare("t.csv", "p.toml", ["easy"], out=5), "--out: is a int"),
    "a NUL": (lambda: dardis.compare("t.csv", "p.toml", ["easy\0"]), "--dispatchers: 'easy\\x00'; expected "),
    "set": (lambda: dardis.compare("t.csv", "p.toml", ["easy"], set={"a": 1}), "set: is no keyword"),
    "help": (lambda: dardis.compare("t.csv", "p.toml", ["easy"], help=True), "help: is no keyword"),
    "texts of processors": (lambda: OF_TEXTS().write("."), "june: jobs in processors with texts for user, "),
    "no place for a report": (lambda: DONE().report("no/where.html"), "no/where.html: No such file or directory"),
    "lists": (lambda: dardis.compare("t.csv", "p.toml", ["easy"], settings=["a=b"]), "settings: is a list"),
    "a bad line, read": (
        lambda: dardis.simulate(dardis.read_trace("odd.csv"), "p.toml", "easy", strict=True),
        "odd.csv:4: job_id: 'x'",
    ),
}


@pytest.mark.parametrize("what", KINDS)
def test_value_of_a_wrong_type_is_one_line(site, what):
    do, line = KINDS[what]
    with pytest.raises(dardis.InputError) as mistake:
        do()
    assert str(mistake.value).startswith(line)


def test_frame_may_have_malformed_rows_like_a_file(site):
    frame = pd.read_csv("odd.csv", dtype=str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dardis.DardisWarning)
        assert len(dardis.simulate(frame, "p.toml", "easy").jobs) == 2
    with pytest.raises(dardis.InputError, match="trace:4: "):
        dardis.simulate(frame, "p.toml", "easy", strict=True)


COLUMNS = {"job_id": [1, 2], "submit_s": [0, 3], "runtime_s": [5, 6], "units": [1, 1], "req_cores": [4, 4]}
OF_PROCS = COLUMNS | {"units": None, "req_cores": None, "procs": [1, 1]}
"""As SWF has it."""


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (COLUMNS | {"runtime_s": [5]}, "june: columns of different lengths (job_id 2, "),
        (COLUMNS | {"begin": [1, 2]}, "june:1: unknown column 'begin'; expected columns among job_id"),
        (COLUMNS | {"units": [1, "x"]}, "june:3: units: 'x'"),
        (COLUMNS | {"req_memory": ["1 furlong", ""]}, "june:2: req_memory: "),
        (COLUMNS | {"runtime_s": [None, None]}, "june: no valid job (2 lines skipped, the first: line 2: no runtime: "),
        (COLUMNS | {"user": ["a", "\ud800"]}, r"june:3: user: '\ud800'; expected a text in UTF-8"),
        (COLUMNS | {"submit_s": [0, -3]}, "june:3: negative submit time; expected a valid job"),
        (OF_PROCS | {"begin": [1, 2]}, "june:1: unknown column 'begin'; expected columns among job_id, submit_s"),
        (OF_PROCS | {"runtime_s": None}, "june:1: no column runtime_s; expected columns among"),
        (OF_PROCS | {"procs": [1, -7]}, "june:3: negative number of processors"),
    ],
)
def test_a_trace_is_checked_as_a_file(columns, line):
    with pytest.raises(dardis.InputError) as mistake:
        dardis.Trace({name: values for name, values in columns.items() if values}, name="june")
    assert str(mistake.value).startswith(line)


def test_exception_in_a_dispatcher_is_reported(site, capsys):
    class Broken(dardis.Rule):
        def key(self, job, now):  # noqa: ARG002 (it never comes so far)
            raise ZeroDivisionError("mine")

    with pytest.raises(
        dardis.DardisError,
        match=r"dispatcher '.*test_python_errors:.*Broken' of test_python_errors.py \w+ failed at .*: mine",
    ):
        dardis.simulate("t.csv", "p.toml", Broken)
    assert "Traceback" in capsys.readouterr().err, "its author needs it"
