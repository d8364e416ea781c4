"""What all reproduction scripts share, and the set-up script."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scripts.lab.kit import cache


def test_existing_results_are_reused(tmp_path):
    path = tmp_path / "runs" / "one.npz"
    made = {"start": np.arange(3), "queue": np.array(["", "a"])}
    assert cache.cached_arrays(path, lambda: made) == path
    assert cache.cached_arrays(path, lambda: pytest.fail("made twice")) == path
    found = cache.read_arrays(path)
    assert found["start"].tolist() == [0, 1, 2]
    assert found["queue"].tolist() == ["", "a"]
    assert [one.name for one in path.parent.iterdir()] == ["one.npz"]


def test_interrupted_run_counts_as_missing(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.cached_arrays(tmp_path / "one.npz", interrupted)
    (tmp_path / "one.part.npz").write_bytes(b"half")
    path = cache.cached_arrays(tmp_path / "one.npz", lambda: {"start": np.ones(1)})
    assert cache.read_arrays(path)["start"].tolist() == [1.0]


def test_fingerprint_depends_on_every_argument():
    column = np.arange(3)
    names = {cache.fingerprint(*parts) for parts in (("a", column), ("b", column), ("a", column + 1), ("a",))}
    assert len(names) == 4
    assert cache.fingerprint("a", column) in names


@pytest.mark.parametrize(
    ("kit", "option"),
    [("cp_2014", "--traces"), ("decision_time", "--traces"), ("thesis_5", "--traces"), ("thesis_7", "--data")],
)
def test_a_missing_trace_is_one_line(kit, option, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [kit, f"{option}={tmp_path}", f"--out={tmp_path / 'out'}"])
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module(f"scripts.lab.{kit}.__main__").main()
    assert f"{option} names the folder" in capsys.readouterr().err.splitlines()[-1]


ROOT = Path(__file__).resolve().parents[3]


def test_linked_environment_is_not_emptied(tmp_path):
    there, place = tmp_path / "theirs", tmp_path / "here"
    (place / "scripts").mkdir(parents=True)
    there.mkdir()
    (there / "file").touch()
    for name in ("scripts/setup", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, place / name)
    (place / ".venv").symlink_to(there)
    ended = subprocess.run([place / "scripts" / "setup"], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("dardis: .venv is a link")
    assert (there / "file").exists()
