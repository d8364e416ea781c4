"""When nodes were down: its file, and what it meant for nodes and jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from dardis.metrics.jobs import Number
from dardis.model.arrays import Ints
from dardis.model.csv_table import WHOLE, Column, CsvTable
from dardis.model.downtime import Downtime, boot_and_shutdown
from dardis.model.job import FOREVER
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule

DOWNTIME_FILE: Final = "switching.csv"
TIMES_DOWN: Final = CsvTable(
    DOWNTIME_FILE,
    Column("node", WHOLE, "number of the node"),
    Column("down_s", WHOLE, "begin of its shut-down"),
    Column("up_s", WHOLE, "end of its boot; empty: it stays down"),
)
_DAY_S: Final = 86_400
KEYS: Final = ("node_switches", "cycles_per_node_day", "off_share", "mean_boot_delay_s", "delayed_share")


def switching_metrics(
    schedule: Schedule, platform: Platform, downtime: Downtime, boot_delay: Ints | None
) -> dict[str, Number]:
    """The figures of `metrics.json` about nodes that are switched (docs/metrics.md).

    `boot_delay` (jobs,): how long each job waited for boots, None where nobody measured it.
    """
    figures: dict[str, Number] = dict.fromkeys(KEYS)
    ran = schedule.ran
    if not ran.any():
        return figures
    start, end = int(schedule.submit.min()), int(schedule.finish[ran].max())
    boot_s, shutdown_s = (times[downtime.node] for times in boot_and_shutdown(platform))
    node_seconds = platform.node_count * (end - start)
    off_from = np.clip(downtime.down + shutdown_s, start, end)
    off_until = np.clip(downtime.up - boot_s, start, end)
    switches = len(downtime.node)
    figures["node_switches"] = switches
    figures["cycles_per_node_day"] = switches * _DAY_S / node_seconds
    figures["off_share"] = int(np.maximum(off_until - off_from, 0).sum()) / node_seconds
    if boot_delay is not None:
        figures["mean_boot_delay_s"] = int(boot_delay[ran].sum()) / int(np.count_nonzero(ran))
        figures["delayed_share"] = int(np.count_nonzero(boot_delay[ran])) / int(np.count_nonzero(ran))
    return figures


def write_downtime(path: Path, downtime: Downtime) -> None:
    """Write one row for each time that a node was down."""
    TIMES_DOWN.write(path, ((node, down, None if up == FOREVER else up) for node, down, up in downtime.rows))


def read_downtime(path: Path) -> Downtime:
    """Read what `write_downtime` wrote, in any order. InputError names file and line."""
    cells = TIMES_DOWN.read(path)
    spans = np.stack([cells.whole("node"), cells.whole("down_s"), cells.whole("up_s", empty=FOREVER)])
    return Downtime(*spans[:, np.lexsort(spans[::-1])].copy())
