"""What scripts/setup leaves alone."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_an_environment_behind_a_link_is_not_emptied(tmp_path):
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
