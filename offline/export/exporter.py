"""What a format is: a plan in, a text out. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from offline.folder.plan import PlanFolder


class Export(NamedTuple):
    """A text, and what whoever uses it must know: one line each."""

    text: str
    notes: tuple[str, ...] = ()


Exporter: TypeAlias = Callable[[PlanFolder, list[str]], Export]
"""Makes the text of a plan, given the names of all nodes as the tool knows them."""


class Format(NamedTuple):
    """A format that can be asked for."""

    export: Exporter
    what: str
    is_program: bool = False
    can_be_checked: bool = False
    """Whether it can be played on the days before the plan."""
