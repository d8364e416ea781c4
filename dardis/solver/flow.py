"""The most that flows through a network, in whole numbers."""

from __future__ import annotations

from dardis.model.arrays import Ints


def largest_flow(tail: Ints, head: Ints, capacity: Ints, source: int, sink: int) -> Ints:
    """The flow on each arc, from node `tail[i]` to `head[i]`, when as much as can be goes from source to sink."""
    from ortools.graph.python.max_flow import SimpleMaxFlow

    network = SimpleMaxFlow()
    arcs = network.add_arcs_with_capacity(tail, head, capacity)
    if network.solve(source, sink) != network.OPTIMAL:
        raise ValueError("a network whose flow overflows")
    flows: Ints = network.flows(arcs)
    return flows
