"""The columns of asks, as messages carry them and kernels read them."""

from __future__ import annotations

from typing import NamedTuple

from dardis.model.arrays import Ints


class Asks(NamedTuple):
    """A batch of asks as arrays of shape (asks,), `request` (asks, kinds). A quota less than 0 asks for all runs."""

    job: Ints
    draw_key: Ints
    first: Ints
    last: Ints
    walltime: Ints
    units: Ints
    quota: Ints
    groups: Ints
    request: Ints
