"""Report of `dardis hybrid`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from dardis.metrics.system import desired_total, used_profile
from dardis.model.resources import CORES
from dardis.model.step_function import StepFunction
from dardis.report.chart import TimeAxis
from dardis.report.loop_page import LoopPage, LoopPicture, draw_loop
from dardis.report.pictures import write_picture
from offline.folder.plan_folder import Figure
from offline.loop.loop import Loop

ALL_ON, CLAIRVOYANT = "all nodes on", "clairvoyant"
PROMISED = ("promised_gain_eur", "promised_gain_p10_eur", "promised_gain_p90_eur")


def draw(
    path: Path, loop: Loop, summary: dict[str, Figure], notes: Sequence[str],
    days: tuple[Sequence[str], Sequence[dict[str, Figure]]], beside: tuple[Sequence[str], Sequence[dict[str, Figure]]],
) -> None:  # fmt: skip
    """Draw report.html; `days`, `beside`: columns and rows. Raises OSError."""
    platform, conditions = loop.site.platform, loop.conditions
    rows = days[1]
    picture = LoopPicture(
        axis=TimeAxis(conditions.start, conditions.end, loop.site.calendar.offset),
        nodes_on=loop.nodes_on,
        nodes=platform.node_count,
        spares=_spares(loop),
        dates=[str(row["date_utc"]) for row in rows],
        profit={
            name: np.array([float(row[key] or 0) for row in rows])
            for name, key in (
                ("all nodes on", "always_on_profit_eur"), ("switched", "profit_eur"),
                ("clairvoyant", "clairvoyant_profit_eur"),
            )
        },
        cores=platform.cores,
        used=used_profile(loop.switched.schedule, CORES),
        aimed_at=None if loop.target.desired is None else desired_total(platform, loop.target.desired, CORES),
        delays=loop.switched.boot_delay[loop.counted(loop.switched)],
        gain={name: float(value) for name, value in asdict(loop.gain).items()},
        currency=platform.currency,
        edges=conditions.edges,
        temp_c=conditions.temp_c,
        price=conditions.price_per_kwh,
        beside=_points(loop, beside[1]),
        promised=_promise_points(rows),
    )  # fmt: skip
    page = LoopPage(
        title=f"{loop.options.dispatcher}, days {summary['days']}, on {platform.name}", lead=platform.describe(),
        first=first_lines(loop, summary, beside[1]), notes=notes, picture=picture, summary=summary, days=days,
        beside=beside, rules=loop.plans[-1].targets.rules,
    )  # fmt: skip
    write_picture(path.parent, vars(page))
    draw_loop(path, page)


def _points(loop: Loop, beside: Sequence[dict[str, Figure]]) -> list[tuple[str, float, float]]:
    if not loop.reactive_runs:
        return []
    by_name = {str(row["switching"]): row for row in beside}
    others = [str(rule) for rule in loop.reactive_runs if rule != loop.options.reactive]
    shown = (by_name[name] for name in (*others, loop.options.switching, CLAIRVOYANT))
    return [(str(row["switching"]), float(row["mean_boot_delay_s"] or 0), float(row["gain_eur"] or 0)) for row in shown]


def _spares(loop: Loop) -> StepFunction | None:
    switching = loop.target.switching
    if switching is None or not switching.spares:
        return None
    return StepFunction.sum_of(switching.spares.values())


def _promise_points(rows: Sequence[dict[str, Figure]]) -> list[tuple[float, float, float, float] | None]:
    found: list[tuple[float, float, float, float] | None] = []
    for row in rows:
        brought, mean, low, high = (float(row[key] or 0) for key in ("switching_gain_eur", *PROMISED))
        found.append(None if row[PROMISED[0]] is None else (brought, mean, low, high))
    return found if any(found) else []


def first_lines(loop: Loop, summary: dict[str, Figure], beside: Sequence[dict[str, Figure]]) -> list[str]:
    """Summary in three sentences: action, gain, cost."""
    told = {key: float(value) for key, value in summary.items() if isinstance(value, (int, float))}
    currency, nodes = loop.site.platform.currency, loop.site.platform.node_count
    done = f"Of {nodes} nodes {told['mean_nodes_on']:,.0f} were on on average with {summary['switching']}; "
    done += f"each had {told['cycles_per_node_day']:.2f} shut-downs per day."
    brought = f"The gain over all nodes on was {told['gain_eur']:,.2f} {currency}"
    if summary["share_of_bound"] is not None:
        brought += f", {100 * told['share_of_bound']:.0f} % of the clairvoyant gain"
    if told["days_promised"]:
        within = f"{told['days_within_promise']:.0f} of {told['days_promised']:.0f} days were within the expected range"
        brought += f"; the gain by switching was {told['switching_gain_eur']:,.2f} (the plans expected "
        brought += f"{told['promised_gain_eur']:,.2f}, and {within})"
    cost = "No job waited for a boot."
    if told.get("mean_boot_delay_s"):
        cost = f"Jobs waited {told['mean_boot_delay_s']:.0f} s for boots on average, "
        cost += f"{100 * told['delayed_share']:.0f} % of them waited"
        plain = next((row for row in beside if str(row["switching"]).startswith("reactive:")), None)
        if plain is not None and plain["switching"] != summary["switching"]:
            waits, gain = (float(plain[key] or 0) for key in ("mean_boot_delay_s", "gain_eur"))
            cost += f"; if nodes are off as soon as that pays ({plain['switching']}), they wait {waits:.0f} s"
            cost += f" for {gain - told['gain_eur']:+,.2f} {currency}"
        cost += "."
    left = sum(told[f"end_{what}_core_h"] - told[f"always_on_end_{what}_core_h"] for what in ("running", "waiting"))
    if abs(left) >= 1:
        cost += f" At the end {abs(left):,.0f} core-hours {'more' if left > 0 else 'less'} were left than with all on."
    return [done, f"{brought}.", cost]
