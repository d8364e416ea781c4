"""`KEY=VALUE` settings of a dispatcher: frozen dataclasses of choices, whole numbers and words, and their base class.

A field's kind says what it takes: a `StrEnum` one of its values, an `int` a whole number. `setting` says more: a word
for one number, the least number, or how a text is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_type_hints

from dardis.model.choices import EventOrder, Expecting, ProfileRule, UnitsPerNode
from dardis.model.errors import InputError, meant
from dardis.model.numbers import whole_number
from dardis.model.platform import Platform
from dardis.model.target import Split

if TYPE_CHECKING:
    from typing import Self

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    SetUpKind = TypeVar("SetUpKind", bound=DataclassInstance)

MOST = (1 << 31) - 1
"""The largest number that a setting takes."""


def setting(
    default: object = MISSING, *, key: bool = True, zero: str | None = None, least: int = 1, values: str | None = None,
    parse: Callable[[str], object] | None = None, about: str = "",
) -> Any:  # noqa: ANN401 (a dataclass field stands where its value will be)  # fmt: skip
    """Declare a field: no key of `--set` at all, a word that stands for 0, the least number, or texts and their reader.

    `parse` raises ValueError for what it does not know; `values` lists for people what it does. `about` is the meaning
    in Markdown, for the docs.
    """
    told = {"key": key, "zero": zero, "least": least, "values": values, "parse": parse, "about": about}
    return field(default=default, metadata=told)


@cache
def _hints(kind: type[DataclassInstance]) -> dict[str, Any]:
    """What each field is; to find that out takes milliseconds."""
    return get_type_hints(kind)


def _keys(kind: type[DataclassInstance]) -> dict[str, Field[Any]]:
    return {f.name: f for f in fields(kind) if f.metadata.get("key", True)}


def known_settings(kind: type[DataclassInstance]) -> dict[str, str]:
    """Every key of `--set` for set-ups of this kind, with the values it takes, for people."""
    hints = _hints(kind)
    known = {}
    for name, f in _keys(kind).items():
        zero = f.metadata.get("zero")
        values = f.metadata.get("values") or (
            "|".join(hints[name]) if issubclass(hints[name], StrEnum) else f"{zero}|N" if zero else "N"
        )
        known[name] = values
    return known


def meanings(kind: type[DataclassInstance]) -> dict[str, str]:
    """What every key of `--set` means, in Markdown.

    The nearest class that declares the key with a meaning says it, or else the docstring of the key's choice.
    """
    found = {}
    for name in _keys(kind):
        declared = (vars(one).get("__dataclass_fields__", {}).get(name) for one in kind.__mro__)
        stated = [f.metadata["about"] for f in declared if f is not None and f.metadata.get("about")]
        words = _hints(kind)[name].__doc__ if issubclass(_hints(kind)[name], StrEnum) else ""
        found[name] = stated[0] if stated else " ".join((words or "").split())
    return found


def plain_settings(setup: DataclassInstance) -> dict[str, Any]:
    """The settings as plain values, by key, as `--set` takes them."""
    plain: dict[str, Any] = {}
    for name, f in _keys(type(setup)).items():
        value = getattr(setup, name)
        zero = f.metadata.get("zero")
        plain[name] = zero if zero and value == 0 else str(value) if isinstance(value, str | float) else value
    return plain


def with_settings(setup: SetUpKind, settings: Iterable[str]) -> SetUpKind:
    """Return the set-up with `KEY=VALUE` settings applied; InputError lists the known keys or values."""
    known = known_settings(type(setup))
    hints = _hints(type(setup))
    keys = _keys(type(setup))
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            choices = ", ".join(f"{k}={v}" for k, v in known.items())
            found = f"unknown setting{meant(key, known)}" if equals else "no KEY=VALUE"
            raise InputError(f"--set {text}", found, f"one of {choices}")
        setup = replace(setup, **{key: _parsed(text, value, hints[key], keys[key], known[key])})
    return setup


def _parsed(text: str, value: str, kind: type, of: Field[Any], known: str) -> object:
    parse = of.metadata.get("parse")
    if parse is not None or issubclass(kind, StrEnum):
        try:
            return (parse or kind)(value)
        except ValueError:
            found = f"unknown value {value!r}{meant(value, known.split('|'))}"
            raise InputError(f"--set {text}", found, known) from None
    if value == of.metadata.get("zero"):
        return 0
    least = of.metadata.get("least", 1)
    try:
        return whole_number(value, least, MOST)
    except ValueError:
        word = f"{of.metadata['zero']}, or " if of.metadata.get("zero") else ""
        expected = f"{word}a whole number from {least} on"
        raise InputError(f"--set {text}", f"{value!r} is out of range", expected) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnySetUp:
    """The settings of a dispatcher. Field names are the keys of `--set`."""

    asks_nodes: ClassVar[bool] = False
    """Whether task managers ask node managers, which may be spread over ranks, and sum their offers up a tree."""
    samples: ClassVar[bool] = False
    """Whether jobs may ask some nodes first instead of all."""
    rounds: ClassVar[bool] = False
    """Whether a job asks and is answered by itself: then rounds may overlap, and `dardis scale` measures them."""
    switches: ClassVar[bool] = False
    """Whether nodes may be shut down and booted under it."""
    obeys_shapes: ClassVar[bool] = False
    """Whether jobs may have parts, exact or neighbouring nodes, or alternatives."""

    bears_failures: ClassVar[bool] = False
    """Whether nodes may fail, and reservations be made, while it decides."""

    units_per_node: UnitsPerNode = UnitsPerNode.PACK
    profile: ProfileRule = ProfileRule.SOFT
    profile_split: Split = Split.PROPORTIONAL
    event_order: EventOrder = EventOrder.BATCHED
    unit_cores: int = setting(
        0,
        zero="node",
        about="Cores of a unit of a job that asks for processors. `node`: as few units as the cores of its nodes"
        " allow.",
    )
    about: str = setting("", key=False)
    """What it does and where it comes from, in one line."""
    deadlines: str = setting("none", key=False)
    """The deadline rule when none is asked for (not a key of `--set`: see `--deadlines`)."""

    @property
    def expecting(self) -> Expecting | None:
        """Where the expected durations of jobs come from; None: nobody goes by them."""
        return None

    @property
    def needs_deadlines(self) -> bool:
        """Whether it goes by windows of all jobs."""
        return False

    @property
    def drawn(self) -> bool:
        """Whether start times are drawn: then nobody can say what another start would have been."""
        return False

    @property
    def seeded(self) -> bool:
        """Whether the seed has a say in its schedules: where it has none, several seeds are one run.

        Nobody knows better of a set-up that says nothing.
        """
        return True

    @property
    def checks_starts_only(self) -> bool:
        """Whether a hard desired profile may be exceeded by jobs that started before it fell (thesis 5.5)."""
        return False

    def checked(self) -> Self:
        """The set-up, if its settings go together. Raises InputError."""
        return self

    def check_platform(self, platform: Platform) -> None:
        """See that the machine has what the settings need. Raises InputError."""
