"""Batsim's workloads: what is written is read back, delays are runtimes, and all else is told."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.error_lines import line_of

from dardis.workload.batsim import write_batsim
from dardis.workload.swf import read_swf, write_swf
from dardis.workload.trace_reader import read_trace
from dardis.workload.transform import of_width

DELAY = {"type": "delay", "delay": 20}
SPREAD = "defined_amount_spread_uniformly"
TEXTS = ("user", "group", "name", "queue", "partition")


def job(name, profile="d", **more):
    return {"id": name, "subtime": 0, "walltime": 60, "res": 1, "profile": profile} | more


@pytest.fixture
def read(tmp_path):
    def read(jobs, profiles=None, **how):
        path = tmp_path / "w.json"
        path.write_text(json.dumps({"jobs": jobs, "profiles": profiles or {"d": DELAY}}))
        return read_trace(path, **how)

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
def test_batsim_workload_round_trips(lines, tmp_path_factory):
    folder = tmp_path_factory.mktemp("batsim")
    rows = [f"{n} {s} -1 {r} {p} -1 -1 {p} {w} -1 1 {q} -1 -1 {q} 3 -1 -1" for n, (s, r, p, w, q) in enumerate(lines)]
    (folder / "t.swf").write_text("\n".join(rows))
    trace = read_swf(folder / "t.swf")
    assert write_batsim(trace, folder / "t.json.gz") == []
    again = read_trace(folder / "t.json.gz", strict=True)
    for name in ("number", "submit", "runtime", "walltime", "no_walltime", "procs", *TEXTS):
        assert np.array_equal(getattr(again, name), getattr(trace, name)), name
    assert again.most_processors == max(p for _, _, p, _, _ in lines)


def test_other_profiles_are_counted_by_their_type(read):
    profiles = {
        "d": DELAY, "s": {"type": "smpi"}, "t": {"type": "parallel", "cpu": [1, 1], "com": [0, 1, 0, 0]},
        "c": {"type": "parallel_homogeneous", "cpu": 1, "com": 0}, "q": {"type": "composed", "seq": ["d", "s"]},
    }  # fmt: skip
    trace = read([job(str(n), name) for n, name in enumerate("dstcq")], profiles, strict=True)
    assert trace.number.tolist() == [0]
    assert [tuple(skip) for skip in trace.skipped] == [
        (2, "its profile is of type smpi, not a delay", False),
        (3, "its profile is of type parallel, which communicates", False),
        (4, "its profile is of type parallel_homogeneous, which computes, but flop_per_s is unknown", False),
        (5, "its profile is of type smpi, not a delay", False),
    ]


@st.composite
def sequences(draw):
    """Profiles of which each is a delay, a computation or a sequence of earlier ones, and how long each takes, s."""
    profiles, seconds = {}, {}
    for place in range(draw(st.integers(1, 8))):
        name, kind = f"p{place}", draw(st.integers(0, 2 if place else 1))
        if kind == 0:
            seconds[name] = draw(st.integers(0, 50)) / 4
            profiles[name] = {"type": draw(st.sampled_from(["delay", "DelayProfile"])), "delay": seconds[name]}
        elif kind == 1:
            flop = draw(st.integers(0, 50))
            seconds[name] = flop / 4
            named = draw(st.sampled_from(["parallel_homogeneous", "msg_par_hg", "ParallelTaskHomogeneousProfile"]))
            profiles[name] = {"type": named, "cpu": flop * 1e9, "com": 0}
        else:
            members = draw(st.lists(st.sampled_from(sorted(profiles)), min_size=1, max_size=4))
            repeat = draw(st.integers(1, 5))
            named = draw(st.sampled_from(["composed", "sequential_composition", "SequentialCompositionProfile"]))
            profiles[name] = {"type": named, "seq": members} | ({"repeat": repeat} if repeat > 1 else {})
            seconds[name] = repeat * sum(seconds[member] for member in members)
    return profiles, seconds


@pytest.mark.parametrize(("profile", "runtime"), [
    ({"type": "parallel_homogeneous_total", "cpu": 80e9, "com": 0}, 5),
    ({"type": "ptask_homogeneous", "cpu": 80e9, "com": 0, "generation_strategy": SPREAD}, 5),
    ({"type": "ptask_homogeneous", "cpu": 40e9, "com": 0}, 10),
    ({"type": "parallel", "cpu": [0, 40e9, 8e9, 1], "com": [0] * 16}, 10),
    ({"type": "parallel_homogeneous", "cpu": 0, "com": 0}, None),  # a job that runs for nothing is none
])  # fmt: skip
def test_a_computation_takes_its_operations_over_the_speed(read, profile, runtime):
    trace = read([job("1", "d"), job("2", "p", res=4)], {"d": DELAY, "p": profile}, flop_per_s=4e9)
    assert trace.runtime.tolist() == [20, *([] if runtime is None else [runtime])]


def within(depth):
    """Sequences within one another."""
    return {f"p{n}": {"type": "composed", "seq": [f"p{n + 1}"]} for n in range(depth)} | {f"p{depth}": DELAY}


@pytest.mark.parametrize(("profiles", "why"), [
    ({"p": {"type": "composed", "seq": ["p"]}}, "contains itself"),
    ({"p": {"type": "composed", "seq": ["q"]}, "q": {"type": "composed", "seq": ["p"]}}, "contains itself"),
    ({"p": {"type": "composed", "seq": ["none"]}}, "profile 'none' is unknown"),
    ({"p": {"type": "composed", "seq": []}}, "without `seq`"),
    ({"p": {"type": "composed", "seq": ["d"], "repeat": 0}}, "repeat is 0"),
    ({"p": {"type": "composed", "seq": ["d"], "repeat": True}}, "repeat is True"),
    ({"p": {"type": "composed", "seq": ["n", "d"]}, "n": {"type": "delay", "delay": -7}}, "takes less than 0 s"),
    ({"p": {"type": "parallel", "cpu": 5, "com": []}}, "cpu is not a list"),
    ({"p": {"type": "parallel_homogeneous", "cpu": -1, "com": 0}}, "cpu is negative"),
    ({"p": {"type": "parallel_homogeneous", "cpu": 1}}, "com is None"),
    ({"p": {"type": "composed", "seq": ["p0"]}} | within(150), "more than 100 sequences"),
])  # fmt: skip
def test_invalid_profile_makes_the_job_malformed(read, profiles, why):
    asked = [job("1"), job("2", "p")], {"d": DELAY} | profiles
    (skipped,) = read(*asked, flop_per_s=1e9).skipped
    assert (skipped.line, skipped.malformed) == (2, True)
    assert why in skipped.reason
    assert "w.json:2: " in line_of(read, *asked, flop_per_s=1e9, strict=True)


@pytest.mark.parametrize(("wrong", "why"), [
    (job("2", "nobody"), "profile 'nobody' is unknown"), (job("2", res=1.5), "res is 1.5"),
    (job("1"), "job number 1 again, as on line 1"), (job(None), "no id"),
    (job("2", subtime=-0.5), "negative submit time"), ([], "not an object"),
])  # fmt: skip
def test_malformed_job_is_reported(read, wrong, why):
    (skipped,) = read([job("1"), wrong]).skipped
    assert skipped.line == 2
    assert why in skipped.reason
    assert "w.json:2: " in line_of(read, [job("1"), wrong], strict=True)


@pytest.mark.parametrize(("text", "said"), [
    ("{", "w.json:1: is not JSON"), ("{}", "missing `jobs` and `profiles`"),
    ('{"jobs": [NaN], "profiles": {}}', "NaN is not a number"), ('{"a":' * 200_000, "nested too deeply"),
    ('{"jobs": [], "profiles": {}}', "no valid job"),
])  # fmt: skip
def test_invalid_workload_is_one_line(tmp_path, text, said):
    (tmp_path / "w.json").write_text(text)
    assert said in line_of(read_trace, tmp_path / "w.json")


def test_public_traces_round_trip(shared, tmp_path):
    trace = of_width(read_trace(shared / "traces/KTH-SP2-1996.swf.gz"), 50, None)
    write_batsim(trace, tmp_path / "t.json")
    write_swf(read_trace(tmp_path / "t.json"), tmp_path / "t.swf")
    again = read_trace(tmp_path / "t.swf")
    for name in ("number", "submit", "runtime", "walltime", "procs", *TEXTS):
        assert np.array_equal(getattr(again, name), getattr(trace, name)), name
    assert again.most_processors == 100
