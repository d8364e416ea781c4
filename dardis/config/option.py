"""Options: model fields, declared once for the command line, TOML, Python and the docs.

    task_managers: Annotated[int, Field(ge=1), Option("Task managers that share the jobs.", "N")] = 1

The name gives key and keyword (`task_managers`), and option (`--task-managers`). A final underscore avoids a Python
keyword: `from_` has the key `from`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache, cached_property
from os import PathLike, fspath
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from dardis.config.option_texts import choice_parser, decimal_parser, whole_number_parser
from dardis.config.toml_file import FOLDER
from dardis.model.errors import InputError
from dardis.model.files import is_file


def key_of(name: str) -> str:
    """TOML key of a field."""
    return name.rstrip("_")


@dataclass(frozen=True)
class Option:
    """Field's help."""

    help: str
    metavar: str | None = None
    name: str | None = None
    """If different from the field (`--set`)."""
    detail: str = ""
    off: str = ""
    """Help of `--no-KEY`."""
    completes: str = ""
    also: str = ""
    is_argument: bool = False


@dataclass(frozen=True)
class Reader:
    """Reads a field from a text, and validates file values.

    `read(place, text)` raises InputError. `words`: special values, such as (0, "flat").
    """

    read: Callable[[str, str], object]
    words: tuple[tuple[object, str], ...] = ()
    list_of: tuple[type, ...] = ()
    """Element types; empty: a single value."""

    def text_of(self, value: object) -> str:
        """Text that `read` accepts."""
        if self.list_of and isinstance(value, tuple | list):
            return ",".join(map(self._text, value))
        return self._text(value)

    def _text(self, value: object) -> str:
        if isinstance(value, date):
            return value.isoformat()
        return next((word for known, word in self.words if type(value) is type(known) and value == known), str(value))

    def validated(self, value: object, _folder: Path | None) -> object:
        """Validate a field value. Raises ValueError."""
        if value is None:
            return None
        if self.list_of and not (isinstance(value, list | tuple) and all(map(self._is_one, value))):
            kinds = "whole numbers" if self.list_of == (int,) else "whole numbers, texts and dates"
            raise ValueError(f"{value!r}; expected a list of {kinds}")
        try:
            return self.read("", self.text_of(value))
        except InputError as error:
            raise ValueError(str(error).removeprefix(": ")) from None

    def _is_one(self, value: object) -> bool:
        return isinstance(value, self.list_of) and not isinstance(value, bool) and "," not in str(value)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def before(value: object, info: core_schema.ValidationInfo) -> object:
            return self.validated(value, (info.context or {}).get(FOLDER))

        return core_schema.with_info_before_validator_function(before, handler(source))


def reader_of(read: Callable[[str], object], *words: tuple[object, str]) -> Reader:
    """Reader based on a function that raises ValueError."""

    def checked(place: str, text: str) -> object:
        try:
            return read(text)
        except ValueError as error:
            raise InputError(place, str(error)) from None

    return Reader(checked, words)


def path_of(place: str, value: object) -> Path:
    """Convert to a path. Raises InputError for other types."""
    if isinstance(value, str | PathLike) and isinstance(path := fspath(value), str):
        if "\0" in path:
            raise InputError(place, repr(path), "a path without NUL")
        return Path(path)
    raise InputError(place, f"is a {type(value).__name__}", "a path")


class FileReader(Reader):
    """Reads a path; in a file, relative to the file's folder."""

    def __init__(self, read: Callable[[str, str], object] = path_of) -> None:
        super().__init__(read)

    def text_of(self, value: object) -> Any:  # noqa: ANN401 (`read` names the kind of a value that is no path)
        """Unchanged."""
        return value

    def validated(self, value: object, folder: Path | None) -> object:
        """Validate as `Reader.validated`."""
        if value is None or isinstance(value, Path):
            return value
        if not isinstance(value, str) or not value:
            raise ValueError(f"{value!r}; expected a file")
        return Path(value) if folder is None else folder / value


class RuleReader(FileReader):
    """Reads a word, or a path as `FileReader`."""

    def __init__(self) -> None:
        super().__init__(lambda place, value: str(path_of(place, value)))

    def validated(self, value: object, folder: Path | None) -> object:
        """Validate as `Reader.validated`."""
        if value is not None and not (isinstance(value, str) and value):
            raise ValueError(f"{value!r}; expected a rule, or a file")
        if folder is not None and isinstance(value, str) and is_file(table := folder / value):
            return str(table)
        return value


FILE = FileReader()
RULE_OR_FILE = RuleReader()


def enum_reader(kind: type[StrEnum]) -> Reader:
    """Reader of enumeration words."""
    return Reader(lambda place, text: choice_parser(place, kind)(text))


def _read_switch(place: str, value: object) -> bool:
    if value is True or value is False:
        return value
    raise InputError(place, repr(value), "True or False")


SpecT = TypeVar("SpecT", bound=BaseModel)


@dataclass(frozen=True)
class OptionField:
    """Model field with `Option`."""

    name: str
    info: FieldInfo
    about: Option

    @property
    def key(self) -> str:
        """TOML key."""
        return key_of(self.name)

    @property
    def option(self) -> str:
        """Command-line option."""
        negated = "no-" if self.default is True else ""
        return self.about.name or f"--{negated}{self.key.replace('_', '-')}"

    @property
    def default(self) -> Any:  # noqa: ANN401 (each its own kind)
        """Default value."""
        return None if self.info.is_required() else self.info.get_default(call_default_factory=True)

    @cached_property
    def kind(self) -> Any:  # noqa: ANN401 (a type form)
        """Value type without None."""
        kind = self.info.annotation
        if get_origin(kind) in (Union, UnionType):
            kinds = [one for one in get_args(kind) if one is not NoneType]
            return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007 (made at run time)
        return kind

    @property
    def is_list(self) -> bool:
        """Whether the option repeats for several values."""
        return self.reader is None and get_origin(self.kind) is tuple and Ellipsis in get_args(self.kind)

    @property
    def reader(self) -> Reader | None:
        """Special reader, or None."""
        return next((one for one in self.info.metadata if isinstance(one, Reader)), None)

    def read(self, value: object) -> Any:  # noqa: ANN401 (each its own kind)
        """Read a value. Raises InputError."""
        if value is None:
            return self.default
        if self.kind is bool:
            return _read_switch(self.option, value)
        if (reader := self.reader) is not None:
            return reader.read(self.option, reader.text_of(value))
        if self.kind is int:
            return whole_number_parser(self.option, **self._limits())(str(value))
        if self.kind is float:
            return decimal_parser(self.option, **self._limits())(str(value))
        if not self.is_list:
            return str(value)
        return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)

    def _limits(self) -> dict[str, Any]:
        limits: dict[str, Any] = {}
        for one in self.info.metadata:
            if hasattr(one, "ge"):
                limits["least"] = one.ge
            elif hasattr(one, "le"):
                limits["most"] = one.le
            elif not isinstance(one, Option):
                raise TypeError(f"{self.name}: an option takes only the limits ge and le, not {one}")
        return limits

    def text_of(self, value: object) -> str:
        """Command-line text of a value."""
        return self.reader.text_of(value) if self.reader is not None else str(value)


@cache
def option_fields(model: type[BaseModel]) -> tuple[OptionField, ...]:
    """Fields with `Option`, required fields first."""
    found = [
        OptionField(name, info, about)
        for name, info in model.model_fields.items()
        for about in info.metadata
        if isinstance(about, Option)
    ]
    return tuple(sorted(found, key=lambda one: not one.info.is_required()))


def spec_of(model: type[SpecT], values: Mapping[str, object]) -> SpecT:
    """Construct the model from validated values. Raises TypeError."""
    if unknown := values.keys() - model.model_fields.keys():
        raise TypeError(f"{model.__name__} has no {', '.join(sorted(unknown))}")
    return model.model_construct(None, **values)


def read_options(model: type[BaseModel], stated: Mapping[str, object]) -> dict[str, Any]:
    """Read the option fields in `stated`. Raises InputError."""
    return {one.name: one.read(stated[one.name]) for one in option_fields(model) if one.name in stated}
