"""The package of docs/extend.md is installed and compared with ours; mistakes of other packages are one line."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dardis.cli.main import run
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.errors import DispatcherError, InputError, ProtocolError
from dardis.registry import BUILT_IN_DISPATCHERS, Builder
from dardis.registry.names import _registered
from dardis.runs.error_source import attribute_errors

ROOT = Path(__file__).resolve().parents[3]
PLATFORM = """
name = "small"
[[nodes]]
count = 3
prefix = "a"
resources = { cores = 8, gpu = 1 }
[[nodes]]
count = 4
prefix = "b"
resources = { cores = 4 }
[[maintenance]]
nodes = "0-1"
start_s = 600
end_s = 4000
"""


def written(folder: Path) -> Path:
    """The package of the page, as it stands there."""
    page = (ROOT / "docs" / "extend.md").read_text()
    for name, content in re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", page, re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "my_dispatchers" / "__init__.py").write_text('"""Dispatchers."""\n')
    return folder


def installed(package: Path, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-index", "--no-deps", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "--target", str(target), str(package)]
    subprocess.run(command, check=True, capture_output=True, text=True)


@pytest.fixture
def dardis(capsys, monkeypatch):
    """Exit status, standard output and lines on standard error of a command that sees what is installed there."""

    def call(target: Path, *arguments: object) -> tuple[int, str, list[str]]:
        with monkeypatch.context() as patch:
            patch.syspath_prepend(target)
            patch.setenv("PYTHONPATH", str(target), prepend=os.pathsep)
            _registered.cache_clear()
            status = run([*map(str, arguments)])
        _registered.cache_clear()
        for name, module in [*sys.modules.items()]:
            if (getattr(module, "__file__", None) or "").startswith(str(target)):
                del sys.modules[name]
        said = capsys.readouterr()
        return status, said.out, said.err.splitlines()

    return call


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extension")
    installed(written(folder / "package"), folder / "target")
    return folder / "target"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "p.toml").write_text(PLATFORM)
    jobs = "".join(
        f"{n},{37 * n},{120 + 53 * n % 900},{200 + 71 * n % 1200},{1 + 5 * n % 7},{1 + n % 4},{n % 9 == 0:d}\n"
        for n in range(150)
    )
    header = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_gpu\n"
    (folder / "t.csv").write_text(header + jobs + "900,10,5,9,400,1,0\n")
    return folder


@pytest.fixture
def simulated(dardis, site, tmp_path):
    """The same of a simulation of the site's jobs."""

    def simulate(target: Path, name: str, *more: str) -> tuple[int, str, list[str]]:
        words = ["simulate", site / "t.csv", "--platform", site / "p.toml", "--no-report", "--out", tmp_path / "o"]
        return dardis(target, *words, "--dispatcher", name, *more)

    return simulate


def smallest(package: Path) -> str:
    """The source of the page's central dispatcher."""
    return (written(package) / "my_dispatchers" / "smallest.py").read_text()


def test_extension_dispatchers_are_compared_and_pass_the_audit(dardis, target, site):
    names = "easy,dardis-throughput,smallest-first,rolling,rolling:update_s=1200"
    words = ["compare", site / "t.csv", "--platform", site / "p.toml", "--dispatchers", names, "--out", site / "o"]
    status, said, errors = dardis(target, *words)
    assert status == 0, errors
    assert "5 runs: 5 now, 0 kept, 0 failed" in said
    runs = {folder.name: folder / "1" for folder in (site / "o" / "runs" / "t").iterdir()}
    assert {*runs} == {"easy", "dardis-throughput", "smallest-first", "rolling", "rolling update_s=1200"}
    assert [dardis(target, "audit", folder)[0] for folder in runs.values()] == [0] * 5
    assert len({(folder / "jobs.csv").read_text() for folder in runs.values()}) == 5, "each decides otherwise"
    for name, update_s in (("rolling", 600), ("rolling update_s=1200", 1200)):
        assert held_while_updated(runs[name], update_s) == 0
        assert held_while_updated(runs["dardis-throughput"], update_s) > 0, "it is no matter of chance"
    # What the request says of another package's dispatcher, so that another version of it is another run.
    assert '"dispatcher_of": "my-dispatchers 1.0"' in (runs["rolling"] / "run.json").read_text()
    assert "dispatcher_of" not in (runs["easy"] / "run.json").read_text()
    assert "5 runs: 0 now, 5 kept, 0 failed" in dardis(target, *words)[1]


def held_while_updated(folder: Path, update_s: int) -> int:
    """How often a run has a job on a node that is being updated."""
    schedule = read_jobs(folder / "jobs.csv")
    job, node = schedule.placed.job_of, schedule.placed.nodes.astype(int)
    begins, ends = node * update_s, (node + 1) * update_s
    return int(((schedule.start[job] < ends) & (begins < schedule.finish[job])).sum())


def test_trees_and_ranks_give_the_schedule_of_one_process(simulated, target, tmp_path):
    digests = set()
    for more in ([], ["--arity", "2", "--force"]):
        assert simulated(target, "rolling", *more)[0] == 0
        digests.add(json.loads((tmp_path / "o" / "metrics.json").read_text())["schedule_digest"])
    assert len(digests) == 1


def test_a_policy_of_another_package_is_measured(dardis, target, tmp_path):
    words = ["scale", "--nodes", "12", "--jobs", "12", "--reservations", "0", "--overlap", "1,4", "--no-report"]
    digests = {}
    for name in ("rolling", "dardis-throughput"):
        status, _, errors = dardis(target, *words, "--dispatcher", name, "--out", tmp_path / name)
        assert status == 0, errors
        with (tmp_path / name / "scale.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [(row["dispatcher"], row["completed"]) for row in rows] == [(name, "12")] * 2
        digests[name] = {row["schedule_digest"] for row in rows}
    assert digests["rolling"].isdisjoint(digests["dardis-throughput"]), "its nodes answer otherwise"
    loaded = [word if word != "0" else "4" for word in words]
    status, _, errors = dardis(target, *loaded, "--dispatcher", "rolling", "--out", tmp_path / "loaded")
    assert (status, len(errors)) == (2, 1), "what the policy holds is not replaced without a word"
    assert errors[0] == "dardis: --reservations: 4, but nodes have closed times of their own; expected 0"
    status, _, errors = dardis(target, *words, "--dispatcher", "smallest-first", "--out", tmp_path / "none")
    assert (status, len(errors)) == (2, 1)
    assert errors[0].startswith("dardis: --dispatcher: smallest-first has no rounds, in which a job asks nodes; ")
    assert errors[0].endswith("dardis-throughput, dardis-profile, dardis-balance, dardis-conservative, rolling")


def with_points(folder: Path, points: str, name: str = "other", **modules: str) -> Path:
    """A folder in which a package with these entry points and modules is installed, by hand."""
    info = folder / f"{name}-2.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text(f"[dardis.dispatchers]\n{points}\n")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    return folder


PLAIN = """
from dataclasses import dataclass
from dardis.config.settings import AnySetUp
from dardis.model.errors import InputError
from dardis.registry import Central, Dispatcher


@dataclass(frozen=True)
class Plain:
    grain: int = 5


@dataclass(frozen=True, kw_only=True)
class Odd(AnySetUp):
    grain: int | None = 5


@dataclass(frozen=True, kw_only=True)
class Never(AnySetUp):
    def checked(self):
        raise InputError("grain", "5", "6")


class Half:
    pass


PLAIN = Dispatcher("mine", Plain(), Central(None))
ODD = Dispatcher("mine", Odd(), Central(None))
NEVER = Dispatcher("mine", Never(), Central(None))
HALF = Dispatcher("mine", AnySetUp(), Half())
"""


@pytest.mark.parametrize(
    ("which", "found"),
    [
        ("no_such_module:MINE", "cannot be loaded (ModuleNotFoundError: "),
        ("json:dumps", "is a function; expected a dardis.registry.Dispatcher"),
        ("mine:PLAIN", "its Plain has no about, asks_nodes, bears_failures, check_platform, "),
        ("mine:ODD", "cannot be loaded (TypeError: "),
        ("mine:NEVER", "cannot be loaded (InputError: grain: 5; expected 6); expected "),
        ("mine:HALF", "its Half has no overlapped, plain_queue, pool, turns, turns_by_message; expected "),
        ("leaves:MINE", "cannot be loaded (SystemExit: 3); expected "),
    ],
)
def test_invalid_dispatcher_is_one_line(tmp_path, simulated, which, found):
    target = with_points(tmp_path / "target", f"mine = {which}", mine=PLAIN, leaves="import sys\nsys.exit(3)\n")
    status, _, errors = simulated(target, "mine")
    assert (status, len(errors)) == (2, 1)
    assert errors[0].startswith(f"dardis: dispatcher 'mine' of other 2.1 ({which}): {found}")
    assert not (tmp_path / "o").exists()


def test_built_in_names_take_precedence(tmp_path, simulated, dardis):
    target = with_points(tmp_path / "target", "easy = nothing:HERE")
    line = "dispatcher 'easy' of other 2.1 (nothing:HERE): the name is already used by dardis"
    for name in ("easy", "conservative"):
        status, _, errors = simulated(target, name, "--force")
        assert status == 0
        assert any(error.startswith(f"dardis: warning: {line}") for error in errors) == (name == "easy")
        assert "dispatcher_of" not in json.loads((tmp_path / "o" / "run.json").read_text())["request"]
    unknown = simulated(target, "yours", "--force")[2][-1]
    assert unknown.startswith("dardis: --dispatcher: unknown dispatcher 'yours'; expected one of dardis-throughput, ")
    status, said, errors = dardis(target, "dispatchers")
    assert (status, len(errors)) == (2, 1)
    assert errors[0].startswith(f"dardis: {line}")
    assert "--set of dardis-late:" in said


def test_two_packages_with_one_name(tmp_path, simulated, dardis):
    with_points(tmp_path, "mine = json:dumps\nbroken = nothing:HERE", "one")
    target = with_points(tmp_path, "mine = json:loads", "two")
    status, said, errors = dardis(target, "dispatchers")
    assert (status, len(errors)) == (2, 2)
    line = "dardis: dispatcher 'mine' of two 2.1 (json:loads): the name is already used by one 2.1; "
    assert errors[0].startswith("dardis: dispatcher 'broken' of one 2.1 (nothing:HERE): cannot be loaded ")
    assert errors[1].startswith(line)
    assert "--set of dardis-late:" in said
    assert simulated(target, "easy")[0] == 0
    status, _, errors = simulated(target, "mine", "--force")
    assert (status, len(errors)) == (2, 1)
    assert errors[0].startswith(line)


DECIDES = "self.now, started = now, []"


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("self.free[nodes] -= self.running[job.number][1]", "pass", ": it makes an illegal schedule ("),
        ("if time > self.now), default=FOREVER", "), default=self.now",
         ": at 0 s the dispatcher requests its next decision at "),
        (DECIDES, "self.now, started = now, [self.running[99999999]]",
         " failed at broken.py:{line} in decide: KeyError: 99999999"),
        (DECIDES, "self.now, started = now, __import__('json').loads('{')", " failed at broken.py:{line} in decide: "),
    ],
    ids=["more than a node holds", "asked again at once", "a mistake", "a library's"],
)  # fmt: skip
def test_exception_in_an_extension_is_one_line_with_its_position(tmp_path, simulated, right, wrong, line):
    source = smallest(tmp_path / "page")
    broken = source.replace(right, wrong)
    target = with_points(tmp_path / "target", "mine = broken:SMALLEST_FIRST", broken=broken)
    status, _, errors = simulated(target, "mine")
    place = source[: source.index(right)].count("\n") + 1
    assert status == 1
    assert errors[-1].startswith(f"dardis: dispatcher 'mine' of other 2.1{line.format(line=place)}")
    assert ("Traceback (most recent call last):" in errors) == (right == DECIDES), "its author needs it"
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (KeyError(1), DispatcherError),
        (SystemExit(0), DispatcherError),
        (ProtocolError("no"), ProtocolError),
        (InputError("here", "wrong"), InputError),
        (OSError("disk"), OSError),
        (MemoryError(), MemoryError),
    ],
)
def test_errors_name_the_responsible_package(raised, told, capfd):
    for origin, kind in (("", type(raised)), ("other 2.1", told)):
        with pytest.raises(kind) as caught, attribute_errors(replace(BUILT_IN_DISPATCHERS["easy"], origin=origin)):
            raise raised
        named = "dispatcher 'easy' of other 2.1" in str(caught.value)
        assert named == (bool(origin) and isinstance(raised, KeyError | ProtocolError | SystemExit))
    assert ("Traceback" in capfd.readouterr().err) == isinstance(raised, KeyError | SystemExit)


def test_builder_without_turns_is_abstract():
    class Unready(Builder):
        """Has no turns."""

    with pytest.raises(TypeError, match="abstract method"):
        Unready()
