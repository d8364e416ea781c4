"""How a claim becomes a reservation: final at once, or agreed in two phases where messages and hosts may be lost."""

from dardis.task_manager.claims.agreed import AgreedClaims, Pace, Retry
from dardis.task_manager.claims.base import Claims
from dardis.task_manager.claims.final import FinalClaims

__all__ = ["AgreedClaims", "Claims", "FinalClaims", "Pace", "Retry"]
