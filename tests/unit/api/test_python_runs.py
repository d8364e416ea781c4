"""`dardis.simulate` decides as the command does, of files and of objects, and holds all that files would."""

from __future__ import annotations

import csv
import json
import pickle
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzz.instances import command_of, draw_instance, write_instance
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

import dardis
from dardis.cli.main import run
from dardis.model.files import sha256_of


def asked(request) -> dict:
    """The keywords of a request."""
    return {
        "seed": request.seed, "profile": request.profile, "deadlines": request.deadlines,
        "task_managers": request.task_managers, "sample": request.sample or "all",
        "settings": dict(text.split("=", 1) for text in request.settings), "think_times": True, "strict": True,
    }  # fmt: skip


@examples(0.12)
@given(st.integers(0, 100_000))
def test_files_and_objects_have_the_digest_of_the_command(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("instance")
    request = write_instance(draw_instance(seed), folder)
    status = run(command_of(request))
    metrics = json.loads((request.out / "metrics.json").read_text())
    assert status == (metrics["jobs"] == metrics["rejected"]), "it ends with 1 where no job ran"
    digest = metrics["schedule_digest"]
    frame = pd.read_csv(request.trace, dtype=str)
    content = tomllib.loads(request.platform.read_text())
    given_as = {
        "files": (request.trace, str(request.platform)),
        "read": (dardis.read_trace(request.trace, strict=True), dardis.read_platform(request.platform)),
        "made": (dardis.Trace(frame), dardis.Platform(**content)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dardis.DardisWarning)
        for how, (trace, platform) in given_as.items():
            found = dardis.simulate(trace, platform, request.dispatcher, **asked(request))
            assert found.digest == digest, how
            assert found.audit() == []


JOBS = {"job_id": [1, 2, 3], "submit_s": [0, 5, 9], "runtime_s": [50, 40, 9], "walltime_s": [60, 50, 20],
        "units": [1, 2, 1], "req_cores": [4, 4, 1], "req_memory": ["1GiB", "512MiB", None],
        "queue": ["a", "=b", ""]}  # fmt: skip


@pytest.fixture(scope="module")
def trace():
    return dardis.Trace(pd.DataFrame(JOBS))


@pytest.fixture(scope="module")
def platform():
    return dardis.Platform(dardis.nodes(2, cores=4, memory="2GiB"))


@pytest.fixture(scope="module")
def done(trace, platform):
    return dardis.simulate(trace, platform, "easy")


def test_the_tables_are_those_of_the_folder(done, tmp_path):
    folder = done.save(tmp_path / "out", no_report=True)
    with (folder / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(done.jobs.columns) == list(rows[0])
    for name in rows[0]:
        said = [text for row in rows if (text := row[name]) != ""]
        have = [value for value in done.jobs[name] if not pd.isna(value) and value != ""]
        if done.jobs[name].dtype == object or str(done.jobs[name].dtype) == "str":
            assert have == [text.removeprefix("'") for text in said]
        else:
            assert have == [float(text) for text in said], name
    assert done.metrics.to_dict() == json.loads((folder / "metrics.json").read_text())
    written = pd.read_csv(folder / "profile.csv")
    assert (written == done.profile).all(axis=None)
    assert run(["audit", str(folder)]) == 0
    assert (folder / "run.json").exists()
    assert not (folder / "report.html").exists()
    path = done.report(tmp_path / "here.html")
    assert {*tmp_path.iterdir()} == {path, folder}
    assert "easy on trace" in path.read_text() or "easy on a trace" in path.read_text()


def test_rejected_jobs_have_no_start(platform):
    jobs = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [5, 5], "units": [9, 1], "req_cores": [4, 1]}
    with pytest.warns(dardis.DardisWarning):
        found = dardis.simulate(dardis.Trace(jobs), platform, "easy")
    assert found.jobs.set_index("job_id")["starting_time"].isna().to_dict() == {1: True, 2: False}
    assert list(found.rejected.index) == [1]
    assert found.rejected[1].startswith("requests 9 units")
    assert "1 rejected" in repr(found)


def test_files_are_written_on_request_only_and_warnings_name_the_callers_line(platform, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    unstated = dardis.Trace(JOBS | {"walltime_s": [60, np.nan, 20]})
    with pytest.warns(dardis.DardisWarning, match="1 of 3 jobs state no walltime") as caught:
        found = dardis.simulate(unstated, platform, "dardis-late")
    assert caught[0].filename == __file__
    assert found.audit() == []
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_a_folder_is_that_of_the_command(tmp_path, trace, platform):
    found = dardis.simulate(trace, platform, "easy", out=tmp_path / "out", no_report=True)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (record["trace"], record["platform_file"], record["trace_sha256"]) == (None, None, None)
    file, machine = trace.write(tmp_path), platform.write(tmp_path)
    again = dardis.simulate(file, machine, "easy", out=tmp_path / "again", no_report=True)
    assert again.digest == found.digest
    record = json.loads((tmp_path / "again" / "run.json").read_text())
    assert (record["trace"], record["trace_sha256"]) == (str(file), sha256_of(file))
    with pytest.raises(dardis.InputError, match="is not empty"):
        dardis.simulate(file, machine, "easy", out=tmp_path / "again")


class NarrowFirst(dardis.Rule):
    """Fewest units first."""

    step: int = 1

    def key(self, job, now):  # noqa: ARG002 (it sees no clock)
        return job.units * self.step


def test_a_class_is_a_dispatcher_and_recorded_by_its_module_and_file(done, trace, platform):
    found = dardis.simulate(trace, platform, NarrowFirst, step=3)
    assert found.jobs["starting_time"].tolist() == [0, 50, 9]
    assert found.record["settings"]["step"] == 3
    with pytest.raises(dardis.InputError, match="unknown setting"):
        dardis.simulate(trace, platform, NarrowFirst, pace=3)
    kind = type("easy", (dardis.Rule,), {"__module__": __name__})
    asked, ours = dardis.simulate(trace, platform, kind).record["request"], done.record["request"]
    assert asked["dispatcher"] == f"{__name__}:easy"
    assert asked["dispatcher_of"] == f"test_python_runs.py {sha256_of(Path(__file__))[:16]}"
    assert ours["dispatcher"] == "easy"
    assert "dispatcher_of" not in ours


@pytest.mark.parametrize("dispatcher", ["dardis-late", NarrowFirst])
def test_inputs_results_and_errors_can_be_pickled(trace, platform, dispatcher):
    found = dardis.simulate(*pickle.loads(pickle.dumps((trace, platform))), dispatcher)  # noqa: S301 (our own)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own)
    assert again.jobs.equals(found.jobs)
    assert (again.record["settings"], again.audit()) == (found.record["settings"], [])
    with pytest.raises(dardis.InputError) as mistake:
        dardis.simulate(trace, platform, dispatcher, pace=1)
    assert str(pickle.loads(pickle.dumps(mistake.value))) == str(mistake.value)  # noqa: S301 (our own)


def test_a_trace_goes_through_a_frame(trace):
    assert dardis.Trace(trace.frame).frame.equals(trace.frame)
    assert dardis.Trace(trace.frame[trace.frame.units == 1]).frame["job_id"].tolist() == [1, 3]
    unfinished = dardis.Trace(JOBS | {"runtime_s": [np.nan, 40, 9]})
    assert unfinished.frame["job_id"].tolist() == [2, 3], "jobs that have not ended are none"


def test_a_trace_of_processors_goes_through_a_frame_and_a_file_with_its_header(tmp_path, platform):
    head = "; UnixStartTime: 1000000000\n; MaxProcs: 8\n"
    jobs = ["1 0 3 50 3 -1 -1 3 60 -1 1 7 1 -1 2 1 -1 -1", "2 4 -1 9 2 -1 -1 2 -1 -1 1 8 1 -1 2 1 -1 -1"]
    (tmp_path / "t.swf").write_text(head + "\n".join(jobs) + "\n")
    read = dardis.read_trace(tmp_path / "t.swf")
    made = dardis.Trace(read.frame, name="made")
    assert made.frame.equals(read.frame)
    assert (len(made), "2 jobs" in repr(made)) == (2, True)
    written = made.write(tmp_path)
    for one in (made, dardis.read_trace(written)):
        assert (one.jobs.unix_start, one.jobs.most_processors, one.jobs.user[0]) == (1_000_000_000, 8, "7")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        digests = {dardis.simulate(one, platform, "easy").digest for one in (read, made, written)}
    assert len(digests) == 1


def test_a_platform_keeps_its_files(tmp_path, monkeypatch, trace):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.csv").write_text("start_utc,price_eur_per_kwh\n2020-01-01T00:00Z,0.1\n2020-01-02T00:00Z,0.2\n")
    groups = [dardis.nodes(2, cores=4, memory="2GiB", power={"idle_w": 50.0})]
    machine = dardis.Platform(groups, name="eco", prices="prices.csv", calendar_start="2020-01-01T00:00Z")
    (tmp_path / "elsewhere").mkdir()
    again = dardis.read_platform(machine.write(tmp_path / "elsewhere"))
    assert again.machine == machine.machine
    assert (machine.name, machine.node_count, machine.cores) == ("eco", 2, 8)
    assert dardis.simulate(trace, machine, "easy").metrics["energy_kwh"] > 0
