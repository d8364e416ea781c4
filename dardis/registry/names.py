"""Every dispatcher by name: ours, and those that other packages register as entry points of `dardis.dispatchers`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from dardis.config.set_up import AnySetUp
from dardis.config.settings import known_settings
from dardis.dispatch import CENTRAL_SETUPS
from dardis.model.errors import InputError
from dardis.registry.builders import CENTRAL, LATE, PLANNED
from dardis.registry.dispatcher import Builder, Dispatcher
from dardis.task_manager import LATE_SETUPS, SETUPS

GROUP: Final = "dardis.dispatchers"
"""The group of entry points; each is a `Dispatcher`, and its name is that of the entry point."""
_KINDS = ((SETUPS, PLANNED), (LATE_SETUPS, LATE), (CENTRAL_SETUPS, CENTRAL))
OURS: Final[dict[str, Dispatcher]] = {
    name: Dispatcher(name, setup, builder) for setups, builder in _KINDS for name, setup in setups.items()
}


def dispatcher_names() -> tuple[str, ...]:
    """The names of all: ours first. Raises InputError for a name that is taken."""
    return (*OURS, *_registered())


def dispatchers_that(can: Callable[[AnySetUp], bool]) -> str:
    """The names of those whose set-ups say that they can do something, for people."""
    return ", ".join(name for name in dispatcher_names() if can(dispatcher_as_registered(name).setup))


def find_dispatcher(name: str, settings: Iterable[str] = ()) -> Dispatcher:
    """The named dispatcher with `KEY=VALUE` settings applied.

    Raises InputError, which lists the known names, keys or values; and for one that can't be loaded.
    """
    return dispatcher_as_registered(name).with_settings(settings)


def dispatcher_as_registered(name: str) -> Dispatcher:
    """The named dispatcher as its package has it; settings may follow others. Raises InputError."""
    points = _registered()
    if name not in OURS and name not in points:
        known = ", ".join((*OURS, *points))
        raise InputError("--dispatcher", f"unknown dispatcher {name!r}", f"one of {known}")
    return OURS[name] if name in OURS else _loaded(points[name])


def dispatcher_origin(name: str) -> str:
    """The package, with its version, that has registered a dispatcher; empty for ours, and for what is unknown."""
    point = _registered().get(name)
    return "" if point is None else _package(point)


@cache
def _registered() -> dict[str, EntryPoint]:
    """Those of other packages, not loaded yet."""
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point))):
        taken = "dardis" if point.name in OURS else _package(points[point.name]) if point.name in points else None
        if taken is not None:
            raise InputError(
                _place(point), f"the name is taken by {taken}", "another name, or to uninstall one of them"
            )
        points[point.name] = point
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
    return replace(found, name=point.name, origin=_package(point))


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
