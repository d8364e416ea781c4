"""Day's target cores, idle reserve, and their rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.branch import Branch
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.step_function import ZERO, StepFunction
from dardis.model.target import Switching
from offline.day.hindsight import Hindsight
from offline.day.hours_before import MachineHistory
from offline.day.idle_reserve import reserve_of_day, thesis_switching, thesis_target, wait_joules
from offline.day.plan_spec import DaySpec, SwitchingRule
from offline.site.calendar import HOUR_S

NONE_SWITCHED = "idle nodes draw no more power than off nodes, so no node is switched"


@dataclass(frozen=True)
class DayTargets:
    """Targets for dispatchers, with rules by heading."""

    cores: StepFunction
    switching: Switching | None
    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    trees: tuple[tuple[str, Branch], ...] = ()
    """Same rules, for drawing."""


def targets_of_day(
    hindsight: Hindsight, known: MachineHistory, day: int, options: DaySpec, planned: StepFunction
) -> DayTargets:
    """Day's targets, learned or by algorithm 8; `planned`: cores in use."""
    platform = known.platform
    if options.switching is SwitchingRule.ALGORITHM8:
        cores = thesis_target(known, day, options.offset, planned)
        thesis = thesis_switching(cores, platform)
        return DayTargets(cores, thesis, notes=() if thesis else (NONE_SWITCHED,))
    tree, learned = hindsight.target(known, day, options.seed)
    rules, notes, trees = [], [], []
    if tree is None:
        notes.append("too few days with weather and prices to learn a target, so the target is the plan's own use")
    else:
        learned_by, naive = (f"{100 * error:.1f} %" for error in (tree.cv_error, tree.naive_error))
        error = f"error {learned_by} of the cores on other days, {naive} with their mean"
        rules.append((f"Target use ({error})", tree.rules))
        trees.append(("Tree: target use", tree.branch))
        if tree.cv_error > tree.naive_error:
            learned = ZERO
            notes.append("the tree of the target is worse than the mean, so the target is the plan's own use")
    spare, switching = ZERO, None
    if options.switching is SwitchingRule.SPARE:
        wait_j = wait_joules(options.wait_price, hindsight.site, hindsight.site.conditions(day))
        found = reserve_of_day(known, day, hindsight.demands, wait_j)
        switching = found.switching if found.switching.spares else None
        notes += found.rule.notes if switching else [NONE_SWITCHED]
        error = "" if found.rule.cv_error is None else f" (error {found.rule.cv_error:.1f} nodes on other days)"
        rules.append((f"Spare nodes{error}", tuple(found.rule.rules())))
        trees += [(f"Tree: spare nodes of {name}", drawn) for name, drawn in found.rule.branches()]
        spare = _spare_cores(found.switching, platform)
    start, end = known.calendar.day(day)
    hours = np.arange(start, end + 1, HOUR_S, dtype=np.int64)
    cores = hourly_target(planned, learned, spare, hours, platform.cores)
    return DayTargets(cores, switching, tuple(rules), tuple(notes), tuple(trees))


def _spare_cores(switching: Switching, platform: Platform) -> StepFunction:
    cores = platform.group_capacity[:, platform.kinds.index(CORES)]
    parts = (StepFunction(f.times, cores[group] * f.values) for group, f in switching.spares.items())
    return StepFunction.sum_of(parts)


def hourly_target(
    planned: StepFunction, learned: StepFunction, spare: StepFunction, hours: Ints, most: int
) -> StepFunction:
    """Target cores by hour: the larger of plan and learned use, plus spare nodes.

    `hours` (hours + 1,): edges. `most`: limit, and value outside.
    """
    begins = hours[:-1]
    aims = np.maximum(planned.max_over(begins, hours[1:]), learned.at(begins)) + spare.at(begins)
    return StepFunction.from_steps(most, zip(hours.tolist(), [*np.minimum(aims, most).tolist(), most], strict=True))
