"""Whatever a user meets is said in the docs: dispatchers, settings, figures, columns, pages, README's commands."""

import json
import re
from pathlib import Path

import pytest

from dardis.cli.main import run
from dardis.config.settings import known_settings
from dardis.registry import all_dispatchers

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = """name = "small"
[[nodes]]
count = 4
prefix = "n"
resources = { cores = 8 }
power = { idle_w = 100, core_w = 6.33, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }
"""
JOBS = "".join(f"{n} {10 * n} 0 50 4 -1 -1 4 100 -1 1 1 1 -1 1 1 -1 -1\n" for n in range(1, 10))


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "p.toml").write_text(PLATFORM)
    (folder / "t.swf").write_text(JOBS)
    command = ["simulate", f"{folder}/t.swf", "--platform", f"{folder}/p.toml", "--dispatcher", "dardis-late"]
    assert run([*command, "--out", f"{folder}/o", "--no-report"]) == 0
    return folder / "o"


def test_every_dispatcher_is_documented():
    rows = [line for line in page("dispatchers.md").splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row.split("|")[1])}
    assert named == {dispatcher.name for dispatcher in all_dispatchers()[0] if not dispatcher.origin}


def test_every_setting_is_documented():
    text = page("settings.md")
    known = {key for dispatcher in all_dispatchers()[0] for key, _ in known_settings(type(dispatcher.setup)).items()}
    assert not [key for key in known if not re.search(rf"[` ]{key}[`=]", text)]


def test_every_metric_is_documented(results):
    text = page("metrics.md")
    assert not [key for key in json.loads((results / "metrics.json").read_text()) if f"`{key}`" not in text]


@pytest.mark.parametrize("name", ["jobs.csv", "metrics_by.csv", "decisions.csv", "power.csv"])
def test_every_column_is_documented(results, name):
    text = page("formats.md") + page("metrics.md")
    columns = (results / name).read_text(encoding="utf-8").splitlines()[0].split(",")
    assert not [column for column in columns if not re.search(rf"\b{column}\b", text)]


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


def test_tests_have_at_most_60_000_lines():
    assert sum(path.read_bytes().count(b"\n") for path in (ROOT / "tests").rglob("*.py")) <= 60_000


def test_every_test_helper_is_documented():
    text = (ROOT / "tests" / "kit" / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "tests" / "kit").glob("*.py"))
