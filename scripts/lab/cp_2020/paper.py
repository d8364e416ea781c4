"""What paper 003 printed and claimed of PCP'20."""

from __future__ import annotations

from typing import Final

from scripts.lab.kit.claims import Claim, Close, Less
from scripts.lab.kit.service import CPU_A_DECISION, DEVIATION, SLOWDOWN, WAIT

PBS: Final = "PBS (the log)"
KIT_JOBS: Final = 114_355
KIT_SHORT: Final = 0.6626
"""Share of KIT's jobs that run for less than an hour."""
TABLE_1: Final = {
    "HCP'19-L2": (292, 58_934), "PCP'19-L2": None, "PCP'20-L2": (537, 108_608),
    "HCP'19-R": (270, 54_719), "PCP'19-R": None, "PCP'20-R": (662, 133_086),
}  # fmt: skip
"""KIT: ms of CPU a decision, and s of the whole simulation; None: without end."""
TABLE_2: Final = {
    "HCP'19-D": (411, 219_142), "PCP'19-D": (565, 301_078), "PCP'20-D": (252, 134_240),
    "HCP'19-R": (385, 204_363), "PCP'19-R": (512, 272_925), "PCP'20-R": (364, 193_751),
}  # fmt: skip
"""Eurora."""
INSTANCES: Final = 624_564
VARIABLE_RATIO: Final = 0.1
"""All of its ratios of variables, PCP'20 over PCP'19, are below this (figure 6)."""
TIME_RATIOS: Final = (0.01, 1.0)
"""Almost all of its ratios of time lie between these (figure 7)."""

KIT_CLAIMS: Final[tuple[Claim, ...]] = (
    Less("HCP'19-L2 is faster than PCP'20-L2 by 46 %", "HCP'19-L2", "PCP'20-L2", {CPU_A_DECISION: 0.46}),
    Less("HCP'19-R is faster than PCP'20-R by 59 %", "HCP'19-R", "PCP'20-R", {CPU_A_DECISION: 0.59}),
    Less("HCP'19-L2 serves slightly better than PCP'20-L2", "HCP'19-L2", "PCP'20-L2", {SLOWDOWN: 0, WAIT: 0}),
    Less("HCP'19-R serves slightly better than PCP'20-R", "HCP'19-R", "PCP'20-R", {SLOWDOWN: 0, WAIT: 0}),
)
EURORA_CLAIMS: Final[tuple[Claim, ...]] = (
    Less("PCP'20-D is faster than HCP'19-D by 39 %", "PCP'20-D", "HCP'19-D", {CPU_A_DECISION: 0.39}),
    Less("PCP'20-D is faster than PCP'19-D by 55 %", "PCP'20-D", "PCP'19-D", {CPU_A_DECISION: 0.55}),
    Less("PCP'20-R is faster than HCP'19-R by 5 %", "PCP'20-R", "HCP'19-R", {CPU_A_DECISION: 0.05}),
    Less("PCP'20-R is faster than PCP'19-R by 29 %", "PCP'20-R", "PCP'19-R", {CPU_A_DECISION: 0.29}),
    Less("HCP'19-D is faster than PCP'19-D by 27 %", "HCP'19-D", "PCP'19-D", {CPU_A_DECISION: 0.27}),
    *(
        Close(f"all three serve alike ({name})", tuple(f"{one}-{name}" for one in ("HCP'19", "PCP'19", "PCP'20")),
              (SLOWDOWN, WAIT), 0.1)
        for name in ("D", "R")
    ),
    Less("PCP'20-D is better than PBS", "PCP'20-D", PBS, {SLOWDOWN: 0, WAIT: 0}),
    Less("the slowdown's deviation falls from HCP'19-D to PCP'19-D", "PCP'19-D", "HCP'19-D", {DEVIATION: 0}),
    Less("and from there to PCP'20-D", "PCP'20-D", "PCP'19-D", {DEVIATION: 0}),
)  # fmt: skip
