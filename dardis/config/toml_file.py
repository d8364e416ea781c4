"""Reads a TOML file into a pydantic model, and promises that any mistake in it becomes one InputError."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from dardis.model.errors import InputError


class Table(BaseModel):
    """A TOML table: unknown keys and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


TableT = TypeVar("TableT", bound=Table)


def read_toml(path: Path, model: type[TableT]) -> TableT:
    """Return the file as `model`; InputError names the file, the key and what was expected."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(path, f"is no TOML: {error}") from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        mistakes = error.errors()
        # A misspelt key is both unknown and missing: the first says more.
        unknown = [mistake for mistake in mistakes if mistake["type"] == "extra_forbidden"]
        raise _first_mistake(path, model, (unknown or mistakes)[0]) from None


def _first_mistake(path: Path, model: type[Table], mistake: ErrorDetails) -> InputError:
    location = mistake["loc"]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    place = f"{path}: {key}" if key else path
    match mistake["type"]:
        case "extra_forbidden":
            return InputError(place, "unknown key", "one of " + ", ".join(_known_keys(model, location[:-1])))
        case "missing":
            return InputError(place, "missing key", "a table with " + ", ".join(_known_keys(model, location[:-1])))
        case "value_error":
            return InputError(place, str(mistake["ctx"]["error"]))
        case "model_type":
            return InputError(place, f"{mistake['input']!r}", "a table")
        case _:
            return InputError(place, f"{mistake['input']!r}", mistake["msg"].removeprefix("Input should be "))


def _known_keys(model: type[Table], location: tuple[int | str, ...]) -> list[str]:
    """Keys of the table at `location`, counted from `model`."""
    for part in location:
        if isinstance(part, str):
            model = _table_within(model.model_fields[part].annotation)
    return list(model.model_fields)


def _table_within(annotation: object) -> type[Table]:
    """The table that an annotation such as `list[Nodes]` or `Power | None` speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next(_table_within(inner) for inner in get_args(annotation) if inner is not type(None))
