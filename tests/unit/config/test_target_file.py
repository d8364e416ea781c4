"""A plan's target.json: what comes back is what was written, and a mistake in it is one clear line."""

import json

import pytest
from kit.error_lines import line_of

from dardis.config.target_file import load_target, write_target
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split, Switching, Target

POWER = NodePower(idle_w=100, boot_s=240, shutdown_s=30)
SILENT = NodeGroup("c", 1, {"cores": 8})
PLATFORM = Platform(
    "two", (NodeGroup("a", 3, {"cores": 4, "gpu": 1}, POWER), NodeGroup("b", 2, {"cores": 8}, POWER), SILENT)
)
CORES = PLATFORM.cores
CONTENT = {
    "format": "dardis-target", "version": 1, "platform": "two", "nodes": 6, "unix_start": 1_688_342_400,
    "profile": {"kind": "cores", "split": "whole-nodes", "steps": [[0, 20], [3600, 7]]},
    "switching": {
        "idle_s": 400, "most_cycles_per_day": 3.0,
        "groups": {"a": {"spares": [[0, 1], [60, 2]], "floors": [[0, 1]]}, "b": {"floors": [[100, 2]]}},
    },
    "source": {"made_by": "hand", "days": [1, 2]},
}  # fmt: skip


def written(folder, **changes):
    path = folder / "target.json"
    path.write_text(json.dumps(CONTENT | changes))
    return path


def same(a: StepFunction, b: StepFunction) -> bool:
    return a.times.tolist() == b.times.tolist() and a.values.tolist() == b.values.tolist()


def test_target_holds_core_profile_and_always_on_nodes(tmp_path):
    target = load_target(written(tmp_path), PLATFORM)
    assert (target.unix_start, target.source) == (1_688_342_400, {"made_by": "hand", "days": [1, 2]})
    assert target.desired is not None
    assert target.desired.split is Split.WHOLE_NODES
    assert target.desired.total(0).at(-1) == CORES
    assert same(target.desired.machine[0], StepFunction.from_steps(CORES, [(0, 20), (3600, 7)]))
    rule = target.switching
    assert rule is not None
    assert (rule.idle_s, rule.most_cycles_per_day) == (400, 3.0)
    assert sorted(rule.spares) == sorted(rule.floors) == [0, 1]
    assert same(rule.spares[0], StepFunction.from_steps(3, [(0, 1), (60, 2)]))  # all stay on until it begins
    assert same(rule.spares[1], StepFunction.from_steps(0, []))
    assert same(rule.floors[1], StepFunction.from_steps(2, [(100, 2)]))


def test_target_file_round_trips(tmp_path):
    first = load_target(written(tmp_path), PLATFORM)
    write_target(tmp_path / "again.json", first, PLATFORM)
    again = json.loads((tmp_path / "again.json").read_text())
    again["switching"]["groups"]["b"].pop("spares")  # no steps, as nothing
    assert again == CONTENT
    write_target(tmp_path / "empty.json", Target(), PLATFORM)
    assert load_target(tmp_path / "empty.json", PLATFORM) == Target()


@pytest.mark.parametrize(("target", "said"), [
    (Target(DesiredProfile(PLATFORM, {1: StepFunction.from_steps(2, [])})), "cores of the complete machine"),
    (Target(DesiredProfile(PLATFORM, {0: StepFunction.from_steps(5, [(0, 7)])})), "before the first step"),
    (Target(switching=Switching({0: StepFunction.from_steps(2, [])})), "before the first step"),
    (Target(switching=Switching(floors={1: StepFunction.from_steps(0, [(0, 1)])})), "before the first step"),
])  # fmt: skip
def test_target_without_file_representation_is_refused(tmp_path, target, said):
    with pytest.raises(ValueError, match=said):
        write_target(tmp_path / "target.json", target, PLATFORM)


@pytest.mark.parametrize(("changes", "said"), [
    ({"format": "other"}, "format"),
    ({"nodes": 7}, "target for 'two' of 7 nodes; expected a target for 'two' of 6"),
    ({"plan": 1}, "unknown key; expected one of format, version"),
    ({"profile": {"kind": "gpu", "split": "proportional", "steps": []}}, "profile.kind"),
    ({"profile": {"kind": "cores", "split": "proportional", "steps": [[5, 1], [5, 2]]}}, "steps: 5 s after 5 s"),
    ({"profile": {"kind": "cores", "split": "proportional", "steps": [[0]]}}, "steps[0][1]: missing value"),
    ({"switching": {"groups": {"x": {}}}}, "groups.x: unknown node group; expected one of a, b, c"),
    ({"switching": {"groups": {"c": {}}}}, "groups.c: 'two' states no power of the group; expected power = "),
    ({"switching": {"groups": {"a": {"spare": []}}}}, "a.spare: unknown key; expected one of spares, floors"),
    ({"switching": {"most_cycles_per_day": 1e30, "groups": {}}}, "switching.most_cycles_per_day: 1e"),
])  # fmt: skip
def test_target_file_error_is_one_line(tmp_path, changes, said):
    path = written(tmp_path, **changes)
    line = line_of(load_target, path, PLATFORM)
    assert line.startswith(str(path))
    assert said in line
