"""One spelling of a request: as arguments, as the record that tells whether two are the same, and in a comparison."""

import inspect
import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.cli.compare import compare
from dardis.cli.main import run
from dardis.cli.simulate import simulate
from dardis.comparison.planned_runs import plan
from dardis.config.comparison_file import load_comparison
from dardis.model.choices import Overrun, Resources
from dardis.runs.request import NO_BEARING, RunRequest

PLATFORM = 'name = "small"\nprices = "prices.csv"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n'
FIELDS = [one.name for one in fields(RunRequest)]


@pytest.fixture
def folder(tmp_path):
    for name in ("t.swf", "u.swf", "cap.csv", "late.csv", "prices.csv", "events.toml"):
        (tmp_path / name).write_text(name)
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "q.toml").write_text(PLATFORM.replace("4", "5"))
    return tmp_path


@pytest.fixture
def base(folder):
    return RunRequest(folder / "t.swf", folder / "p.toml", "dardis-throughput", folder / "out")


@pytest.fixture
def other(folder):
    """For each field another value than that of `base`."""
    return {
        "trace": folder / "u.swf", "platform": folder / "q.toml", "dispatcher": "dardis-balance", "out": folder / "o",
        "seed": 2, "jobs": 5, "start": -4, "end": 9, "profile": folder / "cap.csv", "deadlines": "factor:2",
        "settings": ("offers=quota", "start_grain_s=7"), "think_times": True, "task_managers": 3, "trim": (4, 0),
        "strict": True, "force": True, "arity": 8, "sample": 4, "save_instances": folder / "kept",
        "calendar_start": "2023-07-03T00:00Z", "events": folder / "events.toml",
        "overrun": Overrun.EXTEND, "walltime_factor": 1.5,
        "resources": Resources.CORES,
    }  # fmt: skip


def asked(arguments, monkeypatch):
    """The request that `dardis simulate` makes of arguments."""
    made = []

    def instead(request, *_):
        made.append(request)
        raise KeyboardInterrupt

    monkeypatch.setattr("dardis.runs.run.run", instead)
    assert run(["simulate", *arguments]) == 130
    return made[0]


def test_every_field_is_known_here(other):
    assert sorted(other) == sorted(FIELDS), "a new field of RunRequest is spelled, recorded and compared as well"


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
CUTS = st.sampled_from(("2012-02-03", "2012-02-03T10:00Z", "+2d", "+36h"))
REQUESTS = st.builds(
    RunRequest, trace=st.builds(Path, TEXTS), platform=st.builds(Path, TEXTS), dispatcher=TEXTS,
    out=st.builds(Path, TEXTS), seed=st.integers(0, 2**62), jobs=st.none() | st.integers(1, 10**9),
    start=st.none() | CUTS | st.integers(-(10**12), 10**12), end=st.none() | CUTS | st.integers(-(10**12), 10**12),
    profile=st.none() | st.builds(Path, TEXTS), deadlines=st.none() | TEXTS,
    settings=st.lists(TEXTS, max_size=3).map(tuple), think_times=st.booleans(), task_managers=st.integers(1, 4096),
    trim=st.none() | st.tuples(CUTS | st.integers(0, 10**9), CUTS | st.integers(0, 10**9)), strict=st.booleans(),
    force=st.booleans(), arity=st.just(0) | st.integers(2, 4096), sample=st.integers(0, 2**31 - 1),
    save_instances=st.none() | st.builds(Path, TEXTS), calendar_start=st.none() | TEXTS,
    overrun=st.sampled_from(Overrun), walltime_factor=st.floats(1, 1e6),
    events=st.none() | st.builds(Path, TEXTS), resources=st.sampled_from(Resources),
)  # fmt: skip


@given(REQUESTS)
def test_any_request_comes_back(request_):
    with pytest.MonkeyPatch.context() as patch:
        assert asked(request_.arguments(), patch) == request_


# --------------------------------------------------------------------------------------------------- in a comparison

OF_A_RUN = {"out", "force", "no_report", "save_instances"}
CALLED_IN_COMPARE = {"trace": "what", "dispatcher": "dispatchers", "seed": "seeds"}
CALLED_IN_FILE = {"start": "from_s", "end": "to_s"}


def test_every_option_of_simulate_is_one_of_compare():
    options = inspect.signature(simulate).parameters.keys() - OF_A_RUN
    assert {CALLED_IN_COMPARE.get(name, name) for name in options} <= inspect.signature(compare).parameters.keys()


@pytest.mark.parametrize("field", sorted(set(FIELDS) - NO_BEARING))
def test_what_the_file_says_reaches_the_run(folder, other, field):
    spec = {"trace": "t.swf", "platform": "p.toml"}
    dispatcher = {"name": "dardis-throughput"}
    seeds, value = [1], other[field]
    if field == "seed":
        seeds = [value]
    elif field == "dispatcher":
        dispatcher["name"] = value
    elif field == "settings":
        dispatcher["settings"] = value
    else:
        spec[CALLED_IN_FILE.get(field, field)] = value.name if isinstance(value, Path) else value

    def toml(table):
        said = []
        for key, of in table.items():
            if key == "settings":
                pairs = (setting.split("=") for setting in of)
                said.append("settings = { " + ", ".join(f'{name} = "{text}"' for name, text in pairs) + " }")
            else:
                said.append(f"{key} = {json.dumps(of)}")
        return "\n".join(said)

    path = folder / "spec.toml"
    path.write_text(f"seeds = {seeds}\n[[traces]]\n{toml(spec)}\n[[dispatchers]]\n{toml(dispatcher)}\n")
    (planned,) = plan(load_comparison(path), folder / "o")
    made = planned.request()
    base = RunRequest(folder / "t.swf", folder / "p.toml", "dardis-throughput", planned.out, force=True)
    assert made == replace(base, **{field: other[field]})


@pytest.mark.parametrize("field", sorted(set(FIELDS) - NO_BEARING - {"trace", "dispatcher"}))
def test_what_the_command_line_says_reaches_the_run(folder, other, field, monkeypatch):
    made = []

    def instead(comparison, out, *_args, **_options):
        made.extend(plan(comparison, out))
        raise KeyboardInterrupt

    monkeypatch.setattr("dardis.comparison.whole.compare", instead)
    base = RunRequest(folder / "t.swf", folder / "p.toml", "dardis-throughput", folder / "o", force=True)
    said = replace(base, **{field: other[field]}).arguments()
    said = [text.replace("--dispatcher=", "--dispatchers=").replace("--seed=", "--seeds=") for text in said]
    assert run(["compare", *said]) == 130
    (planned,) = made
    assert planned.request() == replace(base, out=planned.out, **{field: other[field]})
