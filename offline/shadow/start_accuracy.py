"""Accuracy of expected starts, judged by the recorded ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dardis.slurm.shadow_folder import LoggedExpectation


@dataclass(frozen=True)
class StartAccuracy:
    """Accuracy of expectations whose jobs have started."""

    expectations: int
    waiting: int
    """Expectations of jobs that have not started."""
    median_error_s: float | None
    held_share: float | None
    """Share of starts within their range; 80 % is right."""
    slurm_median_error_s: float | None
    """Of Slurm's own expectations, where it has one."""
    ours_beside_slurm_s: float | None
    """Our median error for the same jobs and times."""

    @property
    def line(self) -> str:
        """One line for people."""
        if self.median_error_s is None or self.held_share is None:
            return "Expected starts: none can be judged yet."
        told = (
            f"Expected starts: median error {self.median_error_s / 3600:.2f} h over {self.expectations:,} "
            f"expectations; {100 * self.held_share:.0f} % of the starts lie in their 80 % range"
        )
        if self.slurm_median_error_s is not None and self.ours_beside_slurm_s is not None:
            told += (
                f"; where Slurm has its own expectation, its median error is {self.slurm_median_error_s / 3600:.2f} h "
                f"and ours {self.ours_beside_slurm_s / 3600:.2f} h"
            )
        return f"{told}."


def start_accuracy(logged: Sequence[LoggedExpectation], starts: Mapping[int, Sequence[int]]) -> StartAccuracy:
    """Judge expectations by the first start after each; `starts`: Unix s by job number, ascending."""
    errors, of_slurm, beside, held, waiting = [], [], [], 0, 0
    for one in logged:
        real = next((start for start in starts.get(one.job, ()) if start >= one.at), None)
        if real is None:
            waiting += 1
            continue
        errors.append(abs(real - one.start.expected))
        held += one.start.low <= real <= one.start.high
        if one.slurm is not None:
            of_slurm.append(abs(real - one.slurm))
            beside.append(errors[-1])
    return StartAccuracy(
        len(errors), waiting, median(errors) if errors else None, held / len(errors) if errors else None,
        median(of_slurm) if of_slurm else None, median(beside) if beside else None,
    )  # fmt: skip
