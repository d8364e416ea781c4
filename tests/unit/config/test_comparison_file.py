"""Comparison files, and parts of a trace by dates and spans."""

import re
from pathlib import Path

import pytest
from kit.error_lines import line_of

from dardis.config.comparison_spec import Contender, TraceSpec, contender_of, load_comparison, with_grids
from dardis.config.cuts import TraceClock, cut_of, seconds_of, trim_of, trim_seconds
from dardis.config.option_texts import DEFAULT_SAMPLE
from dardis.model.errors import InputError
from dardis.registry import find_dispatcher

ROOT = Path(__file__).parents[3]
WHOLE = """
seeds = [3, 1]

[[traces]]
name = "HPC2N, June"
trace = "hpc2n.swf.gz"
platform = "m/hpc2n.toml"
jobs = 500
from_s = -5
to_s = 86400
profile = "cap.csv"
deadlines = "late.csv"
trim = [60, 0]
task_managers = 2
think_times = true
strict = true
arity = 8
sample = "default"

[[traces]]
trace = "/data/Curie 4.csv"
platform = "p.toml"
deadlines = "factor:2"

[[dispatchers]]
name = "easy"
label = "EASY-SJBF"
settings = { order = "sjbf", backfill_depth = 5 }

[[dispatchers]]
name = "easy"

[[dispatchers]]
name = "dardis-balance"
arity = "flat"
sample = 4

[[dispatchers]]
name = "dardis-late"
arity = 2
sample = "all"
"""


def written(folder, text):
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def test_every_key_of_a_comparison_file_is_read(tmp_path):
    (tmp_path / "late.csv").write_text("job_id,lst_s\n")
    comparison = load_comparison(written(tmp_path, WHOLE))
    first, second = comparison.workloads
    assert first == TraceSpec(
        name="HPC2N, June", trace=tmp_path / "hpc2n.swf.gz", platform=tmp_path / "m" / "hpc2n.toml", jobs=500,
        from_=-5, to=86400, profile=tmp_path / "cap.csv", deadlines=str(tmp_path / "late.csv"), trim=(60, 0),
        task_managers=2, think_times=True, strict=True, arity=8, sample=DEFAULT_SAMPLE,
    )  # fmt: skip
    assert (second.name, str(second.trace), second.deadlines) == ("Curie 4", "/data/Curie 4.csv", "factor:2")
    assert comparison.contenders == (
        Contender("EASY-SJBF", "easy", ("order=sjbf", "backfill_depth=5")),
        Contender("easy", "easy"),
        Contender("dardis-balance", "dardis-balance", arity=0, sample=4),
        Contender("dardis-late", "dardis-late", arity=2, sample=0),
    )
    assert (second.arity, second.sample) == (0, 0)
    assert comparison.options.seeds == (3, 1)


MISTAKES = {
    "unknown key": ('label = "EASY-SJBF"', "colour = 1", ["dispatchers[0].colour", "unknown key", "label, settings"]),
    "no dispatcher name": ('name = "easy"\nlabel', "label", ["dispatchers[0].name", "missing key"]),
    "no traces": (WHOLE[WHOLE.index("[[traces]]") : WHOLE.index("[[dispatchers]]")], "", ["traces", "missing key"]),
    "no jobs": ("jobs = 500", "jobs = 0", ["traces[0].jobs", "0", "greater than or equal to 1"]),
    "a negative seed": ("[3, 1]", "[-3]", ["seeds", "-3"]),
    "a seed twice": ("[3, 1]", "[1, 1]", ["two seeds have the name '1'"]),
    "a trace twice": ("/data/Curie 4.csv", "hpc2n, june.swf", ["two traces have the name 'hpc2n, june'", "`name`"]),
    "a dispatcher twice": ('label = "EASY-SJBF"', "", ["two dispatchers have the name 'easy'", "for one of them"]),
    "a folder for a label": ('"EASY-SJBF"', '"../x"', ["dispatchers[0].label", "'../x'", "a letter or digit"]),
    "a switch for a setting": ("backfill_depth = 5", "backfill = true", ["dispatchers[0].settings", "whole numbers"]),
    "a short trim": ("[60, 0]", "[60]", ["traces[0].trim", "expected WARMUP,COOLDOWN"]),
    "an arity of one": ("arity = 8", "arity = 1", ["traces[0].arity", "'1'", "flat, or a whole number from 2"]),
}


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES.values(), ids=MISTAKES)
def test_comparison_file_error_names_the_key(tmp_path, old, new, said):
    assert old in WHOLE
    line = line_of(load_comparison, written(tmp_path, WHOLE.replace(old, new, 1)))
    assert line.startswith(str(tmp_path / "spec.toml"))
    assert [part for part in said if part not in line] == []


@pytest.mark.parametrize(("text", "contender"), [
    ("easy", Contender("easy", "easy")),
    ("a:x=1:y_s=2", Contender("a x=1 y_s=2", "a", ("x=1", "y_s=2"))),
    ("a:x=m:n:y=on", Contender("a x=m n y=on", "a", ("x=m:n", "y=on"))),
    ("a:arity=8:b=c:sample=default", Contender("a arity=8 b=c sample=default", "a", ("b=c",), 8, DEFAULT_SAMPLE)),
    ("a:arity=flat:sample=all", Contender("a arity=flat sample=all", "a", (), 0, 0)),
    ("easy:order", Contender("easy order", "easy:order")),
    ("my.rules:Wide", Contender("my.rules Wide", "my.rules:Wide")),
    ("my.rules:Wide:depth=3", Contender("my.rules Wide depth=3", "my.rules:Wide", ("depth=3",))),
])  # fmt: skip
def test_a_dispatcher_with_settings_of_its_own(text, contender):
    assert contender_of(text) == contender


@pytest.mark.parametrize(("text", "said"), [
    ("a:arity=1", "arity: '1'; expected flat"), ("a:x=1:sample=", "sample: ''"), ("easy:x=../y", "a letter or digit"),
    (":order=sjbf", "a letter or digit"), ("easy:" + "x" * 60, "a letter or digit"),
])  # fmt: skip
def test_invalid_arity_sample_or_folder_is_reported(text, said):
    line = line_of(contender_of, text)
    assert line.startswith("--dispatchers")
    assert said in line


def test_a_grid_has_every_pair_of_values():
    contenders = [Contender("easy", "easy", ("order=fcfs",)), Contender("my.Late", "my:Late")]
    found = with_grids(contenders, ["easy.order=fcfs,sjbf", "easy.backfill_depth=1,5", "my.Late.depth=3"])
    assert [one.label for one in found] == [
        "easy order=fcfs backfill_depth=1", "easy order=fcfs backfill_depth=5", "easy order=sjbf backfill_depth=1",
        "easy order=sjbf backfill_depth=5", "my.Late depth=3",
    ]  # fmt: skip
    assert found[2].settings == ("order=fcfs", "order=sjbf", "backfill_depth=1")
    assert (found[2].family, found[2].grid) == ("easy", (("order", "sjbf"), ("backfill_depth", "1")))
    assert with_grids(contenders, ()) == tuple(contenders)
    with pytest.raises(InputError, match="3 settings of easy; expected one or two"):
        with_grids(contenders, ["easy.a=1", "easy.b=1", "easy.c=1"])


DRAWS = """[[traces]]
trace = "t.swf"
platform = "p.toml"
[[dispatchers]]
name = "easy"
"""


@pytest.mark.parametrize(("more", "of_trace", "said"), [
    ('resample = "shake"', "", "resample shake:86400 without replicates; expected both, or none"),
    ('replicates = 2\nresample = "days"', "", "expected weeks, shake, or"),
    ("replicates = 1", "", "replicates: 1; expected greater than or equal to 2"),
    ('recorded = "no"', "", "recorded: 'no'; expected a valid boolean"),
    ("replicates = 2", 'deadlines = "late.csv"', "replicates of a trace with a table of deadlines"),
    ('replicates = 2\nresample = "shake"', "think_times = true", "shakes with think times, which fix submissions"),
    ("", "[[dispatchers]]\nname = 'a'\ngrid = { x = 1 }", "expected a table of lists"),
    ("", "from_ = 5", "from_: unknown key"),
    ("", 'from_s = "5"', "from_s is '5'; expected whole seconds"),
    ("", 'overrun = ["extend"]', "expected kill|extend"),
    ('seeds = ["1"]', "", "expected a list"),
    ("", 'trim = "1,2"', "expected a list"),
    ("", "arity = true", "'True'; expected flat"),
    ("", "[[dispatchers]]\nname = 'a'\ngrid = { x = [1, 1] }", "expected values that differ"),
])  # fmt: skip
def test_invalid_draws_and_grids_are_refused(tmp_path, more, of_trace, said):
    (tmp_path / "late.csv").write_text("job_id,lst_s\n")
    text = DRAWS.replace("[[disp", f"{of_trace}\n[[disp")
    assert said in line_of(load_comparison, written(tmp_path, f"{more}\n{text}"))


def test_the_documented_file_and_grid_are_such_as_run(tmp_path):
    text = (ROOT / "docs/formats.md").read_text()
    (example,) = [
        part
        for part in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        if "[[dispatchers]]" in part and "seeds" in part
    ]
    found = load_comparison(written(tmp_path, example))
    easy = contender_of("easy")
    with pytest.raises(InputError) as mistake:
        with_grids([easy], ["easy"])
    documented = str(mistake.value).rpartition("as in ")[2]
    for one in (*found.contenders, *with_grids([easy], [documented])):
        find_dispatcher(one.dispatcher, one.settings)


UNIX_START = 1_328_227_200 - 50
"""2012-02-03 is second 50 of the trace."""
DATED, UNDATED = TraceClock(Path("t.swf"), 7, UNIX_START), TraceClock(Path("t.swf"), 7, None)


def test_date_needs_the_start_of_the_trace():
    with pytest.raises(InputError, match=r"--to 2012-02-03: t\.swf does not state its start date; .*--calendar-start"):
        seconds_of("--to", cut_of("--to", "2012-02-03"), UNDATED)


@pytest.mark.parametrize(
    "text", ["", "2d", "+", "+d", "++2d", "+2x", "-2d", "yesterday", "2012-13-01", "1.5", "+9999999999w"]
)
def test_invalid_spans_are_refused_in_one_line(text):
    with pytest.raises(InputError, match=r"^--from: .*; expected whole seconds on the trace's clock, a UTC date"):
        cut_of("--from", text)


@pytest.mark.parametrize(("text", "expected"), [
    ("60,0", (60, 0)),
    ("2d,12h", (172_800, 43_200)),
    ("+1m,+2m", (60, 1000 - 127 + 1)),  # who comes at 127 s is not before it
    ("2012-02-03,0", (43, 0)),
    ("0,2012-02-03", (0, 1000 - 50 + 1)),
    ("2012-02-01, 2012-03-01", (0, 0)),
])  # fmt: skip
def test_warm_up_and_cool_down(text, expected):
    assert trim_seconds("--trim", trim_of("--trim", text), DATED, 1000) == expected
