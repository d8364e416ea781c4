"""What an entry point or `module:object` names, as a dispatcher; whatever goes wrong there is one InputError."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, make_dataclass, replace
from enum import StrEnum
from importlib.metadata import EntryPoint
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, get_type_hints

from dardis.config.set_up import AnySetUp
from dardis.config.settings import known_settings, plain_settings, setting
from dardis.dispatch.base import Decider
from dardis.dispatch.rule import Rule
from dardis.model.choices import ProfileRule
from dardis.model.errors import InputError
from dardis.model.files import sha256_of
from dardis.model.target import Split
from dardis.registry.builders import Central
from dardis.registry.dispatcher import Builder, Dispatcher

_DIGITS: Final = 16
"""Of a file's digest that tell two versions of it apart."""


def is_of_module(name: str) -> bool:
    """Whether that is `module:object`, and no name of a dispatcher."""
    return ":" in name


def of_module(name: str) -> Dispatcher:
    """What `package.module:Class`, or another object, names; the folder we are in counts as a place of modules.

    Raises InputError.
    """
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    return loaded(EntryPoint(name, name, ""), f"--dispatcher {name}", lambda: origin_of(name))


def origin_of(name: str) -> str:
    """The file of a module that has been imported, and what tells its content from another version's."""
    return _origin(name.partition(":")[0])


def of_class(what: type | Dispatcher) -> Dispatcher:
    """A dispatcher for what somebody has at hand: a class of one, or one. Raises InputError."""
    if isinstance(what, Dispatcher):
        return what
    try:
        dispatcher = _checked(what, f"dispatcher {what.__name__}")
    except _NoneError as error:
        raise InputError(*error.args) from None
    return replace(
        dispatcher, name=what.__name__, origin=_origin(what.__module__), module=what.__module__.partition(".")[0]
    )


def loaded(point: EntryPoint, place: str, origin: Callable[[], str]) -> Dispatcher:
    """What an entry point names, as a dispatcher of its name. Raises InputError."""
    try:
        dispatcher = _checked(point.load(), place)
    except _NoneError as error:
        raise InputError(*error.args) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever goes wrong there, it is one line here)
        what = f"can't be loaded ({type(error).__name__}: {error})"
        raise InputError(place, what, "a package that can be imported, and settings that go together") from None
    return replace(dispatcher, name=point.name, origin=origin(), module=point.module.partition(".")[0])


class _NoneError(Exception):
    """What makes an object no dispatcher: the arguments of an InputError."""


def _checked(found: object, place: str) -> Dispatcher:
    if isinstance(found, type):
        found = _of_class(found, place)
    if not isinstance(found, Dispatcher):
        expected = "a dardis.registry.Dispatcher, or a class of a central one"
        raise _NoneError(place, f"is a {type(found).__name__}", expected)
    if lacks := _lacks(found):
        raise _NoneError(place, lacks, "a set-up that is an AnySetUp, and a Builder")
    found.setup.checked()
    known_settings(type(found.setup))
    return found


def _lacks(dispatcher: Dispatcher) -> str:
    """What whoever runs it would miss; empty: nothing."""
    for thing, kind in ((dispatcher.setup, AnySetUp), (dispatcher.builder, Builder)):
        if missing := _missing(thing, kind):
            return f"its {type(thing).__name__} has no {', '.join(missing)}"
    return ""


def _missing(thing: object, kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_") and not hasattr(thing, name)]


def _of_class(kind: type, place: str) -> Dispatcher:
    """A central dispatcher of this class, whose annotated attributes are its settings. Raises _NoneError."""
    if missing := _missing(kind, Decider):
        raise _NoneError(place, f"has no {', '.join(missing)}", "a dardis.Rule, or a class with these methods")
    stated = {
        name: (hint, setting(getattr(kind, name), **_reading(hint, f"{place}: {name}")))
        for name, hint in get_type_hints(kind).items()
        if hasattr(kind, name) and not name.startswith("_") and not hasattr(Rule, name)
    }
    if known := {field.name for field in fields(AnySetUp)} & {*stated}:
        raise _NoneError(place, f"has a setting {min(known)!r}, as all dispatchers have", "another name")
    settings = [(name, *said) for name, said in stated.items()]
    if issubclass(kind, Rule):
        settings.append(("profile", ProfileRule, setting(ProfileRule.OFF, key=False)))
        settings.append(("profile_split", Split, setting(Split.PROPORTIONAL, key=False)))
    setup = make_dataclass(
        f"{kind.__name__}SetUp", settings, bases=(AnySetUp,), frozen=True,
        slots=True, kw_only=True,
    )  # fmt: skip
    about = cleandoc(kind.__doc__ or "").partition("\n")[0].rstrip(".")

    def make(given: Any, *others: Any) -> Decider:  # noqa: ANN401 (what every dispatcher is made with)
        made: Decider = kind(given, *others)
        for name in stated:
            setattr(made, name, getattr(given, name))
        return made

    return _OfClass(kind.__name__, setup(about=about), Central(make, _warm_nothing), kind=kind)


@dataclass(frozen=True)
class _OfClass(Dispatcher):
    """A dispatcher of a class, which is what another process makes it of."""

    kind: type = Rule

    def __reduce__(self) -> tuple[Any, ...]:
        settings = [f"{key}={value}" for key, value in plain_settings(self.setup).items()]
        return _made_again, (self.kind, settings, self.name, self.origin, self.module)


def _made_again(kind: type, settings: list[str], name: str, origin: str, module: str) -> Dispatcher:
    return replace(of_class(kind).with_settings(settings), name=name, origin=origin, module=module)


def _reading(hint: object, place: str) -> dict[str, Any]:
    """How a setting of that kind is read. Raises _NoneError."""
    if hint is int or (isinstance(hint, type) and issubclass(hint, StrEnum)):
        return {}
    if hint is float or hint is str:
        return {"parse": hint, "values": "X" if hint is float else "TEXT"}
    raise _NoneError(place, f"is a {getattr(hint, '__name__', hint)}", "an int, a float, a str or a StrEnum")


def _warm_nothing(*, wished: bool) -> None:
    """Nothing is compiled for Python."""


def _origin(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    digest = None if file is None else sha256_of(Path(file))
    return module if digest is None else f"{Path(file or '').name} {digest[:_DIGITS]}"
