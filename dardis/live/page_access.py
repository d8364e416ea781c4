"""Access to the page: links that work once, and the sessions that they become. Pure.

Browsers send cookies to all ports of a host, so the page has a secret host name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from dardis.live.socket_server import PeerUser

LINK_S: Final = 300
SESSION_S: Final = 7 * 86_400
"""Cookie's lifetime, s."""
MOST_LINKS: Final = 20
MOST_SESSIONS: Final = 50
"""Of a user, with links; the oldest end first."""


@dataclass(frozen=True, slots=True)
class _Pass:
    who: PeerUser
    until_s: float


class PageAccess:
    """Links and sessions of a page."""

    def __init__(self, fresh_key: Callable[[], str], known: Mapping[str, Any] | None = None) -> None:
        known = known or {}
        self._fresh_key = fresh_key
        self.host: str = known.get("host") or f"{fresh_key()}.localhost"
        self._links: dict[str, _Pass] = {}
        self._sessions = {
            digest: _Pass(PeerUser(uid, gid), until_s)
            for digest, (uid, gid, until_s) in known.get("sessions", {}).items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Host name and sessions as JSON values, from which no cookie can be made."""
        return {
            "host": self.host,
            "sessions": {digest: [*one.who, one.until_s] for digest, one in self._sessions.items()},
        }

    @property
    def cookie(self) -> str:
        """Cookie's name, unknown to other hosts under `localhost`."""
        return f"dardis-{sha256(self.host.encode()).hexdigest()[:16]}"

    def new_link(self, who: PeerUser, now_s: float) -> str:
        """Key of a new link of a user."""
        self._links = {key: one for key, one in self._links.items() if one.until_s > now_s}
        _leave_room(self._links, who, MOST_LINKS)
        key = self._fresh_key()
        self._links[key] = _Pass(who, now_s + LINK_S)
        return key

    def has_link(self, key: str, now_s: float) -> bool:
        """Whether a link still works."""
        found = self._links.get(key)
        return found is not None and now_s < found.until_s

    def open_link(self, key: str, now_s: float, unix_s: float) -> str | None:
        """Use a link up; return a new cookie's value, or None."""
        if not self.has_link(key, now_s):
            return None
        who = self._links.pop(key).who
        self._sessions = {digest: one for digest, one in self._sessions.items() if one.until_s > unix_s}
        _leave_room(self._sessions, who, MOST_SESSIONS)
        cookie = self._fresh_key()
        self._sessions[_digest(cookie)] = _Pass(who, unix_s + SESSION_S)
        return cookie

    def user(self, cookie: str, unix_s: float) -> PeerUser | None:
        """Cookie's user; None: unknown or too old."""
        found = self._sessions.get(_digest(cookie))
        return found.who if found is not None and unix_s < found.until_s else None

    def close(self, cookie: str) -> None:
        """End a cookie's session."""
        self._sessions.pop(_digest(cookie), None)


def _leave_room(passes: dict[str, _Pass], who: PeerUser, most: int) -> None:
    mine = [key for key, one in passes.items() if one.who.uid == who.uid]
    for key in mine[: max(len(mine) - most + 1, 0)]:
        del passes[key]


def _digest(cookie: str) -> str:
    return sha256(cookie.encode(errors="replace")).hexdigest()


def is_foreign(headers: Mapping[str, str], origin: str) -> bool:
    """Whether another page sends a request, or a foreign name points here.

    `origin`: the page's own, as `http://NAME.localhost:PORT`.
    """
    if headers.get("Host", "").lower() != origin.removeprefix("http://"):
        return True
    if (stated := headers.get("Origin")) is not None and stated.lower() != origin:
        return True
    return headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
