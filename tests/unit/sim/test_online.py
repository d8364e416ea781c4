"""Jobs through a dispatcher without files: as `dardis simulate` would have them."""

from __future__ import annotations

import numpy as np
import pytest
from kit.small_site import START

from dardis.cli.main import run
from dardis.dispatch import CENTRAL_SETUPS
from dardis.dispatch.setups import checked
from dardis.metrics.audit import audit
from dardis.metrics.table import read_jobs
from dardis.model.profile import StepFunction
from dardis.model.target import Switching, Target
from dardis.sim.dispatchers import find_setup
from dardis.sim.online import play, warm
from offline.history import replayed
from offline.site import SiteRequest, load_site


@pytest.fixture(scope="module")
def site(small_site):
    files = (small_site / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    return load_site(SiteRequest(*files, calendar_start=START))


@pytest.mark.parametrize("name", ["dardis-throughput", "dardis-late", "easy"])
def test_it_is_the_schedule_of_simulate(small_site, site, tmp_path, name):
    setup = find_setup(name, ())
    warm(setup, wished=False)
    played = play(site.platform, site.jobs, setup, Target(), 1)
    words = ["simulate", small_site / "trace.swf", "--platform", small_site / "small.toml", "--dispatcher", name,
             "--out", tmp_path / "out", "--no-report"]  # fmt: skip
    assert run([str(word) for word in words]) == 0
    written = read_jobs(tmp_path / "out" / "jobs.csv")
    assert (written.start == played.schedule.start).all()
    assert (written.nodes == played.schedule.nodes).all()
    assert played.figures["ranks"] == 1
    assert played.figures["nodes_on_largest_rank"] == site.platform.node_count


def test_the_past_is_easy(site):
    played = play(site.platform, site.jobs, checked(CENTRAL_SETUPS["easy"]), Target(), 1)
    assert (replayed(site.jobs, site.platform).start == played.schedule.start).all()


@pytest.mark.parametrize("name", ["dardis-throughput", "dardis-late"])
def test_nodes_are_switched_and_jobs_wait_for_boots(site, name):
    few = Switching(spares={0: StepFunction.from_steps(1, [])}, idle_s=337)
    played = play(site.platform, site.jobs, find_setup(name, ()), Target(None, few), 1)
    down, delay = played.recorder.downtime(), np.array(played.recorder.boot_delay)
    assert audit(played.schedule, site.platform, downtime=down) == []
    assert len(down.node) > 20
    assert len(delay) == len(site.jobs)
    assert 0 < (delay > 0).mean() < 1
    assert played.schedule.ran.all()
