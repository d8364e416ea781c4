"""Blocking client of etcd by HTTP/JSON.

Requests without an answer are repeated, so repetition must be harmless.
"""

from __future__ import annotations

import json
import ssl
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from time import sleep
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from dardis.engine.clock import monotonic_s
from dardis.live.journal import JournalError
from dardis.model.errors import InputError

PORT: Final = 2379
ANSWER_S: Final = 2.0
"""Longest wait for an endpoint, s."""
PATIENCE_S: Final = 6.0
"""Longest wait for all endpoints, s."""
PAGE: Final = 64
_PAUSE_S: Final = 0.1
_RETRY_STATUSES: Final = frozenset({500, 502, 503, 504})
_EXPECTED: Final = "etcd://HOST[:PORT],HOST…[/NAME]"

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EtcdAddress:
    """Address of a journal in etcd."""

    endpoints: tuple[tuple[str, int], ...]
    name: str
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __str__(self) -> str:
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.endpoints)
        return f"etcd://{hosts}/{self.name}"


def journal_address(
    text: str | None, ca: Path | None, cert: Path | None, key: Path | None, *, users: bool = False
) -> Callable[[], EtcdAddress] | None:
    """Function that loads certificates and returns the address; None without `text`.

    Raises InputError, also for missing certificates. `users` requires certificates: else local users could run jobs as
    others.
    """
    files = {"--journal-ca": ca, "--journal-cert": cert, "--journal-key": key}
    missing = [option for option, file in files.items() if file is None]
    if text is None:
        if len(missing) < len(files):
            raise InputError("--journal", "is missing", _EXPECTED)
        return None
    scheme, _, rest = text.partition("://")
    hosts, _, name = rest.partition("/")
    name = name or "main"
    if scheme != "etcd" or not hosts or not name.isprintable() or "/" in name:
        raise InputError("--journal", f"is invalid ({text})", _EXPECTED)
    endpoints = tuple(_endpoint(host) for host in hosts.split(","))
    if ca is not None and cert is not None and key is not None:
        return lambda: EtcdAddress(endpoints, name, _tls(ca, cert, key))
    if len(missing) < len(files) or users or not all(_is_local(host) for host, _ in endpoints):
        where = "etcd with --users" if users else "etcd on another host"
        raise InputError("--journal", f"{where} requires certificates", " and ".join(missing))
    return lambda: EtcdAddress(endpoints, name)


def _endpoint(text: str) -> tuple[str, int]:
    try:
        split = urlsplit(f"//{text}")
        port = split.port or PORT
    except ValueError:
        split = None
    if split is None or not split.hostname or split.netloc != text or "@" in text:
        raise InputError("--journal", f"has an invalid endpoint ({text})", _EXPECTED)
    return split.hostname, port


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tls(ca: Path, cert: Path, key: Path) -> ssl.SSLContext:
    for option, file in (("--journal-ca", ca), ("--journal-cert", cert), ("--journal-key", key)):
        try:
            file.read_bytes()
        except OSError as error:
            raise InputError(option, f"{file} can't be read ({error.strerror})", "a PEM file") from None
    try:
        context = ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise InputError("--journal-ca", f"{ca} can't be used ({error.reason or error})", "a PEM file") from None
    try:
        context.load_cert_chain(cert, key, password="")  # no prompt for a passphrase
    except (ssl.SSLError, ValueError) as error:
        found = f"{cert} and {key} can't be used ({getattr(error, 'reason', None) or error})"
        raise InputError("--journal-cert", found, "a certificate and its key, without a passphrase") from None
    return context


# ----------------------------------------------------------------------------------------------------------------------
# Requests.


def as_text(data: bytes) -> str:
    """Encode a key or value for etcd."""
    return b64encode(data).decode()


def value_equals(key: bytes, value: bytes) -> Json:
    """Condition: the key has this value."""
    return {"key": as_text(key), "target": "VALUE", "result": "EQUAL", "value": as_text(value)}


def revision_equals(key: bytes, revision: int) -> Json:
    """Condition: the last write had this revision; 0: missing."""
    return {"key": as_text(key), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}


def put(key: bytes, value: bytes, lease: int = 0) -> Json:
    """Write a key, optionally until a lease ends."""
    return {"request_put": {"key": as_text(key), "value": as_text(value), "lease": str(lease)}}


def get(key: bytes) -> Json:
    """Read a key."""
    return {"request_range": {"key": as_text(key)}}


def delete(begin: bytes, end: bytes) -> Json:
    """Delete the keys [begin, end)."""
    return {"request_delete_range": {"key": as_text(begin), "range_end": as_text(end)}}


@dataclass(frozen=True, slots=True)
class KeyValue:
    """Stored key."""

    key: bytes
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """Transaction's result, with keys read."""

    has_succeeded: bool
    pairs: dict[bytes, KeyValue]
    revision: int


class Etcd:
    """Client for a single thread."""

    def __init__(self, place: EtcdAddress, patience_s: float = PATIENCE_S) -> None:
        self._place, self._patience_s = place, patience_s
        self._at = 0
        self._connection: HTTPConnection | None = None
        self._cluster = ""

    def transact(
        self, expected: Sequence[Json], do: Sequence[Json], otherwise: Sequence[Json] = ()
    ) -> TransactionResult:
        """Do `do` if all conditions hold, else `otherwise`. Raises JournalError."""
        told = self.request("kv/txn", {"compare": list(expected), "success": list(do), "failure": list(otherwise)})
        rows = [row for one in told.get("responses", ()) for row in one.get("response_range", {}).get("kvs", ())]
        found = {one.key: one for one in map(_key_value, rows)}
        return TransactionResult(told.get("succeeded", False), found, int(told["header"]["revision"]))

    def read(self, begin: bytes, end: bytes, page: int = PAGE) -> Iterator[KeyValue]:
        """Yield keys [begin, end) in order. Raises JournalError."""
        while True:
            body = {"key": as_text(begin), "range_end": as_text(end), "limit": str(page)}
            told = self.request("kv/range", body)
            rows = [_key_value(row) for row in told.get("kvs", ())]
            yield from rows
            if not told.get("more"):
                return
            begin = rows[-1].key + b"\0"

    def request(self, what: str, body: Json) -> Json:
        """Answer of any endpoint. Raises JournalError."""
        data = json.dumps(body).encode()
        until = monotonic_s() + self._patience_s
        while True:
            for _ in self._place.endpoints:
                try:
                    return self._request_once(what, data)
                except (OSError, HTTPException, ValueError) as error:
                    host, port = self._place.endpoints[self._at]
                    why = f"{host}:{port}: {error or type(error).__name__}"
                    self.close()
                    self._at = (self._at + 1) % len(self._place.endpoints)
            if monotonic_s() > until:
                raise JournalError(f"{self._place}: no answer ({why})")
            sleep(_PAUSE_S)

    def _request_once(self, what: str, data: bytes) -> Json:
        if self._connection is None:
            (host, port), tls = self._place.endpoints[self._at], self._place.tls
            self._connection = (
                HTTPConnection(host, port, timeout=ANSWER_S)
                if tls is None
                else HTTPSConnection(host, port, timeout=ANSWER_S, context=tls)
            )
        self._connection.request("POST", f"/v3/{what}", data, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        told = _object(response.read())
        if response.status in _RETRY_STATUSES:
            raise ValueError(str(told.get("error", response.status)))
        if response.status != 200:
            raise JournalError(f"{self._place}: refuses {what} ({told.get('error', response.status)})")
        answer: Json = told.get("result", told)  # `result`: of requests with several answers
        if "header" not in answer:
            raise ValueError(f"is no etcd of version 3.4 or later ({told.get('error', 'unknown answer')})")
        cluster = answer["header"]["cluster_id"]
        if self._cluster not in {"", cluster}:
            raise ValueError("belongs to another cluster than the other endpoints")
        self._cluster = cluster
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _key_value(row: Json) -> KeyValue:
    return KeyValue(b64decode(row["key"]), b64decode(row.get("value", "")), int(row["mod_revision"]))


def _object(text: bytes) -> Json:
    with suppress(ValueError):
        told = json.loads(text)
        if isinstance(told, dict):
            return told
    raise ValueError("is no etcd")
