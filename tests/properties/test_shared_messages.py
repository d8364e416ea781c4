"""Who shares a message hears what he would have heard alone."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import platforms, requests
from kit.offer_requests import ask_for

from dardis.node_manager import NodePool
from dardis.task_manager.local_rounds import join_queries, split_offers
from dardis.wire.codec import decode, encode
from dardis.wire.messages import JointQuery, OfferQuery


@st.composite
def sampled_asks(draw, platform, number: int) -> OfferQuery:
    sample = np.array(sorted(draw(st.sets(st.integers(0, platform.node_count - 1), min_size=1))), dtype=np.int64)
    first = draw(st.integers(0, 40))
    ask = ask_for(
        job=number, first=first, last=first + draw(st.integers(0, 60)), walltime=draw(st.integers(1, 20)),
        quota=draw(st.sampled_from((-1, -1, 2))), groups=draw(st.integers(1, platform.all_groups)),
        request=draw(requests(platform)), generator=draw(st.sampled_from((0, 0, 1))),
    )  # fmt: skip
    needed = np.array([draw(st.integers(0, 1))])
    return replace(
        ask, round=100 + number, sample=sample, sample_offset=np.array([0, len(sample)]), needed=needed
    )  # fmt: skip


@given(platforms(), st.data())
@examples(1)
def test_joint_response_equals_the_separate_responses(platform, data):
    pool = NodePool(platform, 0, platform.node_count)
    for _ in range(data.draw(st.integers(0, 6))):
        node = np.array([data.draw(st.integers(0, platform.node_count - 1))])
        start = data.draw(st.integers(0, 50))
        pool.state.reserve(node, np.ones(1, np.int64), np.array(data.draw(requests(platform))), start, start + 9, 0)
    asks = [data.draw(sampled_asks(platform, number)) for number in range(1, data.draw(st.integers(1, 5)) + 1)]
    alone = {ask.round: pool.handle(ask, 0)[0].message for ask in asks}
    heard = {}
    for message in join_queries(asks):
        assert isinstance(message, JointQuery)
        ((_, sent),) = decode(encode([(0, message)]))[1]
        ((_, answer),) = decode(encode([(0, pool.handle(sent, 0)[0].message)]))[1]
        for job, offers in split_offers(answer):
            assert offers.round == 100 + job
            heard[offers.round] = offers
    assert {str(offers) for offers in heard.values()} == {str(offers) for offers in alone.values()}
    assert len(join_queries(asks)) == len({ask.generator for ask in asks})
