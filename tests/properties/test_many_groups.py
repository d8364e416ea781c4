"""On a machine with more node groups than an integer has bits, jobs run where and when they run without the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.central_runs import dispatch, setup_of
from kit.effort import examples
from kit.late_runs import run_late
from kit.machine import jobs, platforms
from kit.run import simulate

from dardis.config.platform_record import platform_from_dict
from dardis.kernels import fitting as node_sets
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.node_sets import MAX_DIRECT, NodeSets, bits_of
from dardis.model.platform import NodeGroup, Platform, platform_to_dict
from dardis.model.schedule import Schedule
from dardis.task_manager import LATE_SETUPS, SETUPS
from dardis.task_manager.setups import BackfillScope

Runs = Callable[[Platform, Sequence[ActualJob]], Schedule]


def _distributed(name: str, sample: int = 0, **settings: object) -> Runs:
    def run(platform: Platform, listed: Sequence[ActualJob]) -> Schedule:
        setup, cuts = replace(SETUPS[name], **settings), [1][: platform.node_count - 1]
        return simulate(platform, listed, setup, cuts=cuts, sample=sample).schedule

    return run


def _central(name: str) -> Runs:
    setup = replace(setup_of(name), size_weight=0)
    return lambda platform, listed: dispatch(platform, listed, setup).schedule


RUNS: dict[str, Runs] = {
    "throughput": _distributed("dardis-throughput"),
    "throughput at once": lambda platform, listed: (
        simulate(platform, listed, SETUPS["dardis-throughput"], local=True).schedule
    ),
    "samples": _distributed("dardis-throughput", 1, backfill_scope=BackfillScope.ALL_NODES),
    "balance": _distributed("dardis-balance"),
    "late": lambda platform, listed: run_late(platform, listed, LATE_SETUPS["dardis-late"]).schedule,
    "easy": _central("easy"),
    "conservative": _central("conservative"),
}


def widened(platform: Platform, listed: Sequence[ActualJob]) -> Platform:
    """The machine with a hundred groups more, which no job may use, and a partition for each set of its jobs."""
    more = tuple(NodeGroup(f"more{place}-", 1, dict(platform.groups[0].resources)) for place in range(100))
    groups = (*platform.groups, *more)
    sets = sorted({job.groups for job in listed})
    others = {f"more{place}": (len(platform.groups) + place,) for place in range(100)}
    named = {f"set{bits}": tuple(g for g in range(len(platform.groups)) if bits >> g & 1) for bits in sets}
    return replace(platform, groups=groups, partitions=others | named)


@pytest.mark.parametrize("name", RUNS)
@given(st.data())
@examples(0.15)
def test_unused_groups_do_not_change_the_schedule(name, data):
    platform = data.draw(platforms())
    listed = data.draw(jobs(platform))
    wide = platform_from_dict(platform_to_dict(widened(platform, listed)))
    assert wide.sets.member.shape[1] > 1
    one, other = RUNS[name](platform, listed), RUNS[name](wide, listed)
    np.testing.assert_array_equal(one.start, other.start)
    np.testing.assert_array_equal(one.placed.nodes, other.placed.nodes)
    np.testing.assert_array_equal(one.placed.units, other.placed.units)


_may_use = vars(node_sets)["may_use"].py_func
"""As Python: what is compiled can be called by kernels alone."""


def _used(member, code):
    return np.array([_may_use(member, node, np.int64(code)) for node in range(len(member))])


@given(st.data())
@examples(0.5)
def test_node_set_code_contains_exactly_its_nodes(data):
    counts = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=150))
    some = st.sets(st.integers(0, len(counts) - 1)).map(bits_of)
    named = data.draw(st.lists(some, max_size=120))
    sets = NodeSets(counts, np.ones((len(counts), 1), dtype=np.int64), [bits_of(range(len(counts))), *named])
    for bits in named:
        inside = [bits >> group & 1 == 1 for group, count in enumerate(counts) for _ in range(count)]
        assert sets.nodes(bits).tolist() == inside
        assert _used(sets.member, sets.code(bits)).tolist() == inside
        assert sets.count(bits) == sum(inside)
        first, ends = sets.spans(bits)
        assert [node for f, n in zip(first, np.diff(ends, prepend=0), strict=True) for node in range(f, f + n)] == [
            node for node, holds in enumerate(inside) if holds
        ]
    other = data.draw(some)
    if len(counts) > MAX_DIRECT and other not in {*named, bits_of(range(len(counts)))}:
        with pytest.raises(InputError, match="node groups"):
            sets.code(other)
    else:
        assert _used(sets.member, sets.code(other)).tolist() == sets.nodes(other).tolist()


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 4))
def test_invalid_node_set_code_contains_no_node_out_of_range(code, words):
    member = np.full((2, words), (1 << 50) - 1, dtype=np.int64)
    used = _used(member, code)
    assert used.all() == used.any()
    assert words == 1 or not used.any() or 0 <= code >> 50 < words


def test_lists_of_partitions_have_sets_of_their_own():
    groups = tuple(NodeGroup(f"g{place}-", 1, {"cores": 1}) for place in range(70))
    machine = Platform("condo", groups, {f"p{place}": (place,) for place in range(70)})
    wider = machine.with_partitions(["p3", "p9,p60", "p1,other", ""])
    assert wider.more_sets == ((9, 60),)
    assert wider == machine, "what jobs name is not of the machine"
    assert platform_from_dict(platform_to_dict(wider)).more_sets == ((9, 60),)
    assert wider.sets.code(1 << 9 | 1 << 60) != machine.sets.code(1 << 9)
    few = replace(machine, groups=groups[:62], partitions={"a": (0,), "b": (1,)})
    assert few.with_partitions(["a,b"]) is few
