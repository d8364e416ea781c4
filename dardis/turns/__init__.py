"""Turns at submissions, ends, changes and due times. Pure."""

from typing import TYPE_CHECKING

from dardis.model.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from dardis.turns.central_turns import CentralTurns
    from dardis.turns.late_turns import LateTurns
    from dardis.turns.message_turns import MessageTurns
    from dardis.turns.overlapped_turns import OverlappedTurns
    from dardis.turns.planned_turns import PlannedTurns
    from dardis.turns.turn import Turn, Turns

__all__ = ["CentralTurns", "LateTurns", "MessageTurns", "OverlappedTurns", "PlannedTurns", "Turn", "Turns"]

if not TYPE_CHECKING:  # otherwise type checkers accept any name
    __getattr__ = lazy_getattr(__name__, {
        "message_turns": ("MessageTurns",),
        "central_turns": ("CentralTurns",),
        "late_turns": ("LateTurns",),
        "overlapped_turns": ("OverlappedTurns",),
        "planned_turns": ("PlannedTurns",),
        "turn": ("Turn", "Turns"),
    })  # fmt: skip
