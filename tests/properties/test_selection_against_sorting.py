"""What a task manager picks of any offers, against instants counted one by one and nodes sorted."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit import choices
from kit.dense import ONE, Offer
from kit.effort import examples

from dardis.model import offer_rows
from dardis.model.job import FOREVER
from dardis.task_manager.rounds import Round, picks
from dardis.task_manager.selection import Selection
from dardis.wire import messages as say

SEED = 3
CHOICES = (offer_rows.BEST_FIT, offer_rows.WORST_FIT, offer_rows.ANY_NODE, offer_rows.FIRST_FIT, offer_rows.CONTIGUOUS)


@dataclass(frozen=True)
class Ask:
    """One job's ask, and the offers to it as rows."""

    job: int
    attempt: int
    first: int
    walltime: int
    units: int
    rows: np.ndarray


@st.composite
def offer_requests(draw, grain: int) -> Ask:
    """Up to eight nodes with up to three runs each; indices whole or broken, many equal, some huge (MiB of TiB)."""
    first, walltime = draw(st.integers(0, 100)), draw(st.integers(1, 20))
    rows = []
    for node in sorted(draw(st.sets(st.integers(0, 9), max_size=8))):
        edges = sorted(draw(st.sets(st.integers(0, 12), min_size=2, max_size=6)))
        for low, high in zip(edges[::2], edges[1::2], strict=False):
            index = draw(st.sampled_from((1, 2, 3, 2**22))) * ONE + draw(st.sampled_from((0, 0, 1, ONE // 2)))
            free_from = first + low * grain - draw(st.integers(0, 2))
            beyond = first + (high - 1) * grain + walltime + draw(st.integers(0, 2))
            rows.append([node, low, high, index, free_from, draw(st.sampled_from((beyond, FOREVER)))])
    table = np.array(rows, dtype=np.int64).reshape(-1, 6)
    return Ask(draw(st.integers(1, 99)), draw(st.integers(1, 9)), first, walltime, draw(st.integers(1, 9)), table)


def instant_by_instant(rows: np.ndarray) -> choices.Offers:
    offers: choices.Offers = {}
    for node, low, high, *rest in rows.tolist():
        offers.setdefault(node, {}).update(dict.fromkeys(range(low, high), Offer(*rest)))
    return offers


def expected(
    ask: Ask, grain: int, policy: Selection, choice: int, *, distinct: bool
) -> tuple[int, dict[int, int]] | None:
    offers, key = instant_by_instant(ask.rows), (SEED, ask.job, ask.attempt)
    instant = choices.choose_start(offers, ask.units, policy, distinct, key)
    if instant is None:
        return None
    start = ask.first + instant * grain
    return start, choices.choose_nodes(offers, instant, start, ask.walltime, ask.units, distinct, choice, key)


@given(
    st.sampled_from((1, 7)).flatmap(
        lambda grain: st.tuples(st.just(grain), st.lists(offer_requests(grain), min_size=1, max_size=3))
    ),
    st.sampled_from(Selection),
    st.sampled_from(CHOICES),
    st.booleans(),
)
@examples(4)
def test_each_feasible_request_gets_the_reference_start_and_nodes(several, policy, choice, distinct):
    grain, batch = several

    def column(name: str) -> np.ndarray:
        return np.array([getattr(ask, name) for ask in batch], dtype=np.int64)

    none = np.zeros(len(batch), dtype=np.int64)
    ask = say.OfferQuery(
        1, column("job"), column("attempt"), column("first"), none, column("walltime"), column("units"), none, none,
        none.reshape(-1, 1), 0, grain, False, False, earliest=policy is Selection.MIN_START, choice=choice,
        distinct=distinct,
    )  # fmt: skip
    this = Round(1, [None] * len(batch), [], ask, None, is_renegotiation=False)
    offset = np.cumsum([0, *(len(ask.rows) for ask in batch)])
    this.offers[0] = say.Offers(1, 0, 0, 0, 0, offset, np.concatenate([ask.rows for ask in batch]))
    found = {pick.place: pick for pick in picks(this, policy, SEED)}
    for place, one in enumerate(batch):
        wanted = expected(one, grain, policy, choice, distinct=distinct)
        assert (place in found) is (wanted is not None)
        if wanted is not None:
            pick = found[place]
            assert (pick.start, dict(zip(pick.nodes.tolist(), pick.units.tolist(), strict=True))) == wanted
            assert (np.diff(pick.nodes) > 0).all()
            assert pick.units.sum() == one.units
