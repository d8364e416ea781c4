"""Comparisons and plans from Python: what the command writes, as objects, with its words."""

from __future__ import annotations

import json
import sys

import pandas as pd
import pytest
from kit.small_site import START

import dardis
from dardis.comparison import workers

MINE = "import dardis\n\n\nclass Late(dardis.Rule):\n    def key(self, job, now):\n        return -job.number\n"


@pytest.fixture(scope="module")
def trace():
    return dardis.Trace(
        {"job_id": range(1, 21), "submit_s": range(20), "runtime_s": [40] * 20, "walltime_s": [50] * 20,
         "units": [1, 2, 3, 1] * 5, "req_cores": [2] * 20}, name="june",
    )  # fmt: skip


@pytest.fixture(scope="module")
def platform():
    return dardis.Platform(dardis.nodes(3, cores=4))


@pytest.fixture(scope="module")
def compared(trace, platform, tmp_path_factory):
    """Two dispatchers, in a folder with modules of known names, which the processes that it starts don't import."""
    folder, here = (tmp_path_factory.mktemp(name) for name in ("own", "here"))
    (folder / "own_late.py").write_text(MINE)
    for name in ("uuid", "dardis"):
        (here / f"{name}.py").write_text("raise SystemExit('hidden')\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(sys, "path", [*sys.path, here])
        patch.chdir(here)
        import own_late

        yield dardis.compare(trace, platform, ["easy", own_late.Late])
        sys.modules.pop("own_late", None)


def test_a_comparison_has_the_runs_that_python_would_have(compared, trace, platform):
    assert compared.failed == ()
    runs = compared.runs.set_index("dispatcher")
    assert list(runs.index) == ["easy", "own_late Late"]
    easy = dardis.simulate(trace, platform, "easy")
    assert runs.loc["easy", "mean_wait_s"] == easy.metrics.mean_wait_s
    found = compared.jobs("june", "easy")
    assert found["starting_time"].tolist() == easy.jobs["starting_time"].tolist()
    assert list(compared.table["dispatcher"]) == list(runs.index)
    assert set(compared.classes["dispatcher"]) == set(runs.index)
    assert "own_late Late" in repr(compared)


def test_a_file_states_a_comparison(trace, platform, tmp_path):
    trace.write(tmp_path)
    platform.write(tmp_path)
    spec = tmp_path / "spec.toml"
    spec.write_text("[[traces]]\ntrace='june.csv'\nplatform='platform.toml'\n[[dispatchers]]\nname='pbs-fifo'\n")
    assert dardis.compare(spec, processes=1).runs["dispatcher"].tolist() == ["pbs-fifo"]
    with pytest.raises(dardis.InputError, match=r"--set: is for traces, but .*spec.toml states all options"):
        dardis.compare(spec, settings={"order": "sjbf"})


def test_comparison_report_is_one_file(compared, tmp_path):
    assert compared.report(tmp_path / "r.html").read_text().startswith("<!doctype html>")
    with pytest.raises(dardis.InputError, match=r"^june, easy, seed 7: is no run that ended; expected one of: june, "):
        compared.jobs("june", "easy", 7)
    with pytest.raises(dardis.InputError, match=r"^differences.csv: is not in"):
        assert compared.differences


def test_errors_are_those_of_the_command(trace, platform):
    with pytest.raises(dardis.InputError, match=r"^dardis compare: traces without --dispatchers A,B; expected both"):
        dardis.compare(trace, platform)
    with pytest.raises(dardis.InputError, match=r"^dardis plan: neither --day nor --date; expected one of the two"):
        dardis.plan(trace, platform)


def test_a_day_is_planned_from_python(small_site, tmp_path):
    site, options = small_site, {"switching": "off", "time_limit": 0, "calendar_start": START}
    history, machine = dardis.read_trace(site / "trace.swf"), dardis.read_platform(site / "small.toml")
    around = {name: site / f"{name}.csv" for name in ("weather", "prices")}
    found = dardis.plan(history, machine, day=4, **around, **options)
    assert found.summary["jobs"] > 0
    assert json.loads((found.folder / "summary.json").read_text()) == found.summary.to_dict()
    assert (len(found.profile) > 0, len(found.schedule) > 0) == (True, True)
    assert found.target["format"] == "dardis-target"
    assert found.report(tmp_path / "plan.html").exists()
    with pytest.raises(dardis.InputError, match=r"^dardis export: no --format; expected --format FORMAT, or --check$"):
        dardis.export(found)
    for plan in (found, found.folder):
        made = dardis.export(plan, "csv", out=tmp_path / "plan.csv")
        assert (tmp_path / "plan.csv").read_text() == made.text


def test_days_are_planned_and_simulated_from_python(small_site):
    site, options = small_site, {"switching": "off", "time_limit": 0, "calendar_start": START}
    history, machine = dardis.read_trace(site / "trace.swf"), dardis.read_platform(site / "small.toml")
    around = {name: site / f"{name}.csv" for name in ("weather", "prices")}
    found = dardis.hybrid(
        dardis.Trace(history.frame), machine, (4, 4), settings={"backfill": False}, **around, **options
    )
    assert json.loads((found.folder / "summary.json").read_text()) == found.summary.to_dict()
    for name, frame in {"days": found.days, "beside": found.beside}.items():
        pd.testing.assert_frame_equal(frame, pd.read_csv(found.folder / f"{name}.csv"))
    assert found.jobs["starting_time"].tolist() == pd.read_csv(found.folder / "jobs.csv")["starting_time"].tolist()


def test_changed_files_and_nested_comparisons_are_refused(trace, platform, tmp_path, monkeypatch):
    file = trace.write(tmp_path)
    read = dardis.read_trace(file)
    file.write_text(file.read_text() + "\n")
    with pytest.raises(dardis.InputError, match="has changed since it was read"):
        dardis.compare(read, platform, "easy")
    monkeypatch.setattr(workers, "_is_worker", True)
    with pytest.raises(dardis.InputError, match=r"^dardis compare: started while a process of another comparison"):
        dardis.compare(trace, platform, "easy")
