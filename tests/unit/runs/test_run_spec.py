"""One spelling of a request: as arguments, as the record that tells whether two are the same, and in a comparison."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.arguments import arguments_of

from dardis.cli.main import run
from dardis.comparison.planned_runs import plan
from dardis.config.comparison_spec import load_comparison
from dardis.config.run_spec import RunSpec
from dardis.model.choices import Overrun, Resources
from dardis.runs.run_objects import WITHOUT_EFFECT

PLATFORM = 'name = "small"\nprices = "prices.csv"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n'
FIELDS = [*RunSpec.model_fields]


@pytest.fixture
def folder(tmp_path):
    for name in ("t.swf", "u.swf", "cap.csv", "late.csv", "prices.csv", "events.toml"):
        (tmp_path / name).write_text(name)
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "q.toml").write_text(PLATFORM.replace("4", "5"))
    return tmp_path


def request_for(folder, out, **more):
    return RunSpec(trace=folder / "t.swf", platform=folder / "p.toml", dispatcher="dardis-throughput", out=out, **more)


def changed(request, **fields):
    return request.model_copy(update=fields)


@pytest.fixture
def other(folder):
    """For each field another value than that of `request_for`."""
    return {
        "trace": folder / "u.swf", "platform": folder / "q.toml", "dispatcher": "dardis-balance", "out": folder / "o",
        "seed": 2, "jobs": 5, "from_": -4, "to": 9, "profile": folder / "cap.csv", "deadlines": "factor:2",
        "settings": ("offers=quota", "start_grain_s=7"), "think_times": True, "task_managers": 3, "trim": (4, 0),
        "strict": True, "force": True, "no_report": True, "arity": 8, "sample": 4, "save_instances": folder / "kept",
        "calendar_start": "2023-07-03T00:00Z", "events": folder / "events.toml",
        "overrun": Overrun.EXTEND, "walltime_factor": 1.5,
        "resources": Resources.CORES, "batsim": "tcp://127.0.0.1:1", "batsim_timeout": 5, "batsim_dynamic": True,
    }  # fmt: skip


def run_spec_of(arguments, monkeypatch):
    """The request that `dardis simulate` makes of arguments."""
    made = []

    def instead(request, *_):
        made.append(request)
        raise KeyboardInterrupt

    monkeypatch.setattr("dardis.runs.run.run", instead)
    assert run(["simulate", *arguments]) == 130
    return made[0]


def test_every_field_is_tested(other):
    assert sorted(other) == sorted(FIELDS), "a new field of RunSpec is spelled, recorded and compared as well"


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
CUTS = st.sampled_from(("2012-02-03", "2012-02-03T10:00Z", "+2d", "+36h"))
REQUESTS = st.builds(
    RunSpec, trace=st.builds(Path, TEXTS), platform=st.builds(Path, TEXTS), dispatcher=TEXTS,
    out=st.builds(Path, TEXTS), seed=st.integers(0, 2**62), jobs=st.none() | st.integers(1, 10**9),
    from_=st.none() | CUTS | st.integers(-(10**12), 10**12), to=st.none() | CUTS | st.integers(-(10**12), 10**12),
    profile=st.none() | st.builds(Path, TEXTS), deadlines=st.none() | TEXTS,
    settings=st.lists(TEXTS, max_size=3).map(tuple), think_times=st.booleans(), task_managers=st.integers(1, 4096),
    trim=st.none() | st.tuples(CUTS | st.integers(0, 10**9), CUTS | st.integers(0, 10**9)), strict=st.booleans(),
    force=st.booleans(), arity=st.just(0) | st.integers(2, 4096), sample=st.integers(0, 2**31 - 1),
    save_instances=st.none() | st.builds(Path, TEXTS), calendar_start=st.none() | TEXTS,
    overrun=st.sampled_from(Overrun), walltime_factor=st.floats(1, 1e6),
    events=st.none() | st.builds(Path, TEXTS), resources=st.sampled_from(Resources),
)  # fmt: skip


@given(REQUESTS)
def test_run_spec_round_trips(request_):
    with pytest.MonkeyPatch.context() as patch:
        assert run_spec_of(arguments_of(request_), patch) == request_


CALLED_IN_FILE = {"from_": "from_s", "to": "to_s"}


ONE_RUN = {"batsim", "batsim_dynamic"}
"""No part of a comparison."""


@pytest.mark.parametrize("field", sorted(set(FIELDS) - WITHOUT_EFFECT - ONE_RUN))
def test_comparison_file_values_reach_the_run(folder, other, field):
    spec = {"trace": "t.swf", "platform": "p.toml"}
    dispatcher = {"name": "dardis-throughput"}
    seeds, value = [1], other[field]
    if field == "seed":
        seeds = [value]
    elif field == "dispatcher":
        dispatcher["name"] = value
    elif field == "settings":
        dispatcher["settings"] = '{ offers = "quota", start_grain_s = "7" }'
    else:
        spec[CALLED_IN_FILE.get(field, field)] = value.name if isinstance(value, Path) else value

    def toml(table):
        return "".join(f"{key} = {of if key == 'settings' else json.dumps(of)}\n" for key, of in table.items())

    path = folder / "spec.toml"
    path.write_text(f"seeds = {seeds}\n[[traces]]\n{toml(spec)}\n[[dispatchers]]\n{toml(dispatcher)}\n")
    (planned,) = plan(load_comparison(path), folder / "o")
    made = planned.request()
    base = request_for(folder, planned.out, force=True, no_report=True)
    assert made == changed(base, **{field: other[field]})


@pytest.mark.parametrize("field", sorted(set(FIELDS) - WITHOUT_EFFECT - ONE_RUN - {"trace", "dispatcher"}))
def test_command_line_values_reach_the_run(folder, other, field, monkeypatch):
    made = []

    def instead(comparison, out, *_args, **_options):
        made.extend(plan(comparison, out))
        raise KeyboardInterrupt

    monkeypatch.setattr("dardis.api.comparison.compare_all", instead)
    base = request_for(folder, folder / "o", force=True)
    said = arguments_of(changed(base, **{field: other[field]}))
    said = [text.replace("--dispatcher=", "--dispatchers=").replace("--seed=", "--seeds=") for text in said]
    assert run(["compare", *said]) == 130
    (planned,) = made
    assert planned.request() == changed(base, out=planned.out, no_report=True, **{field: other[field]})
