"""Every dispatcher by name: ours, those that other packages register as entry points, and those of `module:object`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from dardis.config.settings import AnySetUp
from dardis.model.errors import InputError, meant
from dardis.registry.builders import CENTRAL, LATE, PLANNED
from dardis.registry.dispatcher import Builder, Dispatcher
from dardis.registry.loaded import is_of_module, loaded, of_class, of_module, origin_of

GROUP: Final = "dardis.dispatchers"
"""The group of entry points; each is a `Dispatcher`, and its name is that of the entry point."""
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
        "dardis.dispatch", "ASKING_SETUPS", CENTRAL,
        ("pcp14", "pcp19", "hcp19", "pcp20", "cp-eurora", "portfolio", "aucsched"),
    ),
)  # fmt: skip
"""Where the set-ups of a kind are, how its dispatchers are built, and their names, in that order."""


class _Ours(Mapping[str, Dispatcher]):
    """Our own dispatchers by name: the set-ups of a kind are loaded when one of that kind is wanted."""

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


OURS: Final[Mapping[str, Dispatcher]] = _Ours()
_LOCAL: Final[dict[str, Dispatcher]] = {}
"""Dispatchers of classes that only this process has, by name."""


def dispatcher_names() -> tuple[str, ...]:
    """The names of all: ours first."""
    return (*OURS, *_others(), *_LOCAL)


def all_dispatchers() -> tuple[list[Dispatcher], list[InputError]]:
    """Every dispatcher as its package has it, ours first; and why others can't be had."""
    found, wrong = list(OURS.values()), [mistake for name in OURS for mistake in taken(name)]
    for name in _others():
        try:
            found.append(_as_registered(name))
        except InputError as error:
            wrong.append(error)
    return found, wrong


def is_known(name: str) -> bool:
    """Whether somebody may have a dispatcher of that name; `find_dispatcher` sees whether it can be had."""
    return name in dispatcher_names() or is_of_module(name)


def dispatchers_that(can: Callable[[AnySetUp], bool]) -> str:
    """The names of those whose set-ups say that they can do something, for people."""
    return ", ".join(dispatcher.name for dispatcher in all_dispatchers()[0] if can(dispatcher.setup))


def is_local(name: str) -> bool:
    """Whether that is a dispatcher of `local_dispatchers`."""
    return name in _LOCAL


@contextmanager
def local_dispatchers(classes: Iterable[type]) -> Iterator[None]:
    """Make classes that no other process can import dispatchers of their own names, within the context.

    Raises InputError for a class of no dispatcher, and for a name that another dispatcher has.
    """
    found: dict[str, Dispatcher] = {}
    for kind in dict.fromkeys(classes):
        name, dispatcher = local_name(kind), of_class(kind)
        if name in found or is_known(name):
            raise InputError("--dispatchers", f"another dispatcher is called {name!r}", "classes with different names")
        found[name] = replace(dispatcher, name=name, origin=f"the calling process ({dispatcher.origin})")
    _LOCAL.update(found)
    try:
        yield
    finally:
        for name in found:
            del _LOCAL[name]


def local_name(kind: type) -> str:
    """The name of a class among `local_dispatchers`; names in tables begin with a letter."""
    return kind.__name__.lstrip("_0123456789").rstrip("_") or "Rule"


def find_dispatcher(name: str, settings: Iterable[str] = ()) -> Dispatcher:
    """The named dispatcher with `KEY=VALUE` settings applied.

    Raises InputError, which lists the known names, keys or values; and for one that can't be loaded.
    """
    return _as_registered(name).with_settings(settings)


def at_hand(what: type | Dispatcher) -> Dispatcher:
    """A dispatcher for what a program has: a class of one, or one, which is theirs unless it is ours. InputError."""
    found = of_class(what)
    ours = OURS.get(found.name)
    if found.origin or (ours is not None and _parts(found) == _parts(ours)):
        return found
    return replace(found, origin="a program")


def _parts(dispatcher: Dispatcher) -> tuple[object, ...]:
    return type(dispatcher.setup), type(dispatcher.builder), vars(dispatcher.builder)


def taken(name: str) -> list[InputError]:
    """What to tell the packages that want a name which another one has."""
    points = _registered().get(name, [])
    if not points:
        return []
    owner, others = ("dardis", points) if name in OURS else (_package(points[0]), points[1:])
    expected = "another name, or to uninstall one of them"
    return [InputError(_place(point), f"the name is taken by {owner}", expected) for point in others]


def dispatcher_origin(name: str) -> dict[str, str]:
    """What the record of a run says beside the name: of another package's dispatcher, that and its version.

    Of one that has been found by `module:object` the module's file, and a digest of its content.
    """
    if name in _LOCAL:
        return {"dispatcher_of": _LOCAL[name].origin}
    if name not in _registered() and is_of_module(name):
        return {"dispatcher_of": origin_of(name)}
    return {"dispatcher_of": _package(_registered()[name][0])} if name in _others() else {}


def _as_registered(name: str) -> Dispatcher:
    """The named dispatcher as its package has it; settings may follow others. Ours is had whoever wants its name.

    Raises InputError.
    """
    if name in OURS:
        return OURS[name]
    if name in _LOCAL:
        return _LOCAL[name]
    if name not in _registered():
        head, colon, rest = name.partition(":")
        if colon and head in dispatcher_names():
            _see_setting(head, rest)
        if is_of_module(name):
            return of_module(name)
        known = dispatcher_names()
        found = f"unknown dispatcher {name!r}{meant(name, known)}"
        raise InputError("--dispatcher", found, f"one of {', '.join(known)}")
    for mistake in taken(name):
        raise mistake
    point = _registered()[name][0]
    return loaded(point, _place(point), lambda: _package(point))


def _see_setting(name: str, text: str) -> None:
    """Say what is wrong with a setting behind the colon of a name that is no module's. Raises InputError."""
    if "=" in text:
        raise InputError(f"--dispatcher {name}:{text}", "a name with a setting", f"{name}, and --set {text}")
    _as_registered(name).with_settings([text])


def _others() -> list[str]:
    """The names of those of other packages."""
    return [name for name in _registered() if name not in OURS]


@cache
def _registered() -> dict[str, list[EntryPoint]]:
    """What other packages want to be called so, by package; not loaded yet."""
    points: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point))):
        points.setdefault(point.name, []).append(point)
    return points


def _place(point: EntryPoint) -> str:
    return f"dispatcher {point.name!r} of {_package(point)} ({point.value})"


def _package(point: EntryPoint) -> str:
    """The package that has it, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
