"""Dispatchers with decision models, by name."""

from __future__ import annotations

from typing import Final

from dardis.dispatch.auction.setups import AUCTION_SETUPS
from dardis.dispatch.cp.setups import CP_SETUPS, ModelSetUp

__all__ = ["MODEL_SETUPS", "ModelSetUp"]

MODEL_SETUPS: Final[dict[str, ModelSetUp]] = {**CP_SETUPS, **AUCTION_SETUPS}
