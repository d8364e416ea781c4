"""`KEY=VALUE` settings of a dispatcher: any frozen dataclass of choices, whole numbers and words is set the same way.

A field's kind says what it takes: a `StrEnum` one of its values, an `int` a whole number. `setting` says more: a word
for one number, the least number, or how a text is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, field, fields, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from dardis.model.errors import InputError
from dardis.model.numbers import whole_number
from dardis.model.suggestion import meant

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
