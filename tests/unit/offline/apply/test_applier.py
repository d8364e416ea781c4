"""What is asked of controllers, whatever they do and answer: limits fall before they rise, and all comes about."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from offline.apply import redfish_client
from offline.apply.applier import Applier, ApplyEnvironment
from offline.apply.apply_steps import NO_LIMIT, DesiredStates, NodeState, RequestKind, most_node_w, most_total_w
from offline.apply.redfish_client import METRICS, POWER, Controller, ControllerError, Controllers

NODES = [f"n{i}" for i in range(5)]
MOST_W = dict.fromkeys(NODES, 400.0)
BEGIN, END = 1_000, 1_000 + 24 * 3_600


@dataclass
class Machine:
    """Controllers that are as they are; each deed of a node fails as often as is told, and may be done all the same."""

    state: dict[str, NodeState]
    failures: dict[tuple[str, str], int] = field(default_factory=dict)
    done_all_the_same: bool = False
    busy_until: dict[str, int] = field(default_factory=dict)
    now: float = BEGIN
    told: list[str] = field(default_factory=list)
    asked: list[tuple[str, str, float | None]] = field(default_factory=list)
    watch: list = field(default_factory=list)

    def read_state(self, node: str) -> NodeState:
        self._done(node, "see")
        return self.state[node]

    def set_limit(self, node: str, limit_w: float) -> None:
        self.asked.append((node, "limit", limit_w))
        self._done(node, "limit", limit_w=limit_w)

    def reset(self, node: str, deed: RequestKind) -> None:
        self.asked.append((node, deed, None))
        self._done(node, deed, on=deed is RequestKind.POWER_ON)

    def _done(self, node: str, what: str, **change: object) -> None:
        left = self.failures.get((node, what), 0)
        self.failures[node, what] = max(left - 1, 0)
        if not left or self.done_all_the_same:
            self.state[node] = self.state[node]._replace(**change)
        if change:
            self.watch.append((self.now, self.drawn()))
        if left:
            raise ControllerError("no answer")

    def drawn(self) -> float:
        return sum(most_node_w(node, seen, MOST_W) for node, seen in self.state.items())

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 1e-3)

    def applier(self) -> Applier:
        world = ApplyEnvironment(
            lambda: self.now, self.sleep, self, lambda node: self.busy_until.get(node, 0) <= self.now,
            lambda *_: None, self.told.append,
        )  # fmt: skip
        return Applier(world, MOST_W, poll_s=300, at_once=1)


@st.composite
def power_schedules(draw, *, switches: bool = True) -> DesiredStates:
    """Limits by hour that end with the plan, and nodes that go off and come back."""
    limits, switched = {}, {}
    for node in draw(st.sets(st.sampled_from(NODES), min_size=1)):
        hours = sorted(draw(st.sets(st.integers(0, 23), min_size=1, max_size=4)))
        steps = [(BEGIN + 3_600 * hour, float(draw(st.integers(100, 380)))) for hour in hours]
        limits[node] = [*steps, (END, NO_LIMIT)]
    for node in draw(st.sets(st.sampled_from(NODES))) if switches else ():
        hours = sorted(draw(st.sets(st.integers(0, 24), min_size=1, max_size=4)))
        on = draw(st.booleans())
        switched[node] = [(BEGIN + 3_600 * hour, on ^ bool(place % 2)) for place, hour in enumerate(hours)]
    return DesiredStates(BEGIN, END, MOST_W, limits, switched)


def machines(draw) -> dict[str, NodeState]:
    limit = st.sampled_from([NO_LIMIT, 150.0, 399.0])
    return {node: NodeState(draw(limit), draw(st.sampled_from([True, True, False]))) for node in NODES}


def as_wished(machine: Machine, asked: DesiredStates) -> bool:
    return all(machine.state[node].fulfils(wish) for node, wish in asked.at(END).items())


@given(power_schedules(), st.integers(0, 25 * 3_600), st.data())
@examples(2)
def test_all_requests_apply_once_also_after_a_late_start(asked, late, data):
    machine = Machine(machines(data.draw))
    before, later = dict(machine.state), Machine(dict(machine.state), now=BEGIN + late)
    applier = machine.applier()
    assert applier.run(asked, 600) == []
    assert as_wished(machine, asked)
    assert applier.first_states == {node: before[node] for node in asked.nodes}
    count = len(machine.asked)
    assert applier.run(asked, 600) == []
    assert len(machine.asked) == count
    later.applier().run(asked, 600)
    assert len(later.asked) <= count + len(NODES)
    for node in NODES:
        assert machine.state[node].limit_w == later.state[node].limit_w
        assert machine.state[node].on == later.state[node].on or not asked.switched.get(node)
    again = machine.applier()
    again.first_states, again.shut_down = dict(applier.first_states), set(applier.shut_down)
    assert again.roll_back(600) == []
    for node in asked.nodes:
        assert machine.state[node].limit_w == before[node].limit_w
        assert machine.state[node].on or not before[node].on


REQUESTS = st.tuples(st.sampled_from(NODES), st.sampled_from(["see", "limit", *RequestKind]))


@given(power_schedules(), st.dictionaries(REQUESTS, st.integers(1, 6), max_size=6), st.booleans(), st.data())
@examples(2)
def test_total_power_limit_never_exceeds_the_requested_limit(asked, failures, all_the_same, data):
    machine = Machine(machines(data.draw), dict(failures), all_the_same)
    start = machine.drawn()
    left = machine.applier().run(asked, 24 * 3_600)  # who fails 18 times is asked 20 hours later the last time
    assert (left == []) == as_wished(machine, asked)
    assert left == []  # no controller fails for ever here
    drawn = start
    for at, watts in machine.watch:
        wished = most_total_w(asked.at(int(at)), MOST_W)
        assert watts <= max(drawn, wished) + 1e-6
        drawn = watts


@given(power_schedules(switches=False), st.sampled_from(NODES))
@examples(0.5)
def test_unresponsive_controller_is_named_and_does_not_block_others(asked, dead):
    machine = Machine(dict.fromkeys(NODES, NodeState(NO_LIMIT, on=True)), {(dead, "see"): 10**6})
    left = machine.applier().run(asked, 600)
    assert left == ([dead] if dead in asked.nodes else [])
    assert dead not in {node for node, _, _ in machine.asked}
    assert all(machine.state[node].limit_w == NO_LIMIT for node in NODES)


def test_a_busy_node_is_shut_down_once_it_is_idle_or_never():
    steps = {"n0": [(BEGIN, False)], "n1": [(BEGIN, False), (BEGIN + 7_200, True)], "n2": [(BEGIN, False)]}
    machine = Machine(
        {node: NodeState(NO_LIMIT, on=True) for node in NODES}, busy_until={"n0": BEGIN + 1_000, "n1": BEGIN + 9_999}
    )
    machine.applier().run(DesiredStates(BEGIN, END, MOST_W, {}, steps), 0)
    assert [(node, deed) for node, deed, _ in machine.asked] == [
        ("n2", RequestKind.SHUT_DOWN),
        ("n0", RequestKind.SHUT_DOWN),
    ]
    assert sum("busy" in line for line in machine.told) == 2
    assert machine.state["n1"].on


def test_limit_that_does_not_fall_restricts_increases_of_others():
    start = {"n0": NodeState(300.0, on=True), "n1": NodeState(200.0, on=True), "n2": NodeState(200.0, on=True)}
    most = dict.fromkeys(start, 400.0)
    limits = {"n0": [(BEGIN, 150.0)], "n1": [(BEGIN, 260.0)], "n2": [(BEGIN, 290.0)]}
    machine = Machine(dict(start), {("n0", "limit"): 3})
    applier = machine.applier()
    applier.most_w = most
    applier.run(DesiredStates(BEGIN, BEGIN + 3_600, most, limits, {}), 3_600)
    rises = [(node, watts) for node, _, watts in machine.asked if node != "n0"]
    assert rises == [("n1", 260.0), ("n2", 290.0)]
    first_rise = next(place for place, (node, _, _) in enumerate(machine.asked) if node != "n0")
    assert [node for node, _, _ in machine.asked[:first_rise]] == ["n0"] * 4


KEYS = st.sampled_from(["PowerControl", "PowerLimit", "LimitInWatts", "PowerLimitWatts", "SetPoint", "ControlMode",
                        "PowerState", "@odata.etag"])  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("Disabled")
BODIES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3))


class Answering(httpx.BaseTransport):
    """Answers everything in one way, and keeps what it was asked."""

    def __init__(self, status: int, content: bytes) -> None:
        self.status, self.content, self.asked = status, content, []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return httpx.Response(self.status, content=self.content)


def client_with(transport: Answering, limits: str | None = None) -> Controllers:
    one = Controller("https://bmc", "1", "2", limits, None, "admin", "hidden")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redfish_client, "_client", lambda *_: httpx.Client(transport=transport))
        return Controllers({"n0": one}, 5.0, lambda: 0.0, limits=True, switches=True)


@given(BODIES, st.sampled_from([200, 200, 200, 204, 400, 404, 500]), st.sampled_from([POWER, METRICS, None]))
@examples(2)
def test_controller_response_is_a_limit_or_an_error(body, status, resource):
    asked = client_with(Answering(status, json.dumps(body).encode()), resource)
    for call in (
        lambda: asked.read_state("n0"),
        lambda: asked.set_limit("n0", 300.0),
        lambda: asked.reset("n0", RequestKind.POWER_ON),
    ):
        with suppress(ControllerError):
            seen = call()
            assert seen is None or seen.limit_w >= 0
            assert seen is None or seen.on in {True, False, None}
