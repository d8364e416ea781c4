"""Jobs that need all their nodes are told no at once: the schedule is the one that all offers would have given."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import jobs, platforms
from kit.run import simulate

from dardis.kernels.offers import keep_common
from dardis.model.choices import NodeChoice, OnOff, UnitsPerNode
from dardis.task_manager import SETUPS, negotiation
from dardis.task_manager.selection import Selection
from dardis.task_manager.setups import Generator


@given(st.data())
@examples(2)
def test_omitted_offers_do_not_change_the_schedule(data):
    platform = data.draw(platforms())
    queue = [replace(job, runtime=1 + job.runtime // 3) for job in data.draw(jobs(platform, most=14))]
    setup = replace(
        data.draw(st.sampled_from(list(SETUPS.values()))),
        backfill=OnOff.ON,
        generator=data.draw(st.sampled_from(Generator)),
        selection=data.draw(st.sampled_from(Selection)),
        node_choice=data.draw(st.sampled_from(NodeChoice)),
        units_per_node=data.draw(st.sampled_from(UnitsPerNode)),
    )
    cut = [data.draw(st.integers(1, platform.node_count - 1))] if platform.node_count > 1 else []
    silent = simulate(platform, queue, setup, cuts=cut)
    with patch.object(negotiation, "note_fills_nodes", lambda *_: None):
        told = simulate(platform, queue, setup, cuts=cut)
    assert silent.schedule.digest() == told.schedule.digest()
    assert silent.starts == told.starts


@st.composite
def spans(draw) -> list[tuple[int, int]]:
    edges = sorted(draw(st.sets(st.integers(0, 30), max_size=8)))
    return list(zip(edges[::2], edges[1::2], strict=False))


@given(spans(), spans())
@examples(2)
def test_offers_without_a_common_start_are_removed(common, offered):
    room = np.zeros((max(len(common), 1), 6), dtype=np.int64)
    room[: len(common), :2] = np.array(common, dtype=np.int64).reshape(-1, 2)
    offers = np.arange(6 * (len(offered) + 2), dtype=np.int64).reshape(-1, 6)
    offers[1:-1, 1:3] = np.array(offered, dtype=np.int64).reshape(-1, 2)
    before = offers.copy()
    end = keep_common(room, len(common), offers, 1, len(offers) - 1)
    seconds = {second for span in common for second in range(*span)}
    kept = [place + 1 for place, span in enumerate(offered) if not seconds.isdisjoint(range(*span))]
    assert offers[1:end].tolist() == before[kept].tolist()
    assert (offers[0] == before[0]).all()
    assert (offers[-1] == before[-1]).all()
