"""Oracle of a task manager's choice: common starts instant by instant, nodes by sorting (thesis 5.3.2 to 5.3.5)."""

from __future__ import annotations

from kit.chance import draw_key, mix, uniform_below
from kit.dense import Offer

from dardis.model.job import FOREVER
from dardis.model.offer_rows import ANY_NODE, BEST_FIT, CONTIGUOUS, WORST_FIT
from dardis.task_manager.selection import Selection

PURPOSE_PICK, PURPOSE_NODE = 2, 3
OPEN_GAP = 1 << 33
Offers = dict[int, dict[int, Offer]]
"""Node to instant to offer."""


def units_of(offer: Offer, distinct: bool) -> int:
    return min(offer.index >> 20, 1) if distinct else offer.index >> 20


def starts_that_count(offers: Offers, units: int, distinct: bool) -> dict[int, int]:
    """Instant to sum of fitting indices, ascending."""
    instants = sorted({instant for mine in offers.values() for instant in mine})
    found = {}
    for instant in instants:
        there = [mine[instant] for mine in offers.values() if instant in mine]
        if sum(units_of(offer, distinct) for offer in there) >= units:
            found[instant] = sum(offer.index for offer in there)
    return found


def choose_start(
    offers: Offers, units: int, policy: Selection, distinct: bool, key: tuple[int, int, int]
) -> int | None:
    found = starts_that_count(offers, units, distinct)
    if not found:
        return None
    if policy is Selection.MIN_START:
        return min(found)
    if policy is Selection.MAX_PROBABILITY:
        return min(found, key=lambda instant: (-found[instant], instant))
    seed, job, attempt = key
    return list(found)[uniform_below(draw_key(seed, job, attempt, 0, PURPOSE_PICK), 0, len(found))]


def choose_nodes(
    offers: Offers, instant: int, start: int, walltime: int, units: int, distinct: bool, choice: int,
    key: tuple[int, int, int],
) -> dict[int, int]:  # fmt: skip
    """Node to units."""
    there = {node: mine[instant] for node, mine in sorted(offers.items()) if instant in mine}
    if choice == CONTIGUOUS:
        return take_runs({node: units_of(offer, distinct) for node, offer in there.items()}, units)
    taken: dict[int, int] = {}
    for node in sorted(there, key=lambda node: rank(node, there[node], start, walltime, choice, key)):
        if units > 0:
            taken[node] = min(units_of(there[node], distinct), units)
            units -= taken[node]
    return dict(sorted(taken.items()))


def rank(
    node: int, offer: Offer, start: int, walltime: int, choice: int, key: tuple[int, int, int]
) -> tuple[int, ...]:  # fmt: skip
    """The least goes first."""
    if choice == BEST_FIT:
        after = OPEN_GAP if offer.free_to == FOREVER else offer.free_to - start - walltime
        return offer.index >> 20, start - offer.free_from + after, node
    if choice == WORST_FIT:
        return -offer.index, node
    if choice == ANY_NODE:
        seed, job, attempt = key
        return mix(draw_key(seed, job, attempt, node, PURPOSE_NODE), 0) >> 1, node
    return (node,)


def take_runs(whole: dict[int, int], units: int) -> dict[int, int]:
    """The shortest run of adjacent nodes that holds what is left, else the one that holds most; again and again."""
    taken: dict[int, int] = {}
    while units > 0:
        left = sorted(set(whole) - set(taken))
        runs = [
            range(low, high + 1)
            for low in left
            for high in left
            if high >= low and set(range(low, high + 1)) <= {*left}
        ]
        held = {run: sum(whole[node] for node in run) for run in runs}
        enough = [run for run in runs if held[run] >= units]
        best = min(enough, key=lambda run: (len(run), run[0])) if enough else min(runs, key=lambda r: (-held[r], r[0]))
        for node in best:
            if units > 0:
                taken[node] = min(whole[node], units)
                units -= taken[node]
    return dict(sorted(taken.items()))
