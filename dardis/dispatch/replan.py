"""Plans all who wait anew whenever something has happened, and starts who is to start now by the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dardis.dispatch.gone_over import see_done
from dardis.dispatch.orders import RULES
from dardis.kernels import replan
from dardis.kernels.ahead import Ahead, make_ahead
from dardis.kernels.job_table import JobTable
from dardis.kernels.placer import Placer
from dardis.model.arrays import Ints
from dardis.model.profile import sum_of_columns
from dardis.wire.effects import Solved


class Replan:
    """Goes over a queue by a plan of the weightiest who wait."""

    keys: Final = (RULES["fcfs"][1], RULES["fcfs"][1])
    """Among equals of a plan whoever came first is first."""
    strict: Final = False
    backfill: Final = True
    depth: Final = 1
    """One reservation, for the first whose turn has come and who finds no nodes."""

    def __init__(self, planning: replan.Planning) -> None:
        """Plan as this says."""
        self._planning = planning
        self._ahead: Ahead | None = None

    def go_over(self, placer: Placer, jobs: JobTable, now: int) -> Sequence[Solved]:
        """Plan, and start whoever is to start now."""
        if self._ahead is None:
            self._ahead = make_ahead(*_sums(placer), self._planning.jobs, jobs.slots)
        elif jobs.slots > len(self._ahead.last):
            last = self._ahead.last
            self._ahead = make_ahead(self._ahead.base_time, self._ahead.base_value, self._planning.jobs, jobs.slots)
            self._ahead.last[: len(last)] = last
        see_done(placer.run(replan.pass_over, jobs.queue, self._planning, self._ahead, now))
        return ()


def _sums(placer: Placer) -> tuple[Ints, Ints]:
    """What all nodes have together, of each column, and from when on; nobody must run yet."""
    rows = placer.nodes.profiles
    spans = [slice(head, head + size) for head, size in zip(rows.head.tolist(), rows.size.tolist(), strict=True)]
    return sum_of_columns([(rows.time[span], rows.value[span]) for span in spans])
