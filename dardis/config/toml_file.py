"""TOML and JSON files as pydantic models; types of times and spans."""

from __future__ import annotations

import io
import re
import tomllib
from dataclasses import is_dataclass
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from dardis.model.errors import InputError
from dardis.model.files import Read, read_text
from dardis.model.moments import parse_utc
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64
from dardis.model.resources import Time


class Table(BaseModel):
    """TOML table or JSON object, without unknown keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


TableT = TypeVar("TableT", bound=Table)
FOLDER = "folder"
"""Validation context key of the folder for paths."""
_DEEPEST = 50
_LONG_NUMBER = re.compile(r"[0-9_]{4000}")
_WHOLE = "at most 64 bits, as in TOML"


def read_toml(path: Path, model: type[TableT], read: Read = Path.read_bytes) -> TableT:
    """Read a file as `model`, with paths relative to its folder. Raises InputError."""
    try:
        text = io.TextIOWrapper(io.BytesIO(read(path)), encoding="utf-8-sig").read()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "a TOML file") from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"is not TOML: {error}") from None
    except ValueError as error:  # invalid file name
        raise InputError(path, f"cannot be read ({error})", "a TOML file") from None
    try:
        content = tomllib.loads(text)
        _check_values(path, "", content)
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, f"is not TOML: {error}") from None
    except RecursionError:
        raise InputError(path, "is not TOML: tables or lists nested too deeply") from None
    except ValueError:  # Python refuses numbers of thousands of digits, and gives no place
        line = next(number for number, line in enumerate(text.split("\n"), 1) if _LONG_NUMBER.search(line))
        raise InputError(f"{path}:{line}", "a whole number of thousands of digits", _WHOLE) from None
    return checked_content(path, content, model)


def checked_content(path: Path, content: dict[str, Any], model: type[TableT]) -> TableT:
    """Validate content as if from `path`. Raises InputError."""
    try:
        return model.model_validate(content, context={FOLDER: path.parent}, by_alias=True, by_name=False)
    except ValidationError as error:
        raise _first_mistake(path, model, error) from None


def _check_values(path: Path, key: str, value: object, depth: int = 0) -> None:
    if isinstance(value, dict | list):
        if depth > _DEEPEST:
            raise RecursionError
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in parts:
            _check_values(path, _within(key, name), part, depth + 1)
    elif isinstance(value, int) and not LEAST_INT64 <= value <= LARGEST_INT64:
        raise InputError(f"{path}: {key}", f"a whole number of {value.bit_length()} bits", _WHOLE)


def _within(key: str, part: int | str) -> str:
    return f"{key}[{part}]" if isinstance(part, int) else f"{key}.{part}".lstrip(".")


def read_json(path: Path, model: type[TableT]) -> TableT:
    """Read a file as `model`. Raises InputError."""
    return checked_json(path, read_text(path), model)


def checked_json(path: Path, text: str, model: type[TableT]) -> TableT:
    """Validate JSON text. Raises InputError."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise _first_mistake(path, model, error) from None


def _first_mistake(path: Path, model: type[Table], error: ValidationError) -> InputError:
    mistakes = error.errors()
    # A misspelt key is both unknown and missing; the former is more helpful.
    unknown = [mistake for mistake in mistakes if mistake["type"] == "extra_forbidden"]
    return _input_error(path, model, (unknown or mistakes)[0])


def _input_error(path: Path, model: type[Table], mistake: ErrorDetails) -> InputError:
    location = mistake["loc"]
    key = reduce(_within, location, "")
    place = f"{path}: {key}" if key else path
    match mistake["type"]:
        case "extra_forbidden":
            return InputError(place, "unknown key", "one of " + ", ".join(_known_keys(model, location[:-1])))
        case "missing" if isinstance(location[-1], int):
            return InputError(place, "missing value")
        case "missing":
            return InputError(place, "missing key", "a table with " + ", ".join(_known_keys(model, location[:-1])))
        case "value_error":
            return InputError(place, str(mistake["ctx"]["error"]))
        case "json_invalid":
            return InputError(path, f"is not JSON: {mistake['ctx']['error']}")
        case "model_type" | "dataclass_type":
            return InputError(place, f"{mistake['input']!r}", "a table")
        case "too_short":
            return InputError(place, f"{mistake['input']!r}", f"at least {mistake['ctx']['min_length']}")
        case _:
            return InputError(place, f"{mistake['input']!r}", mistake["msg"].removeprefix("Input should be "))


def _known_keys(table: type, location: tuple[int | str, ...]) -> list[str]:
    for part in location:
        if isinstance(part, str) and part in (keys := _keys(table)):  # keys chosen by users are no fields
            table = _table_within(keys[part][1]) or table
    return [key for key, _ in _keys(table).values()]


def _keys(table: type) -> dict[str, tuple[str, object]]:
    if issubclass(table, BaseModel):
        return {name: (info.alias or name, info.annotation) for name, info in table.model_fields.items()}
    return {name: (name, annotation) for name, annotation in get_type_hints(table).items()}


def _table_within(annotation: object) -> type | None:
    if isinstance(annotation, type) and (issubclass(annotation, Table) or is_dataclass(annotation)):
        return annotation
    return next(filter(None, map(_table_within, get_args(annotation))), None)


def _moment(value: object) -> int:
    try:
        return parse_utc(value.isoformat() if isinstance(value, datetime) else str(value))
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r}; expected a moment of UTC such as 2023-07-03T00:00Z") from None


Moment = Annotated[int, BeforeValidator(_moment)]


class SpanTable(Table):
    """Span `[start_s, end_s)` on the trace's clock."""

    start_s: Time = Field(description="Start of the span, s on the trace's clock.")
    end_s: Time = Field(description="End of the span: the first second after it.")

    @model_validator(mode="after")
    def _has_length(self) -> SpanTable:
        if self.end_s <= self.start_s:
            raise ValueError(f"end_s {self.end_s} is not after start_s {self.start_s}")
        return self
