"""Steering from its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from dardis.config.node_fields import node_names
from dardis.config.platform_file import load_platform
from dardis.model.choices import Expecting, ProfileRule, UnitsPerNode
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.resources import CORES, MOST_WATTS, POWER
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split
from dardis.predict import Predictor, new_predictor
from dardis.registry import Dispatcher, find_dispatcher
from dardis.runs.inputs import check_power_cap
from dardis.runs.kernel_warmup import warm_kernels
from dardis.slurm.reservation_lease import Lease
from dardis.slurm.round_decision import decide_round
from dardis.slurm.slurm_client import SlurmPrograms
from dardis.slurm.steered_nodes import SteeredNodes
from dardis.slurm.steered_queue import SteeredQueue
from dardis.slurm.steered_site import read_site
from dardis.slurm.steerer import Steerer
from dardis.slurm.steering_log import Entry, SteeringLog, last_lease

SETTING: Final = "units_per_node=distinct"
"""A unit is what a job gets of a node."""
ReadCap = Callable[[Platform], tuple[str, list[list[int]]]]
"""Kind and steps (Unix s, value) of a cap."""


@dataclass(frozen=True)
class SteeringOptions:
    """What to decide, and how."""

    partition: str
    dispatcher: str
    settings: tuple[str, ...] = ()
    seed: int = 1
    platform: Path | None = None
    names: Path | None = None
    cap: ReadCap | None = None


def steering_dispatcher(options: SteeringOptions) -> Dispatcher:
    """Dispatcher for steering; a cap is hard unless the settings state otherwise. Raises InputError."""
    found = find_dispatcher(options.dispatcher, (SETTING, *options.settings))
    is_stated = any(text.startswith("profile=") for text in options.settings)
    if options.cap is not None and not is_stated and found.setup.profile is ProfileRule.SOFT:
        found = found.with_settings([f"profile={ProfileRule.HARD}"])
    setup = found.setup
    if setup.units_per_node is not UnitsPerNode.DISTINCT:
        raise InputError("--set units_per_node", setup.units_per_node, "distinct: a unit of each job on a node")
    if setup.needs_deadlines:
        raise InputError(f"--dispatcher {found.name}", "needs deadlines, which Slurm's jobs lack", "another dispatcher")
    if setup.expecting is Expecting.REAL:
        raise InputError("--set expected=real", "nobody knows real runtimes", "another expectation")
    return found


def steering(
    options: SteeringOptions, programs: SlurmPrograms, folder: Path, clock: Callable[[], int],
    steady: Callable[[], float],
) -> Steerer:  # fmt: skip
    """Steerer that goes on after the folder's log. Raises InputError, SlurmError."""
    dispatcher, log = steering_dispatcher(options), SteeringLog(folder)
    past = log.entries()
    site = read_site(programs, options.partition, clock())
    platform = None if options.platform is None else load_platform(options.platform)
    names = [] if platform is None else node_names(platform, options.names)
    if platform is not None:
        platform = platform.on_clock(0, clock())
    nodes = site.steered_nodes(platform, names)
    dispatcher.setup.check_platform(nodes.platform)
    desired = None if options.cap is None else _desired(options.cap, dispatcher, nodes)
    warm_kernels(dispatcher, wished=desired is not None)
    last = _last_lease(log, past, options.partition)
    lease = Lease(options.partition, nodes.names, programs, last and last.start, last and last.at)
    queue = SteeredQueue(
        options.partition, lease.name, nodes, partial(decide_round, dispatcher, options.seed), desired=desired,
        predictor=_predictor(dispatcher, options.seed), past=past,
    )  # fmt: skip
    return Steerer(programs, lease, queue, nodes, log, clock, steady)


def _last_lease(log: SteeringLog, past: Sequence[Entry], partition: str) -> Entry | None:
    last = last_lease(past)
    if last is not None and last.detail != partition:
        raise InputError(log.path, f"steers partition {last.detail}", f"a folder of its own for partition {partition}")
    return last


def _desired(cap: ReadCap, dispatcher: Dispatcher, nodes: SteeredNodes) -> DesiredProfile:
    setup, platform = dispatcher.setup, nodes.platform
    if setup.profile is ProfileRule.OFF:
        raise InputError("--profile", f"{dispatcher.name} obeys none", "another dispatcher, or profile=hard")
    kind, steps = cap(platform)
    told = [(time, value) for time, value in steps]
    if kind == POWER:
        if setup.profile_split is not Split.SHARED:
            expected = "--dispatcher dardis-late --set profile_split=shared"
            raise InputError("--profile", "limits power, which only nodes that share the profile obey", expected)
        check_power_cap("--profile", platform, min(value for _, value in told))
        return DesiredProfile(platform, split=Split.SHARED, watts=StepFunction.from_steps(MOST_WATTS, told))
    function = StepFunction.from_steps(platform.cores, told)
    return DesiredProfile(platform, {platform.kinds.index(CORES): function}, split=setup.profile_split)


def _predictor(dispatcher: Dispatcher, seed: int) -> Predictor | None:
    expecting = dispatcher.setup.expecting
    if expecting in (None, Expecting.WALLTIME):
        return None
    return new_predictor(Expecting(expecting), {}, seed)
