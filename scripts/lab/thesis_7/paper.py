"""What is known of the thesis's section 7.6: how much more profit its DARDIS70 had than the best rule-based set-up."""

from __future__ import annotations

from typing import Final

DARDIS70: Final = {"low": "+17 %", "medium": "+8.6 %", "high": "+0.2 %"}
"""Table 7.1 by workload, over its scenarios."""
WORST: Final = "its worst cell is −7.5 % (medium load, hybrid cooling, winter)"
