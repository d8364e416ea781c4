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
from dardis.config.comparison import Contender, Workload
from dardis.config.comparison_file import DispatcherTable, TraceTable, load_comparison
from dardis.model.choices import Overrun, Resources
from dardis.runs.request import NO_BEARING, RunRequest
from dardis.runs.run import Outcome

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


def test_all_at_once_come_back(base, other, monkeypatch):
    assert asked(RunRequest(**other).arguments(), monkeypatch) == RunRequest(**other)
    assert asked(base.arguments(), monkeypatch) == base


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


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_that_bears_on_the_outcome_is_in_the_record(base, other, field):
    changed = replace(base, **{field: other[field]}).record()
    assert json.loads(json.dumps(changed)) == changed
    if field in NO_BEARING:
        assert changed == base.record()
    else:
        assert [name for name in changed if changed[name] != base.record()[name]] == [field]


@pytest.mark.parametrize(
    ("file", "field"),
    [("t.swf", "trace"), ("p.toml", "platform"), ("cap.csv", "profile"), ("late.csv", "deadlines"),
     ("prices.csv", "platform_files")],
)  # fmt: skip
def test_files_are_known_by_their_content(folder, base, file, field):
    all_files = replace(base, profile=folder / "cap.csv", deadlines=str(folder / "late.csv"))
    before = all_files.record()
    (folder / file).rename(folder / "away")
    (folder / file).write_bytes((folder / "away").read_bytes())
    assert all_files.record() == before
    (folder / file).write_text((folder / file).read_text() + "\n")
    assert [name for name, value in all_files.record().items() if value != before[name]] == [field]


def test_the_record_is_of_the_files_that_were_read(tmp_path, monkeypatch):
    (tmp_path / "p.toml").write_text('name = "p"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n')
    (tmp_path / "t.swf").write_text("1 1 0 50 9 -1 -1 9 200 -1 1 1 1 -1 1 1 -1 -1\n")
    request = RunRequest(tmp_path / "t.swf", tmp_path / "p.toml", "easy", tmp_path / "out")
    before = request.record()
    from dardis.runs import run as run_module

    def played(*arguments, really=run_module.play, **more):
        (tmp_path / "t.swf").write_text("another trace")
        return really(*arguments, **more)

    monkeypatch.setattr(run_module, "play", played)
    assert isinstance(run_module.run(request), Outcome)
    written = json.loads((tmp_path / "out" / "run.json").read_text())
    assert written["request"] == before
    assert written["trace_sha256"] == before["trace"]


# --------------------------------------------------------------------------------------------------- in a comparison

OF_A_RUN = {"out", "force", "no_report", "save_instances"}
CALLED_IN_COMPARE = {"trace": "what", "dispatcher": "dispatchers", "seed": "seeds"}
CALLED_IN_FILE = {"start": "from_s", "end": "to_s"}
OF_DISPATCHERS = {"dispatcher", "settings"}


def test_every_option_of_simulate_is_one_of_compare():
    options = inspect.signature(simulate).parameters.keys() - OF_A_RUN
    assert {CALLED_IN_COMPARE.get(name, name) for name in options} <= inspect.signature(compare).parameters.keys()


def test_every_option_of_simulate_is_a_key_of_a_comparisons_file():
    options = inspect.signature(simulate).parameters.keys() - OF_A_RUN - OF_DISPATCHERS - {"seed"}
    assert {CALLED_IN_FILE.get(name, name) for name in options} <= TraceTable.model_fields.keys()
    assert {"name", "settings", "arity", "sample"} <= DispatcherTable.model_fields.keys()


def test_a_comparison_knows_every_field():
    compared = {one.name for kind in (Workload, Contender) for one in fields(kind)}
    assert set(FIELDS) - compared == {"seed", *NO_BEARING}


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
