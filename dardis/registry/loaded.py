"""What an entry point or `module:object` names, as a dispatcher; whatever goes wrong there is one InputError."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, make_dataclass, replace
from enum import StrEnum
from importlib import reload
from importlib.metadata import EntryPoint
from inspect import cleandoc
from pathlib import Path
from typing import Any, ClassVar, Final, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from dardis.config.settings import AnySetUp, known_settings, plain_settings, setting, with_settings
from dardis.dispatch.base import Decider
from dardis.dispatch.rule import Rule
from dardis.model.choices import ProfileRule
from dardis.model.errors import InputError
from dardis.model.files import sha256_of
from dardis.model.numbers import decimal_number
from dardis.model.target import Split
from dardis.registry.builders import Central
from dardis.registry.dispatcher import Builder, Dispatcher

_DIGITS: Final = 16
"""Of a file's digest that tell two versions of it apart."""
_NAME: Final = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")
_OF_THE_CLASS: Final = frozenset({"strict", "seeded"})
"""What a class says of itself, and nobody sets."""
_ORIGINS: Final[dict[str, str]] = {}
"""Of the modules that were loaded by name, as their files were then."""
_OF_CLASSES: Final[WeakKeyDictionary[type, str]] = WeakKeyDictionary()
"""The same of classes that somebody had at hand, as their files were when we saw them first."""


def is_of_module(name: str) -> bool:
    """Whether that is `module:object`, and no name of a dispatcher."""
    return ":" in name


def of_module(name: str) -> Dispatcher:
    """What `package.module:Class`, or another object, names; the folder we are in is the last place of modules.

    A module whose file has changed since it was loaded is loaded anew. Raises InputError.
    """
    object_, _, last = name.rpartition(":")
    if "=" in last and ":" in object_:
        raise InputError(f"--dispatcher {name}", "a name with a setting", f"{object_}, and --set {last}")
    if object_.endswith(".py"):
        module = object_.removesuffix(".py").replace("/", ".")
        raise InputError(
            f"--dispatcher {name}", f"{object_} is a file", f"a module of the folder we are in: {module}:{last}"
        )
    if _NAME.fullmatch(name) is None:
        raise InputError(f"--dispatcher {name}", "names no object of a module", "package.module:Class")
    with suppress(OSError):  # the folder is gone
        here = str(Path.cwd())
        if here not in sys.path and "" not in sys.path:
            sys.path.append(here)
    return loaded(EntryPoint(name, name, ""), f"--dispatcher {name}", lambda: origin_of(name), _renew)


def _renew(module: str) -> None:
    """Load a module anew that we know in another version. Raises whatever goes wrong there."""
    if module in sys.modules and _ORIGINS.get(module, _origin(module)) != _origin(module):
        reload(sys.modules[module])
        del _ORIGINS[module]


def origin_of(name: str) -> str:
    """The file of a module that has been loaded, and what tells that version's content from another's."""
    module = name.partition(":")[0]
    return _ORIGINS.setdefault(module, _origin(module)) if module in sys.modules else module


def of_class(what: type | Dispatcher) -> Dispatcher:
    """A dispatcher for what somebody has at hand: a class of one, or one. Raises InputError."""
    if isinstance(what, Dispatcher):
        return what
    if not isinstance(what, type):
        raise InputError(
            "dispatcher", f"is a {type(what).__name__}", "a name, a class, or a dardis.registry.Dispatcher"
        )
    dispatcher = _had(lambda: what, f"dispatcher {what.__name__}")
    origin = _OF_CLASSES.setdefault(what, _origin(what.__module__))
    name = f"{what.__module__}:{what.__qualname__}"
    return replace(dispatcher, name=name, origin=origin, module=what.__module__.partition(".")[0])


def loaded(
    point: EntryPoint, place: str, origin: Callable[[], str], before: Callable[[str], None] = lambda _: None
) -> Dispatcher:
    """What an entry point names, as a dispatcher of its name; `before` is told the module. Raises InputError."""

    def load() -> object:
        before(point.module)
        return point.load()

    dispatcher = _had(load, place)
    return replace(dispatcher, name=point.name, origin=origin(), module=point.module.partition(".")[0])


def _had(load: Callable[[], object], place: str) -> Dispatcher:
    """A dispatcher of what is loaded. Raises InputError, whatever goes wrong."""
    try:
        return _checked(load(), place)
    except _NoneError as error:
        raise InputError(*error.args) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever goes wrong there, it is one line here)
        what = f"can't be loaded ({type(error).__name__}: {error})"
        raise InputError(place, what, "a package that can be imported, and settings that go together") from None


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
    ours = Rule if issubclass(kind, Rule) else Decider
    stated = {
        name: (hint, setting(getattr(kind, name), **_reading(hint, f"{place}: {name}")))
        for name, hint in get_type_hints(kind).items()
        if hasattr(kind, name) and not name.startswith("_") and name not in _OF_THE_CLASS and not _is_constant(hint)
    }
    if known := {*dir(AnySetUp)} & {*stated}:
        raise _NoneError(place, f"has a setting {min(known)!r}, as all dispatchers have", "another name")
    if known := {*dir(ours), *get_type_hints(ours)} & {*stated}:
        raise _NoneError(place, f"has a setting {min(known)!r}, which is another thing of a dispatcher", "another name")
    settings = [(name, *said) for name, said in stated.items()]
    if issubclass(kind, Rule):
        settings.append(("profile", ProfileRule, setting(ProfileRule.OFF, key=False)))
        settings.append(("profile_split", Split, setting(Split.PROPORTIONAL, key=False)))
    setup = make_dataclass(
        f"{kind.__name__}SetUp", settings, bases=(AnySetUp,), frozen=True,
        slots=True, kw_only=True, namespace={"seeded": bool(getattr(kind, "seeded", True))},
    )  # fmt: skip
    about = cleandoc(kind.__doc__ or "").partition("\n")[0].rstrip(".")

    def make(given: Any, *others: Any) -> Decider:  # noqa: ANN401 (what every dispatcher is made with)
        made = kind.__new__(kind, given, *others)
        for name in stated:
            setattr(made, name, getattr(given, name))
        made.__init__(given, *others)
        return made  # type: ignore[no-any-return]

    return _OfClass(kind.__name__, _with_defaults(setup(about=about), place), Central(make), kind=kind)


def _with_defaults(setup: AnySetUp, place: str) -> AnySetUp:
    """The set-up with its defaults as they would be asked for. Raises _NoneError."""
    for name, value in plain_settings(setup).items():
        try:
            setup = with_settings(setup, [f"{name}={value}"])
        except InputError as error:
            raise _NoneError(place, f"{name} = {value} is no default ({error})", "what --set takes") from None
    return setup


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
        return {"parse": decimal_number if hint is float else str, "values": "a number" if hint is float else "TEXT"}
    raise _NoneError(place, f"is a {getattr(hint, '__name__', hint)}", "an int, a float, a str or a StrEnum")


def _is_constant(hint: object) -> bool:
    return hint in (ClassVar, Final) or get_origin(hint) in (ClassVar, Final)


def _origin(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    digest = None if file is None else sha256_of(Path(file))
    return module if digest is None else f"{Path(file or '').name} {digest[:_DIGITS]}"
