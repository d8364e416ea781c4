"""Dispatchers that say the seed has no say in their schedules make one whatever the seed; others make several."""

import pytest
from fuzz.instances import draw_instance
from kit.actual import actual

from dardis.config.settings import AnySetUp
from dardis.model.platform import NodeGroup, Platform
from dardis.model.randomness import stream
from dardis.model.target import Target
from dardis.registry import BUILT_IN_DISPATCHERS, find_dispatcher
from dardis.runs.play import play
from dardis.task_manager import Reach

SEEDS = (1, 2, 3)
NOTHING_WISHED = Target()
MACHINE = Platform("m", (NodeGroup("a", 4, {"cores": 4}), NodeGroup("b", 2, {"cores": 6})))
DRAWN = [
    *((name, ()) for name in ("dardis-profile", "dardis-balance")),
    *((name, ("node_choice=random",)) for name in ("easy", "conservative", "rules-fcfs", "dardis-throughput")),
    ("dardis-throughput", ("generator=uniform",)),
    ("dardis-throughput", ("generator=exponential",)),
    ("dardis-throughput", ("selection=random",)),
    ("dardis-late", ("node_choice=random",)),
    ("replan", ()),
]


def crowd():
    """Jobs of many lengths that wait for each other."""
    draw = stream(7, "crowd").integers
    made = []
    for number in range(1, 50):
        walltime = int(draw(20, 400))
        asks = (number, number * 3, number * 3, number * 3 + 900, walltime, int(draw(1, 9)), (int(draw(1, 4)),), 3)
        made.append(actual(*asks, runtime=int(draw(10, walltime))))
    return made


def digests(dispatcher, platform, jobs, target=NOTHING_WISHED, **more):
    return {play(platform, jobs, dispatcher, target, seed, **more).schedule.digest() for seed in SEEDS}


@pytest.mark.parametrize("name", [name for name, one in BUILT_IN_DISPATCHERS.items() if not one.setup.seeded])
def test_unseeded_dispatchers_ignore_the_seed(name):
    assert len(digests(find_dispatcher(name), MACHINE, crowd())) == 1


@pytest.mark.parametrize(("name", "settings"), DRAWN)
def test_seeded_dispatchers_depend_on_the_seed(name, settings):
    dispatcher = find_dispatcher(name, settings)
    assert dispatcher.setup.seeded
    assert len(digests(dispatcher, MACHINE, crowd())) > 1


def test_solver_and_forest_dispatchers_are_seeded():
    assert all(
        BUILT_IN_DISPATCHERS[name].setup.seeded
        for name in ("aucsched", "pcp14", "pcp19", "hcp19", "pcp20", "cp-eurora")
    )
    assert find_dispatcher("easy", ["expected=learned"]).setup.seeded
    assert not find_dispatcher("easy", ["expected=last-two"]).setup.seeded
    assert not find_dispatcher("replan", ["exchanges=0"]).setup.seeded
    assert AnySetUp().seeded


def test_seed_dependence_holds_for_any_settings_and_machine():
    counted = 0
    for seed in range(1, 400):
        one = draw_instance(seed)
        if one.setup.seeded or one.sample or one.target.switching is not None:
            continue
        counted += 1
        more = {"task_managers": one.task_managers, "reach": Reach()} if one.setup.asks_nodes else {}
        found = digests(one.player, one.platform, one.jobs, one.target, **more)
        assert len(found) == 1, one
        if counted == 60:
            return
    raise AssertionError(counted)
