"""Jobs through a dispatcher without files: as `dardis simulate` would have them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kit.actual import actual
from kit.small_site import START, files_of

from dardis.config.settings import AnySetUp
from dardis.dispatch import CentralDispatcher
from dardis.model.errors import DispatcherError, ProtocolError
from dardis.model.job import FOREVER
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Target
from dardis.registry import BUILT_IN_DISPATCHERS, Central, Dispatcher, find_dispatcher
from dardis.runs.play import play
from dardis.wire.effects import Placed
from offline.site.site_inputs import load_site
from offline.site.site_spec import SiteSpec


@pytest.fixture(scope="module")
def site(small_site):
    return load_site(SiteSpec(**files_of(small_site), calendar_start=START))


class Crowds:
    """Starts every job on the first node, whoever runs there."""

    def __init__(self, *_):
        self.waiting = []

    def submit(self, job, _):
        self.waiting.append(job)

    def ended(self, *_):
        pass

    def decide(self, now):
        waiting, self.waiting = self.waiting, []
        return [Placed(job.number, now, np.array([0]), np.array([job.units])) for job in waiting]

    def wake(self):
        return FOREVER


def test_schedules_of_extensions_are_audited_before_use():
    platform = Platform("one", (NodeGroup("n", 1, {"cores": 4}),))
    jobs = [actual(n, 0, 0, None, 10, 1, (3,), 1, runtime=10) for n in (1, 2)]
    ours = Dispatcher("crowds", AnySetUp(), Central(Crowds))
    assert play(platform, jobs, ours, Target(), 1).schedule.ran.all()
    with pytest.raises(ProtocolError, match=r"^dispatcher 'crowds' of other 2.1: it makes an illegal schedule \(1 "):
        play(platform, jobs, replace(ours, origin="other 2.1"), Target(), 1)


class Foretold(AnySetUp):
    """Of another package: it goes by what nobody can tell."""

    @property
    def expecting(self):
        return "stars"


def test_unknown_predictor_of_an_extension_is_reported():
    platform = Platform("one", (NodeGroup("n", 1, {"cores": 1}),))
    easy = Central(lambda _, *machine: CentralDispatcher(find_dispatcher("easy").setup, *machine))
    theirs = Dispatcher("theirs", Foretold(), easy, origin="theirs 1.0", module="theirs")
    with pytest.raises(DispatcherError, match=r"'theirs' of theirs 1.0 failed at .*'stars' is not a valid Expecting"):
        play(platform, [actual(1, 0, 0, None, 9, 1, (1,), 1, runtime=9)], theirs, Target(), 1)


@pytest.mark.parametrize("name", BUILT_IN_DISPATCHERS)
def test_disabled_profile_changes_nothing(name):
    platform = Platform("four", (NodeGroup("n", 4, {"cores": 3}),))
    jobs = [
        actual(1, 0, 0, None, 340, 1, (1,), 1, runtime=340),
        actual(2, 0, 0, None, 350, 2, (2,), 1, runtime=350),
        actual(3, 0, 0, None, 154, 1, (1,), 1, runtime=154),
        actual(4, 0, 0, None, 196, 4, (2,), 1, runtime=171),
    ]
    settings = ("profile=off", "units_per_node=distinct")
    more = {"dardis-late": ("aged_after_s=60",), "pcp14": ("composite=off",)}.get(name, ())  # no job has a deadline
    dispatcher = find_dispatcher(name, (*settings, *more))
    desired = DesiredProfile(platform, {0: StepFunction.from_steps(12, [(100, 3)])})
    measured, without = (play(platform, jobs, dispatcher, target, 1) for target in (Target(desired), Target()))
    assert measured.schedule.digest() == without.schedule.digest()
