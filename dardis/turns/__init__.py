"""Who has a turn when something happens: a submission, an end, a change, a time that has come. Pure, like machines."""

from typing import TYPE_CHECKING

from dardis.model.faces import found_when_used

if TYPE_CHECKING:
    from dardis.turns.by_message import TurnsByMessage
    from dardis.turns.central import CentralTurns
    from dardis.turns.late import LateTurns
    from dardis.turns.overlapped import OverlappedTurns
    from dardis.turns.planned import PlannedTurns
    from dardis.turns.turn import Turn, Turns

__all__ = ["CentralTurns", "LateTurns", "OverlappedTurns", "PlannedTurns", "Turn", "Turns", "TurnsByMessage"]

if not TYPE_CHECKING:  # else type checkers would take any name for one
    __getattr__ = found_when_used(__name__, {
        "by_message": ("TurnsByMessage",),
        "central": ("CentralTurns",),
        "late": ("LateTurns",),
        "overlapped": ("OverlappedTurns",),
        "planned": ("PlannedTurns",),
        "turn": ("Turn", "Turns"),
    })  # fmt: skip
