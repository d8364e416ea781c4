"""How many examples a property gets: a share of the profile's, so that a longer search is one option away."""

from __future__ import annotations

from hypothesis import settings


def examples(share: float = 1.0) -> settings:
    """Settings with this share of the examples of the profile in force (see tests/conftest.py)."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))
