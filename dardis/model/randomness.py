"""Named random streams split from one seed: the only place where generators are made."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to these names; the same names and seed give the same draws."""
    key = hashlib.sha256("/".join(map(str, (seed, *names))).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key[:16], "little")))
