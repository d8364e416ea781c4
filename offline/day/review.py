"""Compares runs with and without a plan, over the plan's day."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dardis.metrics.power import NoCooling, platform_cooling, tariff_of
from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.files import sha256_of
from dardis.model.platform import platform_to_dict
from dardis.model.resources import CORES
from dardis.model.schedule import Downtime
from dardis.model.step_function import StepFunction
from dardis.power.account import Account, account, accounted_jobs
from dardis.power.conditions import Conditions
from dardis.power.node_power import MachinePower
from dardis.report.chart import TimeAxis
from dardis.report.review_page import DaySide, ReviewPicture, draw_review
from dardis.report.run_files import RunFiles, read_run
from offline.day.plan_spec import wait_cost
from offline.folder.plan_folder import TARGET_FILE, PlanFolder, read_plan
from offline.onoff.spans import nodes_up

FOLLOWED, WITHOUT = "with the plan", "without"


@dataclass(frozen=True)
class ReviewedRun:
    """Run over the plan's day."""

    account: Account
    used: StepFunction
    nodes_on: StepFunction
    waits: Ints
    """Of jobs submitted in the day and started, s, (jobs,)."""
    core_h: float
    mean_nodes_on: float

    @property
    def cost(self) -> Floats:
        """Cost of energy and cooling by segment."""
        return self.account.energy_cost + self.account.cooling_cost

    @property
    def kwh(self) -> float:
        """Energy of IT and cooling."""
        return float(self.account.kwh(self.account.it_w + self.account.cooling_w).sum())

    @property
    def cost_per_1000_core_h(self) -> float | None:
        """Cost of energy and cooling for 1,000 core-hours; None without work."""
        return 1000 * float(self.cost.sum()) / self.core_h if self.core_h else None


@dataclass(frozen=True)
class Review:
    """Plan's day under both runs."""

    plan: PlanFolder
    cap: StepFunction | None
    """Core limit of the run with the plan, if any."""
    with_plan: ReviewedRun
    without_plan: ReviewedRun
    dispatcher: str

    @property
    def lines(self) -> list[str]:
        """Savings and cost of waits, a line each."""
        ours, plain, currency = self.with_plan, self.without_plan, self.plan.platform.currency
        before = float(plain.cost.sum())
        saved = before - float(ours.cost.sum())
        share = f" ({100 * saved / before:.1f} %)" if before > 0 else ""
        gained = ours.account.profit - plain.account.profit
        nodes = f"{ours.mean_nodes_on:.0f} of {self.plan.platform.node_count} nodes on"
        nodes += f" instead of {plain.mean_nodes_on:.0f}"
        moved = ours.core_h - plain.core_h
        told = f"Saved: {saved:,.2f} {currency}{share} of energy and cooling, {plain.kwh - ours.kwh:,.0f} kWh; {nodes}"
        per, before_per = ours.cost_per_1000_core_h, plain.cost_per_1000_core_h
        if per is not None and before_per is not None:
            told += f"; {per:,.2f} {currency} for 1,000 core-hours instead of {before_per:,.2f}"
        if round(moved):
            what = "more" if moved > 0 else "less"
            told += f"; profit {gained:+,.2f} {currency}, since {abs(moved):,.0f} core-hours {what} ran in the day"
        return [f"{told}.", self._waits()]

    def _waits(self) -> str:
        ours, plain = self.with_plan.waits, self.without_plan.waits
        if not len(ours) or not len(plain):
            return "Waits: no job of the day ran."
        later = float(ours.mean() - plain.mean())
        means = f"{ours.mean() / 60:,.1f} min instead of {plain.mean() / 60:,.1f} ({later / 60:+,.1f})"
        most = f"{ours.max() / 3600:,.1f} h instead of {plain.max() / 3600:,.1f}"
        of = f"for the day's {len(ours):,} jobs"
        if len(ours) != len(plain):
            of = f"over the {len(ours):,} of the day's jobs that ran, instead of {len(plain):,}"
        price = self.plan.wait_price
        costs = [wait_cost(price, float(waits.sum())) for waits in (ours, plain)]
        paid = (
            f"; at {price:g} {self.plan.platform.currency} an hour they cost {costs[0]:,.2f} instead of {costs[1]:,.2f}"
        )
        return f"Waits: {means} on average {of}; the longest {most}{paid if price else ''}."


def review(plan_dir: Path, followed: Path, without: Path) -> Review:
    """Read a plan and both runs. Raises InputError for mismatches."""
    plan = read_plan(plan_dir)
    files, beside = _run_of(plan, followed), _run_of(plan, without)
    digest = sha256_of(target := plan_dir / TARGET_FILE)
    if digest is None:
        raise InputError(target, "is missing or unreadable", "a folder of dardis plan")
    if files.run.profile_sha256 != digest:
        raise InputError(followed, "did not follow this plan", f"a run with --profile {target}")
    if beside.run.profile_sha256 == digest:
        raise InputError(without, "followed this plan", "a run of the same jobs without this plan")
    if not np.array_equal(np.sort(files.schedule.number), np.sort(beside.schedule.number)):
        raise InputError(without, f"has other jobs than {followed}", "two runs of one trace")
    window = plan.profile.start, plan.profile.end
    wished = files.profile[f"{CORES}_desired"]
    capped = (wished.at(plan.profile.edges[:-1]) < plan.platform.cores).any()
    ours, plain = (_reviewed_run(plan, one, window) for one in (files, beside))
    return Review(plan, wished if capped else None, ours, plain, files.run.dispatcher or "a run")


def _run_of(plan: PlanFolder, folder: Path) -> RunFiles:
    files = read_run(folder)
    told, expected = ("groups", "partitions", "maintenance"), "a run of the plan's platform"
    ours, theirs = platform_to_dict(plan.platform), platform_to_dict(files.platform)
    if any(ours[key] != theirs[key] for key in told):
        raise InputError(folder, f"is of {files.platform.name!r}, another machine", expected)
    clock, undated = files.run.unix_start, plan.offset <= 0
    if clock is None and not undated:
        raise InputError(folder, "states no start date", "a run with the plan's --calendar-start")
    if clock is not None and clock != plan.offset:
        raise InputError(
            folder, "has another clock than the plan", "a run of the plan's history or of its continuation"
        )
    inside = (files.schedule.submit >= plan.profile.start) & (files.schedule.submit < plan.profile.end)
    if not inside.any():
        raise InputError(folder, f"no job was submitted on {plan.summary['date_utc']}", "a run of the plan's day")
    return files


def _reviewed_run(plan: PlanFolder, files: RunFiles, window: tuple[int, int]) -> ReviewedRun:
    profile, platform, schedule = plan.profile, plan.platform, files.schedule
    conditions = Conditions(
        profile.edges, profile.temp_c, profile.price_per_kwh, profile.gco2_per_kwh, plan.offset
    )  # fmt: skip
    asked = plan.settings.get("cooling")
    downtime = files.downtime or Downtime.none()
    told = account(
        accounted_jobs(schedule, platform), downtime, MachinePower.of_platform(platform), conditions,
        platform_cooling(platform, None if asked is None else str(asked)) or NoCooling(),
        tariff_of(platform.facility, plan.offset),
    )  # fmt: skip
    start, end = window
    counted = schedule.ran & (schedule.submit >= start) & (schedule.submit < end)
    used, on = files.profile[f"{CORES}_used"], nodes_up(downtime, platform.node_count)
    return ReviewedRun(
        told, used, on, (schedule.start - schedule.submit)[counted], used.integral(start, end) / 3600,
        on.integral(start, end) / (end - start),
    )  # fmt: skip


def draw(path: Path, told: Review) -> None:
    """Draw the page. Raises OSError."""
    plan, profile = told.plan, told.plan.profile
    sides = [
        DaySide(name, lived.used, lived.nodes_on, lived.cost, lived.cost_per_1000_core_h, lived.waits, _figures(lived))
        for name, lived in ((FOLLOWED, told.with_plan), (WITHOUT, told.without_plan))
    ]
    picture = ReviewPicture(
        TimeAxis(profile.start, profile.end, plan.offset), profile.edges, sides[0], sides[1], told.cap,
        plan.platform.cores, plan.platform.node_count, profile.price_per_kwh, profile.temp_c, plan.platform.currency,
    )  # fmt: skip
    draw_review(
        path, title=f"{plan.summary['date_utc']} with and without a plan", first=told.lines, picture=picture,
        lead=f"{told.dispatcher} on {plan.platform.name}: {plan.platform.describe()}",
    )  # fmt: skip


def _figures(lived: ReviewedRun) -> dict[str, float]:
    told, waits = lived.account, lived.waits
    return {
        "profit_eur": told.profit,
        "income_eur": told.income_eur,
        "energy_eur": told.energy_eur,
        "cooling_eur": told.cooling_eur,
        "energy_kwh": told.energy_kwh,
        "cooling_kwh": told.cooling_kwh,
        "peak_kw": told.peak_kw,
        "mean_nodes_on": lived.mean_nodes_on,
        "core_h": lived.core_h,
        "jobs": len(waits),
        "mean_wait_s": float(waits.mean()) if len(waits) else 0.0,
        "p95_wait_s": float(np.quantile(waits, 0.95)) if len(waits) else 0.0,
        "max_wait_s": float(waits.max()) if len(waits) else 0.0,
    }
