"""Every dispatcher by name, distributed and central, and the one of a name with settings applied."""

from __future__ import annotations

from dardis.config.settings import with_settings
from dardis.dispatch import CENTRAL_SETUPS, CentralSetUp, checked
from dardis.model.errors import InputError
from dardis.task_manager import LATE_SETUPS, SETUPS, LateSetUp, SetUp

AnySetUp = SetUp | LateSetUp | CentralSetUp
DISPATCHERS: dict[str, AnySetUp] = {**SETUPS, **LATE_SETUPS, **CENTRAL_SETUPS}


def find_setup(name: str, settings: tuple[str, ...]) -> AnySetUp:
    """The named dispatcher's set-up with settings applied; InputError lists the known names, keys or values."""
    if name not in DISPATCHERS:
        raise InputError("--dispatcher", f"unknown dispatcher {name!r}", f"one of {', '.join(DISPATCHERS)}")
    setup = DISPATCHERS[name]
    if isinstance(setup, CentralSetUp):
        return checked(with_settings(setup, settings))
    return with_settings(setup, settings)
