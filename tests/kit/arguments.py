"""The command line that states a model's values, as a user would write it."""

from __future__ import annotations

from pydantic import BaseModel

from dardis.config.option import OptionField, option_fields


def arguments_of(spec: BaseModel) -> list[str]:
    """Command-line arguments for a model's values, without those that are the default."""
    options: list[str] = []
    positional: list[str] = []
    for one in option_fields(type(spec)):
        value = getattr(spec, one.name)
        if one.about.is_argument:
            positional.append(str(value))
        elif one.info.is_required() or value != one.default:
            options += _stating(one, value)
    return [*options, "--", *positional]


def _stating(one: OptionField, value: object) -> list[str]:
    if one.kind is bool:
        return [one.option] if value != one.default else []
    values = value if one.is_list and isinstance(value, tuple) else (value,)
    return [f"{one.option}={one.text_of(each)}" for each in values]
