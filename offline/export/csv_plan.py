"""One table of a plan for spreadsheets and facility tools: in UTC, with units, a row wherever anything changes."""

from __future__ import annotations

from typing import Final

import numpy as np

from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable
from dardis.model.hostlist import hostlist
from offline.export.exporter import Export, first_on, steps
from offline.folder.columns import reals_or_none, utc_texts
from offline.folder.plan import PlanFolder

TABLE: Final = CsvTable(
    "plan.csv",
    Column("start_utc", WORD, "begin of the row"),
    Column("end_utc", WORD, "its end"),
    Column("start_unix_s", WHOLE, "begin of the row"),
    Column("end_unix_s", WHOLE, "its end"),
    Column("target_cores", WHOLE, "cores to aim at", "cores"),
    Column("power_cap_w", REAL, "cap on IT power for them; empty: no cap"),
    Column("it_power_w", REAL, "expected IT power"),
    Column("cooling_power_w", REAL, "expected cooling power"),
    Column("pue_ratio", REAL, "all power over IT power", "ratio"),
    Column("price_eur_per_kwh", REAL, "price of energy", "currency/kWh"),
    Column("co2_g_per_kwh", REAL, "CO2 intensity", "g/kWh"),
    Column("outdoor_temperature_c", REAL, "outdoor temperature"),
    Column("mean_nodes_on_count", REAL, "nodes that are on, mean over the segment", "nodes"),
    Column("nodes_off_count", WHOLE, "nodes that are off", "nodes"),
    Column("shut_down_nodes", TEXT, "nodes whose shut-down begins with the row"),
    Column("booted_nodes", TEXT, "nodes whose boot begins with the row"),
    Column("off_nodes", TEXT, "all nodes that are off"),
)


def export_csv(plan: PlanFolder, names: list[str]) -> Export:
    """Profile values of the segment that a row lies in; the nodes that are switched at its start, and all that are off.

    An action before the profile's start has a row of its own, in which the profile is empty.
    """
    profile = plan.profile
    actions = {step.time: step for step in steps(plan.onoff) if step.time < profile.end}
    times = np.union1d(profile.edges, np.array(list(actions), dtype=np.int64))
    segment = np.searchsorted(profile.edges, times[:-1], side="right") - 1
    reals = (
        profile.power_cap_w, profile.it_w, profile.cooling_w, profile.pue, profile.price_per_kwh, profile.gco2_per_kwh,
        profile.temp_c, profile.nodes_on,
    )  # fmt: skip
    values = [profile.cores_target.tolist(), *map(reals_or_none, reals)]
    on = first_on(plan.onoff, plan.platform.node_count)
    rows = []
    utc, unix = utc_texts(times + plan.offset), (times + plan.offset).tolist()
    for row, (time, place) in enumerate(zip(times[:-1].tolist(), segment.tolist(), strict=True)):
        step = actions.get(time)
        off, up = (step.off, step.on) if step else ([], [])
        on[off], on[up] = False, True
        lists = [hostlist(names[node] for node in nodes) for nodes in (off, up, np.flatnonzero(~on).tolist())]
        known = [column[place] if place >= 0 else None for column in values]
        rows.append([utc[row], utc[row + 1], unix[row], unix[row + 1], *known, int((~on).sum()), *lists])
    return Export(TABLE.text(rows))
