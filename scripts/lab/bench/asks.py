"""What an ask costs by reservations on a node and by seconds of window, beside a NumPy pass over the same profiles."""

from __future__ import annotations

from functools import partial

import numpy as np

from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.wire.messages import OfferQuery
from scripts.lab.bench.measure import Row, cpu_of
from scripts.lab.kit.spread import Spread

ASKS = 300
"""Asks that are timed together."""


def ask_pool(nodes: int, reservations: int, spacing: int) -> tuple[NodePool, OfferQuery]:
    """A pool whose nodes hold so many reservations each, `spacing` s apart, and an ask whose window spans them all."""
    pool = NodePool(Platform("bench", (NodeGroup("n", nodes, {"cores": 16}),)), 0, nodes)
    everyone, each, half = np.arange(nodes), np.ones(nodes, dtype=np.int64), np.array([8])
    for place in range(reservations):
        start = (place + 1) * spacing
        pool.state.reserve(everyone, each, half, start, start + spacing // 2, 0)
    one = np.ones(1, dtype=np.int64)
    ask = OfferQuery(
        round=0, job=one, draw_key=one, first=0 * one, last=one * spacing * (reservations + 1),
        walltime=one * (spacing // 4), units=one, quota=-one, groups=one, request=np.array([[16]]),
        generator=0, grain=1, desired_binds=False, held_only=False,
    )  # fmt: skip
    return pool, ask


def asks(repeats: int) -> list[Row]:
    """One row for each size; the ratio is to a pass that reads every breakpoint and value once."""
    rows = []
    sizes = [(300, 0, 600), (300, 4, 600), (300, 4, 600_000), (300, 32, 600), (300, 256, 600), (5832, 0, 600),
             (5832, 4, 600), (5832, 32, 600)]  # fmt: skip
    for nodes, reservations, spacing in sizes:
        pool, ask = ask_pool(nodes, reservations, spacing)
        profiles = pool.state.profiles
        used = np.concatenate([np.arange(h, h + s) for h, s in zip(profiles.head, profiles.size, strict=True)])
        pass_over = (profiles.time[used].copy(), profiles.value[used].copy())
        pool.handle(ask, 0)
        ours, plain = [], []
        for _ in range(repeats):
            ours.append(cpu_of(partial(pool.handle, ask, 0), ASKS)[1])
            plain.append(cpu_of(lambda t=pass_over: (t[0].sum(), (t[1] >= 16).sum()), ASKS)[1])  # type: ignore[misc]
        per_ask = Spread.of([cpu / ASKS for cpu in ours])
        window = spacing * (reservations + 1)
        rows.append(
            Row(
                "asks", f"{nodes} nodes, {reservations} reservations each, window {window} s", ASKS, Spread.of(ours),
                ratio=Spread.ratio(ours, plain), ratio_of="a NumPy pass's",
                notes={"us_per_ask": round(per_ask.median * 1e6, 1), "ns_a_node": round(per_ask.median * 1e9 / nodes)},
            )
        )  # fmt: skip
    return rows
