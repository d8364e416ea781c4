"""Batsim's workloads: what is written is read back, delays are runtimes, and all else is told."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.model.errors import InputError
from dardis.workload.batsim import write_batsim
from dardis.workload.read import read_trace
from dardis.workload.swf import read_swf, write_swf
from dardis.workload.transform import of_width

DELAY = {"type": "delay", "delay": 20}
TEXTS = ("user", "group", "name", "queue", "partition")


def job(name, profile="d", **more):
    return {"id": name, "subtime": 0, "walltime": 60, "res": 1, "profile": profile} | more


@pytest.fixture
def read(tmp_path):
    def read(jobs, profiles=None, *, strict=False, **more):
        path = tmp_path / "w.json"
        path.write_text(json.dumps({"jobs": jobs, "profiles": profiles or {"d": DELAY}} | more))
        return read_trace(path, strict=strict)

    return read


LINES = st.lists(
    st.tuples(
        st.integers(0, 99), st.integers(1, 50), st.integers(1, 9), st.sampled_from([-1, 40]), st.sampled_from([-1, 2])
    ),
    min_size=1,
    max_size=12,
)


@given(lines=LINES)
@examples(3)
def test_what_is_written_is_read_back(lines, tmp_path_factory):
    folder = tmp_path_factory.mktemp("batsim")
    rows = [f"{n} {s} -1 {r} {p} -1 -1 {p} {w} -1 1 {q} -1 -1 {q} 3 -1 -1" for n, (s, r, p, w, q) in enumerate(lines)]
    (folder / "t.swf").write_text("\n".join(rows))
    trace = read_swf(folder / "t.swf")
    assert write_batsim(trace, folder / "t.json.gz") == []
    again = read_trace(folder / "t.json.gz", strict=True)
    for name in ("number", "submit", "runtime", "walltime", "no_walltime", "procs", *TEXTS):
        assert np.array_equal(getattr(again, name), getattr(trace, name)), name
    assert again.most_processors == max(p for _, _, p, _, _ in lines)


def test_resources_are_the_machines_the_headers_or_the_widest_jobs(tmp_path):
    (tmp_path / "t.swf").write_text("; MaxProcs: 7\n1 0 -1 5 3 -1 -1 3 9 -1 1 1 1 -1 1 1 -1 -1\n")
    trace = read_swf(tmp_path / "t.swf")
    for resources, written in ((64, 64), (None, 7)):
        write_batsim(trace, tmp_path / "t.json", resources)
        assert json.loads((tmp_path / "t.json").read_text())["nb_res"] == written


def test_times_are_whole_and_no_job_vanishes(read):
    trace = read([job("1", subtime=3.9, walltime=30.2)], {"d": {"type": "DelayProfile", "delay": 0.25}})
    assert (trace.submit[0], trace.walltime[0], trace.runtime[0]) == (3, 31, 1)


def test_what_floats_add_is_no_second(read):
    trace = read([job("1", walltime=30.000000001)], {"d": {"type": "delay", "delay": 60.0000000001}})
    assert (trace.walltime[0], trace.runtime[0]) == (30, 60)


def test_a_job_without_a_walltime_states_none(read):
    first, second = job("1", walltime=-1), job("2")
    del second["walltime"]
    assert read([first, second]).no_walltime.all()


@pytest.mark.parametrize(
    ("ids", "numbers", "names"),
    [
        (["w0!12", "w0!3"], [3, 12], ["", ""]),
        ([12, 3], [3, 12], ["", ""]),
        (["w0!1", "w1!1"], [1, 2], ["w0!1", "w1!1"]),
        (["simple", "7"], [1, 2], ["simple", "7"]),
        (["-1", "2"], [1, 2], ["-1", "2"]),
    ],
)
def test_ids_become_numbers(read, ids, numbers, names):
    trace = read([*map(job, ids)])
    assert trace.number.tolist() == numbers
    assert trace.name.tolist() == names


def test_other_profiles_are_counted_by_their_type(read):
    profiles = {"d": DELAY, "c": {"type": "composed", "seq": ["d"]}, "p": {"type": "parallel"}}
    trace = read([job("1"), job("2", "c"), job("3", "p"), job("4", "c")], profiles, strict=True)
    assert trace.number.tolist() == [1]
    told = [(skip.line, skip.reason) for skip in trace.skipped]
    assert told == [
        (n, f"its profile is of type {t}, no delay") for n, t in ((2, "composed"), (3, "parallel"), (4, "composed"))
    ]
    assert not any(skip.malformed for skip in trace.skipped)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (job("2", "nobody"), "profile 'nobody' is not among the workload's"),
        (job("2", res=1.5), "res is 1.5"),
        (job("2", res=True), "res is True"),
        (job("2", subtime="soon"), "subtime is 'soon'"),
        (job("2", walltime=None), "walltime is None"),
        (job("1"), "job number 1 again, as on line 1"),
        (job(None), "no id"),
        (job("2", subtime=-0.5), "negative submit time"),
        ([], "no object"),
    ],
)
def test_a_wrong_job_is_told(read, wrong, why):
    skipped = read([job("1"), wrong]).skipped
    assert len(skipped) == 1
    assert skipped[0].line == 2
    assert why in skipped[0].reason
    with pytest.raises(InputError, match=r"w\.json:2: "):
        read([job("1"), wrong], strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "w.json:1: is no JSON"),
        ("{}", "no `jobs` and `profiles`"),
        ('{"jobs": {}, "profiles": {}}', "no `jobs` and `profiles`"),
        ('{"jobs": [NaN], "profiles": {}}', "NaN is no number"),
        ('{"a":' * 200_000, "nested too deeply"),
        ('{"jobs": [], "profiles": {}}', "no valid job"),
    ],
)
def test_what_is_no_workload_is_one_line(tmp_path, text, said):
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(InputError) as told:
        read_trace(tmp_path / "w.json")
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_what_is_lost_is_told(tmp_path):
    (tmp_path / "t.swf").write_text(
        "1 0 5 -1 3 -1 -1 3 9 64 1 1 1 -1 1 1 -1 -1\n2 0 5 9 3 -1 -1 3 9 64 1 1 1 -1 1 1 1 0\n"
    )
    trace = read_trace(tmp_path / "t.swf", not_ended=True)
    lost = write_batsim(trace, tmp_path / "t.json")
    assert [note.partition(":")[0] for note in lost[:3]] == ["waits", "memory", "preceding jobs"]
    assert lost[3].startswith("1 jobs have not ended")
    assert read_trace(tmp_path / "t.json").number.tolist() == [2]


def test_public_traces_go_there_and_back(shared, tmp_path):
    trace = of_width(read_trace(shared / "traces/KTH-SP2-1996.swf.gz"), 50, None)
    write_batsim(trace, tmp_path / "t.json")
    write_swf(read_trace(tmp_path / "t.json"), tmp_path / "t.swf")
    again = read_trace(tmp_path / "t.swf")
    for name in ("number", "submit", "runtime", "walltime", "procs", *TEXTS):
        assert np.array_equal(getattr(again, name), getattr(trace, name)), name
    assert again.most_processors == 100
