"""What machines hold does not grow with the jobs that have gone through them, whatever comes late."""

from __future__ import annotations

import faulthandler
import gc
import tracemalloc
from collections import deque
from copy import deepcopy

import pytest
from faults.stream import Stream

from dardis.node_manager import NodePool
from dardis.node_manager.pool import FORGET

KINDS = [{"setup": setup, "arity": arity} for setup in ("drawn", "late") for arity in (0, 2)]


def some(*gate):
    """All kinds; those of other places than these are slow."""
    marks = [[] if place in gate else pytest.mark.slow for place in range(len(KINDS))]
    return [pytest.param(kind, id=str(kind), marks=mark) for kind, mark in zip(KINDS, marks, strict=True)]


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
    return [*world.turns.managers, *(host.machine for host in world.hosts if host is not None)]


def grown(world: Stream, few: int, many: int) -> float:
    """How many times as much the machines hold after `many` jobs as after `few`, nothing being under way."""
    world.serve(few)
    before = entries(machines(world))
    world.serve(many)
    return entries(machines(world)) / before


@pytest.mark.parametrize("kind", some(1, 2))
def test_machines_hold_no_more_after_many_jobs(kind):
    world = Stream(**kind, managers=3)
    assert grown(world, 200, 600) <= 1.1
    assert world.renegotiations > 600


class ForgetsNothing(NodePool):
    """Remembers what was released for ever."""

    def _timer(self, timer, now):
        return [] if timer.token == FORGET else super()._timer(timer, now)


def test_it_shows_when_something_is_kept():
    assert grown(Stream("drawn", make_pool=ForgetsNothing), 200, 600) > 1.1


def taken(world: Stream) -> int:
    """Bytes that the machines take, nothing being under way: those of a copy of all that they hold."""
    gc.collect()
    tracemalloc.start()
    copies = deepcopy(machines(world))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del copies
    return size


def check_bytes(world: Stream, few: int, many: int) -> None:
    world.serve(few)
    world.rest()
    entries_before, bytes_before = entries(machines(world)), taken(world)
    world.serve(many)
    world.rest()
    assert entries(machines(world)) <= 1.1 * entries_before
    assert taken(world) <= 1.1 * bytes_before


@pytest.mark.parametrize("kind", some(0, 3))
def test_machines_take_no_more_bytes_after_many_jobs(kind):
    """Jobs that find room at once."""
    check_bytes(Stream(**kind, cores=1000, hosts=2), 200, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[::3], ids=str)
def test_machines_take_no_more_bytes_after_200_000_jobs(kind):
    """Takes four minutes, and ten in a tree."""
    faulthandler.cancel_dump_traceback_later()
    check_bytes(Stream(**kind, cores=1000, hosts=2), 20_000, 200_000)
