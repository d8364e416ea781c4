"""Every dispatcher by name: ours, and those that other packages register as entry points of `dardis.dispatchers`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from dardis.config.set_up import AnySetUp
from dardis.config.settings import known_settings
from dardis.dispatch import ASKING_SETUPS, CENTRAL_SETUPS, REPLAN_SETUPS
from dardis.model.errors import InputError
from dardis.registry.builders import ASKING, CENTRAL, LATE, PLANNED, REPLAN
from dardis.registry.dispatcher import Builder, Dispatcher
from dardis.task_manager import LATE_SETUPS, SETUPS

GROUP: Final = "dardis.dispatchers"
"""The group of entry points; each is a `Dispatcher`, and its name is that of the entry point."""
_KINDS = (
    (SETUPS, PLANNED),
    (LATE_SETUPS, LATE),
    (CENTRAL_SETUPS, CENTRAL),
    (REPLAN_SETUPS, REPLAN),
    (ASKING_SETUPS, ASKING),
)
OURS: Final[dict[str, Dispatcher]] = {
    name: Dispatcher(name, setup, builder) for setups, builder in _KINDS for name, setup in setups.items()
}


def dispatcher_names() -> tuple[str, ...]:
    """The names of all: ours first."""
    return (*OURS, *_others())


def all_dispatchers() -> tuple[list[Dispatcher], list[InputError]]:
    """Every dispatcher as its package has it, ours first; and why others can't be had."""
    found, wrong = list(OURS.values()), [mistake for name in OURS for mistake in taken(name)]
    for name in _others():
        try:
            found.append(_as_registered(name))
        except InputError as error:
            wrong.append(error)
    return found, wrong


def dispatchers_that(can: Callable[[AnySetUp], bool]) -> str:
    """The names of those whose set-ups say that they can do something, for people."""
    return ", ".join(dispatcher.name for dispatcher in all_dispatchers()[0] if can(dispatcher.setup))


def find_dispatcher(name: str, settings: Iterable[str] = ()) -> Dispatcher:
    """The named dispatcher with `KEY=VALUE` settings applied.

    Raises InputError, which lists the known names, keys or values; and for one that can't be loaded.
    """
    return _as_registered(name).with_settings(settings)


def taken(name: str) -> list[InputError]:
    """What to tell the packages that want a name which another one has."""
    points = _registered().get(name, [])
    owner, others = ("dardis", points) if name in OURS else (_package(points[0]), points[1:])
    expected = "another name, or to uninstall one of them"
    return [InputError(_place(point), f"the name is taken by {owner}", expected) for point in others]


def dispatcher_origin(name: str) -> dict[str, str]:
    """What the record of a run says beside the name: of another package's dispatcher, that and its version."""
    return {"dispatcher_of": _package(_registered()[name][0])} if name in _others() else {}


def _as_registered(name: str) -> Dispatcher:
    """The named dispatcher as its package has it; settings may follow others. Ours is had whoever wants its name.

    Raises InputError.
    """
    if name in OURS:
        return OURS[name]
    if name not in _registered():
        raise InputError("--dispatcher", f"unknown dispatcher {name!r}", f"one of {', '.join(dispatcher_names())}")
    for mistake in taken(name):
        raise mistake
    return _loaded(_registered()[name][0])


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


def _loaded(point: EntryPoint) -> Dispatcher:
    try:
        found = point.load()
        if isinstance(found, Dispatcher) and not (lacks := _lacks(found)):
            found.setup.checked()
            known_settings(type(found.setup))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever goes wrong there, it is one line here)
        what = f"can't be loaded ({type(error).__name__}: {error})"
        raise InputError(_place(point), what, "a package that can be imported, and settings that go together") from None
    if not isinstance(found, Dispatcher):
        raise InputError(_place(point), f"is a {type(found).__name__}", "a dardis.registry.Dispatcher")
    if lacks:
        raise InputError(_place(point), lacks, "a set-up that is an AnySetUp, and a Builder")
    return replace(found, name=point.name, origin=_package(point), module=point.module.partition(".")[0])


def _lacks(dispatcher: Dispatcher) -> str:
    """What whoever runs it would miss; empty: nothing."""
    for thing, kind in ((dispatcher.setup, AnySetUp), (dispatcher.builder, Builder)):
        missing = [name for name in dir(kind) if not name.startswith("_") and not hasattr(thing, name)]
        if missing:
            return f"its {type(thing).__name__} has no {', '.join(missing)}"
    return ""


def _place(point: EntryPoint) -> str:
    return f"dispatcher {point.name!r} of {_package(point)} ({point.value})"


def _package(point: EntryPoint) -> str:
    """The package that has it, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
