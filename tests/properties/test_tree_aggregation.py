"""Through a tree of hosts the answer is the flat one: of each question, and so of whole runs, however split."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import choices
from kit.dense import Offer
from kit.effort import examples
from kit.offer_requests import nothing_held
from kit.slow_tree import Candidate, Step, best_candidates, joined_steps, up_the_tree
from properties import test_late_binding, test_simulation
from properties.test_pool_against_arrays import SEED, World, offer_requests, worlds

from dardis.kernels import ranking
from dardis.kernels.relay_blocks import is_summable, join_blocks
from dardis.model import offer_rows
from dardis.model import offer_rows as blocks_of
from dardis.model.errors import ProtocolError
from dardis.model.job import NO_TIME
from dardis.model.platform import Platform
from dardis.node_manager import pool_state
from dardis.node_manager.pool_state import VirtualHosts
from dardis.task_manager.rounds import Round, starts_of
from dardis.task_manager.selection import Selection
from dardis.wire import messages as say
from dardis.wire.codec import decode_nested, encode_nested

INCARNATION = 3
arities, blocks, managers = st.integers(1, 5), st.integers(1, 4), st.integers(1, 3)


@contextmanager
def virtual_hosts(block: int, arity: int) -> Iterator[None]:
    """Let every pool stand for a tree of hosts of so many nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_state, "VirtualHosts", partial(VirtualHosts, block, arity))
        yield


@st.composite
def splits(draw, platform: Platform) -> list[int]:
    """Any cut of the machine into hosts; some have no nodes, as where there are more ranks than nodes."""
    return sorted(draw(st.lists(st.integers(0, platform.node_count), max_size=platform.node_count + 1)))


@dataclass
class Question:
    """Some asks in one message, of a pool that stands for a tree of hosts, and what its nodes offer to each."""

    world: World
    ask: say.OfferQuery
    offers: list[np.ndarray]
    tree: VirtualHosts

    def blocks(self, rows: np.ndarray) -> list[np.ndarray]:
        """The rows of the nodes of each virtual host."""
        hosts = -(-self.world.platform.node_count // self.tree.block)
        return [rows[rows[:, 0] // self.tree.block == host] for host in range(hosts)]

    def units_of(self, index: int) -> int:
        return min(index >> 20, 1) if self.ask.distinct else index >> 20

    def steps(self, i: int) -> tuple[list[Step], int, int]:
        """What the tree says to ask i, how many rows are sent in it, and how many at most in one to the root."""
        own = [
            [
                (edge, sign * self.units_of(index), sign * index)
                for _, low, high, index, *_ in rows.tolist()
                for edge, sign in ((low, 1), (high, -1))
            ]
            for rows in self.blocks(self.offers[i])
        ]
        cut = self.ask.earliest
        return up_the_tree(own, self.tree.arity, lambda steps: joined_steps(steps, int(self.ask.units[i]), cut=cut))

    def candidates(self, i: int, start: int) -> tuple[list[Candidate], int, int]:
        """The best for a start of ask i, with the same counts."""
        ask = self.ask
        key = (SEED, int(ask.job[i]), int(ask.draw_key[i]))
        instant = (start - int(ask.first[i])) // ask.grain
        own: list[list[Candidate]] = [
            [
                (choices.rank(node, Offer(*rest), start, int(ask.walltime[i]), ask.choice, key), node,
                 self.units_of(rest[0]))
                for node, low, high, *rest in rows.tolist()
                if low <= instant < high
            ]
            for rows in self.blocks(self.offers[i])
        ]  # fmt: skip
        units = int(ask.units[i])
        return up_the_tree(own, self.tree.arity, lambda rows: best_candidates(rows, units, ask.choice))

    def by_instant(self, i: int) -> choices.Offers:
        found: choices.Offers = {}
        for node, low, high, *rest in self.offers[i].tolist():
            found.setdefault(node, {}).update(dict.fromkeys(range(low, high), Offer(*rest)))
        return found


@st.composite
def questions(draw) -> Question:
    """One to three asks by the same rules, to a pool with a past."""
    world = draw(worlds())
    several = draw(st.lists(offer_requests(world, quota=draw(st.booleans())), min_size=1, max_size=3))
    together = {
        name: np.concatenate([getattr(ask, name) for ask in several])
        for name in ("job", "draw_key", "first", "last", "walltime", "quota", "groups", "request")
    }
    ask = replace(
        several[0], **together, units=np.array([draw(st.integers(1, 6)) for _ in several]),
        earliest=draw(st.booleans()), choice=draw(st.sampled_from(list(offer_rows.NODE_CHOICES.values()))),
        distinct=draw(st.booleans()),
    )  # fmt: skip
    rows, offset = world.state.offers(ask, held_of(ask), SEED, world.now)
    tree = world.state.virtual_hosts = VirtualHosts(draw(blocks), draw(arities))
    return Question(world, ask, [rows[low:high] for low, high in pairwise(offset)], tree)


def held_of(ask: say.OfferQuery):
    zeros = np.zeros(len(ask.job) + 1, dtype=np.int64)
    return nothing_held()._replace(offset=zeros, start=zeros[1:], end=zeros[1:])


@given(questions(), st.sampled_from(Selection))
@examples(1)
def test_tree_sums_contain_the_start_of_the_offers(question, policy):
    ask, world = question.ask, question.world
    policy = Selection.MIN_START if ask.earliest else policy
    rows, offset = world.state.sums(ask, held_of(ask), SEED, world.now)
    this = Round(ask.round, [], [], ask, None, is_renegotiation=False)
    this.sums = say.Sums(ask.round, 1, 0, 0, 0, offset, rows)
    found = dict(starts_of(this, policy, SEED))
    sent, longest = [], []
    for i, units in enumerate(ask.units.tolist()):
        steps, in_all, in_one = question.steps(i)
        assert list(map(tuple, rows[offset[i] : offset[i + 1]].tolist())) == steps
        key = (SEED, int(ask.job[i]), int(ask.draw_key[i]))
        chosen = choices.choose_start(question.by_instant(i), units, policy, ask.distinct, key)
        assert found.get(i) == (None if chosen is None else ask.first[i] + chosen * ask.grain)
        sent.append(in_all)
        longest.append(in_one)
    assert world.state.sent.tolist() == [sum(sent), max(longest)]


@given(questions(), st.data())
@examples(1)
def test_tree_candidates_contain_the_nodes_of_the_offers(question, data):
    ask, world = question.ask, question.world
    found = [
        choices.starts_that_count(question.by_instant(i), units, ask.distinct)
        for i, units in enumerate(ask.units.tolist())
    ]
    instants = np.array([data.draw(st.sampled_from(sorted(mine))) if mine else 0 for mine in found])
    start = ask.first + instants * ask.grain
    ask = replace(ask, want=say.CANDIDATES, start=start)
    best, offset = world.state.candidates(ask, held_of(ask), SEED, world.now, INCARNATION)
    assert (best[:, offer_rows.BEST_INCARNATION] == INCARNATION).all()
    sent, longest = [], []
    for i, units in enumerate(ask.units.tolist()):
        mine = best[offset[i] : offset[i + 1]]
        candidates, in_all, in_one = question.candidates(i, int(start[i]))
        assert mine[:, [offer_rows.BEST_NODE, offer_rows.BEST_UNITS]].tolist() == [
            [node, holds] for _, node, holds in candidates
        ]
        sent.append(in_all)
        longest.append(in_one)
        if not found[i]:
            continue
        nodes, node_units = np.empty(units, dtype=np.int64), np.empty(units, dtype=np.int64)
        count = ranking.take_best(mine, units, ask.choice, nodes, node_units)
        key = (SEED, int(ask.job[i]), int(ask.draw_key[i]))
        assert dict(zip(nodes[:count].tolist(), node_units[:count].tolist(), strict=True)) == choices.choose_nodes(
            question.by_instant(i), int(instants[i]), int(start[i]), int(ask.walltime[i]), units, ask.distinct,
            ask.choice, key,
        )  # fmt: skip
    assert world.state.sent.tolist() == [sum(sent), max(longest)]


@given(questions(), st.booleans())
@examples(1)
def test_undecoded_request_gets_the_response_of_a_decoded_one(question, first_starts):
    ask, world = replace(question.ask, generator=0) if first_starts else question.ask, question.world
    held = held_of(ask)
    for want in (say.SUMS, say.CANDIDATES):
        asked = replace(ask, want=want, start=ask.first if want == say.CANDIDATES else ask.start)
        block = world.state.answer_block(encode_nested(asked).block, held, SEED, world.now, INCARNATION)
        if ask.generator != offer_rows.FIRST:
            assert len(block) == 0
            continue
        answer = decode_nested(say.EncodedMessage(block))
        if want == say.SUMS:
            rows, offset = world.state.sums(asked, held, SEED, world.now)
            ends = world.state.ends()
            assert (answer.horizon, answer.last_end, answer.down_until) == (*ends, NO_TIME)
        else:
            rows, offset = world.state.candidates(asked, held, SEED, world.now, INCARNATION)
        assert type(answer) is (say.Sums if want == say.SUMS else say.Candidates)
        assert (answer.round, answer.hosts) == (ask.round, 1)
        assert answer.offset.tolist() == offset.tolist()
        assert answer.rows.tolist() == rows.tolist()


def answer_of(parts: list[np.ndarray], columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and rows of one answer to several asks."""
    ends = np.cumsum([0, *map(len, parts)])
    return ends, np.concatenate([np.reshape(part, (-1, columns)) for part in parts]).astype(np.int64)


def joined_of(asked: say.OfferQuery, said: list[say.Message]) -> say.Message:
    """What hosts have said, as one answer; also of a single one."""
    return decode_nested(
        say.EncodedMessage(
            join_blocks(encode_nested(asked).block, np.concatenate([encode_nested(one).block for one in said]))
        )
    )


@given(questions())
@examples(1)
def test_undecoded_responses_are_summed_like_decoded_ones(question):
    world = question.world
    asked = replace(question.ask, want=say.SUMS)
    rows, offset = world.state.sums(asked, held_of(asked), SEED, world.now)
    hosts = len(question.blocks(question.offers[0]))
    cut = asked.earliest
    said = []
    for host in range(hosts):
        parts = []
        for i, units in enumerate(asked.units.tolist()):
            steps = [
                (edge, sign * question.units_of(index), sign * index)
                for _, low, high, index, *_ in question.blocks(question.offers[i])[host].tolist()
                for edge, sign in ((low, 1), (high, -1))
            ]
            parts.append(np.array(joined_steps(steps, units, cut=cut), dtype=np.int64))
        said.append(say.Sums(asked.round, 1, host, 7 - host, host * host, *answer_of(parts, 3)))
    joined = joined_of(asked, said)
    assert (joined.round, joined.hosts) == (asked.round, hosts)
    assert (joined.horizon, joined.last_end, joined.down_until) == (hosts - 1, 7, (hosts - 1) ** 2)
    assert (joined.offset.tolist(), joined.rows.tolist()) == (offset.tolist(), rows.tolist())

    asked = replace(question.ask, want=say.CANDIDATES, start=question.ask.first)
    best, offset = world.state.candidates(asked, held_of(asked), SEED, world.now, INCARNATION)
    many = replace(asked, units=np.full(len(asked.units), 999))
    every, edges = world.state.candidates(many, held_of(asked), SEED, world.now, INCARNATION)
    said = [
        say.Candidates(asked.round, *answer_of([part[part[:, 1] // question.tree.block == host] for part in parts], 4))
        for parts in [[every[low:high] for low, high in pairwise(edges)]]
        for host in range(hosts)
    ]
    joined = joined_of(asked, said)
    assert getattr(joined, "hosts", None) == hosts
    assert (joined.offset.tolist(), joined.rows.tolist()) == (offset.tolist(), best.tolist())


@given(questions(), st.integers(0, 2**32 - 1))
@examples(1)
def test_malformed_block_is_left_to_the_decoder(question, seed):
    rng, world = np.random.default_rng(seed), question.world
    ask = replace(question.ask, generator=0, want=int(rng.choice([say.SUMS, say.CANDIDATES])))
    block = encode_nested(replace(ask, start=ask.first)).block
    heads = blocks_of.NUMBERS + blocks_of.QUERY_NUMBERS + 2 * blocks_of.QUERY_ARRAYS + 1
    place = int(rng.integers(blocks_of.NUMBERS + blocks_of.QUERY_NUMBERS, heads))
    wrong = block.copy()
    wrong[place] = rng.choice([-1, 0, 1, 2, 9, 2**40, -(2**40)])
    for damaged in (wrong, block[: int(rng.integers(len(block)))], np.append(block, 0)):
        if not is_summable(damaged) or np.array_equal(damaged, block):
            continue
        answer = world.state.answer_block(damaged, held_of(ask), SEED, world.now, INCARNATION)
        try:
            read = decode_nested(say.EncodedMessage(damaged))
        except ProtocolError:
            assert len(answer) == 0
        else:
            assert len(answer) == 0 or len(read.job) == len(ask.job)
    whole = world.state.answer_block(block, held_of(ask), SEED, world.now, INCARNATION)
    said = np.concatenate([whole, whole])
    said[int(rng.integers(len(said)))] = rng.choice([-1, 0, 2**40, -(2**40)])
    assert len(join_blocks(block, said)) <= len(block) + len(said)
    assert len(join_blocks(block, said[:-1])) == 0


@given(test_simulation.cases(following=True), st.data(), arities, blocks, managers)
@examples(1)
def test_tree_of_hosts_gives_the_flat_schedule(case, data, arity, block, agents):
    expected = case.run()
    with virtual_hosts(block, arity):
        for run in (case.run(arity=arity), case.run(data.draw(splits(case.platform)), agents, arity)):
            assert run.schedule.digest() == expected.schedule.digest()
            assert run.reasons == expected.reasons


@given(test_late_binding.crowds() | test_late_binding.cases(), st.data(), arities, managers)
@examples(0.5)
def test_late_binding_through_a_tree_gives_the_flat_schedule(case, data, arity, agents):
    expected, run = case.run(), case.run(data.draw(splits(case.platform)), agents, arity=arity)
    assert run.schedule.digest() == expected.schedule.digest()
    assert run.reasons == expected.reasons
    assert run.renegotiations == expected.renegotiations
