"""`dardis compare --paper`: a folder that repeats itself, byte by byte, and names what it leaves out."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kit.small_site import START, write_site

import dardis
from dardis.cli.main import run
from dardis.config.comparison_spec import load_comparison
from dardis.config.comparison_text import comparison_text, files_of
from dardis.report.compare_table import in_latex

ROOT = Path(__file__).parents[3]
SPEC = """
replicates = 6
resample = "shake:600"
[[traces]]
trace = "trace.swf"
platform = "small.toml"
name = "site_A"
jobs = 20
profile = "more/prices.csv"
[[dispatchers]]
name = "dardis-balance"
[[dispatchers]]
name = "easy"
label = "EASY"
settings = { backfill_depth = 5 }
grid = { order = ["fcfs", "sjbf"] }
"""
HEADER = "; Acknowledge: A. Person & Co, 100%_free\n; Information: http://trace.example/a_b\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What a comparison of a site with prices writes, inside of the comparison's own folder."""
    site = write_site(tmp_path_factory.mktemp("paper"))
    around = f'prices = "prices.csv"\nweather = "weather.csv"\ncalendar_start = "{START}"\n'
    (site / "small.toml").write_text(around + (site / "small.toml").read_text())
    (site / "more").mkdir()
    (site / "more" / "prices.csv").write_text("time_s,node,kind,value\n0,*,cores,64\n")
    (site / "trace.swf").write_text(HEADER + (site / "trace.swf").read_text())
    (site / "spec.toml").write_text(SPEC)
    options = ["--gantt", "EASY order=fcfs,dardis-balance", "--out", str(site / "o"), "--paper", str(site / "o" / "p")]
    assert run(["compare", str(site / "spec.toml"), *options]) == 0
    return site / "o" / "p"


@pytest.fixture
def compare(small_comparison, tmp_path, capsys):
    """Run `dardis compare` of a short trace; return (status, lines on standard error)."""
    machine = small_comparison / "p.toml"

    def call(paper, dispatchers="easy", trace=small_comparison / "t.swf"):
        more = ["--dispatchers", dispatchers, "--out", tmp_path / "o", "--paper", paper]
        status = run(["compare", *map(str, [trace, "--platform", machine, *more])])
        return status, capsys.readouterr().err.splitlines()

    return call


def test_one_command_repeats_all_bytes(folder, tmp_path):
    env = os.environ | {"DARDIS": f"{sys.executable} -m dardis", "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    moved = folder.rename(tmp_path / "a paper")  # nothing outside of the folder is needed
    try:
        said = subprocess.check_output([moved / "reproduce", tmp_path / "again"], env=env, text=True)
    finally:
        moved.rename(folder)
    assert said.splitlines()[-1] == "all tables and figures are equal"
    again = tmp_path / "again" / "paper"
    for name in ("README.md", "SHA256SUMS", "reproduce", "references.bib", "paper.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_folder_has_inputs_table_tests_figures_and_citations(folder):
    assert {path.name for path in (folder / "inputs").iterdir()} == {
        "trace.swf", "small.toml", "prices.csv", "weather.csv", "2-prices.csv",
    }  # fmt: skip
    listed = {line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert listed >= {"table.tex", "effects.tex", "ranks.csv", "pairs.csv", "differences.csv", "comparison.toml"}
    figures = {path.name: path.read_bytes() for path in (folder / "charts").glob("*.pdf")}
    assert figures.keys() >= {f"critical-difference-of-{name}.pdf" for name in ("mean-wait", "longest-wait")}
    assert not any(b"/Type3" in content or b"CreationDate" in content for content in figures.values())
    versions = json.loads((folder / "paper.json").read_text())
    assert versions["dardis"] == dardis.__version__
    assert re.fullmatch("[0-9a-f]{64}", versions["code_sha256"])
    text = (folder / "references.bib").read_text()
    assert r"author = {{A. Person \& Co, 100\%\_free}}" in text
    assert r"howpublished = {{http://trace.example/a\_b}}" in text
    cited = re.findall(r"^(?:title|abstract|  - name): (.*?)\.?$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert len(cited) == 3
    assert all(part in re.sub(r"[{}]", "", text) for part in cited)


def test_written_specification_states_the_same_comparison(tmp_path):
    path = tmp_path / "spec.toml"
    (tmp_path / "late.csv").touch()
    path.write_text(
        '[[traces]]\ntrace = "a.swf"\nplatform = "p.toml"\nfrom = "+2d"\nto = 2012-02-03\ntrim = [5, "1d"]\narity = 8\n'
        'walltime_factor = 2.5\nstrict = true\nsample = "default"\ndeadlines = "late.csv"\noverrun = "extend"\n'
        '[[dispatchers]]\nname = "easy"\nsample = "all"\ngrid = { arity = ["flat", 2], order = ["fcfs", "sjbf"] }\n'
        '[[dispatchers]]\nname = "easy"\nlabel = "other"\narity = "flat"\nsettings = { order = "sjbf" }\n'
    )
    first = load_comparison(path)
    assert [one.name for one in files_of(first.workloads[0])] == ["a.swf", "p.toml", "late.csv"]
    text = comparison_text(first, {one: one.name for one in files_of(first.workloads[0])})
    path.write_text(text)
    second = load_comparison(path)
    assert (second.workloads, second.contenders) == (first.workloads, first.contenders)
    assert comparison_text(second, {one: one.name for one in files_of(second.workloads[0])}) == text


@pytest.mark.parametrize("name", ["table.tex", "effects.tex"])
def test_latex_is_balanced_and_escaped(folder, name):
    text = (folder / name).read_text()
    body = re.sub(r"^%.*$|\\[\\{}$&%#_]", " ", text, flags=re.MULTILINE)
    assert body.count("{") == body.count("}")
    assert body.count("$") % 2 == 0
    assert not re.search(r"[_#^~°±–]", re.sub(r"\^\{\\circ\}", "", body))
    assert re.findall(r"\\(begin|end)\{(\w+)\}", text) == [("begin", "tabular"), ("end", "tabular")]
    (columns,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", text)
    rows = [line for line in text.splitlines() if line.endswith(r" \\") and not line.startswith("%")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(columns) - 1}
    assert len(rows) > 3
    assert (r"\textbf{" in text, r"site\_A" in text) == ((True, True) if name == "table.tex" else (False, False))
    assert re.search(r" & \$-\$\d", text)


def test_every_special_character_is_escaped():
    assert not re.search(r"(?<!\\)[#%&_]|[<>^~]", in_latex("\\{}$&%#_~^<>±°·–").replace(r"$^{\circ}$", ""))


def test_omissions_are_stated_and_own_files_stay(compare, tmp_path):
    paper = tmp_path / "p"
    (paper / "inputs").mkdir(parents=True)
    for name in ("paper.json", "effects.tex", "paper.tex", "inputs/old.csv"):
        (paper / name).write_text("old")
    assert compare(paper, "easy,easy:order=sjbf") == (0, [])
    text = (paper / "README.md").read_text()
    assert "* mean wait, mean bounded slowdown, longest wait, utilisation: No tests: 1 case; tests need 6." in text
    assert not [*(paper / "charts").glob("critical*")]
    assert len((paper / "ranks.csv").read_text().splitlines()) == 1
    assert (paper / "paper.tex").read_text() == "old"
    assert not (paper / "effects.tex").exists()
    assert {one.name for one in (paper / "inputs").iterdir()} == {"t.swf", "p.toml"}


@pytest.mark.parametrize(
    ("name", "found"),
    [("o", "is the folder of --out"), ("full", "has other content than a paper's folder"), ("p.toml", "File exists"),
     ("new", "t.pipe is no regular file")],
)  # fmt: skip
def test_bad_folders_and_pipes_are_refused_before_the_runs(name, found, compare, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "comparison.toml").touch()
    (tmp_path / "p.toml").touch()
    os.mkfifo(tmp_path / "t.pipe")
    status, said = compare(tmp_path / name, **({"trace": tmp_path / "t.pipe"} if name == "new" else {}))
    assert (status, len(said)) == (2, 1)
    assert re.search(rf"--paper .*{name}: .*{found}", said[0])
    assert not (tmp_path / "o").exists()


def test_failed_runs_leave_no_folder(compare, tmp_path):
    (tmp_path / "o" / "runs" / "t" / "easy" / "1").mkdir(parents=True)
    (tmp_path / "o" / "compare.json").write_text('{"runs": {}}')
    (tmp_path / "o" / "runs" / "t" / "easy" / "1" / "mine").touch()
    status, said = compare(tmp_path / "p")
    assert (status, len(said)) == (1, 2)
    assert said[1].endswith("p: not written, since 1 of 1 runs failed")
    assert not (tmp_path / "p").exists()


class Mine(dardis.Rule):
    def key(self, job, _):
        return job.submit


def test_objects_of_python_are_copied(tmp_path):
    machine = dardis.Platform([dardis.nodes(4, cores=8)])
    jobs = {"job_id": [1, 2], "submit_s": [0, 3], "runtime_s": [50, 50], "walltime_s": [60, 70], "units": [4, 4]}
    june = dardis.Trace(jobs | {"req_cores": [8, 8]}, name="june")
    dardis.compare(june, machine, "easy", out=tmp_path / "o", paper=tmp_path / "p")
    assert {path.name for path in (tmp_path / "p" / "inputs").iterdir()} == {"june.csv", "platform.toml"}
    with (
        pytest.warns(dardis.DardisWarning),
        pytest.raises(dardis.InputError, match=r"p: Own is a class of this process; expected classes of a module"),
    ):
        dardis.compare(june, machine, type("Own", (Mine,), {}), paper=tmp_path / "p")
