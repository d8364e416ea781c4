"""Whatever becomes of the files of a run, a plan or a scale experiment: one line with the file's name, no traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path
from random import Random

import pytest
import typer
from fuzz.mutation import mutated
from kit import plan_folder

from dardis.cli import main
from dardis.cli.main import run as command
from dardis.config.platform_file import load_platform
from dardis.config.target_file import write_target
from dardis.model.choices import Scaling
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching, Target
from dardis.scale.prediction import PREDICTIONS, Predicted
from dardis.scale.scale_run import RECORD_FILE
from offline.folder.plan_folder import write_plan

PLATFORM = """
name = "small"
cooling = "air"
prices = 0.1
weather = 18.0
calendar_start = "2023-07-03T00:00Z"
[[nodes]]
count = 4
prefix = "a"
resources = { cores = 4, gpu = 1 }
power = { idle_w = 100, off_w = 10, boot_s = 24, boot_w = 125, shutdown_s = 3, shutdown_w = 100 }
[[nodes]]
count = 1
prefix = "b"
resources = { cores = 8 }
[partitions]
p = ["a"]
[[maintenance]]
nodes = "0"
start_s = 90000
end_s = 91000
[income_by_queue]
long = 0.02
"""
TRACE = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_gpu,queue,user,lst_s\n" + "".join(
    f"{n},{100 + 40 * n},{30 + 7 * n},90,{1 + n % 3},{1 + n % 4},{n % 2},{'long' if n % 3 else 'short'},u{n % 4},9000\n"
    for n in range(1, 13)
)
Words = Callable[[Path], list[str]]
"""What to say to `dardis` of a folder."""


@pytest.fixture(scope="module", autouse=True)
def _built_once() -> Iterator[None]:
    """Typer builds all commands anew at every call, which takes longer than most of these."""
    with pytest.MonkeyPatch.context() as patch:
        built = typer.main.get_command(main.app_of())
        patch.setattr(main, "app_of", lambda *_, **__: built)
        yield


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A platform, its trace, and a target that switches nodes."""
    base = tmp_path_factory.mktemp("site")
    (base / "p.toml").write_text(PLATFORM)
    (base / "trace").write_text(TRACE)
    switching = Switching({0: StepFunction.from_steps(0, [])}, {}, idle_s=5)
    write_target(base / "target.json", Target(None, switching, 0), load_platform(base / "p.toml"))
    return base


def simulated(site: Path) -> list[str]:
    return [
        "simulate", str(site / "trace"), "--platform", str(site / "p.toml"), "--dispatcher", "dardis-throughput",
        "--profile", str(site / "target.json"), "--out", str(site / "out"), "--no-report", "--force",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def run(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with power and nodes that are switched."""
    base = shutil.copytree(site, tmp_path_factory.mktemp("run") / "site")
    assert command(simulated(base)) == 0
    assert {"power.csv", "switching.csv", "decisions.csv"} <= {path.name for path in (base / "out").iterdir()}
    return base / "out"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plan")
    write_plan(out, plan_folder.plan())
    return out


@pytest.fixture(scope="module")
def export(plan: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export")
    assert command(["export", str(plan), "--format", "json", "--out", str(out / "plan.json")]) == 0
    return out


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Experiments as one process makes them, with the network and predictions that come from several."""
    out = tmp_path_factory.mktemp("scale") / "scale"
    said = ["scale", "--nodes", "64,128", "--jobs", "3", "--task-managers", "1,2", "--sample", "2,all", "--no-report"]
    assert command([*said, "--out", str(out)]) == 0
    record = json.loads((out / RECORD_FILE).read_text())
    network = {"ranks": 4, "latency_ns": 1500.0, "send_overhead_ns": 400.0, "receive_overhead_ns": 300.0,
               "gap_ns": 500.0, "gap_per_byte_ns": 0.07}  # fmt: skip
    (out / RECORD_FILE).write_text(json.dumps(record | {"networks": {"4": network}}))
    predicted = [
        Predicted(scaling, 64 if scaling is Scaling.STRONG else 16 * ranks, ranks, 1, "flat", 86_400, 4, 0.25 / ranks,
                  64, 2, 4, 80.0, 10.0, 1000.0, 300.0)
        for scaling in Scaling for ranks in (4, 10)
    ]  # fmt: skip
    PREDICTIONS.write(out / PREDICTIONS.name, map(astuple, predicted))
    assert (out / "scale.csv").exists()
    assert command(["report", str(out)]) == 0
    (out / "report.html").unlink()
    return out


def check(words: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Run a command and see that it says no more than it should; return its exit status."""
    status = command(words)
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if "warning: " not in line and "note: " not in line]
    assert status in {0, 1, 2}
    if status == 2:
        assert len(lines) == 1, told.err
        assert len(told.err) < 3000
    else:
        assert not lines or words[0] == "simulate", told.err
    if status == 1:
        assert words[0] == "audit", told.err
        assert told.out.startswith("audit: ")
    return status


def exports(path: Path) -> list[Words]:
    return [
        lambda folder, form=form: ["export", str(folder / path), "--format", form]
        for form in ("slurm", "redfish", "openmetrics", "csv", "json")
    ]


CASES: dict[str, tuple[list[Words], int, int]] = {
    "run": ([lambda folder: ["audit", str(folder)]], 40, 1000),
    "report of a run": ([lambda folder: ["report", str(folder)]], 6, 120),
    "scale": ([lambda folder: ["report", str(folder)]], 6, 120),
    "plan": (exports(Path()), 40, 1000),
    "export": (exports(Path("plan.json")), 40, 1000),
    "site": ([simulated], 12, 400),
}
"""The folder whose files are damaged, by its fixture: what is said of it, how often in the gate, and how often else."""


@pytest.mark.parametrize("many", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize("name", CASES)
def test_a_damaged_folder_is_read_or_refused(
    name: str, many: bool, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands, few, often = CASES[name]
    whole: Path = request.getfixturevalue(name.rsplit(maxsplit=1)[-1])
    files = sorted(path.name for path in whole.iterdir() if path.suffix in {".json", ".csv"})
    capsys.readouterr()
    statuses: list[int] = []
    for seed in range(often if many else few):
        draw = Random(f"{name} {seed}")  # noqa: S311 (a seed is to say it all)
        copy, file = tmp_path / "copy", draw.choice(files)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(whole, copy)
        (copy / file).write_bytes(mutated((copy / file).read_bytes(), draw))
        try:
            statuses += [check(words(copy), capsys) for words in commands]
        except Exception as error:
            raise AssertionError(f"{name}, seed {seed}: {file} is kept in {copy}") from error
    assert statuses.count(2) > len(statuses) / 10
