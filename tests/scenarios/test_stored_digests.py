"""Every dispatcher makes the schedules that it made before, of a generated trace, and a plan has the same files."""

import pytest

from scripts.lab.schedule_digests.cases import all_cases
from scripts.lab.schedule_digests.play import DigestResult, dardis, difference, play, read_kept, write_kept
from scripts.lab.schedule_digests.sites import GENERATED, prepare

CASES = {case.name: case for case in all_cases([GENERATED])}
PLAN = next(name for name, case in CASES.items() if case.plans)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("digests")
    prepare(GENERATED, made, made, dardis)
    return made


@pytest.fixture(scope="module")
def plan(folder):
    return play(CASES[PLAN], folder, folder)


LONG = {f"generated/{name}/hard" for name in ("pcp14", "cp-eurora", "replan solver=on", "hcp19", "portfolio light=0")}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in CASES])
def test_digests_are_unchanged(folder, plan, name):
    found = plan if name == PLAN else play(CASES[name], folder, folder)
    assert difference(found, read_kept()[name]) is None
    if name != PLAN:
        dardis(["audit", str(folder / "out" / name.replace("/", "-"))])


def test_changed_results_differ_from_stored_digests(tmp_path):
    kept = {"a": DigestResult("12", 3, 4)}
    write_kept(kept, tmp_path / "kept.csv")
    assert read_kept(tmp_path / "kept.csv") == kept
    assert difference(DigestResult("12", 3, 4), kept["a"]) is None
    assert difference(DigestResult("13", 3, 4), kept["a"]) == "digest 13, kept is 12"
    assert difference(DigestResult("12", 5, 4), kept["a"]) == "messages 5, kept is 3"
    assert difference(DigestResult("12", 3, 4), None) == "is not kept"


def test_stored_digests_cover_exactly_all_cases():
    assert set(read_kept()) == {case.name for case in all_cases()}
