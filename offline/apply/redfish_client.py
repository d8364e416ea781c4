"""Redfish client; confirms limits by reading back."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from dardis.model.errors import DardisError, InputError
from offline.apply.apply_steps import NO_LIMIT, NodeState, RequestKind

_LONGEST: Final = 1 << 20
_MISSING_STATUSES: Final = frozenset({404, 405, 501})
POWER, METRICS = "Power", "EnvironmentMetrics"


class ControllerError(DardisError):
    """A controller fails or does not obey. The text has no secrets."""


@dataclass(frozen=True)
class Controller:
    """Node's controller. `limits`: resource with the limit; None: find out."""

    url: str
    system: str
    chassis: str
    limits: str | None
    ca: Path | None
    user: str = field(repr=False)
    password: str = field(repr=False)

    def path(self, resource: str) -> str:
        """Path of a chassis resource; "" for the system."""
        if resource == "":
            return f"/redfish/v1/Systems/{self.system}"
        return f"/redfish/v1/Chassis/{self.chassis}/{resource}"


class _Response:
    def __init__(self, status: int, body: dict[str, Any], etag: str | None) -> None:
        self.status, self.body = status, body
        stated = etag or body.get("@odata.etag")
        self.etag = stated if isinstance(stated, str) and stated.isascii() and stated.isprintable() else None


class Controllers:
    """Redfish requests; threads may use different nodes."""

    def __init__(
        self,
        controllers: Mapping[str, Controller],
        timeout_s: float,
        clock: Callable[[], float],
        *,
        limits: bool,
        switches: bool,
    ) -> None:
        self._controllers = controllers
        self._timeout_s, self._clock = timeout_s, clock
        self._limits, self._switches = limits, switches
        self._clients = {ca: _client(ca, timeout_s) for ca in {one.ca for one in controllers.values()}}
        self._resource: dict[str, str] = {}

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()

    def read_state(self, node: str) -> NodeState:
        """Read limit and power state. Raises ControllerError."""
        on = None
        if self._switches:
            system = self._request(node, "GET", self._controllers[node].path("")).body
            on = {"On": True, "Off": False}.get(str(system.get("PowerState")))
        return NodeState(self._limit(node)[0] if self._limits else None, on)

    def set_limit(self, node: str, limit_w: float) -> None:
        """Set and confirm the limit. Raises ControllerError."""
        for again in (False, True):
            _, resource, etag = self._limit(node)
            path = self._controllers[node].path(resource)
            answer = self._send(node, "PATCH", path, _limit_body(resource, limit_w), etag)
            if answer.status == httpx.codes.PRECONDITION_FAILED and not again:
                continue  # another client changed the limit meanwhile
            _check_success(answer, "PATCH", path)
            break
        is_now = self._limit(node)[0]
        if is_now != limit_w:
            raise ControllerError(f"PATCH {path}: answered {answer.status}, but the limit is {_watts(is_now)}")

    def reset(self, node: str, deed: RequestKind) -> None:
        """Begin a shutdown or a boot. Raises ControllerError."""
        path = self._controllers[node].path("") + "/Actions/ComputerSystem.Reset"
        _check_success(self._send(node, "POST", path, {"ResetType": deed.value}, None), "POST", path)

    def _limit(self, node: str) -> tuple[float, str, str | None]:
        controller = self._controllers[node]
        known = self._resource.get(node, controller.limits)
        for resource in (known,) if known else (POWER, METRICS):
            path = controller.path(resource)
            answer = self._send(node, "GET", path)
            if known is None and answer.status in _MISSING_STATUSES:
                continue
            _check_success(answer, "GET", path)
            self._resource[node] = resource
            return _limit_of(resource, answer.body, path), resource, answer.etag
        raise ControllerError(f"has neither {POWER} nor {METRICS} at {controller.path('')}")

    def _request(self, node: str, method: str, path: str) -> _Response:
        answer = self._send(node, method, path)
        _check_success(answer, method, path)
        return answer

    def _send(
        self, node: str, method: str, path: str, body: dict[str, Any] | None = None, etag: str | None = None
    ) -> _Response:
        controller = self._controllers[node]
        headers = {"If-Match": etag} if etag and body is not None else {}
        late = self._clock() + self._timeout_s
        try:
            with self._clients[controller.ca].stream(
                method, controller.url + path, json=body, headers=headers, auth=(controller.user, controller.password)
            ) as answer:
                content = b""
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > _LONGEST:
                        raise ControllerError(f"{method} {path}: the answer does not end")
                    if self._clock() > late:
                        raise ControllerError(f"{method} {path}: no answer within {self._timeout_s:g} s")
                return _Response(answer.status_code, _object(content), answer.headers.get("ETag"))
        except httpx.TimeoutException:
            raise ControllerError(f"{method} {path}: no answer within {self._timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ControllerError(f"{method} {path}: {error}") from None


def _client(ca: Path | None, timeout_s: float) -> httpx.Client:
    try:
        trusted = ssl.create_default_context(cafile=ca)
    except ssl.SSLError:
        raise InputError(str(ca), "has no certificates", "the CA certificates of the controllers in PEM") from None
    # The caller limits concurrency.
    unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.Client(
        verify=trusted, timeout=timeout_s, limits=unlimited, follow_redirects=False, trust_env=False
    )  # fmt: skip


def _object(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _check_success(answer: _Response, method: str, path: str) -> None:
    if not httpx.codes.is_success(answer.status):
        raise ControllerError(f"{method} {path}: answered {answer.status}")


def _limit_of(resource: str, body: dict[str, Any], path: str) -> float:
    match resource, body:
        case "Power", {"PowerControl": [dict(first), *_]}:
            limit = first.get("PowerLimit")
            stated = limit.get("LimitInWatts") if isinstance(limit, dict) else None
        case "EnvironmentMetrics", _:
            limit = body.get("PowerLimitWatts")
            stated = limit.get("SetPoint") if isinstance(limit, dict) else None
            if isinstance(limit, dict) and limit.get("ControlMode") == "Disabled":
                stated = None
        case _:
            raise ControllerError(f"GET {path}: no power control")
    if stated is None:
        return NO_LIMIT
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not stated >= 0:
        raise ControllerError(f"GET {path}: a limit of {stated!r}"[:200])
    return float(stated)


def _limit_body(resource: str, limit_w: float) -> dict[str, Any]:
    watts = None if limit_w == NO_LIMIT else int(limit_w)
    if resource == POWER:
        return {"PowerControl": [{"PowerLimit": {"LimitInWatts": watts, "LimitException": "LogEventOnly"}}]}
    if watts is None:
        return {"PowerLimitWatts": {"ControlMode": "Disabled"}}
    return {"PowerLimitWatts": {"SetPoint": watts, "ControlMode": "Automatic"}}


def _watts(limit_w: float) -> str:
    return "none" if limit_w == NO_LIMIT else f"{limit_w:g} W"
