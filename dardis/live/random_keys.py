"""The only place of live where chance comes from the system: keys that nobody else has, and nobody can guess."""

from __future__ import annotations

import secrets


def fresh_key() -> str:
    """A key of 128 bits."""
    return secrets.token_hex(16)


def fresh_number() -> int:
    """A number of 63 bits."""
    return secrets.randbits(63)
