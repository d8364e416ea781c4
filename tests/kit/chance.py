"""Oracle of the keyed draws: SplitMix64's finaliser in Python's own integers."""

from __future__ import annotations

_ALL = (1 << 64) - 1


def mix(key: int, more: int) -> int:
    z = (key ^ ((more & _ALL) * 0xD6E8FEB86659FD93)) & _ALL
    z = (z + 0x9E3779B97F4A7C15) & _ALL
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _ALL
    return z ^ (z >> 31)


def draw_key(*parts: int) -> int:
    key = 0
    for part in parts:
        key = mix(key, part)
    return key


def uniform_below(key: int, counter: int, bound: int) -> int:
    return mix(key, counter) % bound


def unit(key: int, counter: int) -> float:
    return (mix(key, counter) >> 11) * 2.0**-53
