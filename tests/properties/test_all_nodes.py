"""Asking all nodes again at every end is conservative backfilling, without a queue that anybody keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import asking
from kit.central import dispatch, setup_of
from kit.effort import examples
from kit.machine import jobs, platforms
from kit.run import simulate

from dardis.config.settings import with_settings
from dardis.task_manager import SETUPS


@given(st.data(), st.sampled_from(["pack", "distinct"]), st.sampled_from(["best-fit", "first-fit", "contiguous"]))
@examples(2)
@pytest.mark.parametrize("event_order", ["batched", "per-event"])
def test_all_nodes_backfilling_is_conservative_backfilling(event_order, data, units, choice):
    platform = data.draw(platforms())
    # In the order of submission, which is the one order that the two have in common.
    drawn = [
        asking(job, earliest=job.submit, latest=None) for job in data.draw(jobs(platform, most=14, following=True))
    ]
    settings = [f"event_order={event_order}", f"units_per_node={units}", f"node_choice={choice}"]
    throughput = with_settings(SETUPS["dardis-throughput"], ["backfill_scope=all-nodes", *settings])
    distributed = simulate(platform, drawn, throughput, cuts=data.draw(cuts(platform.node_count)))
    central = dispatch(platform, drawn, setup_of("conservative", *settings))
    assert distributed.schedule.start.tolist() == central.schedule.start.tolist()
    assert distributed.schedule.digest() == central.schedule.digest()


@st.composite
def cuts(draw, nodes: int) -> list[int]:
    return sorted(draw(st.sets(st.integers(1, nodes - 1), max_size=2))) if nodes > 1 else []
