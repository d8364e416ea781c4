"""When nodes were down: its file, its figures, and what the audit says of it."""

from dataclasses import replace

import numpy as np
import pytest
from kit.schedules import schedule_of

from dardis.metrics.audit import audit
from dardis.metrics.system import switching_metrics
from dardis.model.job import FOREVER, Status
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.schedule import Downtime

POWER = NodePower(boot_s=20, shutdown_s=10)
PLATFORM = Platform(
    "two", (NodeGroup("n", 4, {"cores": 1}, POWER), NodeGroup("on", 1, {"cores": 1}, POWER, always_on=True))
)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def spans(*rows: tuple[int, int, int]) -> Downtime:
    return Downtime(*np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy())


def ran(number: int, submit: int, start: int, finish: int, node: int) -> dict[str, object]:
    """A job of one unit."""
    times = {"submit": submit, "start": start, "finish": finish, "walltime": finish - start}
    return {"number": number, "placed": {node: 1}, **times}


THREE = [ran(1, 0, 0, 100, 0), ran(2, 50, 170, 200, 1), ran(3, 60, 60, 200, 2)]
SCHEDULE = schedule_of(("cores",), [*THREE, ran(4, 60, 60, 90, 0)])


def test_downtime_figures_by_hand():
    down = spans((0, 100, FOREVER), (1, 10, 170), (3, 200, FOREVER))
    figures = switching_metrics(SCHEDULE, PLATFORM, down, ints(0, 120, 0, 0))
    assert figures["node_switches"] == 3
    assert figures["cycles_per_node_day"] == pytest.approx(3 * 86_400 / (5 * 200))
    assert figures["off_share"] == pytest.approx((90 + 130) / (5 * 200))  # shutting down and booting is not off
    assert figures["mean_boot_delay_s"] == 30
    assert figures["delayed_share"] == 0.25
    assert switching_metrics(SCHEDULE, PLATFORM, down, None)["delayed_share"] is None


def test_only_what_ran_counts_as_delayed_or_not():
    status = SCHEDULE.status.copy()
    status[2:] = Status.REJECTED
    figures = switching_metrics(replace(SCHEDULE, status=status), PLATFORM, spans(), ints(0, 120, 7, 0))
    assert (figures["mean_boot_delay_s"], figures["delayed_share"]) == (60, 0.5)


@pytest.mark.parametrize(
    ("down", "said"),
    [
        (spans((0, 100, 130), (1, 10, 170), (1, 200, 230), (2, 300, FOREVER)), []),
        (spans((1, 10, 171)), ["job 2, node 1, at 170 s: is down from 10 s to 171 s"]),
        (spans((0, 99, FOREVER)), ["job 1, node 0, at 99 s: is down from 99 s"]),
        (spans((0, -90, -60), (0, 20, 50)), ["job 1, node 0, at 20 s: is down from 20 s to 50 s"]),
        (spans((3, 0, 29)), ["node 3, at 0 s: is down for less time than it needs to shut down and boot"]),
        (spans((3, 0, 40), (3, 39, 90)), ["node 3, at 39 s: is shut down while it is already down"]),
        (spans((4, 0, 40)), ["node 4, at 0 s: is down but must always be on"]),
        (spans((5, 0, 40)), ["node 5, at 0 s: is down but does not exist"]),
        (spans(), []),
    ],
)
def test_audit_reports_invalid_downtimes(down, said):
    found = audit(schedule_of(("cores",), THREE), PLATFORM, downtime=down)
    assert [str(violation) for violation in found] == said
