"""`dardis platform import`, `dardis platform calibrate` and `dardis pue`: what is shown and written, and mistakes."""

import re

import pytest
from fuzz.sample_files import SLURM_CONF, SLURM_SHOWN
from kit.measured_site import PLATFORM, measured_site

from dardis.cli.main import run
from dardis.config.platform_file import load_platform


@pytest.fixture
def run_command(capsys):
    """Run a command; its status, the lines of its output, and those on standard error."""

    def call(*arguments):
        status = run([str(word) for word in arguments])
        said = capsys.readouterr()
        return status, said.out.splitlines(), said.err.splitlines()

    return call


@pytest.fixture
def imported(run_command):
    return lambda *arguments: run_command("platform", "import", *arguments)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "nodes.txt").write_text(SLURM_SHOWN)
    (tmp_path / "slurm.conf").write_text(SLURM_CONF)
    return tmp_path


@pytest.mark.parametrize(("name", "nodes"), [("nodes.txt", 3), ("slurm.conf", 7)])
def test_a_platform_file_is_written_and_shown_without_a_name(imported, run_command, folder, name, nodes):
    platform = folder / "p.toml"
    status, out, notes = imported(folder / name, platform)
    assert (status, out) == (0, [f"{platform}: {nodes} nodes in 3 groups, 3 partitions"])
    assert all(line.startswith("dardis: note: ") for line in notes)
    assert load_platform(platform).node_count == nodes
    _, out, notes = imported(folder / name)
    assert out == platform.read_text().splitlines()
    assert "power figures must be filled in" in "".join(notes)
    platform.write_text("kept")
    status, _, (said,) = imported(folder / name, platform)
    assert (status, "p.toml: exists; expected another name, or --force" in said) == (2, True)
    assert platform.read_text() == "kept"
    assert imported(folder / name, platform, "--force")[0] == 0
    (folder / "t.swf").write_text("1 0 -1 50 8 -1 -1 8 100 -1 1 1 1 -1 1 1 -1 -1\n")
    more = ["--dispatcher", "easy", "--out", folder / "out"]
    assert run_command("simulate", folder / "t.swf", "--platform", platform, *more)[0] == 0
    assert (folder / "out" / "report.html").exists()


@pytest.mark.parametrize("percent", ["1", "100%", "nan%", ""])
def test_invalid_percentage_is_refused(imported, folder, percent):
    said = f"dardis: --merge-memory: {percent!r}; expected a percentage below 100 such as 1%"
    assert imported(f"--merge-memory={percent}", folder / "nodes.txt") == (2, [], [said])


@pytest.mark.parametrize(
    ("name", "text", "out", "message"),
    [
        ("none.txt", None, "p.toml", "none.txt: cannot be read (No such file or directory)"),
        ("site", "", "p.toml", "site: is empty; expected the output of scontrol show node -o, or a slurm.conf"),
        ("site", SLURM_SHOWN + SLURM_SHOWN, "p.toml", "site:4: node n0001 again, after line 1"),
        ("site", SLURM_CONF.replace("Nodes=g[1-2]", "Nodes=g[1-3]"), "p.toml", "site:11: partition gpu names g3"),
        ("site", SLURM_SHOWN, "p.txt", "p.txt: no name of a platform file"),
        ("site", SLURM_SHOWN, "no/p.toml", "p.toml: its folder does not exist"),
    ],
)
def test_import_errors_are_one_line_and_write_nothing(imported, tmp_path, name, text, out, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    status, _, (said,) = imported(tmp_path / name, tmp_path / out)
    assert (status, message in said) == (2, True), said
    assert sorted(path.name for path in tmp_path.iterdir()) == ([] if text is None else [name])


@pytest.fixture(scope="module")
def site():
    return measured_site(1, days=2)


@pytest.fixture
def calibrated(run_command):
    return lambda *arguments: run_command("platform", "calibrate", *arguments)


def test_calibration_is_printed_and_written_on_request(calibrated, tmp_path, site):
    asked = site.write(tmp_path, site.long())
    status, (thin, idle, core, before, unseen, fat, *_, last), notes = calibrated(*asked)
    assert status == 0
    samples = r"n \(5 nodes\): 2,\d{3} samples on 2 days, \d\.\d of 16 cores of a node busy on average"
    assert re.fullmatch(samples, thin)
    assert re.fullmatch(r"  idle_w +10 W -> [\d.]+ W ± [\d.]+", idle)
    assert re.fullmatch(r"  core_w +1 W -> [\d.]+ W ± [\d.]+", core)
    off = r"median error [\d.]+ W per node, mean error [\d.]+%; energy of a day: [\d.]+%"
    assert re.fullmatch(rf"  file before: +{off}", before)
    assert re.fullmatch(rf"  other days: +{off}", unseen)
    assert fat.startswith("g (3 nodes): ")
    assert last == "nothing is written: --out OUT.toml, or --force to change P.toml"
    assert (tmp_path / "p.toml").read_text() == PLATFORM
    assert all(line.startswith("dardis: note: ") for line in notes)
    out = tmp_path / "new.toml"
    assert calibrated(*asked, "--out", out)[1][-1] == f"{out}: written"
    thin, fat = load_platform(out).groups
    assert (thin.power.idle_w, thin.power.core_w) == pytest.approx(site.truth["n"][:2], rel=0.05)
    assert thin.power.off_w == 4
    assert fat.power.device_w["gpu"] == pytest.approx(site.truth["g"][2], rel=0.05)
    assert "# the thin ones\n" in out.read_text()
    assert "}  # guessed\n" in out.read_text()
    assert calibrated(*asked, "--out", out)[0] == 2
    assert calibrated(*asked, "--out", out, "--force")[0] == 0
    for _ in range(2):  # a second time changes nothing
        assert calibrated(*asked, "--force")[1][-1] == f"{tmp_path / 'p.toml'}: written"
        assert (tmp_path / "p.toml").read_text() == out.read_text()


@pytest.mark.parametrize(
    ("power", "message"),
    [
        ("time,node,watts\n1682899200,x9,5\n", "w.csv:2: unknown node 'x9'; expected a platform node such as n0"),
        ("time,node,watts\n1682899200,n0,-5\n", "w.csv:2: watts '-5'; expected 0 to 1e+09"),
        ("time,node,watts\n1782899200,n0,5\n", "w.csv: covers 2026-07-01T09:46Z to 2026-07-01T09:46Z, but the history"),
        ("job,watts_per_node\n9999999,5\n", "w.csv: has none of the"),
        ("job,watts_per_node\n1,1\n2,1\n3,1\n4,1\n", "w.csv: determines no figure of any group; expected power"),
    ],
)
def test_calibration_errors_are_one_line_and_change_nothing(calibrated, tmp_path, site, power, message):
    status, out, said = calibrated(*site.write(tmp_path, power), "--force")
    assert status == 2
    assert said[-1].startswith(f"dardis: {tmp_path}/{message}")
    assert len(said) == 1 or "unchanged" in "".join(out)
    assert (tmp_path / "p.toml").read_text() == PLATFORM


@pytest.fixture
def pue(run_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pue.csv").write_text("temp_c,1000,2000\n0,1.1,1.2\n10,1.3,1.4\n")

    def call(cooling, temperature, watts, *more):
        return run_command("pue", "--cooling", cooling, "--temperature", temperature, "--it-w", watts, *more)

    return call


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("air", 10, 55_000), 1.124705), (("hybrid", 25, 85_000), 1.1018),
        (("pue.csv", 4, 1000), 1.1), (("pue.csv", 5, 1000), 1.3), (("pue.csv", 5, 2000, "--rows", "interpolate"), 1.3),
        (("air", 10, 5_500, "--design-w", "10700"), 1.124705),
    ],
)  # fmt: skip
def test_pue_command_prints_one_number(pue, arguments, value):
    status, (out,), notes = pue(*arguments)
    assert (status, notes) == (0, [])
    assert float(out) == pytest.approx(value, abs=1e-4)


def test_conditions_outside_the_plant_calibration_are_reported(pue):
    status, (out,), notes = pue("air", 55, 200_000)
    assert (status, float(out) > 1.7) == (0, True)
    assert " ".join(notes) == (
        "dardis: note: outside the calibrated range of the plant's model: 55 °C (-10 to 40 °C); "
        "200000 W, 187 % of the design power of 107000 W (5 to 100 %)"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("steam", 10, 1000), "no such plant or file; expected air, hybrid, or the file of a PUE table"),
        (("air", 10, 0), "--it-w: 0; expected more than 0 W"),
        (("air", 300, 1000), "--temperature: 300; expected °C, from -90 to 60"),
        (("pue.csv", 16, 1000), "16 °C and 1000 W of IT power; expected a point within -5 to 15 °C"),
        (("pue.csv", 10, 1000, "--rows", "best"), "--rows: 'best'; expected nearest or interpolate"),
    ],
)
def test_pue_error_is_one_line(pue, arguments, message):
    status, out, (said,) = pue(*arguments)
    assert (status, out, message in said) == (2, [], True), said
