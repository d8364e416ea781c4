"""What is asked for a job: what is written is read back, and what makes no sense is told at its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.live import job_option_texts as option
from dardis.live.job_request import JobRequest, job_paths
from dardis.model.errors import InputError

SPANS = st.builds(
    lambda first, count, step: range(first, first + (count - 1) * step + 1, step),
    st.integers(0, 10**6), st.integers(1, 999), st.integers(1, 50),
)  # fmt: skip
ARRAYS = st.builds(
    option.Array, st.lists(SPANS, min_size=1, max_size=3).map(tuple), st.none() | st.integers(1, 99)
).filter(lambda array: len(set(array.indices)) == len(array.indices))
AFTERS = st.builds(option.Dependency, st.sampled_from(option.KINDS), st.integers(1, 10**9))


@given(ARRAYS)
def test_array_round_trips(array):
    assert option.read_array(str(array), "--array") == array
    assert list(array.indices) == [index for span in array.spans for index in span]


@given(st.integers(1, option.MOST_WALLTIME_S))
def test_time_round_trips(seconds):
    assert option.read_walltime(option.time_text(seconds), "--time") == seconds
    assert option.read_time(f"{seconds}s", "--time") == seconds


@given(st.lists(AFTERS, min_size=1, max_size=5))
def test_dependencies_round_trip(afters):
    assert option.read_after(",".join(map(str, afters)), "--after") == (tuple(afters), False, False)
    assert option.read_after("?".join(map(str, afters)), "--after").any_of == (len(afters) > 1)


INVALID = (
    (option.read_time, "--time: .*; expected a time from 1s to 3660d: minutes", [
        "", "0", "0s", "-1", "1.5h", "x", "99:99", "1:60:00", "1-24", "1-2:60", "1:2:3:4", "1-", "4000d", "1 h",
        "9" * 30,
    ]),
    (option.read_array, "--array: ", [
        "", "a", "5-1", "1-9:0", "0-9%0", "1,", ",1", "1,,2", "1,1", "0-4,3", "1%2,3", "-3", "0-9%", "0-9:", "1-2-3",
        "0-9999999999",
    ]),
    (option.read_after, "--after: .*; expected ok:ID, any:ID, fail:ID", [
        "", "1", "ok", "ok:", "ok:x", "ok:0", "good:1", "ok:1,", "ok:1?any:2,fail:3", "ok:1?singleton", "ok:1.5",
    ]),
    (option.read_export, "--export: ", ["", "A,,B", "=1", "none,A=1", "all,A", "A B"]),
)  # fmt: skip


@pytest.mark.parametrize(("read", "said", "text"), [(*kind, text) for *kind, texts in INVALID for text in texts])
def test_invalid_text_is_reported_with_its_option(read, said, text):
    with pytest.raises(InputError, match=f"^{said}"):
        read(text, said.partition(":")[0])


@pytest.mark.parametrize(("text", "mib"), [
    ("500", 500), ("500M", 500), ("4G", 4096), ("4g", 4096), ("4GiB", 4096), ("4GB", 4096), ("1T", 1 << 20),
    ("1K", 1), ("1024K", 1), ("1025K", 2),
])  # fmt: skip
def test_memory_sizes_are_read(text, mib):
    assert option.read_memory(text, "--mem") == mib


def test_single_index_is_an_array_and_array_size_is_limited():
    assert option.read_array("7", "--array") == option.Array((range(7, 8),))
    assert option.read_array("1,7-9:2,3%2", "--array") == option.Array((range(1, 2), range(7, 10, 2), range(3, 4)), 2)
    assert list(option.read_array("1,7-9:2,3%2", "--array").indices) == [1, 7, 9, 3]
    assert len(option.read_array(f"1-{option.MOST_ELEMENTS}", "--array").indices) == option.MOST_ELEMENTS
    with pytest.raises(
        InputError, match=f"{option.MOST_ELEMENTS + 1} jobs; expected at most {option.MOST_ELEMENTS} in one array"
    ):
        option.read_array(f"0-{option.MOST_ELEMENTS}", "--array")
    assert len(option.read_array(",".join(map(str, range(option.MOST_SPANS))), "--array").indices) == option.MOST_SPANS
    for text in (",".join(map(str, range(option.MOST_SPANS + 1))), "x," * option.MOST_SPANS):
        with pytest.raises(InputError, match=f"{option.MOST_SPANS + 1} parts; expected at most {option.MOST_SPANS}"):
            option.read_array(text, "--array")


@pytest.mark.parametrize(("text", "names", "values"), [
    ("all", "all", {}), ("NONE", "none", {}), ("A,B", ("A", "B"), {}), ("A=1,B", ("A", "B"), {"A": "1"}),
    ("ALL,A=x=y", "all", {"A": "x=y"}), ("A=", ("A",), {"A": ""}),
])  # fmt: skip
def test_export_lists_are_read(text, names, values):
    assert option.read_export(text, "--export") == (names, values)


@pytest.mark.parametrize(("pattern", "path"), [
    ("%j", "17"), ("%A_%a.out", "12_5.out"), ("%4a-%x-%u", "0005-n-me"), ("100%%", "100%"), ("%%j", "%j"),
    ("plain", "plain"), ("%%%j%%", "%17%"), ("%N-%2n-%s-%b", "c2-00-batch-5"),
])  # fmt: skip
def test_output_patterns_are_expanded(pattern, path):
    assert option.fill_pattern(pattern, 17, 12, 5, "n", "me", "c2") == path


@pytest.mark.parametrize("pattern", ["%", "%q", "a%", "%5", "\0"])
def test_invalid_output_pattern_is_refused(pattern):
    with pytest.raises(InputError, match=r"^--(output|error): "):
        JobRequest(argv=("x",), output=pattern)
    with pytest.raises(InputError, match=r"^--error: "):
        JobRequest(argv=("x",), error=pattern)


@pytest.mark.parametrize(("more", "expected"), [
    ({}, ("/w", "/w/dardis-3.out", "/w/dardis-3.out")),
    ({"chdir": "sub"}, ("/w/sub", "/w/sub/dardis-3.out", "/w/sub/dardis-3.out")),
    ({"chdir": "/x", "output": "o%j", "error": "/e/%x"}, ("/x", "/x/o3", "/e/true")),
    ({"output": "/abs"}, ("/w", "/abs", "/abs")),
])  # fmt: skip
def test_output_paths_are_resolved(more, expected):
    assert job_paths(JobRequest(argv=("/bin/true",), **more), 3, None, None, "me", "/w", "c2") == expected


@pytest.mark.parametrize(("more", "said"), [
    ({"name": "a/b"}, "--name: 'a/b'"), ({"name": "a\nb"}, "--name: "), ({"name": "x" * 201}, "--name: "),
    ({"walltime_s": 0}, "--time: 0; expected from 1 to"), ({"nodes": 0}, "--nodes: 0"), ({"cpus": 0}, "--cpus: 0"),
    ({"gpus": -1}, "--gpus: -1; expected from 0"), ({"memory_mib": -1}, "--mem: -1"),
    ({"grace_s": -1}, "--grace: -1"),
    ({"argv": ("a", "b\0")}, "COMMAND: 'b\\x00'; expected a text without "), ({"argv": ("\udc80",)}, "COMMAND: "),
    ({"chdir": "\0"}, "--chdir: "), ({"export": ("A=B",)}, "--export: "), ({"export": "some"}, "--export: 'some'"),
    ({"array": option.Array((range(3, 3),))}, "--array: '3-2'"), ({"array": option.Array(())}, "--array: ''"),
    ({"array": option.Array((range(4), range(3, 5)))}, "--array: index 3 2 times; expected each index once"),
    ({"after": (option.Dependency("ok", 0),)}, "--after: 'ok:0'"),
    ({"after": (option.Dependency("ok", 1),) * 1001}, "--after: 1001 jobs"),
])  # fmt: skip
def test_invalid_job_request_is_one_line(more, said):
    assert line_of(JobRequest, **{"argv": ("x",), **more}).startswith(said)


@pytest.mark.parametrize(("value", "said"), [
    (None, "jobs: None; expected an object"), ([], "jobs: []"),
    ({"argv": ["x"], "cpu": 1}, "jobs: unknown key 'cpu'"),
    ({"argv": "x"}, "jobs.argv: 'x'; expected a list"), ({"argv": [1]}, "jobs.argv: 1; expected texts"),
    ({"cpus": True}, "jobs.cpus: True; expected a whole number"), ({"cpus": 1.0}, "jobs.cpus: 1.0"),
    ({"cpus": None}, "jobs.cpus: None"), ({"hold": 1}, "jobs.hold: 1; expected true or false"),
    ({"array": "1-"}, "jobs.array: '1-'"), ({"array": 5}, "jobs.array: 5; expected a text or null"),
    ({"after": [5]}, "jobs.after: 5"), ({"after": [{"kind": "ok"}]}, "jobs.after: "),
    ({"after": [{"kind": "ok", "id": True}]}, "jobs.after: "), ({"after": [{"kind": "no", "id": 1}]}, "--after: "),
    ({"export": [1]}, "jobs.export: 1"), ({"walltime_s": 0}, "--time: 0"),
])  # fmt: skip
def test_json_of_a_job_request_is_checked(value, said):
    assert line_of(JobRequest.from_dict, value).startswith(said)
