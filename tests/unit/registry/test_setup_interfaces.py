"""A set-up answers what is asked of it: nobody looks at its class, and so others may bring theirs."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def questions(source: str) -> list[int]:
    """The lines of calls of `isinstance` and `issubclass` with a set-up, and of comparisons of a set-up's type."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in {"isinstance", "issubclass"} and any("SetUp" in ast.unparse(arg) for arg in node.args):
                found.append(node.lineno)
        elif isinstance(node, ast.MatchClass) and ast.unparse(node.cls).endswith("SetUp"):
            found.append(node.pattern.lineno if hasattr(node, "pattern") else 0)
        elif isinstance(node, ast.Compare) and any("SetUp" in ast.unparse(one) for one in node.comparators):
            found.append(node.lineno)
    return found


def lookups(source: str) -> list[int]:
    """The lines where a name is looked for among set-ups of one class, or where one of them is taken by name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            found += [node.lineno for one in node.comparators if _is_setups(one)]
        elif isinstance(node, ast.Subscript) and _is_setups(node.value):
            found.append(node.lineno)
    return found


def _is_setups(node: ast.AST) -> bool:
    return ast.unparse(node).rpartition(".")[2] in {"SETUPS", "LATE_SETUPS", "CENTRAL_SETUPS"}


@pytest.mark.parametrize("package", ["dardis", "offline"])
def test_setups_are_looked_up_by_name_in_the_registry_only(package):
    begun = {ROOT / "offline" / "planner" / "searches.py", ROOT / "offline" / "loop" / "past_day.py"}
    for path in (ROOT / package).rglob("*.py"):
        if ROOT / "dardis" / "registry" not in path.parents and path not in begun:
            assert lookups(path.read_text()) == [], path


@pytest.mark.parametrize(
    "source", ["name in SETUPS", "name not in dispatch.CENTRAL_SETUPS", "LATE_SETUPS[name].search"]
)
def test_setup_lookup_by_name_is_detected(source):
    assert lookups(source) == [1]


@pytest.mark.parametrize("package", ["dardis", "offline", "scripts"])
def test_no_module_checks_the_class_of_a_setup(package):
    files = [*(ROOT / package).rglob("*.py"), *(path for path in (ROOT / package).iterdir() if path.suffix == "")]
    for path in files:
        if path.suffix == ".py" or (path.is_file() and path.read_text().startswith("#!/usr/bin/env python")):
            assert questions(path.read_text()) == [], path


@pytest.mark.parametrize(
    "source", ["isinstance(setup, LateSetUp)", "issubclass(kind, (A, CentralSetUp))", "type(setup) is SetUp"]
)
def test_class_check_of_a_setup_is_detected(source):
    assert questions(source) == [1]
