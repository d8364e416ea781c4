"""What controllers may answer: whatever it is, a limit or a line that says what is wrong with it."""

from __future__ import annotations

import json
from contextlib import suppress
from math import inf

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from offline.apply.redfish import METRICS, POWER, Controller, ControllerError, Controllers
from offline.apply.rounds import Deed
from offline.apply.wishes import NO_LIMIT

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


def asking(transport: Answering, limits: str | None = None) -> Controllers:
    one = Controller("https://bmc", "1", "2", limits, None, "admin", "hidden")
    controllers = Controllers({"n0": one}, 5.0, lambda: 0.0, limits=True, switches=True)
    controllers._clients[None] = httpx.Client(transport=transport)
    return controllers


@given(BODIES, st.sampled_from([200, 200, 200, 204, 400, 404, 500]), st.sampled_from([POWER, METRICS, None]))
@examples(3)
def test_any_answer_is_a_limit_or_told(body, status, resource):
    asked = asking(Answering(status, json.dumps(body).encode()), resource)
    for call in (
        lambda: asked.see("n0"),
        lambda: asked.set_limit("n0", 300.0),
        lambda: asked.reset("n0", Deed.POWER_ON),
    ):
        with suppress(ControllerError):
            seen = call()
            assert seen is None or seen.limit_w >= 0
            assert seen is None or seen.on in {True, False, None}


@given(st.binary(max_size=60))
@examples(1)
def test_bytes_that_are_no_json_are_no_limit(content):
    with pytest.raises(ControllerError):
        asking(Answering(200, content), POWER).see("n0")


@pytest.mark.parametrize(
    ("resource", "body", "limit"),
    [
        (POWER, {"PowerControl": [{"PowerLimit": {"LimitInWatts": 300}}, {}]}, 300.0),
        (POWER, {"PowerControl": [{"PowerLimit": {"LimitInWatts": None}}]}, inf),
        (POWER, {"PowerControl": [{"PowerConsumedWatts": 7}]}, inf),
        (METRICS, {"PowerLimitWatts": {"SetPoint": 250.5, "ControlMode": "Automatic"}}, 250.5),
        (METRICS, {"PowerLimitWatts": {"SetPoint": 250, "ControlMode": "Disabled"}}, inf),
        (METRICS, {"PowerWatts": {"Reading": 9}}, inf),
    ],
)  # fmt: skip
def test_where_limits_stand(resource, body, limit):
    transport = Answering(200, json.dumps(body).encode())
    assert asking(transport, resource).see("n0").limit_w == limit
    assert [request.url.path for request in transport.asked] == [
        "/redfish/v1/Systems/1",
        f"/redfish/v1/Chassis/2/{resource}",
    ]
    assert inf == NO_LIMIT
