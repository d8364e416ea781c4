"""The tables of settings (`--set KEY=VALUE`), from the set-ups that declare them."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from dardis.config.settings import known_settings, meanings, plain_settings
from dardis.model.choices import Choice
from dardis.registry import BUILT_IN_DISPATCHERS


def setting_rows(kind: type[Any], names: list[str]) -> list[list[str]]:
    """The head and a row for each setting and each value that has a meaning.

    Without names these are the settings that the class declares and its bases do not.
    """
    inherited = {key for base in kind.__bases__ if is_dataclass(base) for key in known_settings(base)}
    about = meanings(kind)
    rows = [["key", "values", "default", "meaning"]]
    for name in names or [key for key in about if key not in inherited]:
        choice = get_type_hints(kind)[name]
        words = [*choice] if issubclass(choice, Choice) and all(one.about for one in choice) else []
        rows.append([f"`{name}`", "" if words else _values(kind, name), _default(kind, name), about[name]])
        rows += [["", f"`{word}`", "", word.about] for word in words]
    return rows


def _values(kind: type[Any], name: str) -> str:
    words = known_settings(kind)[name].split("|")
    if len(words) == 1 and words != ["N"]:
        return words[0]
    of = next(one for one in fields(kind) if one.name == name).metadata
    numbers = f"from {of.get('least', 1)}" + (f" to {of['most']}" if of.get("most") else "")
    return ", ".join(numbers if word == "N" else f"`{word}`" for word in words)


def _default(kind: type[Any], name: str) -> str:
    """The default of most dispatchers, then those of the others, each with its dispatchers."""
    found: dict[str, list[str]] = {}
    for dispatcher in (one for one in BUILT_IN_DISPATCHERS.values() if isinstance(one.setup, kind)):
        if name in (stated := plain_settings(dispatcher.setup)):
            found.setdefault(f"`{stated[name]}`", []).append(f"`{dispatcher.name}`")
    if not found:
        default = next(one for one in fields(kind) if one.name == name).default
        return "" if default is MISSING else f"`{default}`"
    usual, *others = sorted(found, key=lambda value: -len(found[value]))
    return "; ".join([usual, *(f"{value} for {', '.join(found[value])}" for value in others)])
