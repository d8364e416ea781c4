"""Dispatchers by name: built in, of other packages, and classes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, make_dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import import_module, reload
from importlib.metadata import EntryPoint, entry_points
from inspect import cleandoc
from pathlib import Path
from typing import Any, ClassVar, Final, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from dardis.config.settings import AnySetUp, known_settings, plain_settings, setting, with_settings
from dardis.dispatch.base import Decider
from dardis.dispatch.rule import Rule
from dardis.dispatch.setups import RuleSetUp
from dardis.model.choices import ProfileRule
from dardis.model.errors import InputError, suggestion
from dardis.model.files import sha256_of
from dardis.model.numbers import decimal_number
from dardis.model.target import Split
from dardis.registry.builders import CENTRAL, LATE, PLANNED, Central
from dardis.registry.dispatcher import Builder, Dispatcher

GROUP: Final = "dardis.dispatchers"
"""Entry-point group of `Dispatcher` objects."""
_KINDS: Final[tuple[tuple[str, str, Builder, tuple[str, ...]], ...]] = (
    (
        "dardis.task_manager", "SETUPS", PLANNED,
        ("dardis-throughput", "dardis-profile", "dardis-balance", "dardis-conservative"),
    ),
    (
        "dardis.task_manager", "LATE_SETUPS", LATE,
        ("dardis-late",),
    ),
    (
        "dardis.dispatch", "CENTRAL_SETUPS", CENTRAL,
        (
            "rules-fcfs", "rules-df", "rules-wt", "rules-ljf", "rules-profit", "easy", "conservative", "pbs-fifo",
            "pbs-walltime",
        ),
    ),
    (
        "dardis.dispatch", "REPLAN_SETUPS", CENTRAL,
        ("replan",),
    ),
    (
        "dardis.dispatch", "MODEL_SETUPS", CENTRAL,
        ("pcp14", "pcp19", "hcp19", "pcp20", "cp-eurora", "portfolio", "aucsched"),
    ),
)  # fmt: skip
"""Module, table, builder and names by kind."""


class _BuiltInDispatchers(Mapping[str, Dispatcher]):
    def __init__(self) -> None:
        self._kind_of = {name: kind[:3] for kind in _KINDS for name in kind[3]}
        self._found: dict[str, Dispatcher] = {}

    def __getitem__(self, name: str) -> Dispatcher:
        if name not in self._found:
            module, setups, builder = self._kind_of[name]
            setup = getattr(import_module(module), setups)[name]
            self._found[name] = Dispatcher(name, setup, builder)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kind_of)

    def __len__(self) -> int:
        return len(self._kind_of)

    def __contains__(self, name: object) -> bool:
        return name in self._kind_of


BUILT_IN_DISPATCHERS: Final[Mapping[str, Dispatcher]] = _BuiltInDispatchers()
_LOCAL: Final[dict[str, Dispatcher]] = {}
"""Dispatchers of classes in this process only."""


def dispatcher_names() -> tuple[str, ...]:
    """Names of all dispatchers, built-in first."""
    return (*BUILT_IN_DISPATCHERS, *_external_names(), *_LOCAL)


def all_dispatchers() -> tuple[list[Dispatcher], list[InputError]]:
    """All dispatchers with defaults, and load errors."""
    found, wrong = (
        list(BUILT_IN_DISPATCHERS.values()),
        [mistake for name in BUILT_IN_DISPATCHERS for mistake in name_conflicts(name)],
    )
    for name in _external_names():
        try:
            found.append(_as_registered(name))
        except InputError as error:
            wrong.append(error)
    return found, wrong


def is_known(name: str) -> bool:
    """Whether the name may denote a dispatcher; loading may still fail."""
    return name in dispatcher_names() or is_module_object(name)


def names_of_capable(can: Callable[[AnySetUp], bool]) -> str:
    """Names of dispatchers with a capability, as text."""
    return ", ".join(dispatcher.name for dispatcher in all_dispatchers()[0] if can(dispatcher.setup))


def is_local(name: str) -> bool:
    """Whether `local_dispatchers` defines the name."""
    return name in _LOCAL


@contextmanager
def local_dispatchers(classes: Iterable[type]) -> Iterator[None]:
    """Register classes of this process within the context.

    Raises InputError for an invalid class or a used name.
    """
    found: dict[str, Dispatcher] = {}
    for kind in dict.fromkeys(classes):
        name, dispatcher = local_name(kind), class_dispatcher(kind)
        if name in found or is_known(name):
            raise InputError("--dispatchers", f"the name {name!r} is already used", "classes with different names")
        found[name] = replace(dispatcher, name=name, origin=f"the calling process ({dispatcher.origin})")
    _LOCAL.update(found)
    try:
        yield
    finally:
        for name in found:
            del _LOCAL[name]


def local_name(kind: type) -> str:
    """Name of a class in `local_dispatchers`, beginning with a letter."""
    return kind.__name__.lstrip("_0123456789").rstrip("_") or "Rule"


def find_dispatcher(name: str, settings: Iterable[str] = ()) -> Dispatcher:
    """Dispatcher with `KEY=VALUE` settings.

    Raises InputError with known names, keys or values.
    """
    return _as_registered(name).with_settings(settings)


def resolve_dispatcher(what: type | Dispatcher) -> Dispatcher:
    """Dispatcher of a class or object, with origin. Raises InputError."""
    found = class_dispatcher(what)
    ours = BUILT_IN_DISPATCHERS.get(found.name)
    if found.origin or (ours is not None and _parts(found) == _parts(ours)):
        return found
    return replace(found, origin="a program")


def _parts(dispatcher: Dispatcher) -> tuple[object, ...]:
    return type(dispatcher.setup), type(dispatcher.builder), vars(dispatcher.builder)


def name_conflicts(name: str) -> list[InputError]:
    """Errors for packages with a name already in use."""
    points = _registered().get(name, [])
    if not points:
        return []
    owner, others = ("dardis", points) if name in BUILT_IN_DISPATCHERS else (_package(points[0]), points[1:])
    expected = "another name, or only one of the packages"
    return [InputError(_place(point), f"the name is already used by {owner}", expected) for point in others]


def dispatcher_origin(name: str) -> dict[str, str]:
    """Origin for a run's record, if not built in: package and version, or file and digest."""
    if name in _LOCAL:
        return {"dispatcher_of": _LOCAL[name].origin}
    if name not in _registered() and is_module_object(name):
        return {"dispatcher_of": origin_of(name)}
    return {"dispatcher_of": _package(_registered()[name][0])} if name in _external_names() else {}


def _as_registered(name: str) -> Dispatcher:
    if name in BUILT_IN_DISPATCHERS:
        return BUILT_IN_DISPATCHERS[name]
    if name in _LOCAL:
        return _LOCAL[name]
    if name not in _registered():
        head, colon, rest = name.partition(":")
        if colon and head in dispatcher_names():
            _check_setting(head, rest)
        if is_module_object(name):
            return module_dispatcher(name)
        known = dispatcher_names()
        found = f"unknown dispatcher {name!r}{suggestion(name, known)}"
        raise InputError("--dispatcher", found, f"one of {', '.join(known)}")
    for mistake in name_conflicts(name):
        raise mistake
    point = _registered()[name][0]
    return load_dispatcher(point, _place(point), lambda: _package(point))


def _check_setting(name: str, text: str) -> None:
    if "=" in text:
        raise InputError(f"--dispatcher {name}:{text}", "a name with a setting", f"{name}, and --set {text}")
    _as_registered(name).with_settings([text])


def _external_names() -> list[str]:
    return [name for name in _registered() if name not in BUILT_IN_DISPATCHERS]


@cache
def _registered() -> dict[str, list[EntryPoint]]:
    points: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point))):
        points.setdefault(point.name, []).append(point)
    return points


def _place(point: EntryPoint) -> str:
    return f"dispatcher {point.name!r} of {_package(point)} ({point.value})"


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


_DIGITS: Final = 16
_NAME: Final = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")
_CLASS_ATTRIBUTES: Final = frozenset({"strict", "seeded", "backfill", "reserve"})
"""These are no settings."""
_UNUSED_IN_BACKFILLING: Final = ("strict", "choose", "submit", "ended", "changed", "decide", "room", "wake")
_ORIGINS: Final[dict[str, str]] = {}
"""Origins of modules at load time."""
_CLASS_ORIGINS: Final[WeakKeyDictionary[type, str]] = WeakKeyDictionary()
"""Origins of classes at first use."""


def is_module_object(name: str) -> bool:
    """Whether the name is a `module:object`."""
    return ":" in name


def module_dispatcher(name: str) -> Dispatcher:
    """Dispatcher `package.module:Class`; the current folder is searched last.

    Reloads a changed module. Raises InputError.
    """
    object_, _, last = name.rpartition(":")
    if "=" in last and ":" in object_:
        raise InputError(f"--dispatcher {name}", "a name with a setting", f"{object_}, and --set {last}")
    if object_.endswith(".py"):
        module = object_.removesuffix(".py").replace("/", ".")
        raise InputError(
            f"--dispatcher {name}", f"{object_} is a file", f"a module in the current folder: {module}:{last}"
        )
    if _NAME.fullmatch(name) is None:
        raise InputError(f"--dispatcher {name}", "is not an object of a module", "package.module:Class")
    with suppress(OSError):  # the folder has been removed
        here = str(Path.cwd())
        if here not in sys.path and "" not in sys.path:
            sys.path.append(here)
    return load_dispatcher(EntryPoint(name, name, ""), f"--dispatcher {name}", lambda: origin_of(name), _reload_changed)


def _reload_changed(module: str) -> None:
    if module in sys.modules and _ORIGINS.get(module, _origin(module)) != _origin(module):
        reload(sys.modules[module])
        del _ORIGINS[module]


def origin_of(name: str) -> str:
    """File and digest of a loaded module."""
    module = name.partition(":")[0]
    return _ORIGINS.setdefault(module, _origin(module)) if module in sys.modules else module


def class_dispatcher(what: type | Dispatcher) -> Dispatcher:
    """Dispatcher of a class or object. Raises InputError."""
    if isinstance(what, Dispatcher):
        return what
    if not isinstance(what, type):
        raise InputError(
            "dispatcher", f"is a {type(what).__name__}", "a name, a class, or a dardis.registry.Dispatcher"
        )
    dispatcher = _load_checked(lambda: what, f"dispatcher {what.__name__}")
    origin = _CLASS_ORIGINS.setdefault(what, _origin(what.__module__))
    name = f"{what.__module__}:{what.__qualname__}"
    return replace(dispatcher, name=name, origin=origin, module=what.__module__.partition(".")[0])


def load_dispatcher(
    point: EntryPoint, place: str, origin: Callable[[], str], before: Callable[[str], None] = lambda _: None
) -> Dispatcher:
    """Load an entry point; `before` gets the module. Raises InputError."""

    def load() -> object:
        before(point.module)
        return point.load()

    dispatcher = _load_checked(load, place)
    return replace(dispatcher, name=point.name, origin=origin(), module=point.module.partition(".")[0])


def _load_checked(load: Callable[[], object], place: str) -> Dispatcher:
    try:
        return _checked(load(), place)
    except _LoadError as error:
        raise InputError(*error.args) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 (any failure becomes a single line)
        what = f"cannot be loaded ({type(error).__name__}: {error})"
        raise InputError(place, what, "an importable package with compatible settings") from None


class _LoadError(Exception):
    """Arguments of an InputError."""


def _checked(found: object, place: str) -> Dispatcher:
    if isinstance(found, type):
        found = _build_class_dispatcher(found, place)
    if not isinstance(found, Dispatcher):
        expected = "a dardis.registry.Dispatcher, or a class of a central one"
        raise _LoadError(place, f"is a {type(found).__name__}", expected)
    if lacks := _missing_interface(found):
        raise _LoadError(place, lacks, "an AnySetUp as set-up, and a Builder")
    found.setup.checked()
    known_settings(type(found.setup))
    return found


def _missing_interface(dispatcher: Dispatcher) -> str:
    for thing, kind in ((dispatcher.setup, AnySetUp), (dispatcher.builder, Builder)):
        if missing := _missing(thing, kind):
            return f"its {type(thing).__name__} has no {', '.join(missing)}"
    return ""


def _missing(thing: object, kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_") and not hasattr(thing, name)]


def _build_class_dispatcher(kind: type, place: str) -> Dispatcher:
    if missing := _missing(kind, Decider):
        raise _LoadError(place, f"has no {', '.join(missing)}", "a dardis.Rule, or a class with these methods")
    ours = Rule if issubclass(kind, Rule) else Decider
    backfills = issubclass(kind, Rule) and _is_backfilled(kind, place)
    base = RuleSetUp if backfills else AnySetUp
    stated = {
        name: (hint, setting(getattr(kind, name), **_parser_options(hint, f"{place}: {name}")))
        for name, hint in get_type_hints(kind).items()
        if hasattr(kind, name) and not name.startswith("_") and name not in _CLASS_ATTRIBUTES and not _is_constant(hint)
    }
    if known := {*dir(base), *get_type_hints(base)} & {*stated}:
        raise _LoadError(place, f"has a setting {min(known)!r}, which all dispatchers have", "another name")
    if known := {*dir(ours), *get_type_hints(ours)} & {*stated}:
        raise _LoadError(place, f"has a setting {min(known)!r}, which is an attribute of dispatchers", "another name")

    def make(given: Any, *others: Any) -> Any:  # noqa: ANN401 (the signature of all dispatchers)
        made = kind.__new__(kind, given, *others)
        for name in stated:
            setattr(made, name, getattr(given, name))
        made.__init__(given, *others)
        return made

    settings = [(name, *said) for name, said in stated.items()]
    seeded = bool(getattr(kind, "seeded", True))
    builder: Builder
    if backfills:
        namespace, builder = {"make": staticmethod(make), "is_seeded": seeded}, CENTRAL
    else:
        namespace, builder = {"seeded": seeded}, Central(make)
        if issubclass(kind, Rule):
            settings.append(("profile", ProfileRule, setting(ProfileRule.OFF, key=False)))
            settings.append(("profile_split", Split, setting(Split.PROPORTIONAL, key=False)))
    setup = make_dataclass(
        f"{kind.__name__}SetUp", settings, bases=(base,), frozen=True, slots=True, kw_only=True, namespace=namespace
    )
    about = cleandoc(kind.__doc__ or "").partition("\n")[0].rstrip(".")
    return _ClassDispatcher(kind.__name__, _with_defaults(setup(about=about), place), builder, kind=kind)


def _is_backfilled(kind: type[Rule], place: str) -> bool:
    for name, known in (("backfill", (None, "easy", "conservative")), ("reserve", ("rule", "fcfs"))):
        if (value := getattr(kind, name)) not in known:
            raise _LoadError(place, f"{name} = {value!r}", f"one of {', '.join(map(repr, known))}")
    unused = [name for name in _UNUSED_IN_BACKFILLING if getattr(kind, name) is not getattr(Rule, name)]
    if kind.backfill is None and kind.reserve != "rule":
        raise _LoadError(place, f"reserve = {kind.reserve!r} without backfill", "backfill = 'easy' or 'conservative'")
    if kind.backfill is not None and unused:
        raise _LoadError(place, f"backfill = {kind.backfill!r} ignores its {unused[0]}", "only key, keys and settings")
    return kind.backfill is not None


def _with_defaults(setup: AnySetUp, place: str) -> AnySetUp:
    for name, value in plain_settings(setup).items():
        try:
            setup = with_settings(setup, [f"{name}={value}"])
        except InputError as error:
            raise _LoadError(place, f"{name} = {value} is not a default ({error})", "a value for --set") from None
    return setup


@dataclass(frozen=True)
class _ClassDispatcher(Dispatcher):
    """Dispatcher of a class, pickled by class."""

    kind: type = Rule

    def __reduce__(self) -> tuple[Any, ...]:
        settings = [f"{key}={value}" for key, value in plain_settings(self.setup).items()]
        return _restore_dispatcher, (self.kind, settings, self.name, self.origin, self.module)


def _restore_dispatcher(kind: type, settings: list[str], name: str, origin: str, module: str) -> Dispatcher:
    return replace(class_dispatcher(kind).with_settings(settings), name=name, origin=origin, module=module)


def _parser_options(hint: object, place: str) -> dict[str, Any]:
    if hint is int or (isinstance(hint, type) and issubclass(hint, StrEnum)):
        return {}
    if hint is float or hint is str:
        return {"parse": decimal_number if hint is float else str, "values": "a number" if hint is float else "TEXT"}
    raise _LoadError(place, f"is a {getattr(hint, '__name__', hint)}", "an int, a float, a str or a StrEnum")


def _is_constant(hint: object) -> bool:
    return hint in (ClassVar, Final) or get_origin(hint) in (ClassVar, Final)


def _origin(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    digest = None if file is None else sha256_of(Path(file))
    return module if digest is None else f"{Path(file or '').name} {digest[:_DIGITS]}"
