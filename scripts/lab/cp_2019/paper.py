"""What paper 002 printed and claimed of PCP'19 and HCP'19."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scripts.lab.kit.claims import Claim, Close, Less, NoMore
from scripts.lab.kit.service import CPU, LONG, MEDIUM, SHORT, SLOWDOWN, VARIABLES, WAIT

PBS: Final = "PBS (the log)"
JOBS: Final = 400_000
"""Over 400,000, of March 2014 to August 2015."""
SHARES: Final = {SHORT: 0.9314, MEDIUM: 0.0610, LONG: 0.0075}
"""Of the jobs, by how long they ran (section 5)."""


@dataclass(frozen=True)
class Row:
    """A column of table 2; None where it has no figure: `ended` is False where it stands for a run without end."""

    mean_ms: float | None
    predicting_s: float | None
    total_s: float | None
    intervals: float | None
    ended: bool = True


TABLE_2: Final = {
    "PCP-W": Row(None, None, None, None, ended=False),
    "PCP1-W": Row(743, None, 262_436, 145),
    "PCP3-R": Row(692, None, 261_985, 94),
    "PCP3-D": Row(701, 289, 262_764, 115),
    "HCP-W": Row(1_014, None, 374_788, 379),
    "HCP1-W": Row(703, None, 245_663, 100),
    "HCP3-R": Row(523, None, 201_223, 51),
    "HCP3-D": Row(575, 308, 215_814, 63),
}
NOT_ENDED: Final = ("PCP-W", "PCP1-D")
"""What crashed, and what was interrupted after two weeks."""
PREDICTORS: Final = {"W": (225.0, 0.036, 0.963), "D": (40.0, 0.258, 0.537)}
"""Mean absolute error in minutes, and the shares of jobs that ran longer and shorter than expected (section 5)."""


def _both(share: float = 0.0) -> dict[str, float]:
    return {SLOWDOWN: share, WAIT: share}


_BETTER: Final = _both()
CLAIMS: Final[tuple[Claim, ...]] = (
    Less("HCP1-W takes about 34 % less time than HCP", "HCP1-W", "HCP-W", {CPU: 0.34}),
    Less("problems are smaller in HCP1-W than in HCP", "HCP1-W", "HCP-W", {VARIABLES: 0.73}),
    Close("PCP3-D and PCP1-W take about as long", ("PCP3-D", "PCP1-W"), (CPU,), 0.1),
    Less("HCP3-D takes notably less time than HCP1-W (12 %)", "HCP3-D", "HCP1-W", {CPU: 0.12}),
    Less("problems are smaller in PCP3-D than in PCP1-W", "PCP3-D", "PCP1-W", {VARIABLES: 0.2}),
    Less("problems are smaller in HCP3-D than in HCP1-W", "HCP3-D", "HCP1-W", {VARIABLES: 0.37}),
    Less("PCP3-R is better than PBS", "PCP3-R", PBS, _BETTER),
    Less("PCP3-D is better than PBS", "PCP3-D", PBS, _BETTER),
    Less("PCP3-W is poorer than PCP1-W", "PCP1-W", "PCP3-W", _BETTER),
    Less("PCP3-R against PCP1-R: up to 58 % and 13 %", "PCP3-R", "PCP1-R", {SLOWDOWN: 0.58, WAIT: 0.13}),
    Less("PCP1-D makes long queues (it did not end): PCP1-W is better", "PCP1-W", "PCP1-D", _BETTER),
    Less("PCP2-D is better than PCP1-W", "PCP2-D", "PCP1-W", _BETTER),
    Less("PCP3-D is better than PCP2-D by 37 % and 29 %", "PCP3-D", "PCP2-D", {SLOWDOWN: 0.37, WAIT: 0.29}),
    Less("HCP1-W is better than HCP", "HCP1-W", "HCP-W", _BETTER),
    Less("HCP3-W does not improve on HCP1-W", "HCP1-W", "HCP3-W", _BETTER),
    Less("HCP3-R improves most on HCP", "HCP3-R", "HCP-W", _BETTER),
    Less("HCP1-D is poorer than HCP", "HCP-W", "HCP1-D", _BETTER),
    Less("HCP2-D is better than HCP1-D", "HCP2-D", "HCP1-D", _BETTER),
    Less("HCP2-D is better than HCP", "HCP2-D", "HCP-W", _BETTER),
    Less("HCP3-D is better than HCP2-D", "HCP3-D", "HCP2-D", _BETTER),
    Less("HCP3-D is better than PBS", "HCP3-D", PBS, _BETTER),
    *(
        NoMore(
            f"{name}3-R does not penalise {of} jobs (against {name}1-W)",
            f"{name}3-R", f"{name}1-W", (f"{SLOWDOWN} of {of} jobs", f"{WAIT} of {of} jobs"),
        )
        for name in ("PCP", "HCP")
        for of in (MEDIUM, LONG)
    ),
)  # fmt: skip
"""Each with the shares that the text or table 2 prints, where it prints any."""
