"""The table in docs/formats.md that says which dispatcher does what leaves none of ours out, and says what is so."""

from __future__ import annotations

from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

import pytest

from dardis.dispatch import MODEL_SETUPS
from dardis.registry import find_dispatcher
from dardis.registry.names import _KINDS, BUILT_IN_DISPATCHERS

FORMATS = Path(__file__).parents[3] / "docs" / "formats.md"


def rows() -> list[tuple[list[str], list[str]]]:
    """The names of each row, and its other cells."""
    _, _, text = FORMATS.read_text().partition("### Which dispatcher does what")
    table = [line.strip("| ").split(" | ") for line in text.partition("\n### ")[0].splitlines() if line[:1] == "|"][2:]
    return [([word.strip("`,") for word in cells[0].split()], cells[1:]) for cells in table]


@pytest.mark.parametrize("name", BUILT_IN_DISPATCHERS)
def test_each_dispatcher_is_in_one_row_that_says_what_its_set_up_does(name: str) -> None:
    ((_, cells),) = [row for row in rows() if any(fnmatchcase(name, pattern) for pattern in row[0])]
    _, closed, reservations, failures, shapes, solve = cells
    setup = find_dispatcher(name, ()).setup
    assert failures == ("yes" if setup.bears_failures else "no")
    assert shapes == ("yes" if setup.obeys_shapes else "no")
    assert reservations == ("with all others" if setup.asks_nodes else "apart")
    assert (solve != "–") == (name in MODEL_SETUPS)
    if name in MODEL_SETUPS:
        assert closed.startswith("planned" if MODEL_SETUPS[name].keeps_closed else "not considered")


@pytest.mark.parametrize(("module", "setups", "names"), [(row[0], row[1], row[3]) for row in _KINDS])
def test_the_names_of_a_kind_are_those_of_its_set_ups(module: str, setups: str, names: tuple[str, ...]) -> None:
    assert [*names] == [*getattr(import_module(module), setups)]
