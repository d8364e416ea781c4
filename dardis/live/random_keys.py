"""Random keys from the system: unique and unpredictable."""

from __future__ import annotations

import secrets


def fresh_key() -> str:
    """128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def fresh_number() -> int:
    """Random number of 63 bits."""
    return secrets.randbits(63)
