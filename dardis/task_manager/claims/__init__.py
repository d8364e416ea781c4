"""Claims: final at once, or agreed in two phases on unreliable networks."""

from typing import TYPE_CHECKING

from dardis.model.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from dardis.task_manager.claims.base import Claims, FinalClaims
    from dardis.task_manager.claims.two_phase_claims import ClaimTimeouts, Retry, TwoPhaseClaims

__all__ = ["ClaimTimeouts", "Claims", "FinalClaims", "Retry", "TwoPhaseClaims"]

if not TYPE_CHECKING:  # or type checkers would accept any name
    __getattr__ = lazy_getattr(__name__, {
        "two_phase_claims": ("TwoPhaseClaims", "ClaimTimeouts", "Retry"),
        "base": ("Claims", "FinalClaims"),
    })  # fmt: skip
