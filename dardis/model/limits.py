"""The kinds of numbers and texts that files state: the types of the fields of models and of platforms."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le, MinLen

LATEST = 1 << 40
"""Times lie within this many seconds of 0."""
BEFORE_ALL = -(1 << 41)
"""Before every time that a file may state."""
NOBODY_KNOWS = 1 << 50
"""When something ends of which nobody has said so: later than all times that files may state."""
MAX_GROUPS = 1 << 14
"""Node groups a platform may have."""
MOST_NODES = 10_000_000
LARGEST_AMOUNT = (1 << 31) - 1
"""Of one kind on one node: the fixed-point fitting index (2^20 a unit) then fits 64 bits."""
LARGEST_CORES = 1 << 20

Time = Annotated[int, Ge(-LATEST), Le(LATEST)]
Seconds = Annotated[int, Ge(0), Le(LATEST)]
Edge = Annotated[int, Ge(BEFORE_ALL), Le(NOBODY_KNOWS)]
"""When a span begins or ends: at a time, before all of them, or nobody knows when."""
Count = Annotated[int, Ge(0), Le(LATEST)]
Limit = Annotated[int, Ge(1), Le(LATEST)]
"""The most of something, which is at least 1."""
Priority = Annotated[int, Ge(-1_000_000), Le(1_000_000)]
Amount = Annotated[float, Ge(0)]
Above0 = Annotated[float, Gt(0)]
Watts = Annotated[float, Ge(0), Le(1e9)]
Text = Annotated[str, MinLen(1)]
