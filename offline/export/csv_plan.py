"""One table of a plan for spreadsheets and facility tools: in UTC, with units, a row wherever anything changes."""

from __future__ import annotations

import io

import numpy as np

from dardis.model.cells import as_cell, row_writer
from dardis.model.hostlist import hostlist
from offline.export.exporter import Export
from offline.export.steps import first_on, steps
from offline.folder.columns import reals_or_none, utc_texts
from offline.folder.plan import PlanFolder


def export_csv(plan: PlanFolder, names: list[str]) -> Export:
    """Profile values of the segment that a row lies in; the nodes that are switched at its start, and all that are off.

    An action before the profile's start has a row of its own, in which the profile is empty.
    """
    profile = plan.profile
    actions = {step.time: step for step in steps(plan.onoff) if step.time < profile.end}
    times = np.union1d(profile.edges, np.array(list(actions), dtype=np.int64))
    segment = np.searchsorted(profile.edges, times[:-1], side="right") - 1
    values = {
        "target_cores": profile.cores_target.tolist(),
        "power_cap_w": reals_or_none(profile.power_cap_w),
        "it_power_w": reals_or_none(profile.it_w),
        "cooling_power_w": reals_or_none(profile.cooling_w),
        "pue_ratio": reals_or_none(profile.pue),
        "price_eur_per_kwh": reals_or_none(profile.price_per_kwh),
        "co2_g_per_kwh": reals_or_none(profile.gco2_per_kwh),
        "outdoor_temperature_c": reals_or_none(profile.temp_c),
        "mean_nodes_on_count": reals_or_none(profile.nodes_on),
    }
    on = first_on(plan.onoff, plan.platform.node_count)
    text = io.StringIO()
    writer = row_writer(text)
    writer.writerow(
        ["start_utc", "end_utc", "start_unix_s", "end_unix_s", *values, "nodes_off_count", "shut_down_nodes",
         "booted_nodes", "off_nodes"]
    )  # fmt: skip
    utc, unix = utc_texts(times + plan.offset), (times + plan.offset).tolist()
    for row, (time, place) in enumerate(zip(times[:-1].tolist(), segment.tolist(), strict=True)):
        step = actions.get(time)
        off, up = (step.off, step.on) if step else ([], [])
        on[off], on[up] = False, True
        lists = [as_cell(hostlist(names[node] for node in nodes)) for nodes in (off, up, np.flatnonzero(~on).tolist())]
        known = [column[place] if place >= 0 else None for column in values.values()]
        writer.writerow([utc[row], utc[row + 1], unix[row], unix[row + 1], *known, int((~on).sum()), *lists])
    return Export(text.getvalue())
