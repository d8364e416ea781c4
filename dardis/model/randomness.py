"""Named random streams from one seed; the only source."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Generator of these names; equal names and seed give equal draws."""
    key = hashlib.sha256("/".join(map(str, (seed, *names))).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key[:16], "little")))
