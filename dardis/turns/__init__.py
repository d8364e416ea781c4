"""Who has a turn when something happens: a submission, an end, a change, a time that has come. Pure, like machines."""

from dardis.turns.by_message import TurnsByMessage
from dardis.turns.central import CentralTurns
from dardis.turns.late import LateTurns
from dardis.turns.overlapped import OverlappedTurns
from dardis.turns.planned import PlannedTurns
from dardis.turns.turn import Turn, Turns

__all__ = [
    "CentralTurns",
    "LateTurns",
    "OverlappedTurns",
    "PlannedTurns",
    "Turn",
    "Turns",
    "TurnsByMessage",
]
