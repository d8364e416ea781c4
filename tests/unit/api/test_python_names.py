"""The stable names: each is there and typed, none is looked for before it is used, and the house doesn't use them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dardis

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", dardis.__all__)
def test_every_public_name_exists_and_is_documented(name):
    found = getattr(dardis, name)
    assert name in dir(dardis)
    assert name == "__version__" or len(found.__doc__.splitlines()[0]) > 15


def test_type_checkers_see_the_same_names_and_none_is_that_of_a_package():
    tree = ast.parse((ROOT / "dardis" / "__init__.py").read_text())
    seen = {
        (node.module, alias.name)
        for statement in tree.body
        if isinstance(statement, ast.If)
        for node in statement.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {(home, name) for home, names in dardis._HOMES.items() for name in names}
    assert {name for _, name in seen} | {"__version__"} == {*dardis.__all__}
    assert (ROOT / "dardis" / "py.typed").exists()
    packages = {path.name for path in (ROOT / "dardis").iterdir() if path.is_dir()}
    assert packages.isdisjoint(dardis.__all__)


def test_import_loads_no_further_modules():
    code = "import sys, dardis; print([m for m in sys.modules if m.startswith(('dardis.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "[]\n"
