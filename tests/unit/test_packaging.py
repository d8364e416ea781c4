"""What is built and shipped, and that no import goes in a circle."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import grimp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build both; return the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, capture_output=True
    )
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def test_twine_reports_no_error(built):
    ended = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *built], check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.count("PASSED") == 2


def test_wheel_contains_exactly_the_packages(built):
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in ("dardis", "offline")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    names = zipfile.ZipFile(built[0]).namelist()
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_source_distribution_is_testable_and_contains_no_build_output(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "constraints.txt", "tests/conftest.py", "scripts/setup", "launch/mpirun", "mkdocs.yml"} <= names
    assert not {name.partition("/")[0] for name in names} & {".venv", "out", "dist", ".git", ".hypothesis"}


def test_constraints_cover_all_requirements():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines)
    pins = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    assert len(pins) == len(lines)
    asked = [Requirement(line) for extra in PROJECT["optional-dependencies"].values() for line in extra]
    asked += map(Requirement, PROJECT["dependencies"])
    for one in asked:
        if one.name not in ("dardis", "mpich"):
            assert one.specifier.contains(pins[canonicalize_name(one.name)]), one


def test_the_citation_names_the_work_that_dardis_builds_on():
    yaml = pytest.importorskip("yaml", exc_type=ImportError)

    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert cited["license"] == PROJECT["license"]
    assert cited["abstract"].rstrip(".") == PROJECT["description"]
    assert {"message", "title", "authors"} <= set(cited)
    assert len(cited["references"]) == 4
    for work in cited["references"]:
        assert {"type", "title", "authors"} <= set(work)
        assert all(person["family-names"] and person["given-names"] for person in work["authors"])


def copied():
    """What the image's recipe copies: files and folders of the repository."""
    lines = [line.split() for line in (ROOT / "Containerfile").read_text().splitlines()]
    return [name for words in lines if words[:1] == ["COPY"] for name in words[1:-1] if not name.startswith("--")]


def test_image_uses_existing_files_and_an_unprivileged_user(tmp_path):
    recipe = (ROOT / "Containerfile").read_text()
    for name in copied():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    # All that is called, in the recipe and by what it calls.
    called = set(re.findall(r"\./((?:scripts|launch)/[\w./-]+)", recipe))
    assert {"scripts/setup", "launch/demo"} <= called
    for name in [*called, "launch/mpirun"]:
        text = (tmp_path / name).read_text()
        assert (tmp_path / name).stat().st_mode & 0o111, name
        for other in re.findall(r"(?<![\w/])(?:\./)?((?:scripts|launch)/[\w./-]*\w)", text):
            assert (tmp_path / other).exists(), f"{name} names {other}"
    for module in re.findall(r"-m ([\w.]+)", recipe):
        assert (tmp_path / module.replace(".", "/")).with_suffix(".py").is_file()
    # The project can be installed from what is there.
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist"], cwd=tmp_path,
                   check=True, capture_output=True)  # fmt: skip
    # Nobody special runs it.
    users = re.findall(r"^USER (\w+)", recipe, re.MULTILINE)
    assert users
    assert users[-1] not in ("root", "0")


def test_image_build_context_contains_only_copied_files():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    assert {line.removeprefix("!/") for line in lines if line.startswith("!")} == set(copied())


@pytest.mark.parametrize("name", ["dardis", "offline", "scripts"])
def test_imports_have_no_cycles_through_packages(name):
    graph = grimp.build_graph(name, cache_dir=None)
    for imported in graph.find_modules_directly_imported_by(name):
        graph.remove_import(importer=name, imported=imported)  # dardis finds its names when they are used, not before
    circles = [
        (module, package)
        for module in graph.modules
        for package in graph.find_modules_directly_imported_by(module)
        if module.startswith(f"{package}.") and graph.chain_exists(importer=package, imported=module)
    ]
    assert circles == []
