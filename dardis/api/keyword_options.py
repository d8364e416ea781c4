"""Options of the Python functions."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from keyword import iskeyword
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from dardis.api.plain import plain_value, setting_text, setting_texts
from dardis.api.platforms import Platform, as_platform
from dardis.api.traces import Trace, as_trace
from dardis.config.option import OptionField, option_fields, read_options, spec_of
from dardis.config.run_spec import RunSpec
from dardis.config.settings import known_settings
from dardis.model.choices import ProfileRule
from dardis.model.errors import InputError, suggestion
from dardis.registry import Dispatcher, find_dispatcher, resolve_dispatcher
from dardis.runs.run_objects import Objects

if TYPE_CHECKING:
    from pandas import DataFrame

NOWHERE: Final = Path(os.devnull)
_PARAMETERS: Final = frozenset({"trace", "platform", "dispatcher", "settings"})
Function = TypeVar("Function", bound=Callable[..., Any])


def keyword_of(one: OptionField) -> str:
    """Option's keyword: its key, with an underscore after reserved words."""
    return one.key + "_" * iskeyword(one.key)


def keywords_of(model: type[BaseModel], omit: frozenset[str]) -> dict[str, OptionField]:
    """Keywords of a model's options."""
    return {keyword_of(one): one for one in option_fields(model) if one.name not in omit}


def with_keywords_of(*models: type[BaseModel], omit: frozenset[str] = _PARAMETERS) -> Callable[[Function], Function]:
    """Decorator to list the models' options in a function's signature and docstring."""
    keywords = {name: one for model in models for name, one in keywords_of(model, omit).items()}

    def decorator(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [*signature.parameters.values()]
        known = {one.name for one in own}
        listed = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=one.default if one.reader is None or one.default is None else one.text_of(one.default),
                annotation=one.info.annotation,
            )
            for name, one in keywords.items()
            if name not in known
        ]
        parameters = [*own[:-1], *listed, own[-1]]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        width = max(map(len, keywords))
        lines = [f"    {name:<{width}}  {one.about.help}" for name, one in keywords.items()]
        function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Options:", "", *lines, ""])
        return function

    return decorator


def stated_options(
    models: Sequence[type[BaseModel]], more: Mapping[str, object], omit: frozenset[str]
) -> dict[str, Any]:
    """Return options by field, without None. Raises InputError, also for unknown keywords."""
    keywords = {name: one for model in models for name, one in keywords_of(model, omit).items()}
    for name in more:
        if name not in keywords:
            raise InputError(name, f"is no keyword{suggestion(name, keywords)}", f"one of {', '.join(keywords)}")
    stated = {keywords[name].name: plain_value(value) for name, value in more.items() if value is not None}
    for one in keywords.values():
        if one.kind is str and isinstance(texts := stated.get(one.name), list):
            stated[one.name] = ",".join(map(str, texts))
    return {name: value for model in models for name, value in read_options(model, stated).items()}


def run_request(
    trace: Trace | DataFrame | str | PathLike[str], platform: Platform | str | PathLike[str],
    dispatcher: str | type | Dispatcher, settings: Mapping[str, object], more: Mapping[str, object],
) -> tuple[RunSpec, Objects]:  # fmt: skip
    """Run request, and objects in place of its files.

    `more`: options and dispatcher settings. Raises InputError with option names.
    """
    keywords = keywords_of(RunSpec, _PARAMETERS)
    stated = {keywords[name].name: plain_value(value) for name, value in more.items() if name in keywords}
    options = read_options(RunSpec, {name: value for name, value in stated.items() if value is not None})
    settings = {**settings, **{name: value for name, value in more.items() if name not in keywords}}
    chosen = setting_texts(settings)
    who = None if isinstance(dispatcher, str) else resolve_dispatcher(dispatcher)
    if "batsim" not in options:
        _check_settings(who or find_dispatcher(str(dispatcher)), settings, keywords)
    _check_profile(stated.get("profile"))
    jobs = Path(trace) if isinstance(trace, str | PathLike) else as_trace(trace, strict=options.get("strict", False))
    machine = Path(platform) if isinstance(platform, str | PathLike) else as_platform(platform)
    files = {
        "trace": jobs if isinstance(jobs, Path) else jobs.place,
        "platform": machine if isinstance(machine, Path) else machine.place,
    }
    named = {"dispatcher": who.name if who else str(dispatcher), "settings": chosen}
    request = spec_of(RunSpec, {"out": NOWHERE} | options | files | named)
    digests = {name: one.digest for name, one in (("trace", jobs), ("platform", machine)) if not isinstance(one, Path)}
    objects = Objects(
        None if isinstance(jobs, Path) else jobs.jobs,
        None if isinstance(machine, Path) else machine.machine,
        None if who is None else who.with_settings(chosen),
        digests,
    )
    return request, objects


def _check_settings(dispatcher: Dispatcher, settings: Mapping[str, object], keywords: Mapping[str, object]) -> None:
    known = known_settings(type(dispatcher.setup))
    for key, value in settings.items():
        near = get_close_matches(key, [*keywords], 1, 0.8) if key not in known else []
        if near and not get_close_matches(key, known, 1, 0.8):
            choices = ", ".join(f"{name}={values}" for name, values in known.items())
            stated = f"--set {key}={setting_text(value)}"
            raise InputError(stated, "unknown setting", f"the option {near[0]}, or one of {choices}")


def _check_profile(value: object) -> None:
    if isinstance(value, str) and value in [*ProfileRule] and not Path(value).exists():
        raise InputError("--profile", f"no file {value!r}", f'a file, or settings={{"profile": "{value}"}}')
