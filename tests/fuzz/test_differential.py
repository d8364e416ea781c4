"""Random instances under any dispatcher and settings: every arrangement gives one schedule, and it is legal."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from faults.broken import NoFitTest
from fuzz.differential import COMMAND_EVERY, Outcome, judge
from fuzz.instances import draw_instance
from kit.seeds import assert_sound

from dardis.cli.main import run
from dardis.config.settings import known_settings
from dardis.model.choices import ProfileRule
from dardis.node_manager import NodePool
from dardis.registry import BUILT_IN_DISPATCHERS
from dardis.wire import messages as say

FEW, MANY, BLOCK = range(1184, 1200), range(550, 2550), 100
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "instance"


def test_every_host_layout_gives_the_same_legal_schedule():
    outcomes = [judge(seed) for seed in FEW]
    assert_sound(outcomes, SCRIPT)
    # There was something to be judged: otherwise this would show nothing.
    for what, least in {
        "completed": 100, "killed": 20, "rejected": 10, "down": 7, "runs": 90, "hard": 4, "closed": 5, "waited": 50,
        "hard and switched": 1, "soft": 3, "sampled": 3, "central": 3, "commands": len(FEW) // COMMAND_EVERY,
    }.items():  # fmt: skip
        assert sum(counts(outcome)[what] for outcome in outcomes) >= least, what


def counts(outcome: Outcome) -> Counter[str]:
    """What an instance was made of, and what came of it."""
    instance, first = outcome.instance, outcome.results[0]
    wished = instance.target.desired is not None
    hard = wished and instance.setup.profile is ProfileRule.HARD
    found = Counter(row.status for row in first.rows)
    found["waited"] = sum(row.ran and row.start > row.earliest for row in first.rows)
    found["down"], found["runs"] = len(first.downs), len(outcome.results)
    found["hard"], found["closed"] = int(hard), len(instance.platform.maintenance)
    found["hard and switched"] = int(hard and instance.target.switching is not None)
    found["soft"] = int(wished and instance.setup.profile is ProfileRule.SOFT)
    found["sampled"], found["central"] = int(instance.sample > 0), int(instance.central)
    found["commands"] = sum(result.name == "files and command" for result in outcome.results)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("first", MANY[::BLOCK])
def test_every_host_layout_gives_the_same_legal_schedule_in_many_seeds(first):
    assert_sound([judge(seed) for seed in range(first, first + BLOCK)], SCRIPT)


def test_seeds_draw_every_setting_of_every_dispatcher():
    seen: dict[str, set[str]] = defaultdict(set)
    for seed in range(4000):
        instance = draw_instance(seed)
        seen[instance.dispatcher] |= {setting.partition("=")[0] for setting in instance.settings}
        seen[type(instance.setup).__name__] |= set(instance.settings)
    assert set(BUILT_IN_DISPATCHERS) <= set(seen)
    for kind in {type(one.setup) for one in BUILT_IN_DISPATCHERS.values()}:
        named = [seen[name] for name, one in BUILT_IN_DISPATCHERS.items() if isinstance(one.setup, kind)]
        assert set().union(*named) == set(known_settings(kind))
        for key, values in known_settings(kind).items():
            words = {f"{key}={value}" for value in values.split("|") if value.islower() and " " not in value}
            words -= set() if kind.shares_profile else {"profile_split=shared"}
            assert words <= seen[kind.__name__]


class ChanceOfTheHost(NodePool):
    """Draws by its place among the hosts, so that who holds a node decides."""

    def __init__(self, *args, host=0, seed=1, **options):
        super().__init__(*args, host=host, seed=seed + host, **options)


class Wishless(NodePool):
    """Was not told what is desired."""

    def __init__(self, *args, **options):
        super().__init__(*args, **(options | {"desired": None}))


class Tireless(NodePool):
    """Does not hear who is shut down."""

    def handle(self, message, now):
        return [] if isinstance(message, say.Switch) else super().handle(message, now)


class ShortHold(NodePool):
    """Reserves half of what a job asks for."""

    def _confirm(self, confirm, now):
        return super()._confirm(replace(confirm, walltime=-(-confirm.walltime // 2)), now)


@pytest.mark.parametrize(
    ("pool", "rule", "first"),
    [
        (NoFitTest, "capacity", 550),
        (ShortHold, "capacity", 550),
        (Wishless, "hard", 573),
        (Tireless, "down", 607),
        (ChanceOfTheHost, "hosts", 550),
    ],
)
def test_faulty_node_manager_changes_the_schedule(monkeypatch, pool, rule, first):
    monkeypatch.setattr("dardis.node_manager.NodePool", pool)
    assert any(text.startswith(rule) for seed in range(first, MANY.stop) for text in judge(seed).violations)


def test_failing_seed_prints_how_to_reproduce_it(monkeypatch):
    monkeypatch.setattr("dardis.node_manager.NodePool", NoFitTest)
    outcomes = [judge(seed) for seed in range(1000, 1004)]
    with pytest.raises(
        AssertionError, match=r"capacity: node \d+ at \d+ holds(.|\n)*scripts/lab/run replay instance \d+"
    ):
        assert_sound(outcomes, SCRIPT)


@pytest.mark.parametrize(
    ("options", "launch"),
    [
        ([], ["dardis"]),
        pytest.param(
            ["--ranks", "3", "--arity", "2"], ["launch/mpirun", "-n", "3", ".venv/bin/dardis"], marks=pytest.mark.slow
        ),
    ],
)
def test_the_script_shows_an_instance_and_its_runs(tmp_path, options, launch):
    command = [sys.executable, "-m", "scripts.lab", "replay", SCRIPT, "4", "--files", str(tmp_path / "files"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    told, _, command = done.stdout.removesuffix("\n").rpartition("\n")
    assert told == str(judge(4))
    words = shlex.split(command)
    assert words[: len(launch)] == launch
    assert ("--arity" in words) is bool(options)
    assert run(words[len(launch) :]) == 0
