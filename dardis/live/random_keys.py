"""Random keys from the system: unique and unpredictable."""

from __future__ import annotations

import secrets


def fresh_key() -> str:
    """Return 128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def fresh_number() -> int:
    """Return a random number of 63 bits."""
    return secrets.randbits(63)
