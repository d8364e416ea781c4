"""Command options from model fields or shared by commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from dardis.config import option_texts
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from dardis.config.option import OptionField

Command = Callable[..., object]
AnyCommand = TypeVar("AnyCommand", bound=Command)
_SOURCE = "_options_of"
NO_HELP: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True)
class CommandGroup:
    """Commands by second word, and help for the first."""

    help: str
    commands: dict[str, Command]


@dataclass(frozen=True)
class _OptionSource:
    models: tuple[str, ...]
    omit: frozenset[str]
    unstated: bool
    optional: frozenset[str]
    helps: Mapping[str, str]


def options_of(
    *models: str, omit: frozenset[str] = frozenset(), unstated: bool = False,
    optional: frozenset[str] = frozenset(), helps: Mapping[str, str] = NO_HELP,
) -> Callable[[AnyCommand], AnyCommand]:  # fmt: skip
    """Return a decorator for a command with option values by field as first argument (see `derive_command`).

    Models are imported on use. `unstated`: omit unset options. `optional`: fields that may be missing. `helps`: other
    help texts by field.
    """

    def decorator(command: AnyCommand) -> AnyCommand:
        setattr(command, _SOURCE, _OptionSource(models, omit, unstated, optional, helps))
        return command

    return decorator


def derive_command(command: Command) -> Command:
    """Return the command for Typer: options of its models, then its own."""
    source: _OptionSource | None = getattr(command, _SOURCE, None)
    if source is None:
        return command
    from dardis.config.option import option_fields

    fields = {one.name: one for name in source.models for one in option_fields(_model(name))}
    fields = {name: one for name, one in fields.items() if name not in source.omit}
    own = [*inspect.signature(command, eval_str=True).parameters.values()][1:]
    parameters = [_parameter(one, source) for one in fields.values()]
    parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)

    def called(**values: Any) -> object:  # noqa: ANN401 (each its own kind)
        stated = {name: _value_of(one, values.pop(name)) for name, one in fields.items()}
        return command({name: value for name, value in stated.items() if value is not None}, **values)

    called.__name__, called.__doc__, called.__module__ = command.__name__, command.__doc__, command.__module__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _model(name: str) -> type[BaseModel]:
    module, _, model = name.partition(":")
    found: type[BaseModel] = getattr(import_module(module), model)
    return found


def complete_dispatcher(incomplete: str) -> list[str]:
    """Complete the last dispatcher in a comma-separated list."""
    from dardis.registry import dispatcher_names

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in dispatcher_names() if name.startswith(last)]


def _parameter(one: OptionField, source: _OptionSource) -> inspect.Parameter:
    about = one.about
    by_typer = one.kind in (str, bool, Path) or one.is_list
    kind: Any = list[str] if one.is_list else one.kind if by_typer else str
    texts: dict[str, Any] = {"metavar": about.metavar}
    texts["help"] = source.helps.get(one.name, about.off if one.default is True else about.help)
    default: Any = None
    if one.kind is bool:
        default = False
    elif one.info.is_required() and one.name not in source.optional:
        default = inspect.Parameter.empty
    elif not (one.is_list or one.default is None):
        text = one.text_of(one.default)
        default = None if source.unstated else text
        texts["show_default"] = text
    if not by_typer:
        texts["parser"] = one.read
    if about.completes == "dispatcher":
        texts["autocompletion"] = complete_dispatcher
    declared = (
        typer.Argument(**texts) if about.is_argument else typer.Option(*filter(None, (one.option, about.also)), **texts)
    )
    kind = kind if default is not None else kind | None
    return inspect.Parameter(
        one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared]
    )


def _value_of(one: OptionField, value: object) -> object:
    if one.kind is bool:
        return not one.default if value else None
    return tuple(value) if isinstance(value, list) else value


TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help=option_texts.TRACE)]
NodeNames = Annotated[Path | None, typer.Option(metavar="FILE", help=option_texts.NODE_NAMES)]
Strict = Annotated[bool, typer.Option("--strict", help=option_texts.STRICT)]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]


def check_platform_out(out: Path, force: bool) -> None:
    """Raise InputError unless `out` can be a platform file, new or with `force`."""
    if out.suffix != ".toml":
        raise InputError(out, "no name of a platform file", "a name that ends in .toml")
    if not out.parent.is_dir():
        raise InputError(out, "its folder does not exist", "a file in a folder that exists")
    check_absent(out, force)


def check_absent(out: Path, force: bool) -> None:
    """Raise InputError if a file exists, unless `force`."""
    if out.exists() and not force:
        raise InputError(out, "exists", "another name, or --force to replace it")
