"""`dardis export`: every format to a file or standard output, and one line for a mistake."""

from __future__ import annotations

import json
import os

import pytest
from kit.plan_folder import plan, same

from dardis.cli.main import run
from offline.export.formats import FORMATS, load_plan
from offline.folder.plan import write_plan


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "plan"
    path.mkdir()
    write_plan(path, plan())
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_holds_what_standard_output_shows(folder, tmp_path, capsys, name):
    assert run(["export", "--format", name, str(folder)]) == 0
    shown = capsys.readouterr().out
    out = tmp_path / "out"
    assert run(["export", str(folder), "--format", name, "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text() == shown
    assert os.access(out, os.X_OK) == (name == "slurm")


def test_a_json_export_is_a_plan_too(folder, tmp_path, capsys):
    assert run(["export", "--format", "json", str(folder), "--out", str(tmp_path / "p.json")]) == 0
    assert same(load_plan(tmp_path / "p.json"), plan())
    assert run(["export", "--format", "csv", str(tmp_path / "p.json")]) == 0
    again = capsys.readouterr().out
    assert run(["export", "--format", "csv", str(folder)]) == 0
    assert capsys.readouterr().out == again


def test_nodes_may_have_other_names(folder, tmp_path, capsys):
    names = tmp_path / "names"
    names.write_text("".join(f"node{n:03}\n" for n in range(10)))
    assert run(["export", "--format", "slurm", str(folder), "--names", str(names)]) == 0
    assert "node[000-001]" in capsys.readouterr().out
    assert run(["export", "--format", "redfish", str(folder), "--names", str(names)]) == 0
    assert json.loads(capsys.readouterr().out)["requests"][0]["node"] == "node000"


def told(capsys, *arguments):
    assert run(["export", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_mistakes_are_one_line_and_exit_2(folder, tmp_path, capsys):
    assert "--format 'yaml'; expected" in told(capsys, "--format", "yaml", str(folder)).replace(":", "")
    assert "holds no plan" in told(capsys, "--format", "csv", str(tmp_path))
    assert "does not exist" in told(capsys, "--format", "csv", str(tmp_path / "absent"))
    assert "folder does not exist" in told(capsys, "--format", "csv", str(folder), "--out", str(tmp_path / "x" / "y"))
    (tmp_path / "names").write_text("a b\n")
    assert "2 names; expected 10" in told(capsys, "--format", "csv", str(folder), "--names", str(tmp_path / "names"))
    (tmp_path / "names").write_text("a " * 10)
    assert "a occurs twice" in told(capsys, "--format", "csv", str(folder), "--names", str(tmp_path / "names"))
    (folder / "profile.csv").write_text("rubbish\n")
    assert "profile.csv" in told(capsys, "--format", "csv", str(folder))
    told(capsys, str(folder))


def test_power_limits_alone(folder, capsys):
    assert run(["export", "--format", "redfish", "--limits-only", str(folder)]) == 0
    assert {request["method"] for request in json.loads(capsys.readouterr().out)["requests"]} == {"PATCH"}
    assert run(["export", "--format", "slurm", "--limits-only", str(folder)]) == 2
    assert "--limits-only: --format slurm has no power limits of nodes" in capsys.readouterr().err
