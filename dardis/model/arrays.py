"""The kinds of arrays that annotations name: one name each, wherever a column of numbers is meant."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Integers = NDArray[np.integer[Any]]
"""Of any width."""
Sets = NDArray[np.object_]
"""Bit sets of node groups, Python integers (`dardis.model.node_sets`)."""
