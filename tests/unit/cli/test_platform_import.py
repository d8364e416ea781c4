"""`dardis platform import`: a file or standard output, notes beside it, and one line for every mistake."""

import pytest
from fuzz.sample_files import SLURM_CONF, SLURM_SHOWN
from typer.testing import CliRunner

from dardis.cli.main import app
from dardis.cli.main import run as command
from dardis.config.platform import load_platform


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "nodes.txt").write_text(SLURM_SHOWN)
    (tmp_path / "slurm.conf").write_text(SLURM_CONF)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["platform", "import", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("name", "nodes", "said"),
    [("nodes.txt", 3, "3 nodes in 3 groups, 3 partitions"), ("slurm.conf", 7, "7 nodes in 3 groups, 3 partitions")],
)
def test_a_platform_file_is_written(folder, name, nodes, said):
    answer = run(folder / name, folder / "p.toml")
    assert answer.exit_code == 0
    assert answer.stdout == f"{folder / 'p.toml'}: {said}\n"
    assert all(line.startswith("dardis: note: ") for line in answer.stderr.splitlines())
    assert load_platform(folder / "p.toml").node_count == nodes


SHOWN_NODE = "NodeName=n{number} CPUTot=4 RealMemory={memory} State=IDLE Partitions=batch\n"


def test_nearly_equal_memory_is_merged_if_wished(folder):
    many = "".join(SHOWN_NODE.format(number=number, memory=500_000 + number) for number in range(70))
    (folder / "many.txt").write_text(many)
    assert "70 nodes in 70 groups" in run(folder / "many.txt", folder / "all.toml").stdout
    answer = run("--merge-memory", "1%", folder / "many.txt", folder / "p.toml")
    assert answer.stdout == f"{folder / 'p.toml'}: 70 nodes in 1 groups, 1 partitions\n"
    assert "note: 69 of 70 nodes have less memory here than Slurm says, by at most 69 MiB" in answer.stderr
    assert [group.resources["memory"] for group in load_platform(folder / "p.toml").groups] == [500_000]


@pytest.mark.parametrize("percent", ["1", "100%", "-1%", "nan%", "%", ""])
def test_what_is_no_percentage_is_refused(folder, capsys, percent):
    assert command(["platform", "import", f"--merge-memory={percent}", str(folder / "nodes.txt")]) == 2
    assert capsys.readouterr().err == (
        f"dardis: --merge-memory: {percent!r}; expected a percentage below 100 such as 1%\n"
    )


def test_without_a_name_it_goes_to_standard_output(folder):
    run(folder / "nodes.txt", folder / "p.toml")
    answer = run(folder / "nodes.txt")
    assert answer.stdout == (folder / "p.toml").read_text()
    assert "power figures are left to fill in" in answer.stderr


def test_a_file_is_replaced_only_by_force(folder, capsys):
    (folder / "p.toml").write_text("kept")
    assert command(["platform", "import", str(folder / "nodes.txt"), str(folder / "p.toml")]) == 2
    assert "p.toml: exists; expected another name, or --force" in capsys.readouterr().err
    assert (folder / "p.toml").read_text() == "kept"
    assert run(folder / "nodes.txt", folder / "p.toml", "--force").exit_code == 0
    assert load_platform(folder / "p.toml").node_count == 3


def test_a_run_on_what_was_imported(folder):
    swf = "1 0 -1 50 64 -1 -1 64 100 -1 1 1 1 -1 1 1 -1 -1\n"
    (folder / "t.swf").write_text(swf)
    run(folder / "nodes.txt", folder / "p.toml")
    more = ["--dispatcher", "easy", "--out", str(folder / "out"), "--no-report"]
    assert command(["simulate", str(folder / "t.swf"), "--platform", str(folder / "p.toml"), *more]) == 0


@pytest.mark.parametrize(
    ("name", "text", "out", "message"),
    [
        ("none.txt", None, "p.toml", "none.txt: cannot be read (No such file or directory)"),
        ("site", "", "p.toml", "site: is empty; expected what scontrol show node -o prints, or a slurm.conf"),
        ("site", "a,b\n", "p.toml", "site: neither form of a Slurm site"),
        ("site", SLURM_SHOWN + "gone\n", "p.toml", "site:4: no NodeName= at its beginning (gone)"),
        ("site", SLURM_SHOWN + SLURM_SHOWN, "p.toml", "site:4: node n0001 again, after line 1"),
        ("site", SLURM_SHOWN[: SLURM_SHOWN.rindex(" State=")], "p.toml", "site:3: a node's record without State="),
        ("site", SLURM_SHOWN * 2, "p.toml", "site:4: node n0001 again, after line 1"),
        ("site", SLURM_SHOWN + "job,start\n", "p.toml", "site:4: no NodeName= at its beginning"),
        ("site", SLURM_SHOWN.replace("CPUTot=128", "CPUTot=x"), "p.toml", "site:2: g01: CPUTot 'x'; expected a whole"),
        (
            "site",
            SLURM_CONF.replace("0007] CPUs", "0007 CPUs"),
            "p.toml",
            "site:4: NodeName 'n[0001-0003,0007': a bracket",
        ),
        ("site", SLURM_CONF.replace("Nodes=g[1-2]", "Nodes=g[1-3]"), "p.toml", "site:11: partition gpu names g3"),
        ("site", SLURM_SHOWN, "p.txt", "p.txt: no name of a platform file"),
        ("site", SLURM_SHOWN, "no/p.toml", "p.toml: its folder does not exist"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, capsys, name, text, out, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    assert command(["platform", "import", str(tmp_path / name), str(tmp_path / out)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ([] if text is None else [name])
