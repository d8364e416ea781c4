"""Dispatchers with decision models, by name."""

from __future__ import annotations

from typing import Final

from dardis.dispatch.auction.setups import AUCTION_SETUPS
from dardis.dispatch.cp.setups import CP_SETUPS, AskingSetUp

__all__ = ["ASKING_SETUPS", "AskingSetUp"]

ASKING_SETUPS: Final[dict[str, AskingSetUp]] = {**CP_SETUPS, **AUCTION_SETUPS}
