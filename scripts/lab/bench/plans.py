"""What planning a made-up day brings and costs: our plan beside multi-search, with what is proven of both."""

from __future__ import annotations

import sys
import time
from importlib import import_module

from offline.planner.budget import Watch
from offline.planner.day_planner import plan
from offline.planner.searches import multi_search
from scripts.lab.bench.rows import Row, own_peak
from scripts.lab.kit.command import ROOT
from scripts.lab.kit.spread import Spread

DAYS = ((1000, 0.3, "flat"), (1000, 0.7, "tou"), (5000, 0.7, "tou"), (10_000, 0.7, "tou"), (10_000, 1.1, "flat"))
"""Jobs, load and prices of the days; the machine has 300 nodes of 32 cores."""
TIME_LIMIT_S = 60.0


def plans(repeats: int) -> list[Row]:
    """Two rows for each day; the ratio is of profits. Multi-search's time is in ours, which begins with it."""
    sys.path.insert(0, str(ROOT / "tests"))
    day_problem = import_module("kit.plan_problems").day_problem
    plan(day_problem(20, 4, 0.5, 1, cores=8))  # compiles what planning needs
    rows = []
    for jobs, load, prices in DAYS:
        problem = day_problem(jobs, 300, load, 1, prices=prices)
        times: dict[str, list[float]] = {"multi-search": [], "ours": []}
        for _ in range(repeats):
            begun = time.process_time()
            multi, _ = multi_search(problem, Watch())
            times["multi-search"].append(time.process_time() - begun)
            begun, began = time.process_time(), time.perf_counter()
            best = plan(problem, time_limit=TIME_LIMIT_S).best
            times["ours"].append(time.process_time() - begun)
            wall_s = time.perf_counter() - began
        peak = own_peak()
        name = f"plan, load {load}, {prices}"
        notes = {
            "profit_eur": round(best.profit, 2),
            "wall_s": round(wall_s, 1),
            "gain_percent": round(100 * (best.profit / multi.profit - 1), 3),
        }
        if best.bound is not None:
            notes["gap_percent"] = round(100 * (best.bound / best.profit - 1), 3)
        rows += [
            Row(name, "multi-search", jobs, Spread.of(times["multi-search"]), peak,
                notes={"profit_eur": round(multi.profit, 2)}),
            Row(name, f"ours ({best.stopped_by})", jobs, Spread.of(times["ours"]), peak,
                Spread.of([best.profit / multi.profit]), "profit / multi-search's", "> 1 within 60 s and 2 GiB",
                notes=notes),
        ]  # fmt: skip
    return rows
