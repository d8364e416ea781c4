"""Packages whose names are found when they are used say the same to type checkers, to `import *` and to the program."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

FACES = ("dispatch", "node_manager", "task_manager", "task_manager.claims", "turns")


@pytest.mark.parametrize("name", FACES)
def test_lazy_imports_provide_the_names_that_type_checkers_see(name):
    package = import_module(f"dardis.{name}")
    seen = {
        alias.name: node.module
        for statement in ast.parse(Path(package.__file__).read_text()).body
        if isinstance(statement, ast.If)
        for node in ast.walk(statement)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == sorted(package.__all__)
    for one, home in seen.items():
        assert getattr(package, one) is getattr(import_module(home), one)
    with pytest.raises(AttributeError, match=f"module 'dardis.{name}' has no attribute 'nobody'"):
        package.nobody  # noqa: B018 (it is looked up)
