"""What a plan from its files to its report takes, and what planning a made-up day brings beside multi-search."""

from __future__ import annotations

import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

from offline.planner.budget import Watch
from offline.planner.day_planner import plan
from offline.planner.searches import multi_search
from scripts.lab.bench.measure import Row, cpu_of, cpu_ratio, in_turns, row_of, run_once
from scripts.lab.kit.command import PLATFORMS, ROOT
from scripts.lab.kit.spread import Spread
from scripts.lab.kit.thesis import PARTITION, TRACE

PLANNED = ((1000, 0.3, "flat"), (1000, 0.7, "tou"), (5000, 0.7, "tou"), (10_000, 0.7, "tou"), (10_000, 1.1, "flat"))
"""Jobs, load and prices of the days; the machine has 300 nodes of 32 cores."""
TIME_LIMIT_S = 60.0


def plans(repeats: int) -> list[Row]:
    """Two rows for each day; the ratio is of profits. Multi-search's time is in ours, which begins with it."""
    sys.path.insert(0, str(ROOT / "tests"))
    day_problem = import_module("kit.plan_problems").day_problem
    plan(day_problem(20, 4, 0.5, 1, cores=8))  # compiles what planning needs
    rows = []
    for jobs, load, prices in PLANNED:
        problem = day_problem(jobs, 300, load, 1, prices=prices)
        times: dict[str, list[float]] = {"multi-search": [], "ours": []}
        for _ in range(repeats):
            (multi, _), cpu_s = cpu_of(partial(multi_search, problem, Watch()))
            times["multi-search"].append(cpu_s)
            began = time.perf_counter()
            planned, cpu_s = cpu_of(partial(plan, problem, time_limit=TIME_LIMIT_S))
            times["ours"].append(cpu_s)
            wall_s, best = time.perf_counter() - began, planned.best
        name = f"plan, load {load}, {prices}"
        notes = {
            "profit_eur": round(best.profit, 2),
            "wall_s": round(wall_s, 1),
            "gain_percent": round(100 * (best.profit / multi.profit - 1), 3),
        }
        if best.bound is not None:
            notes["gap_percent"] = round(100 * (best.bound / best.profit - 1), 3)
        rows += [
            Row(name, "multi-search", jobs, Spread.of(times["multi-search"]),
                notes={"profit_eur": round(multi.profit, 2)}),
            Row(name, f"ours ({best.stopped_by})", jobs, Spread.of(times["ours"]),
                ratio=Spread.of([best.profit / multi.profit]), ratio_of="profit / multi-search's",
                goal="> 1 within 60 s and 2 GiB", notes=notes),
        ]  # fmt: skip
    return rows


CURIE = PLATFORMS / "curie-fat.toml"
DAY, DAYS, JOBS = 12, 8, 10_000
"""The day of the slice; and, of the made-up history, its days and the jobs of each."""
MOST_S = 60
MADE_UP = """name = "made-up"
cooling = "air"
weather = 15.0
prices = 0.13
calendar_start = 2023-07-03T00:00:00Z
[[nodes]]
count = 300
prefix = "n"
resources = { cores = 32 }
power = { idle_w = 100, core_w = 6.33, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }
"""


def planning(traces: Path, folder: Path, repeats: int) -> list[Row]:
    """A day of 10,000 jobs, and one of the Curie slice's partition 4 with the check of its export."""
    folder.mkdir(parents=True, exist_ok=True)
    dardis = str(Path(sys.executable).with_name("dardis"))
    rows = []
    for name, trace, platform, day, more in (
        ("plan, made-up days", _made_up(folder), folder / "made-up.toml", DAYS, []),
        ("plan, curie-partition-4", _partition_4(dardis, traces, folder), CURIE, DAY,
         ["--weather", str(folder / "weather.csv"), "--prices", str(folder / "prices.csv"),
          "--calendar-start", "2023-07-03T00:00Z"]),
    ):  # fmt: skip
        out = folder / f"{name.split()[1]}-plan"
        site = ["--platform", str(platform)]
        plan = [dardis, "plan", "--history", str(trace), *site, *more, "--day", str(day), "--out", str(out), "--force"]
        easy = [dardis, "simulate", str(trace), *site, "--dispatcher", "easy", "--out", f"{out}-easy", "--force"]
        run_once(plan)  # the check needs it, and all kernels are there
        commands = {"dardis plan": plan, "dardis export --check": [dardis, "export", "--check", str(out)]}
        costs = in_turns({"easy": [*easy, "--no-report"], **commands}, repeats)
        jobs, goal = JOBS if "made-up" in name else 0, f"<= {MOST_S} CPU s"
        rows += [
            row_of(name, program, jobs, costs[program], cpu_ratio(costs[program], costs["easy"]),
                   "easy over its whole history", goal)
            for program in commands
        ]  # fmt: skip
    return rows


def _made_up(folder: Path) -> Path:
    """Days alike in everything but chance."""
    sys.path.insert(0, str(ROOT / "tests"))
    day_problem = import_module("kit.plan_problems").day_problem
    (folder / "made-up.toml").write_text(MADE_UP)
    path = folder / "made-up.swf"
    number = 0
    with path.open("w") as file:
        for day in range(DAYS):
            jobs = day_problem(JOBS, 300, 0.7, day + 1).jobs
            cores = jobs.units * jobs.request[:, 0]
            for submit, runtime, width in zip(
                jobs.submit.tolist(), jobs.duration.tolist(), cores.tolist(), strict=True
            ):
                number += 1
                at = submit + (day - 1) * 86_400
                file.write(
                    f"{number} {at} -1 {runtime} {width} -1 -1 {width} {2 * runtime} -1 1 {number % 40} {'-1 ' * 5}-1\n"
                )
    return path


def _partition_4(dardis: str, traces: Path, folder: Path) -> Path:
    """The jobs of the partition, and weather and prices for its days."""
    path = folder / "partition-4.csv"
    run_once([dardis, "trace", "convert", str(traces / TRACE), str(path), "--partition", PARTITION,
              "--platform", str(CURIE)])  # fmt: skip
    for name, column, low, high in (("weather", "temp_c", 12, 26), ("prices", "price_eur_per_kwh", 0.08, 0.2)):
        hours = range(-24, 24 * 40)
        lines = [f"{_utc(hour)},{high if 8 <= hour % 24 < 20 else low}\n" for hour in hours]
        (folder / f"{name}.csv").write_text(f"start_utc,{column}\n" + "".join(lines))
    return path


def _utc(hour: int) -> str:
    day, hour = divmod(hour, 24)
    month, day = (7, day + 3) if day + 3 <= 31 else (8, day + 3 - 31)
    return f"2023-{month:02d}-{day:02d}T{hour:02d}:00Z"
