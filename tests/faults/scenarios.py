"""Draws a scenario of the fault simulation from a seed: a small machine, jobs that race for it, a network, crashes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from kit.actual import actual
from kit.dispatchers import dispatcher_of

from dardis.model.choices import NodeChoice, UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.randomness import stream
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile
from dardis.sim.fault_simulation import Crash, Scenario
from dardis.task_manager import SETUPS, LateSetUp, SetUp
from dardis.task_manager.claims.two_phase_claims import ClaimTimeouts
from dardis.task_manager.setups import OfferRule
from dardis.transport.virtual_network import Faults

KINDS = ("cores", "memory", "gpu")
NAMES = ("dardis-throughput", "dardis-profile", "dardis-balance")


def draw_scenario(
    seed: int, *, reliable: bool = False, late: bool = False, tree: bool = False, sample: bool = False,
    stale: bool = False,
) -> Scenario:  # fmt: skip
    """With `late`, the late set-up in place of the drawn one; with `tree`, hosts in a tree; all else is the same.

    With `sample`, jobs ask some nodes first, of three times as many; with `stale`, second copies come very late.
    """
    rng = stream(seed, "scenario")
    platform = _draw_platform(rng)
    if sample:
        groups = tuple(replace(group, count=3 * group.count) for group in platform.groups)
        platform = replace(platform, groups=groups)
    managers = int(rng.integers(1, 5))
    delay = int(rng.integers(1, 21))
    resend = int(rng.integers(delay, 3 * delay + 1))
    pace = ClaimTimeouts(
        patience=int(rng.integers(delay, 3 * delay + 2)),
        resend=resend,
        lead=3 * delay + resend * int(rng.integers(1, 6)),
    )
    setup = _draw_setup(rng)
    jobs = _draw_jobs(rng, platform, setup)
    bounds = _draw_bounds(rng, platform.node_count)
    faults = Faults(delay)
    crashes: tuple[Crash, ...] = ()
    if not reliable:
        faults = Faults(
            delay, drop=float(rng.choice([0.0, 0.02, 0.1, 0.25])), duplicate=float(rng.choice([0.0, 0.1, 0.3]))
        )
        crashes = _draw_crashes(rng, len(bounds) - 1, managers, delay)
    if stale:
        chance = stream(seed, "stale")
        faults = replace(
            faults, duplicate=float(chance.choice([0.3, 0.6])), longest_duplicate_delay=int(chance.choice([200, 9000]))
        )
    desired = _draw_desired(rng, platform)
    drawn = _late(rng, setup) if late else setup
    arity = int(stream(seed, "tree").integers(1, 5)) if tree else 0
    asked_first = int(stream(seed, "sample").integers(1, 3)) if sample else 0
    return Scenario(
        seed, platform, bounds, jobs, dispatcher_of(drawn), managers, pace, faults, crashes, desired, arity, asked_first
    )


def _late(rng: np.random.Generator, setup: SetUp) -> LateSetUp:
    """The late set-up with the shared settings of another; jobs grow old early."""
    return LateSetUp(
        aged_after_s=int(rng.choice([0, 60, 600, 3000])), longest_wait=float(rng.choice([1.1, 1.5, 4.0])),
        node_choice=setup.node_choice,
        units_per_node=setup.units_per_node,
    )  # fmt: skip


def _draw_platform(rng: np.random.Generator) -> Platform:
    kinds = KINDS[: int(rng.integers(1, 4))]
    groups = []
    for group in range(int(rng.integers(1, 4))):
        resources = {"cores": int(rng.integers(2, 9))}
        for kind in kinds[1:]:
            resources[kind] = int(rng.integers(0, 9)) if kind == "gpu" else int(rng.integers(4, 33))
        groups.append(NodeGroup(f"g{group}n", int(rng.integers(1, 4 if group else 5)), resources))
    if sum(group.count for group in groups) < 2:
        groups[0] = replace(groups[0], count=2)
    while sum(group.count for group in groups) > 8:
        groups.pop()
    return Platform("faulty", tuple(groups))


def _draw_setup(rng: np.random.Generator) -> SetUp:
    setup = SETUPS[NAMES[int(rng.integers(len(NAMES)))]]
    return replace(
        setup,
        start_grain_s=int(rng.choice([1, 7, 60])),
        units_per_node=UnitsPerNode.DISTINCT if rng.random() < 0.4 else UnitsPerNode.PACK,
        node_choice=setup.node_choice if rng.random() < 0.5 else list(NodeChoice)[int(rng.integers(len(NodeChoice)))],
        offers=OfferRule.QUOTA if rng.random() < 0.2 else OfferRule.RUNS,
    )


def _draw_bounds(rng: np.random.Generator, nodes: int) -> tuple[int, ...]:
    """Mostly one node a host."""
    cuts = np.arange(1, nodes)
    if rng.random() < 0.2:
        cuts = cuts[rng.random(len(cuts)) < 0.5]
    return (0, *cuts.tolist(), nodes)


def _draw_jobs(rng: np.random.Generator, platform: Platform, setup: SetUp) -> tuple[ActualJob, ...]:
    """Many at about the same time, so that claims race; a few that no such machine can hold."""
    count = int(rng.integers(5, 26))
    submits = np.sort(rng.integers(0, int(rng.choice([1, 60, 1500])), size=count)).tolist()
    longest = int(rng.choice([30, 300, 900]))
    deadlines = rng.random() < 0.5
    jobs = []
    for number, submit in enumerate(submits, start=100):
        groups = int(rng.integers(1, platform.all_groups + 1)) if rng.random() < 0.2 else platform.all_groups
        request, units = _draw_units(rng, platform, setup, groups)
        walltime = int(rng.integers(1, longest))
        earliest = submit + (int(rng.integers(0, 400)) if rng.random() < 0.2 else 0)
        latest = earliest + int(rng.integers(0, 2 * longest)) if deadlines and rng.random() < 0.8 else None
        runtime = int(rng.integers(1, walltime + 10))
        jobs.append(actual(number, submit, earliest, latest, walltime, units, request, groups, runtime=runtime))
    return tuple(jobs)


def _draw_units(rng: np.random.Generator, platform: Platform, setup: SetUp, groups: int) -> tuple[tuple[int, ...], int]:
    """What a unit asks for, and how many units."""
    largest = platform.capacity[[groups >> int(group) & 1 == 1 for group in platform.group_of_node]].max(axis=0)
    request = [int(rng.integers(1, max(2, largest[0] + 1)))]
    request += [int(rng.integers(0, most + 1)) if rng.random() < 0.6 else 0 for most in largest[1:].tolist()]
    units = int(rng.integers(1, 7))
    held = holds(platform, setup, tuple(request), groups)
    if held and rng.random() < 0.97:
        units = min(units, held)
    return tuple(request), units


def _draw_crashes(rng: np.random.Generator, hosts: int, managers: int, delay: int) -> tuple[Crash, ...]:
    """Up to three crashes a host, one after the other; in a few scenarios one host stays dead."""
    crashes = []
    for host in range(hosts):
        now = 0
        for _ in range(int(rng.choice([0, 0, 1, 1, 2, 3]))):
            at = now + int(rng.integers(1, 1200))
            back = at + int(rng.integers(1, 400))
            heard = tuple((at + rng.integers(1, 6 * delay, size=managers)).tolist())
            crashes.append(Crash(host, at, back, heard))
            now = back
    if crashes and rng.random() < 0.15:
        host = int(rng.integers(hosts))
        own = [crash for crash in crashes if crash.host == host]
        if own:
            last = max(own, key=lambda crash: crash.at)
            crashes[crashes.index(last)] = replace(last, back=None)
    return tuple(crashes)


def _draw_desired(rng: np.random.Generator, platform: Platform) -> DesiredProfile | None:
    """In some scenarios a soft cap on the machine's cores that changes."""
    if rng.random() < 0.7:
        return None
    times = np.cumsum(rng.integers(50, 900, size=4)).tolist()
    caps = rng.integers(0, platform.cores + 1, size=4).tolist()
    return DesiredProfile(platform, {0: StepFunction.from_steps(platform.cores, zip(times, caps, strict=True))})


def holds(
    platform: Platform, setup: SetUp | LateSetUp, request: tuple[int, ...], groups: int, without: Collection[int] = ()
) -> int:
    """Units of a job that the empty machine holds, counted node by node, less the nodes `without`."""
    total = 0
    for node in range(platform.node_count):
        if node in without or not groups >> int(platform.group_of_node[node]) & 1:
            continue
        fit = min(have // need for have, need in zip(platform.capacity[node].tolist(), request, strict=True) if need)
        total += min(fit, 1) if setup.units_per_node is UnitsPerNode.DISTINCT else fit
    return total
