"""Connections over a link: bytes come equal and in order, are bounded on their way, and closed where any is lost."""

import asyncio
import random
import socket
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.stream_forwarding import Both, all_of, send, sockets_open, some_of
from kit.waiting import until_async

from dardis.live.stream_forwarding import PIECE, PIECES, StreamForwarder


def play(work):
    """Let it happen; nothing is left of it."""

    async def all_of_it():
        before, both = sockets_open(), Both(StreamForwarder)
        async with asyncio.timeout(60):
            await work(both)
            await both.all_over()
        assert sockets_open() == before

    asyncio.run(all_of_it())


async def speaks(one, chunks, rng):
    for chunk in chunks:
        await send(one, chunk)
        if rng.random() < 0.3:
            await asyncio.sleep(0)
    one.shutdown(socket.SHUT_WR)


CHUNKS = st.lists(st.one_of(st.integers(1, 300), st.integers(1, 3 * PIECE)), max_size=6)


@given(lengths=st.lists(st.tuples(CHUNKS, CHUNKS), min_size=1, max_size=4), seed=st.integers(0, 2**32))
@settings(deadline=None)
def test_forwarded_bytes_arrive_unchanged_and_in_order(lengths, seed):
    rng = random.Random(seed)  # noqa: S311

    async def work(both):
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as talking:
            come = []
            for ways in lengths:
                ends = await stack.enter_async_context(both.carried())
                said = [[rng.randbytes(length) for length in way] for way in ways]
                for one, chunks in zip(ends, said, strict=True):
                    talking.create_task(speaks(one, chunks, rng))
                come += [
                    (talking.create_task(all_of(other)), b"".join(chunks))
                    for other, chunks in zip(reversed(ends), said, strict=True)
                ]
            for task, data in come:
                assert await task == data

    play(work)


def test_half_closed_connection_receives_the_response():
    async def work(both):
        async with both.carried() as (asks, answers):
            await send(asks, b"question")
            asks.shutdown(socket.SHUT_WR)
            assert await all_of(answers) == b"question"
            await send(answers, b"answer")
            assert await some_of(asks, 6) == b"answer"
            assert both.ends[0].numbers == both.ends[1].numbers == [1]
            answers.close()
            assert await all_of(asks) == b""

    play(work)


async def stuck(one):
    """Write until nothing more is taken; how many bytes were."""
    written = 0
    while True:
        try:
            async with asyncio.timeout(0.3):
                written += len(bytes(PIECE))
                await asyncio.get_running_loop().sock_sendall(one, bytes(PIECE))
        except TimeoutError:
            return written


def test_slow_reader_blocks_only_its_own_writer():
    async def work(both):
        async with both.carried() as (asks, answers), both.carried() as (fast, echoes):
            written = await stuck(asks)
            pieces = [told for to, told in both.wire.said if to == 1 and "piece" in told]
            took = [told for to, told in both.wire.said if to == 0 and "took" in told]
            assert len(pieces) == len(took) + PIECES
            assert max(len(told["bytes"]) for told in pieces) <= -(-PIECE // 3) * 4
            await send(fast, b"goes on")
            assert await some_of(echoes, 7) == b"goes on"
            read = asyncio.create_task(all_of(answers))
            await until_async(lambda: len([told for _, told in both.wire.said if "piece" in told]) > written // PIECE)
            asks.close()
            assert not (await read).strip(b"\0")

    play(work)


@pytest.mark.parametrize("kind", ["piece", "took", "closed"])
@pytest.mark.parametrize("seed", range(5))
def test_lost_message_closes_the_connection(kind, seed):
    rng = random.Random(seed)  # noqa: S311
    chance = 1 / rng.randint(1, 6)

    async def work(both):
        both.wire.lost = lambda _to, told: kind in told and rng.random() < chance
        said = rng.randbytes(20 * PIECE)
        async with both.carried() as (asks, answers):
            reading = asyncio.create_task(all_of(answers))
            try:
                async with asyncio.timeout(0.5):
                    await asyncio.get_running_loop().sock_sendall(asks, said)
                asks.close()
            except (OSError, TimeoutError):
                pass
            await asyncio.sleep(0.02)
            for end in both.ends:
                end.close_all()
            assert said.startswith(await reading)

    play(work)
