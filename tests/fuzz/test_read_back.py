"""Whatever becomes of the files of a run, a plan or a scale experiment: one line with the file's name, no traceback."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from kit import plan_folder

from dardis.cli import main
from dardis.cli.main import run as command
from dardis.config.target import write_target
from dardis.model.choices import Scaling
from dardis.model.profile import StepFunction
from dardis.model.target import Switching, Target
from dardis.scale.command import CSV_FILE, PREDICTIONS_FILE, RECORD_FILE, _write_table
from dardis.scale.prediction import Predicted
from offline.folder.plan import write_plan

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
Case = tuple[str, Callable[[Path], None]]
"""What is done to a folder, in words, and what does it."""

LONG = "a number of five thousand digits"
LEAVES = (
    LONG, "", "a", "5", "-1", "٣", "=1+1", "a\nb", "\ud800", -1, 0, 1.5, 1e300, 2**40 + 1, 2**63, 10**4000, True, None,
    [], {}, [1], {"a": 1}, [[]], float("nan"), float("inf"),
)  # fmt: skip
CELLS = (
    "", "a", "-1", "0", "1.5", "nan", "inf", "1e300", "1_0", "٣", " 7", "'=1", "9" * 5000, str(2**40 + 1), str(2**62),
    str(2**63), '"', "\0", "a,b", "0:1 0:1", "0-", "99:1",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the parts of a JSON value are, the first three of each list."""
    parts = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places(part, (*path, key))


def edited(name: str, place: tuple[Any, ...], *put: Any) -> Callable[[Path], None]:
    """What replaces a part of a JSON file, or takes it away."""

    def edit(folder: Path) -> None:
        path = folder / name
        value = part = json.loads(path.read_text())
        for key in place[:-1]:
            part = part[key]
        if put:
            part[place[-1]] = put[0]
        else:
            del part[place[-1]]
        path.write_text(dumped(value))

    return edit


def dumped(value: Any) -> str:
    """JSON with a number that Python itself would not write."""
    return json.dumps(value).replace(f'"{LONG}"', "9" * 5000)


def of_json(name: str, path: Path) -> Iterator[Case]:
    """Everything that may happen to a part of a JSON file."""
    for place in places(json.loads(path.read_text())):
        yield f"{name}: {place} removed", edited(name, place)
        for leaf in LEAVES:
            yield f"{name}: {place} {leaf!r:.40}", edited(name, place, leaf)


def rewritten(name: str, change: Callable[[list[list[str]]], object]) -> Callable[[Path], None]:
    """What changes the table of a CSV file."""

    def edit(folder: Path) -> None:
        path = folder / name
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
        change(rows)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        path.write_text(text.getvalue(), encoding="utf-8")

    return edit


def of_csv(name: str, path: Path) -> Iterator[Case]:
    """Everything that may happen to a row, a column or a cell of a CSV file."""
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
    for row in range(min(len(rows), 4)):
        yield f"{name}: row {row} removed", rewritten(name, lambda t, row=row: t.pop(row))
        yield f"{name}: row {row} doubled", rewritten(name, lambda t, row=row: t.insert(row, t[row]))
        yield f"{name}: row {row} short", rewritten(name, lambda t, row=row: t[row].pop())
        for column in range(len(rows[row])):
            for cell in CELLS:
                yield (
                    f"{name}: row {row}, {rows[0][column]} {cell:.20}",
                    rewritten(name, lambda t, r=row, c=column, x=cell: t[r].__setitem__(c, x)),
                )
    for column in range(len(rows[0])):
        yield (
            f"{name}: column {rows[0][column]} removed",
            rewritten(name, lambda t, c=column: [r.pop(c) for r in t]),
        )


def of_bytes(name: str, path: Path) -> Iterator[Case]:
    """Everything that may happen to any file."""
    data = path.read_bytes()
    for place in sorted({0, 1, len(data) // 3, len(data) // 2, len(data) - 2}):
        yield f"{name}: cut at {place}", lambda folder, n=place: (folder / name).write_bytes(data[:n])
        for byte in (b"\0", b"\xff", b'"', b"\r", "٣".encode()):
            put = data[:place] + byte + data[place + 1 :]
            yield f"{name}: {byte!r} at {place}", lambda folder, put=put: (folder / name).write_bytes(put)
    for content in (
        b"",
        b"[]",
        b"{}",
        b"null",
        b"1",
        b"[" * 100_000,
        b"\x1f\x8b123",
        b"\xef\xbb\xbf",
        b"\n\n",
        b"a,b\n",
    ):
        yield f"{name}: {content[:9]!r}", lambda folder, new=content: (folder / name).write_bytes(new)
    yield f"{name}: removed", lambda folder: (folder / name).unlink()

    def make_folder(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    yield f"{name}: a folder", make_folder


def damage(folder: Path) -> list[Case]:
    """Everything that may happen to the files of a folder."""
    cases: list[Case] = []
    for path in sorted(folder.iterdir()):
        if path.suffix in {".json", ".csv"}:
            cases += of_json(path.name, path) if path.suffix == ".json" else of_csv(path.name, path)
            cases += of_bytes(path.name, path)
    return cases


@pytest.fixture(scope="module", autouse=True)
def _built_once() -> Iterator[None]:
    """Typer builds all commands anew at every call, which takes longer than most of these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "app", typer.main.get_command(main.app))
        yield


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A platform, its trace, and a target that switches nodes."""
    from dardis.config.platform import load_platform

    base = tmp_path_factory.mktemp("site")
    (base / "p.toml").write_text(PLATFORM)
    (base / "t.csv").write_text(TRACE)
    switching = Switching({0: StepFunction.from_steps(0, [])}, {}, idle_s=5)
    (base / "targets").mkdir()
    write_target(base / "targets" / "target.json", Target(None, switching, 0), load_platform(base / "p.toml"))
    return base


def simulated(site: Path, target: Path, out: Path) -> list[str]:
    return [
        "simulate", str(site / "t.csv"), "--platform", str(site / "p.toml"), "--dispatcher", "dardis-throughput",
        "--profile", str(target), "--out", str(out), "--no-report", "--force",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def a_run(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with power and nodes that are switched."""
    out = tmp_path_factory.mktemp("run") / "run"
    assert command(simulated(site, site / "targets" / "target.json", out)) == 0
    assert {"power.csv", "switching.csv", "decisions.csv"} <= {path.name for path in out.iterdir()}
    return out


@pytest.fixture(scope="module")
def a_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("plan")
    write_plan(out, plan_folder.plan())
    return out


@pytest.fixture(scope="module")
def an_export(a_plan: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export")
    assert command(["export", str(a_plan), "--format", "json", "--out", str(out / "plan.json")]) == 0
    return out


@pytest.fixture(scope="module")
def a_scale(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    _write_table(out / PREDICTIONS_FILE, Predicted, predicted)
    assert (out / CSV_FILE).exists()
    assert command(["report", str(out)]) == 0
    (out / "report.html").unlink()
    return out


class Checker:
    """Runs commands on a damaged copy of a folder."""

    def __init__(self, whole: Path, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._whole, self._copy, self._capsys = whole, copy, capsys

    def check(self, case: Case, commands: list[Callable[[Path], list[str]]]) -> list[int]:
        """Damage the folder and run the commands; return their exit statuses."""
        said, damage = case
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._whole, self._copy)
        damage(self._copy)
        statuses = []
        for words in commands:
            arguments = words(self._copy)
            try:
                status = command(arguments)
            except Exception as error:
                raise AssertionError(f"{said}: {arguments}") from error
            told = self._capsys.readouterr()
            lines = [line for line in told.err.splitlines() if "warning: " not in line and "note: " not in line]
            assert status in {0, 1, 2}, said
            if status == 2:
                assert len(lines) == 1, (said, told.err)
                assert len(told.err) < 3000, said
            else:
                assert not lines or arguments[0] == "simulate", (said, told.err)
            if status == 1:
                assert arguments[0] == "audit", (said, told.err)
                assert told.out.startswith("audit: "), said
            statuses.append(status)
        return statuses


@pytest.fixture
def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Runs the commands on some damaged copies of a folder, drawn at random."""

    def check(whole: Path, commands: list[Callable[[Path], list[str]]], count: int, seed: int = 1) -> None:
        capsys.readouterr()
        checker = Checker(whole, tmp_path / "copy", capsys)
        cases = damage(whole)
        drawn = np.random.default_rng(seed).permutation(len(cases))[:count]
        statuses, failures = [], []
        for place in drawn.tolist():
            try:
                statuses += checker.check(cases[place], commands)
            except AssertionError as error:
                failures.append(f"{error}: {error.__cause__!r}")
        print(f"{len(cases)} cases, {len(drawn)} tried: {[statuses.count(n) for n in (0, 1, 2)]}")
        assert not failures, f"{len(failures)}:\n" + "\n".join(failures)
        assert statuses.count(2) > len(statuses) / 10

    return check


def audit(folder: Path) -> list[str]:
    return ["audit", str(folder)]


def report(folder: Path) -> list[str]:
    return ["report", str(folder)]


EXPORTS = [
    lambda path, form=form: ["export", str(path), "--format", form]
    for form in ("slurm", "redfish", "openmetrics", "csv", "json")
]
OF_JSON = [lambda folder, say=say: say(folder / "plan.json") for say in EXPORTS]
FEW = [("few", 40), pytest.param("many", 1000, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("name", "count"), FEW)
def test_audit(a_run: Path, checked: Callable[..., None], name: str, count: int) -> None:
    checked(a_run, [audit], count)


@pytest.mark.parametrize(("name", "count"), [("few", 6), pytest.param("many", 120, marks=pytest.mark.slow)])
def test_report_of_a_run(a_run: Path, checked: Callable[..., None], name: str, count: int) -> None:
    checked(a_run, [report], count, seed=2)


@pytest.mark.parametrize(("name", "count"), [("few", 6), pytest.param("many", 120, marks=pytest.mark.slow)])
def test_report_of_scale(a_scale: Path, checked: Callable[..., None], name: str, count: int) -> None:
    checked(a_scale, [report], count)


@pytest.mark.parametrize(("name", "count"), FEW)
def test_export_of_a_plan(a_plan: Path, checked: Callable[..., None], name: str, count: int) -> None:
    checked(a_plan, EXPORTS, count)


@pytest.mark.parametrize(("name", "count"), FEW)
def test_export_of_an_export(an_export: Path, checked: Callable[..., None], name: str, count: int) -> None:
    checked(an_export, OF_JSON, count)


@pytest.mark.parametrize(("name", "count"), [("few", 12), pytest.param("many", 400, marks=pytest.mark.slow)])
def test_simulate_under_a_target(
    site: Path, tmp_path: Path, checked: Callable[..., None], name: str, count: int
) -> None:
    checked(site / "targets", [lambda folder: simulated(site, folder / "target.json", tmp_path / "out")], count)
