"""On random small sites every command about a plan ends well, or with one line about its input."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from kit.small_site import DAY_S, HOUR_S, START, Row, called, prices, search_less, swf, weather

from dardis.cli.main import run
from offline.planner import day_planner as planning
from offline.planner.cp import bound

GATE, ALL = 8, 300
STATES = ("on", "busy", "closed", "closed+off", "off", "booting", "shutting_down", "closed+busy")
Generator = np.random.Generator


class Site:
    """Files of a random site in a folder, and the day to plan."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Write them."""
        self.folder, self.draw = folder, np.random.default_rng(seed)
        draw = self.draw
        self.groups = [(int(draw.integers(1, 7)), int(draw.choice([1, 2, 8]))) for _ in range(draw.integers(1, 4))]
        self.day = int(draw.integers(1, 10))
        self.rows = self._rows(self.day + int(draw.integers(0, 3)))
        (folder / "trace.swf").write_text(swf(self.rows))
        (folder / "small.toml").write_text(self._platform())
        (folder / "weather.csv").write_text(weather())
        (folder / "prices.csv").write_text(prices())
        self.options: dict[str, object] = {"day": self.day, "no_report": True}
        if draw.random() < 0.5:
            self.options["state"] = folder / "state.csv"
            counts = {name: count for name, (count, _) in zip("abc", self.groups, strict=False)}
            nodes = [f"{name}{node}" for name, count in counts.items() for node in range(count)]
            lines = [f"{node},{draw.choice(STATES)}\n" for node in nodes]
            (folder / "state.csv").write_text("node,state\n" + "".join(lines))
        if draw.random() < 0.3:
            self.options["cap"] = True
        if draw.random() < 0.3:
            self.options["wait_price"] = float(draw.choice([0.01, 1.0, 50.0]))

    def _rows(self, days: int) -> list[Row]:
        """Jobs of some days, the first at time 0: some run over midnights, some for far less than they ask for."""
        draw, rows = self.draw, []
        cores = sum(count * each for count, each in self.groups)
        a_day, longest = int(draw.integers(1, 30)), float(draw.choice([600, 3 * HOUR_S, 20 * HOUR_S]))
        submits = np.sort(draw.integers(0, max(days, 1) * DAY_S, max(days, 1) * a_day))
        waited = draw.random() < 0.5
        for number, submit in enumerate([0, *submits.tolist()], start=1):
            runtime = int(draw.uniform(1, longest))
            walltime = -1 if draw.random() < 0.05 else int(runtime * draw.choice([1.0, 1.5, 40.0])) + 1
            wait = int(draw.choice([0, 5, 7000])) if waited else -1
            wide = int(min(draw.geometric(0.2), cores + 1))
            rows.append(Row(number, submit, runtime, wide, walltime, int(draw.integers(1, 5)), wait))
        return rows

    def _platform(self) -> str:
        """One to three kinds of node, some of which draw as much when they are off; nodes that are closed at times."""
        draw = self.draw
        text = f'name = "any"\ncooling = "air"\nweather = "{self.folder}/weather.csv"\n'
        text += f'prices = "{self.folder}/prices.csv"\ncalendar_start = "{START}"\n'
        text += f"income_eur_per_core_h = {draw.choice([0.0, 0.013, 1.0])}\n"
        for name, (count, cores) in zip("abc", self.groups, strict=False):
            boot, down = int(draw.choice([0, 60, 1800])), int(draw.choice([0, 30, 900]))
            off = int(draw.choice([0, 10, 100]))
            text += f'[[nodes]]\ncount = {count}\nprefix = "{name}"\nresources = {{ cores = {cores} }}\n'
            text += f"power = {{ idle_w = 100, core_w = 5, off_w = {off}, boot_s = {boot}, boot_w = 125, "
            text += f"shutdown_s = {down}, shutdown_w = 100 }}\n"
        nodes = sum(count for count, _ in self.groups)
        for _ in range(draw.integers(0, 3)):
            start = int(draw.integers(0, 10 * DAY_S))
            first = int(draw.integers(0, nodes))
            last = int(draw.integers(first, nodes))
            text += f'[[maintenance]]\nnodes = "{first}-{last}"\nstart_s = {start}\n'
            text += f"end_s = {start + int(draw.integers(1, DAY_S))}\n"
        return text


@pytest.fixture
def little_search(monkeypatch: pytest.MonkeyPatch) -> None:
    search_less(monkeypatch)
    monkeypatch.setattr(planning, "POLISHES", 0)
    monkeypatch.setattr(planning, "GROUPS", 10)
    monkeypatch.setattr(bound, "EXACT_JOBS", 0)


def ends_well(status: int, said: str) -> bool:
    """Whether a command ended with 0; else with 3, or with 2 and one line that is no note."""
    lines = [line for line in said.splitlines() if not re.match(r"dardis: (note|warning): ", line)]
    assert status == 0 or (status in {2, 3} and len(lines) == 1 and lines[0].startswith("dardis: ")), said
    assert "internal" not in said
    return status == 0


@pytest.mark.usefixtures("little_search")
@pytest.mark.parametrize(
    "seed", [*range(GATE), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(GATE, ALL))]
)
def test_plan_commands_succeed_or_report_a_line(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site, out = Site(tmp_path, seed), tmp_path / "plan"

    def well(status: int) -> bool:
        return ends_well(status, capsys.readouterr().err)

    planned = well(called("plan", tmp_path, out, **site.options))
    assert planned or seed >= GATE
    if planned:
        for mode in ("spares", "windows", "suspend-time"):
            words = ["--format", "slurm", "--mode", mode, "--check", "--out", str(tmp_path / mode)]
            well(run(["export", str(out), *words]))
        runs = [tmp_path / name for name in ("with", "without")]
        for folder, more in zip(runs, (["--profile", str(out / "target.json")], []), strict=True):
            words = ["simulate", str(tmp_path / "trace.swf"), "--platform", str(tmp_path / "small.toml"), *more]
            well(run([*words, "--dispatcher", "dardis-late", "--out", str(folder), "--no-report"]))
        if all(folder.exists() for folder in runs):
            well(run(["review", str(out), "--run", str(runs[0]), "--beside", str(runs[1])]))
    days = f"{site.day}-{site.day}"
    price = site.options.get("wait_price")
    well(called("hybrid", tmp_path, tmp_path / "days", days=days, no_report=True, wait_price=price))
