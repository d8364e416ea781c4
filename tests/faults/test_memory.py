"""What machines hold does not grow with the jobs that have gone through them, whatever comes late."""

from __future__ import annotations

import faulthandler
import gc
import tracemalloc
from collections import deque

import pytest
from faults import stream
from faults.stream import Stream

from dardis.node_manager import NodePool
from dardis.node_manager.pool import FORGET

WORLD = [stream.__file__, "*/dardis/sim/faults.py", "*/dardis/transport/virtual.py", "*/dardis/engine/queue.py"]
"""Who keeps what is no machine's: what happens next, and which units run."""
KINDS = [{"setup": setup, "arity": arity} for setup in ("drawn", "late") for arity in (0, 2)]


def entries(thing: object, seen: set[int] | None = None) -> int:
    """How much is in all tables, lists and sets of a machine (arrays have room to spare from the beginning)."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, dict):
        return len(thing) + sum(entries(part, seen) for part in thing.values())
    if isinstance(thing, list | tuple | set | frozenset | deque):
        return len(thing) + sum(entries(part, seen) for part in thing)
    if not any(kind.__module__.startswith("dardis.") for kind in type(thing).__mro__):
        return 0
    names = [*getattr(thing, "__dict__", {}), *getattr(type(thing), "__slots__", ())]
    return sum(entries(getattr(thing, name, None), seen) for name in names)


def machines(world: Stream) -> list[object]:
    return [*world._managers, *(host.machine for host in world.hosts if host is not None)]


def grown(world: Stream, few: int, many: int) -> float:
    """How many times as much the machines hold after `many` jobs as after `few`, nothing being under way."""
    world.serve(few)
    before = entries(machines(world))
    world.serve(many)
    return entries(machines(world)) / before


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_machines_hold_no_more_after_many_jobs(kind):
    assert grown(Stream(**kind, cores=1000, hosts=2), 200, 1000) <= 1.1


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_nor_where_jobs_are_in_each_others_way(kind):
    world = Stream(**kind, managers=3)
    assert grown(world, 200, 600) <= 1.1
    assert world.renegotiations > 600


class ForgetsNothing(NodePool):
    """Remembers what was released for ever."""

    def _timer(self, timer, now):
        return [] if timer.token == FORGET else super()._timer(timer, now)


def test_it_shows_when_something_is_kept():
    assert grown(Stream("drawn", make_pool=ForgetsNothing), 200, 600) > 1.1


def traced(world: Stream, jobs: int) -> int:
    """Bytes that are held after so many jobs, less the world's own."""
    world.serve(jobs)
    gc.collect()
    mine = [tracemalloc.Filter(False, name) for name in [*WORLD, tracemalloc.__file__, __file__]]
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(mine).traces)


def growth_in_bytes(few: int, many: int, **options) -> tuple[int, int]:
    Stream(**options).serve(50)  # whatever is made once, such as compiled kernels, is not counted
    tracemalloc.start()
    try:
        world = Stream(**options)
        return traced(world, few), traced(world, many)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS[::3], ids=str)
def test_machines_take_no_more_bytes_after_many_jobs(kind):
    before, after = growth_in_bytes(300, 900, **kind, cores=1000, hosts=2)
    assert after <= 1.1 * before, (before, after)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[::3], ids=str)
def test_machines_take_no_more_bytes_after_200_000_jobs(kind):
    """Takes some ten minutes each."""
    faulthandler.cancel_dump_traceback_later()
    before, after = growth_in_bytes(20_000, 200_000, **kind, cores=1000, hosts=2)
    assert after <= 1.1 * before, (before, after)
