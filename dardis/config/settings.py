"""`KEY=VALUE` settings of dispatchers, as frozen dataclasses.

A `StrEnum` field takes one of its values, an `int` a whole number, unless `setting` states more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_type_hints

from dardis.model.choices import EventOrder, Expecting, ProfileRule, UnitsPerNode
from dardis.model.errors import InputError, suggestion
from dardis.model.numbers import whole_number
from dardis.model.platform import Platform
from dardis.model.target import Split

if TYPE_CHECKING:
    from typing import Self

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    SetUpKind = TypeVar("SetUpKind", bound=DataclassInstance)

MOST = (1 << 31) - 1


def setting(
    default: object = MISSING, *, key: bool = True, zero: str | None = None, least: int = 1,
    most: int | None = None, values: str | None = None,
    parse: Callable[[str], object] | None = None, about: str = "",
) -> Any:  # noqa: ANN401 (a dataclass field stands where its value will be)  # fmt: skip
    """Declare a field: without key, with a word for 0, with a minimum or maximum, or with a parser.

    `parse` raises ValueError; `values`: valid texts. `about`: Markdown.
    """
    told = {"key": key, "zero": zero, "least": least, "most": most, "values": values, "parse": parse, "about": about}
    return field(default=default, metadata=told)


@cache
def _hints(kind: type[DataclassInstance]) -> dict[str, Any]:
    return get_type_hints(kind)


def _keys(kind: type[DataclassInstance]) -> dict[str, Field[Any]]:
    return {f.name: f for f in fields(kind) if f.metadata.get("key", True)}


def known_settings(kind: type[DataclassInstance]) -> dict[str, str]:
    """Keys of `--set` with permitted values."""
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
    """Meaning of each key, from the nearest class or the choice."""
    found = {}
    for name in _keys(kind):
        declared = (vars(one).get("__dataclass_fields__", {}).get(name) for one in kind.__mro__)
        stated = [f.metadata["about"] for f in declared if f is not None and f.metadata.get("about")]
        words = _hints(kind)[name].__doc__ if issubclass(_hints(kind)[name], StrEnum) else ""
        found[name] = stated[0] if stated else " ".join((words or "").split())
    return found


def plain_settings(setup: DataclassInstance) -> dict[str, Any]:
    """Settings as for `--set`."""
    plain: dict[str, Any] = {}
    for name, f in _keys(type(setup)).items():
        value = getattr(setup, name)
        zero = f.metadata.get("zero")
        plain[name] = zero if zero and value == 0 else str(value) if isinstance(value, str | float) else value
    return plain


def with_settings(setup: SetUpKind, settings: Iterable[str]) -> SetUpKind:
    """Apply `KEY=VALUE` settings. Raises InputError."""
    known = known_settings(type(setup))
    hints = _hints(type(setup))
    keys = _keys(type(setup))
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            choices = ", ".join(f"{k}={v}" for k, v in known.items())
            found = f"unknown setting{suggestion(key, known)}" if equals else "no KEY=VALUE"
            raise InputError(f"--set {text}", found, f"one of {choices}")
        setup = replace(setup, **{key: _parsed(text, value, hints[key], keys[key], known[key])})
    return setup


def _parsed(text: str, value: str, kind: type, of: Field[Any], known: str) -> object:
    parse = of.metadata.get("parse")
    if parse is not None or issubclass(kind, StrEnum):
        try:
            return (parse or kind)(value)
        except ValueError:
            found = f"unknown value {value!r}{suggestion(value, known.split('|'))}"
            raise InputError(f"--set {text}", found, known) from None
    if value == of.metadata.get("zero"):
        return 0
    least, most = of.metadata.get("least", 1), of.metadata.get("most") or MOST
    try:
        return whole_number(value, least, most)
    except ValueError:
        word = f"{of.metadata['zero']}, or " if of.metadata.get("zero") else ""
        expected = f"{word}a whole number from {least} to {most}"
        raise InputError(f"--set {text}", f"{value!r} is out of range", expected) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnySetUp:
    """Dispatcher's settings. Field names are keys of `--set`."""

    asks_nodes: ClassVar[bool] = False
    """Whether task managers query node managers."""
    samples: ClassVar[bool] = False
    """Whether jobs may first query some nodes."""
    rounds: ClassVar[bool] = False
    """Whether each job has a round: rounds may overlap, and `dardis scale` measures them."""
    switches: ClassVar[bool] = False
    """Whether nodes may be shut down and booted."""
    obeys_shapes: ClassVar[bool] = False
    """Whether jobs may have shapes or alternatives."""

    shares_profile: ClassVar[bool] = False
    """Whether nodes may share a desired profile."""
    bears_failures: ClassVar[bool] = False
    """Whether nodes may fail and reservations may be made."""

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
    deadlines: str = setting("none", key=False)

    @property
    def expecting(self) -> Expecting | None:
        """Source of expected durations; None: unused."""
        return None

    @property
    def needs_deadlines(self) -> bool:
        """Whether all jobs need start windows."""
        return False

    @property
    def drawn(self) -> bool:
        """Whether start times are random."""
        return False

    @property
    def seeded(self) -> bool:
        """Whether schedules depend on the seed. If not, several seeds are one run."""
        return True

    @property
    def checks_starts_only(self) -> bool:
        """Whether earlier jobs may exceed a fallen hard profile (thesis 5.5)."""
        return False

    def checked(self) -> Self:
        """Settings, if consistent. Raises InputError."""
        return self

    def check_platform(self, platform: Platform) -> None:
        """Check requirements on the machine. Raises InputError."""
