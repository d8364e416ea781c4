"""Comparisons of classes that other processes can't import: those of a script, and those of a function."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dardis
from dardis.cli.main import run

MODULE = """
import dardis


class Last(dardis.Rule):
    "the last job first"

    step: int = 1

    def key(self, job, now):
        return -(job.number // self.step)


class Broken(dardis.Rule):
    def key(self, job, now):
        return 1 / 0


"""
TRACE = "job_id,submit_s,runtime_s,walltime_s,units,req_cores\n" + "".join(
    f"{n},{n},{40 + n},90,{1 + n % 3},2\n" for n in range(1, 21)
)
PLATFORM = 'name = "p"\n[[nodes]]\ncount = 3\nprefix = "n"\nresources = { cores = 4 }\n'


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TRACE)
    (tmp_path / "p.toml").write_text(PLATFORM)
    return tmp_path


@pytest.fixture
def module(site, monkeypatch):
    """A module with the classes, which other processes can import."""
    folder = site / "modules"
    folder.mkdir()
    (folder / "own_classes.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    import own_classes

    yield own_classes
    del sys.modules["own_classes"]


def of_function(sign=-1):
    class Last(dardis.Rule):
        """the last job first"""

        step: int = 1

        def key(self, job, _now):
            return sign * (job.number // self.step)

    class Broken(dardis.Rule):
        def key(self, *_):
            return 1 / 0

    return Last, Broken


def compare(dispatchers, **options):
    with pytest.warns(dardis.DardisWarning, match="other processes can't import") as warned:
        found = dardis.compare("t.csv", "p.toml", dispatchers, **options)
    assert [one.filename for one in warned] == [__file__]
    return found


def of_local_and_module(table):
    """Rows without what names dispatchers and without CPU times, which differ from run to run."""
    left_out = [name for name in table if name.startswith(("dispatcher", "name", "error", "decision_", "overhead"))]
    local = ~table["dispatcher"].str.startswith("own_classes")
    return [table[one].drop(columns=left_out).to_json(orient="records") for one in (local, ~local)]


@pytest.mark.parametrize(
    ("imported", "options"),
    [
        (["own_classes:Last"], {"seeds": [1, 2], "settings": {"step": 2}, "trim": (2, 2)}),
        (["own_classes:Last"], {"replicates": 2, "resample": "shake"}),
        pytest.param(
            ["own_classes:Last:step=1", "own_classes:Last:step=4"], {"grid": "Last.step=1,4"}, marks=pytest.mark.slow
        ),
        pytest.param(["own_classes:Last"], {"clairvoyant": True}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("module")
def test_local_class_has_the_figures_of_an_importable_one(imported, options):
    found = compare([of_function()[0], *imported], **options)
    assert found.failed == ()
    for table in (found.runs, found.classes):
        local, of_module = of_local_and_module(table)
        assert local == of_module
    assert {"mean_wait_s", "schedule_digest"} <= {*found.runs}


def test_local_runs_are_made_again_and_others_are_kept(module, capsys):
    dispatchers = [of_function()[0], "Last:step=4", module.Last, "easy"]
    found = compare(dispatchers, out="out")
    first = found.runs["schedule_digest"].tolist()
    assert found.runs["dispatcher"].tolist() == ["Last", "Last step=4", "own_classes Last", "easy"]
    last, four = (dardis.simulate("t.csv", "p.toml", of_function()[0], step=step) for step in (1, 4))
    assert first == [last.digest, four.digest, last.digest, dardis.simulate("t.csv", "p.toml", "easy").digest]
    assert found.jobs("t", "Last")["starting_time"].tolist() == last.jobs["starting_time"].tolist()
    # The folder is read without the class.
    record = json.loads(Path("out/runs/t/Last/1/run.json").read_text())
    assert record["dispatcher"] == "Last"
    assert record["request"]["dispatcher_of"].startswith("the calling process (")
    assert run(["report", "out"]) == 0
    assert run(["audit", "out/runs/t/Last/1"]) == 0
    assert "ok" in capsys.readouterr().out
    # A class of the same name may hold another value from its function.
    again = compare([of_function(sign=1)[0], *dispatchers[1:]], out="out")
    assert (again._done.runs, again._done.new_runs) == (4, 2)
    second = again.runs["schedule_digest"].tolist()
    assert [one != other for one, other in zip(second, first, strict=True)] == [True, True, False, False]


def test_failures_of_local_and_importable_classes_are_reported_alike(module):
    found = compare([of_function()[1], module.Broken, "easy"])
    assert found.runs["status"].tolist() == ["failed", "failed", "done"]
    local, imported = (line.partition(" failed: ")[2] for line in found.failed)
    assert local.startswith(f"dispatcher 'Broken' of the calling process ({Path(__file__).name} ")
    assert imported.startswith("dispatcher 'own_classes:Broken' of own_classes.py ")
    for line in (local, imported):
        assert line.endswith(" in key: ZeroDivisionError: division by zero")


def test_interrupt_in_a_local_class_leaves_no_process(site):
    class Stops(dardis.Rule):
        def key(self, *_):
            raise KeyboardInterrupt

    def children():
        return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}

    before = children()
    with pytest.raises(KeyboardInterrupt):
        compare(["easy", Stops])
    assert children() <= before
    with pytest.raises(dardis.InputError, match="unknown dispatcher 'Stops'"):
        dardis.simulate("t.csv", "p.toml", "Stops")


def test_local_classes_run_in_any_thread_and_are_called_without_an_underscore(site, capsys):
    class _Prints(dardis.Rule):
        def key(self, job, _now):
            print("here")
            return job.submit

    with pytest.warns(dardis.DardisWarning, match=r"Prints: "), ThreadPoolExecutor(1) as pool:
        found = pool.submit(dardis.compare, "t.csv", "p.toml", _Prints).result()
    assert found.failed == ()
    assert found.runs["dispatcher"].tolist() == ["Prints"]
    assert capsys.readouterr() == ("", "")


LAST = of_function()[0]


@pytest.mark.parametrize(
    ("classes", "line"),
    [
        ([LAST, of_function()[0]], r"the name 'Last' is already used; expected classes with different"),
        ([LAST, LAST], r"two dispatchers have the name 'Last'"),
        ([type("easy", (dardis.Rule,), {"__module__": "__main__"})], r"the name 'easy' is already used; expected"),
        ([type("Last", (), {"__module__": "__main__"})], r"^dispatcher Last: has no changed, decide, "),
    ],
)
def test_classes_that_are_rejected(site, classes, line):
    with pytest.raises(dardis.InputError, match=line):
        compare([*classes, "pbs-fifo"])
