"""Reads and checks the files of `dardis apply`."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from math import floor
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field

from dardis.config.platform_record import Record
from dardis.config.toml_file import Table, read_json, read_toml
from dardis.model.errors import InputError
from dardis.model.files import write_json
from dardis.model.hostlist import names_of
from dardis.model.resources import LATEST
from offline.apply.apply_steps import NO_LIMIT, DesiredStates, NodeState
from offline.apply.redfish_client import Controller

STATE_FILE: Final = "found.json"
_Unix = Annotated[int, Field(ge=0, le=LATEST)]
_MOST_W: Final = 1e9
_Watts = Annotated[float, Field(ge=0, le=_MOST_W)]
_Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_RESETS: Final = {"GracefulShutdown": False, "On": True}


class _RequestRow(Record):
    time_unix_s: _Unix
    node: str
    method: str
    path: str
    body: dict[str, Any]


class _NodeRow(Record):
    name: _Name
    idle_w: _Watts
    most_w: _Watts


class _CapRow(Record):
    time_unix_s: _Unix
    power_cap_w: _Watts | None


class _RequestsFile(Record):
    format: Literal["dardis-redfish"]
    version: Literal[1]
    begin_unix_s: _Unix
    end_unix_s: _Unix
    nodes: list[_NodeRow]
    caps: list[_CapRow] = Field(default_factory=list)
    requests: list[_RequestRow]


def read_requests(path: Path) -> DesiredStates:
    """Read an export's wishes. Raises InputError for foreign requests."""
    told = read_json(path, _RequestsFile)
    nodes = {node.name: node for node in told.nodes}
    limits: dict[str, list[tuple[int, float]]] = {}
    switched: dict[str, list[tuple[int, bool]]] = {}
    last = 0
    for number, row in enumerate(told.requests):
        place = f"{path}: requests[{number}]"
        if row.node not in nodes:
            raise InputError(place, f"node {row.node!r}", f"one of the {len(nodes)} nodes of the machine")
        if row.time_unix_s < last:
            raise InputError(place, f"{row.time_unix_s} s after {last} s", "requests in order of time")
        last = row.time_unix_s
        asked = _desired_value(place, row)
        if isinstance(asked, bool):
            switched.setdefault(row.node, []).append((last, asked))
            continue
        if asked < floor(nodes[row.node].idle_w):
            found = f"a limit of {asked:g} W"
            raise InputError(place, found, f"at least the {nodes[row.node].idle_w:g} W that {row.node} draws idle")
        limits.setdefault(row.node, []).append((last, asked))
    most_w = {name: node.most_w for name, node in nodes.items()}
    caps = [(row.time_unix_s, NO_LIMIT if row.power_cap_w is None else row.power_cap_w) for row in told.caps]
    if caps != sorted(caps, key=lambda step: step[0]):
        raise InputError(f"{path}: caps", "not in order of time", "caps in order of time")
    return DesiredStates(told.begin_unix_s, max(told.end_unix_s, last), most_w, limits, switched, caps)


def _desired_value(place: str, row: _RequestRow) -> float | bool:
    match row.method, row.path, row.body:
        case "PATCH", path, {"PowerControl": [{"PowerLimit": {"LimitInWatts": None}}]} if path == _power(row):
            return NO_LIMIT
        case "PATCH", path, {"PowerControl": [{"PowerLimit": {"LimitInWatts": int(watts)}}]} if path == _power(row):
            if isinstance(watts, bool) or abs(watts) > _MOST_W:
                raise InputError(place, f"a limit of {watts} W", f"at most {_MOST_W:.0f} W")
            return float(watts)
        case "POST", path, {"ResetType": str(kind)} if path == _reset(row) and kind in _RESETS:
            return _RESETS[kind]
    raise InputError(place, f"{row.method} {row.path}", f"a PATCH of {_power(row)}, or a POST to {_reset(row)}")


def _power(row: _RequestRow) -> str:
    return f"/redfish/v1/Chassis/{row.node}/Power"


def _reset(row: _RequestRow) -> str:
    return f"/redfish/v1/Systems/{row.node}/Actions/ComputerSystem.Reset"


class _ControllerKeys(Table):
    url: str | None = None
    system: str | None = None
    chassis: str | None = None
    limits: Literal["Power", "EnvironmentMetrics"] | None = None
    ca: str | None = None
    plain_http: bool | None = None


class _ControllersFile(_ControllerKeys):
    nodes: dict[str, _ControllerKeys] = Field(default_factory=dict)


class _LoginKeys(Table):
    user: str | None = None
    password: str | None = None


class _CredentialsFile(_LoginKeys):
    nodes: dict[str, _LoginKeys] = Field(default_factory=dict)


def read_controllers(
    path: Path, credentials: Path, wishes: DesiredStates, nodes: Sequence[str]
) -> dict[str, Controller]:
    """Read the nodes' controllers. InputError names file and node."""
    table, logins = read_toml(path, _ControllersFile), _read_credentials(credentials)
    keys, secrets = _by_node(path, table.nodes, wishes.most_w), _by_node(credentials, logins.nodes, wishes.most_w)
    return {
        node: _controller(
            path, credentials, node, _merge_keys(table, keys.get(node)), _merge_keys(logins, secrets.get(node))
        )
        for node in nodes
    }


def _read_credentials(path: Path) -> _CredentialsFile:
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "a file with user and password") from None
    if not stat.S_ISREG(found.st_mode):
        raise InputError(path, "is not a regular file", "a file with user and password")
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        expected = "your own file without permissions for others (chmod 600)"
        raise InputError(path, f"mode {stat.S_IMODE(found.st_mode):04o}, of user {found.st_uid}", expected)
    return read_toml(path, _CredentialsFile)


def _by_node(path: Path, tables: Mapping[str, Table], nodes: Mapping[str, float]) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for text, table in tables.items():
        place = f"{path}: nodes.{text}"
        try:
            names = names_of(text)
        except ValueError as error:
            raise InputError(place, str(error), "a host list such as n[0-3]") from None
        for name in names:
            if name not in nodes:
                raise InputError(place, f"{name} is not a node of the machine", f"one of its {len(nodes)} nodes")
            if name in found:
                raise InputError(place, f"{name} occurs twice", "each node once")
            found[name] = table
    return found


def _merge_keys(table: Table, own: Table | None) -> dict[str, Any]:
    some = {} if own is None else own.model_dump(exclude_none=True)
    return table.model_dump(exclude={"nodes"}) | some


def _controller(path: Path, credentials: Path, node: str, keys: dict[str, Any], login: dict[str, Any]) -> Controller:
    if keys["url"] is None:
        raise InputError(
            path, f"{node} has no controller", 'url = "https://{node}-bmc.example.org", or its own in [nodes]'
        )
    for name in ("user", "password"):
        if login[name] is None:
            raise InputError(credentials, f"no {name} for {node}", f"{name} = …")
    url = str(keys["url"]).replace("{node}", node).rstrip("/")
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None  # `port` raises for an invalid number
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in {"https", "http"} or not host or parts.path or parts.query or parts.username:
        raise InputError(path, f"url {url!r} of {node}", "https://HOST or https://HOST:PORT")
    if parts.scheme == "http" and not keys["plain_http"]:
        expected = "https, or plain_http = true if unencrypted passwords are acceptable"
        raise InputError(path, f"url {url!r} of {node}", expected)
    ca = None if keys["ca"] is None else path.parent / str(keys["ca"])
    if ca is not None and not ca.is_file():
        raise InputError(path, f"ca {ca} is not a file", "the CA certificates of the controllers")
    system, chassis = (str(keys[name] or "{node}").replace("{node}", node) for name in ("system", "chassis"))
    return Controller(url, system, chassis, keys["limits"], ca, str(login["user"]), str(login["password"]))


class _NodeStateRow(Record):
    limit_w: _Watts | None
    limited: bool
    on: bool | None


class _StateFile(Record):
    format: Literal["dardis-apply"]
    version: Literal[1]
    found: dict[str, _NodeStateRow]
    shut_down: list[str]


def write_state(folder: Path, found: Mapping[str, NodeState], shut_down: set[str]) -> None:
    """Save the states atomically. Raises OSError."""
    rows = {
        node: {
            "limit_w": None if seen.limit_w in {None, NO_LIMIT} else seen.limit_w,
            "limited": seen.limit_w is not None,
            "on": seen.on,
        }
        for node, seen in found.items()
    }
    content = {"format": "dardis-apply", "version": 1, "found": rows, "shut_down": sorted(shut_down)}
    write_json(folder / STATE_FILE, content)


def read_state(folder: Path) -> tuple[dict[str, NodeState], set[str]]:
    """Read the saved states, if any. Raises InputError."""
    path = folder / STATE_FILE
    if not path.is_file():
        return {}, set()
    told = read_json(path, _StateFile)
    found = {
        node: NodeState((NO_LIMIT if row.limit_w is None else row.limit_w) if row.limited else None, row.on)
        for node, row in told.found.items()
    }
    return found, set(told.shut_down)
