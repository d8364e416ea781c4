"""A dispatcher of one's own by `module:Class`: legal whatever it says, with settings, and told apart by its file."""

from __future__ import annotations

import copy
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_type_hints
from unittest.mock import patch

import numpy as np
import pytest
from fuzz.instances import draw_instance
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples
from kit.error_lines import line_of

from dardis.cli.main import run
from dardis.comparison.planned_runs import check, plan
from dardis.config.comparison_spec import load_comparison
from dardis.config.settings import AnySetUp, plain_settings
from dardis.dispatch.rule import Rule
from dardis.metrics.audit import audit
from dardis.model.choices import NodeChoice
from dardis.model.errors import InputError, ProtocolError
from dardis.model.files import InputFiles
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.target import Target
from dardis.registry import BUILT_IN_DISPATCHERS, Central, Dispatcher, find_dispatcher, resolve_dispatcher
from dardis.registry.names import class_dispatcher, origin_of
from dardis.runs.play import play
from dardis.runs.run_objects import record_of
from dardis.task_manager import Reach

MINE = '''
from typing import ClassVar, Final

import dardis


class WidestFirst(dardis.Rule):
    """Most units first, beside whoever fits."""

    depth: int = 2

    def key(self, job, now):
        return -job.units * self.depth


class Half:
    def submit(self, job, now):
        pass


class Listed(dardis.Rule):
    names: list = []


class Taken(dardis.Rule):
    unit_cores: int = 3


class Zero(dardis.Rule):
    depth: int = 0


class AndAHalf(dardis.Rule):
    depth: int = 2.5


class NotANumber(dardis.Rule):
    share: float = float("nan")


class Unresolved(dardis.Rule):
    depth: "Foo" = 3


class Constant(dardis.Rule):
    depth: ClassVar[int] = 3
    width: Final = 4


class Early(dardis.Rule):
    depth: int = 3

    def __init__(self, *what):
        self.seen = self.depth
        super().__init__(*what)


OURS = 5
'''


def written_as_mine(own_folder: Path, name: str) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "extend.md").read_text()
    (own_folder / "mine.py").write_text(page.partition(f"```python\n# {name}\n")[2].partition("```")[0])


def test_the_rules_of_the_docs_run(own_folder):
    written_as_mine(own_folder, "mine.py")
    platform, jobs = small(own_folder)
    schedule = play(platform, jobs, find_dispatcher("mine:WidestFirst", ["step=4"]), Target(), 1).schedule
    assert audit(schedule, platform) == []
    written_as_mine(own_folder, "wfp3.py")
    sys.modules.pop("mine")
    digests = [
        play(platform, jobs, dispatcher, Target(), 1).schedule.digest()
        for dispatcher in (find_dispatcher("mine:Wfp3"), find_dispatcher("easy", ["rule=wfp3"]))
    ]
    assert digests[0] == digests[1]


def test_the_selection_policy_of_the_docs_takes_the_fullest_start(own_folder):
    written_as_mine(own_folder, "fullest.py")
    platform, jobs = small(own_folder)
    fullest = find_dispatcher("mine:FULLEST", ["selection=fullest", "generator=first"])
    kind, seen = type(fullest.setup.selection), []
    right = kind.take
    with patch.object(kind, "take", lambda *of: seen.append((of[1], right(*of))) or seen[-1][1]):
        schedule = play(platform, jobs, fullest, Target(), 1).schedule
    assert audit(schedule, platform) == []
    assert len(seen) >= len(jobs)
    assert all((indices := spans[:, 2])[spans[:, 0] == taken] == indices.min() for spans, taken in seen)
    for wrong in (-1, 1 << 40):
        with patch.object(kind, "take", return_value=wrong), pytest.raises(ProtocolError, match="no common start"):
            play(platform, jobs, fullest, Target(), 1)
    assert schedule.digest() == play(platform, jobs, fullest, Target(), 1, reach=Reach(arity=2)).schedule.digest()


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """The folder that we are in, with a module of own dispatchers that nobody has imported yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("mine", "leaves"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "p.toml").write_text('name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4 }\n')
    (tmp_path / "t.csv").write_text(
        "job_id,submit_s,runtime_s,walltime_s,units,req_cores\n1,0,50,60,1,4\n2,0,50,60,1,4\n3,1,50,60,2,4\n"
    )
    yield tmp_path
    for name in ("mine", "leaves"):
        sys.modules.pop(name, None)


class AnyOrder(Rule):
    """Whatever order a seed says, and any nodes."""

    strict = False

    def key(self, job, now):
        return (job.number * 7919 + now) % (self.seed % 13 + 1), str(job.queue)

    def choose(self, job, room):
        nodes = np.random.default_rng(job.number).permutation(len(room))
        units = np.zeros_like(room)
        units[nodes] = np.diff(np.minimum(np.cumsum(room[nodes]), job.units), prepend=0)
        return units


@given(st.integers(0, 10_000))
def test_any_rule_makes_legal_schedules(seed):
    instance = draw_instance(seed)
    dispatcher = class_dispatcher(AnyOrder)
    jobs = [job for job in instance.jobs if not job.job.requests]
    if not jobs:
        return
    machine = instance.platform
    played = play(machine, jobs, dispatcher, Target(), seed)
    # It is audited within, too, as every dispatcher that is not ours.
    assert audit(played.schedule, machine, expected=[job.number for job in jobs]) == []
    again = play(machine, jobs, dispatcher, Target(), seed)
    assert again.schedule.digest() == played.schedule.digest()


def test_strict_rule_allows_no_backfilling(own_folder):
    (own_folder / "t.csv").write_text("job_id,submit_s,runtime_s,units,req_cores\n1,0,50,1,4\n2,1,50,2,4\n3,2,50,1,4\n")
    starts = {}
    for strict in (False, True):
        kind = type("InTurn", (Rule,), {"strict": strict})
        platform, jobs = small(own_folder)
        starts[strict] = play(platform, jobs, class_dispatcher(kind), Target(), 1).schedule.start.tolist()
    assert starts == {False: [0, 52, 2], True: [0, 50, 100]}


def small(folder):
    from dardis.config.platform_file import load_platform
    from dardis.runs.run_workload import jobs_of
    from dardis.workload.trace_reader import read_trace

    platform = load_platform(folder / "p.toml")
    trace = read_trace(folder / "t.csv")
    return platform, jobs_of(trace, platform, None, think_times=False).jobs


def test_dispatcher_module_is_imported_from_the_working_folder(own_folder, capsys):
    words = ["simulate", "t.csv", "--platform", "p.toml", "--dispatcher", "mine:WidestFirst", "--no-report"]
    assert run([*words, "--out", "o", "--set", "depth=3"]) == 0
    record = json.loads((own_folder / "o" / "run.json").read_text())
    assert (record["dispatcher"], record["settings"]["depth"]) == ("mine:WidestFirst", 3)
    assert record["request"]["dispatcher_of"] == origin_of("mine")
    assert run(["audit", "o"]) == 0
    assert capsys.readouterr().err == ""


def test_another_version_of_its_file_is_another_run(own_folder):
    before = find_dispatcher("mine:WidestFirst")
    assert before.origin.startswith("mine.py ")
    (own_folder / "mine.py").write_text(MINE.replace("depth: int = 2", "depth: int = 22"))
    assert origin_of("mine") == before.origin, "it is that which runs"
    again = find_dispatcher("mine:WidestFirst")
    assert (again.origin, again.setup.depth) == (origin_of("mine"), 22)
    assert again.origin != before.origin
    assert before.setup.depth == 2


def test_dispatcher_built_by_a_program_has_its_own_origin():
    made = Dispatcher("easy", BUILT_IN_DISPATCHERS["easy"].setup, Central(Rule))
    assert resolve_dispatcher(made).origin == "a program"
    ours = BUILT_IN_DISPATCHERS["easy"].with_settings(["order=sjbf"])
    assert resolve_dispatcher(copy.deepcopy(ours)).origin == ""


NAMES = {*dir(AnySetUp), *dir(Rule), *get_type_hints(Rule)} - {"strict", "seeded", "backfill", "reserve"}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"backfill": "eazy"}, "backfill = 'eazy'; expected one of None, 'easy', 'conservative'"),
        ({"backfill": "easy", "reserve": "sjf"}, "reserve = 'sjf'; expected one of 'rule', 'fcfs'"),
        ({"reserve": "fcfs"}, "reserve = 'fcfs' without backfill; expected backfill = 'easy' or 'conservative'"),
        ({"backfill": "easy", "strict": True}, "backfill = 'easy' ignores its strict; expected only key, keys and"),
        ({"backfill": "easy", "choose": print}, "backfill = 'easy' ignores its choose; expected only key, keys and"),
    ],
)
def test_rules_with_unknown_or_unused_members_are_refused(members, message):
    with pytest.raises(InputError, match=message):
        resolve_dispatcher(type("Mine", (Rule,), members))


@pytest.mark.parametrize("name", sorted(name for name in NAMES if not name.startswith("_")))
def test_reserved_names_are_no_settings(name):
    kind = type("Mine", (Rule,), {name: getattr(Rule, name, 5)} | {"__annotations__": {name: int}})
    with pytest.raises(InputError, match=f"Mine: has a setting '{name}', "):
        class_dispatcher(kind)


def test_working_folder_shadows_no_module(own_folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    before = [*sys.path]
    find_dispatcher("mine:WidestFirst")
    assert sys.path == [*before, str(own_folder)]
    gone = own_folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InputError, match="cannot be loaded"):
        find_dispatcher("nowhere:X")


@pytest.mark.parametrize("key", [None, float("nan"), (1, None), (float("nan"), 2)])
def test_invalid_sort_key_is_reported(own_folder, key):
    kind = type("Mine", (Rule,), {"key": lambda _self, _job, _now: key})
    platform, jobs = small(own_folder)
    with pytest.raises(ProtocolError, match=r"key.job 1. gives .*, which has no order"):
        play(platform, jobs, class_dispatcher(kind), Target(), 1)


def test_file_path_is_refused_as_module(own_folder):  # the folder we are in
    with pytest.raises(InputError, match=r"mine.py is a file; expected a module in the current folder: mine:Wide"):
        find_dispatcher("mine.py:Wide")


@pytest.mark.parametrize(
    ("units", "found"),
    [
        (lambda room: room[:1], "gives int64 of shape .1,., not whole numbers of shape .2,."),
        (lambda room: room * 1.0, "gives float64 of shape"),
        (lambda _: None, "gives object of shape"),
        (lambda room: room * 0, "exceeds the free capacity of a node, or does not give 1 units"),
        (lambda _: [2, -1], "exceeds the free capacity"),
    ],
)
def test_chosen_jobs_are_checked(own_folder, units, found):
    kind = type("Mine", (Rule,), {"choose": lambda _self, _job, room: units(room)})
    platform, jobs = small(own_folder)
    with pytest.raises(ProtocolError, match=f"choose.job 1. {found}"):
        play(platform, jobs, class_dispatcher(kind), Target(), 1)


@pytest.mark.parametrize("ordering", ["strict", "relaxed"])
@examples(0.3)
@given(st.data())
def test_schedule_equals_built_in_rules_with_repeated_reservations(ordering, data):
    numbers = partial(st.integers, 1)
    machine = Platform("m", (NodeGroup("n", 2, {"cores": 4}), NodeGroup("g", 1, {"cores": 4, "gpu": 2})))
    spans = []
    ends = [0, 0]
    for _ in range(data.draw(numbers(8))):
        layer = data.draw(st.integers(0, 1))  # at each instant one of each keeps something
        start = ends[layer] + data.draw(numbers(20))
        ends[layer] = start + data.draw(numbers(15))
        less = data.draw(st.sampled_from([(1, 0), (2, 0)]))
        spans.append(Maintenance(tuple(data.draw(st.sets(st.integers(0, 2), min_size=1))), start, ends[layer], less))
    spans.append(Maintenance((0,), max(ends) + 5, max(ends) + 9))
    machine = replace(machine, maintenance=tuple(spans))
    jobs = [
        actual(n, 1000 * n - 999, 1000 * n - 999, None, walltime := data.draw(numbers(60)), data.draw(numbers(3)),
               (data.draw(numbers(4)), 0), 3, runtime=walltime)
        for n in range(data.draw(numbers(1)))
    ]  # fmt: skip
    other = find_dispatcher("rules-fcfs", [f"ordering={ordering}"])
    mine = class_dispatcher(type("Mine", (Rule,), {"strict": ordering == "strict"}))
    starts = [play(machine, jobs, one, Target(), 1).schedule.start.tolist() for one in (mine, other)]
    assert starts[0] == starts[1]


def test_settings_are_the_annotated_attributes(own_folder):
    found = find_dispatcher("mine:WidestFirst", ["depth=7"])
    assert plain_settings(found.setup)["depth"] == 7
    assert found.setup.about == "Most units first, beside whoever fits"
    assert "profile" not in plain_settings(found.setup), "it obeys none"
    kinds = {"depth": 3, "share": 0.5, "text": "a", "choice": NodeChoice.BEST_FIT}
    kind = type("Kinds", (Rule,), kinds | {"__annotations__": {name: type(value) for name, value in kinds.items()}})
    asked = ["depth=4", "share=0.25", "text=b", "choice=first-fit"]
    setup = class_dispatcher(kind).with_settings(asked).setup
    assert [getattr(setup, name) for name in kinds] == [4, 0.25, "b", NodeChoice.FIRST_FIT]
    made = class_dispatcher(kind).with_setup(setup).builder._make(setup, small(own_folder)[0], None, 1)
    assert [getattr(made, name) for name in kinds] == [4, 0.25, "b", NodeChoice.FIRST_FIT]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nowhere:X", "--dispatcher nowhere:X: cannot be loaded (ModuleNotFoundError: No module named 'nowhere')"),
        ("mine:X", "--dispatcher mine:X: cannot be loaded (AttributeError: module 'mine' has no attribute 'X')"),
        ("leaves:X", "--dispatcher leaves:X: cannot be loaded (SystemExit: 3); expected an importable package"),
        ("mine:OURS", "--dispatcher mine:OURS: is a int; expected a dardis.registry.Dispatcher, or a class of a"),
        ("mine:Half", "--dispatcher mine:Half: has no changed, decide, ended, wake; expected a dardis.Rule, or"),
        ("mine:Listed", "--dispatcher mine:Listed: names: is a list; expected an int, a float, a str or a StrEnum"),
        ("mine:Taken", "--dispatcher mine:Taken: has a setting 'unit_cores', which all dispatchers have; expected"),
        ("mine:Zero", "--dispatcher mine:Zero: depth = 0 is not a default (--set depth=0: '0' is out of range"),
        ("mine:AndAHalf", "--dispatcher mine:AndAHalf: depth = 2.5 is not a default ("),
        ("mine:NotANumber", "--dispatcher mine:NotANumber: share = nan is not a default ("),
        ("mine:Unresolved", "--dispatcher mine:Unresolved: cannot be loaded (NameError: "),
        ("mine:", "--dispatcher mine:: is not an object of a module; expected package.module:Class"),
        (":X", "--dispatcher :X: is not an object of a module; expected package.module:Class"),
        ("mine:Zero:depth=3", "--dispatcher mine:Zero:depth=3: a name with a setting; expected mine:Zero, and --set"),
        ("easy:order", "--set order: no KEY=VALUE; expected one of "),
        ("easy:order=sjbf", "--dispatcher easy:order=sjbf: a name with a setting; expected easy, and --set order=sjbf"),
    ],
)  # fmt: skip
def test_custom_dispatcher_errors_are_one_line(own_folder, name, line):
    assert line_of(find_dispatcher, name).startswith(line)
    with pytest.raises(InputError, match="unknown setting"):
        find_dispatcher("mine:WidestFirst", ["nothing=3"])


def test_a_comparison_takes_it_in_its_file(own_folder):
    (own_folder / "spec.toml").write_text(
        '[[traces]]\ntrace = "t.csv"\nplatform = "p.toml"\ntask_managers = 2\n'
        '[[dispatchers]]\nname = "mine:WidestFirst"\nsettings = { depth = 3 }\n'
        '[[dispatchers]]\nname = "nowhere:X"\n'
    )
    comparison = load_comparison(own_folder / "spec.toml")
    mine, _ = plan(comparison, own_folder / "out")
    asked = mine.request()
    assert (asked.dispatcher, asked.settings, asked.task_managers) == ("mine:WidestFirst", ("depth=3",), 1)
    assert record_of(asked, InputFiles())["dispatcher_of"] == origin_of("mine")
    assert not mine.asks_nodes, "it is one queue"
    with pytest.raises(InputError, match=r"spec.toml: dispatcher nowhere:X: --dispatcher nowhere:X: cannot be loaded"):
        check(comparison, [], InputFiles())
