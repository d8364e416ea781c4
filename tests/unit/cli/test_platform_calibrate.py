"""`dardis platform calibrate`: what is shown, what is written where, and one line for every mistake."""

import re

import pytest
from kit.measured_site import PLATFORM, measured_site
from typer.testing import CliRunner

from dardis.cli.main import app
from dardis.cli.main import run as command
from dardis.config.platform import load_platform


@pytest.fixture(scope="module")
def site():
    return measured_site(1, days=2)


def run(*arguments):
    return CliRunner().invoke(app, ["platform", "calibrate", *map(str, arguments)], catch_exceptions=False)


def test_without_out_nothing_is_written(tmp_path, site):
    answer = run(*site.write(tmp_path, site.long()))
    assert answer.exit_code == 0
    thin, idle, core, before, unseen, fat, *_, last = answer.stdout.splitlines()
    assert re.fullmatch(
        r"n \(5 nodes\): 2,\d{3} samples on 2 days, \d\.\d of 16 cores of a node busy in the mean", thin
    )
    assert re.fullmatch(r"  idle_w +10 W -> [\d.]+ W ± [\d.]+", idle)
    assert re.fullmatch(r"  core_w +1 W -> [\d.]+ W ± [\d.]+", core)
    off = r"off by [\d.]+ W a node in the median, [\d.]+% in the mean; energy of a day by [\d.]+%"
    assert re.fullmatch(rf"  file before: +{off}", before)
    assert re.fullmatch(rf"  days not seen: +{off}", unseen)
    assert fat.startswith("g (3 nodes): ")
    assert last == "nothing is written: --out OUT.toml, or --force to change P.toml"
    assert (tmp_path / "p.toml").read_text() == PLATFORM
    assert all(line.startswith("dardis: note: ") for line in answer.stderr.splitlines())


def test_a_new_file_or_the_file_itself(tmp_path, site):
    asked = site.write(tmp_path, site.long())
    out = tmp_path / "new.toml"
    assert run(*asked, "--out", out).stdout.splitlines()[-1] == f"{out}: written"
    thin, fat = load_platform(out).groups
    assert (thin.power.idle_w, thin.power.core_w) == pytest.approx(site.truth["n"][:2], rel=0.05)
    assert thin.power.off_w == 4
    assert fat.power.device_w["gpu"] == pytest.approx(site.truth["g"][2], rel=0.05)
    assert "# the thin ones\n" in out.read_text()
    assert "}  # guessed\n" in out.read_text()
    assert command(["platform", "calibrate", *asked, "--out", str(out)]) == 2
    assert run(*asked, "--out", out, "--force").exit_code == 0
    assert run(*asked, "--force").stdout.splitlines()[-1] == f"{tmp_path / 'p.toml'}: written"
    assert (tmp_path / "p.toml").read_text() == out.read_text()


def test_a_second_time_changes_nothing(tmp_path, site):
    asked = site.write(tmp_path, site.long())
    run(*asked, "--force")
    first = (tmp_path / "p.toml").read_text()
    run(*asked, "--force")
    assert (tmp_path / "p.toml").read_text() == first


def test_nodes_by_the_names_of_the_site(tmp_path, site):
    names = {f"n{node}": f"cn{node + 1:03}" for node in range(5)} | {f"g{node}": f"gpu{node}.org" for node in range(3)}
    (tmp_path / "names").write_text("\n".join(names.values()))
    renamed = [re.sub(r"\b[ng]\d\b", lambda found: names[found[0]], text) for text in (site.long(), site.sacct())]
    asked = site.write(tmp_path, *renamed)
    assert run(*asked, "--names", tmp_path / "names", "--force").exit_code == 0
    by_names = (tmp_path / "p.toml").read_text()
    run(*site.write(tmp_path, site.long()), "--force")
    assert (tmp_path / "p.toml").read_text() == by_names


@pytest.mark.parametrize(
    ("power", "message"),
    [
        ("time,node,watts\n1682899200,x9,5\n", "w.csv:2: no node 'x9'; expected a node of the platform such as n0"),
        ("time,n0,x9\n1682899200,5,5\n", "w.csv:1: no node 'x9'; expected a node of the platform such as n0"),
        ("time,node,watts\n1682899200,n0,-5\n", "w.csv:2: watts '-5'; expected 0 to 1e+09"),
        ("time,node\n1682899200,n0\n", "w.csv:1: no column of watts in 'time,node'"),
        ("time,node,watts\n1782899200,n0,5\n", "w.csv: is of 2026-07-01T09:46Z to 2026-07-01T09:46Z, and the history"),
        ("job,watts_per_node\n9999999,5\n", "w.csv: knows none of the"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path, capsys, site, power, message):
    asked = site.write(tmp_path, power)
    assert command(["platform", "calibrate", *asked, "--force"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"dardis: {tmp_path}/{message}")
    assert (tmp_path / "p.toml").read_text() == PLATFORM


def test_where_nothing_is_told_nothing_is_written(tmp_path, capsys, site):
    asked = site.write(tmp_path, "job,watts_per_node\n1,1\n2,1\n3,1\n4,1\n")
    assert command(["platform", "calibrate", *asked, "--force"]) == 2
    out, err = capsys.readouterr()
    assert "left as it was" in out
    assert "w.csv: tells no figure of any group; expected power measured while the load varied" in err
    assert (tmp_path / "p.toml").read_text() == PLATFORM


def test_raddit_says_what_a_busy_node_draws_and_nothing_of_idle_ones(tmp_path, shared):
    """Its processors are nodes, and each of its jobs has whole ones."""
    traces = shared / "traces"
    platform = (
        'name = "k"\n[[nodes]]\ncount = 2229\nprefix = "n"\nresources = { cores = 1 }\npower = { idle_w = 250 }\n'
    )
    (tmp_path / "p.toml").write_text(platform)
    power = ["--power", traces / "NREL-RADDIT-2024-power.csv.gz"]
    answer = run(tmp_path / "p.toml", "--history", traces / "NREL-RADDIT-2024.swf.gz", *power, "--force")
    assert answer.exit_code == 0
    told = answer.stdout.splitlines()
    assert told[0] == "n (2229 nodes): 154,325 jobs on 17 days, 1.0 of 1 cores of a node busy in the mean"
    assert told[1] == "  idle_w         250 W, left as it was: it can't be told apart from core_w, which has the rest"
    assert "6,941 jobs of 0 W are taken as not measured" in answer.stderr
    made = load_platform(tmp_path / "p.toml").groups[0].power
    assert made.idle_w == 250
    assert 690 < made.idle_w + made.core_w < 720, "the mean is 674 W by node-hours, the median 727 W"
    before, unseen = (float(re.search(r"energy of a day by ([\d.]+)%", line)[1]) for line in told[3:5])
    assert unseen < 7 < before
