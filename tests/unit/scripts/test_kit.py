"""What kits share: what is kept is made once and is whole, a name hangs on all it is told, and tables are Markdown."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

from scripts.kit import cache, page


def test_what_is_there_is_not_made_again(tmp_path):
    path = tmp_path / "runs" / "one.npz"
    made = {"start": np.arange(3), "queue": np.array(["", "a"])}
    assert cache.kept_arrays(path, lambda: made) == path
    assert cache.kept_arrays(path, lambda: pytest.fail("made twice")) == path
    found = cache.read_arrays(path)
    assert found["start"].tolist() == [0, 1, 2]
    assert found["queue"].tolist() == ["", "a"]
    assert [one.name for one in path.parent.iterdir()] == ["one.npz"]


def test_a_run_that_was_interrupted_is_not_there(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.kept_arrays(tmp_path / "one.npz", interrupted)
    (tmp_path / "one.part.npz").write_bytes(b"half")
    path = cache.kept_arrays(tmp_path / "one.npz", lambda: {"start": np.ones(1)})
    assert cache.read_arrays(path)["start"].tolist() == [1.0]


def test_metrics_that_are_there_are_of_no_new_run(tmp_path, monkeypatch):
    asked = []

    def simulate(command, **_):
        asked.append(command)
        (tmp_path / "metrics.json").write_text(json.dumps({"jobs": 3}))

    monkeypatch.setattr(subprocess, "run", simulate)
    for _ in range(2):
        assert cache.kept_metrics(tmp_path, "trace.swf", "--seed", "1") == {"jobs": 3}
    assert [one[3:5] for one in asked] == [("simulate", "trace.swf")]


def test_a_name_hangs_on_everything_it_is_told():
    column = np.arange(3)
    names = {
        cache.fingerprint("a", column), cache.fingerprint("b", column), cache.fingerprint("a", column + 1),
        cache.fingerprint("a"),
    }  # fmt: skip
    assert len(names) == 4
    assert cache.fingerprint("a", column) in names


def test_all_that_is_asked_is_done_and_told(capsys):
    done = dict(cache.in_processes(divmod, {"seven": (7, 2), "nine": (9, 2)}, str.upper, 1))
    assert done == {"seven": (3, 1), "nine": (4, 1)}
    assert sorted(capsys.readouterr().err.splitlines()) == ["1 of 2: SEVEN", "2 of 2: NINE"]


def test_what_was_not_done_is_not_told(capsys):
    found = {"no": None, "yes": 0}
    assert dict(cache.in_processes(found.get, {"no": ("no",), "yes": ("yes",)}, str.upper, 1)) == found
    assert capsys.readouterr().err == "1 of 2: YES\n"


def test_a_table_has_its_words_left_and_its_numbers_right():
    lines = page.table(["load", "", "jobs"], [["low", "", "3"]], left=2)
    assert lines == ["| load |  | jobs |", "| --- | --- | ---: |", "| low |  | 3 |"]
    assert page.table(["load", ""], [], blank=" ")[0] == "| load | |"
    assert page.markdown([["# title"], lines]) == "# title\n\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("kit", "option"),
    [("cp_2014", "--traces"), ("decision_time", "--traces"), ("thesis_5", "--traces"), ("thesis_7", "--data")],
)
def test_a_missing_trace_is_one_line(kit, option, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [kit, f"{option}={tmp_path}", f"--out={tmp_path / 'out'}"])
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module(f"scripts.{kit}.__main__").main()
    assert f"{option} names the folder" in capsys.readouterr().err.splitlines()[-1]
