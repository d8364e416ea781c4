"""What a day hands to the online half: the cores to aim at by hour, what stays on, and the rules that say why."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.branch import Branch
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.target import Switching
from offline.day.hindsight import Hindsight
from offline.day.known import Known
from offline.day.options import DayOptions, SwitchingRule
from offline.day.stay_on import spares_of_day, thesis_switching, thesis_target
from offline.site.calendar import HOUR_S

NONE = StepFunction.from_steps(0, [])
NONE_SWITCHED = "idle nodes draw no more than those that are off: none is switched"


@dataclass(frozen=True)
class Aims:
    """What is handed to the online half, and the rules (by heading) and notes that say why."""

    cores: StepFunction
    switching: Switching | None
    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    trees: tuple[tuple[str, Branch], ...] = ()
    """The same rules as trees to be drawn."""


def aims_of_day(hindsight: Hindsight, known: Known, day: int, options: DayOptions, planned: StepFunction) -> Aims:
    """What online is to aim at on a day whose plan has so many cores in use: as learned, or by algorithm 8."""
    platform = known.platform
    if options.switching is SwitchingRule.ALGORITHM8:
        cores = thesis_target(known, day, options.offset, planned)
        thesis = thesis_switching(cores, platform)
        return Aims(cores, thesis, notes=() if thesis else (NONE_SWITCHED,))
    tree, learned = hindsight.target(known, day, options.seed)
    rules, notes, trees = [], [], []
    if tree is None:
        notes.append("too few days of history with weather and prices to learn what to aim at: the plan's own use is")
    else:
        learned_by, naive = (f"{100 * error:.1f} %" for error in (tree.cv_error, tree.naive_error))
        error = f"error {learned_by} of the cores on days not seen, {naive} by their mean"
        rules.append((f"Use to aim at ({error})", tree.rules))
        trees.append(("The tree: use to aim at", tree.drawn))
        if tree.cv_error > tree.naive_error:
            learned = NONE
            notes.append("the tree of the use to aim at is worse than the mean on days not seen: the plan's own use is")
    spare, switching = NONE, None
    if options.switching is SwitchingRule.SPARE:
        found = spares_of_day(known, day)
        switching = found.switching if found.switching.spares else None
        notes += found.rule.notes if switching else [NONE_SWITCHED]
        error = "" if found.rule.cv_error is None else f" (error {found.rule.cv_error:.1f} nodes on days not seen)"
        rules.append((f"Spare nodes{error}", tuple(found.rule.rules())))
        trees += [(f"The tree: spare nodes of {name}", drawn) for name, drawn in found.rule.drawn()]
        spare = _spare_cores(found.switching, platform)
    start, end = known.calendar.day(day)
    hours = np.arange(start, end + 1, HOUR_S, dtype=np.int64)
    cores = hourly_target(planned, learned, spare, hours, platform.cores)
    return Aims(cores, switching, tuple(rules), tuple(notes), tuple(trees))


def _spare_cores(switching: Switching, platform: Platform) -> StepFunction:
    """Cores of all spare nodes over time."""
    cores = platform.group_capacity[:, platform.kinds.index(CORES)]
    times = np.unique(np.concatenate([spares.times for spares in (*switching.spares.values(), NONE)]))
    values = np.zeros(len(times), dtype=np.int64)
    for group, spares in switching.spares.items():
        values += cores[group] * spares.at(times)
    return StepFunction(times, values)


def hourly_target(
    planned: StepFunction, learned: StepFunction, spare: StepFunction, hours: Ints, most: int
) -> StepFunction:
    """Cores to aim at in each hour: the most that is planned or learned to be right, and the spare nodes'.

    `hours` (hours + 1,) bound the hours; `most` cores are wished before and after, and never more.
    """
    steps = []
    for begin, end in pairwise(hours.tolist()):
        inner = planned.times[(planned.times > begin) & (planned.times < end)]
        peak = int(planned.at(np.append(inner, begin)).max())
        aim = max(peak, int(learned.at(begin))) + int(spare.at(begin))
        steps.append((begin, min(aim, most)))
    return StepFunction.from_steps(most, [*steps, (int(hours[-1]), most)])
