"""OpenStack's Redfish emulator (sushy-tools), with machines whose switching takes no time."""

from __future__ import annotations

import logging
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


@contextmanager
def _connection(cache: Any) -> Iterator[sqlite3.Cursor]:
    """A cursor on the emulator's cache. The emulator's own method leaves its connections open."""
    with closing(sqlite3.connect(cache._dbpath)) as db, db:
        yield db.cursor()


def emulator(powers: dict[str, str], folder: Path, patch: pytest.MonkeyPatch) -> Any:
    """The application, a new one each time, with systems of these names that are `On` or `Off`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main = pytest.importorskip("sushy_tools.emulator.main")
        from sushy_tools.emulator import memoize
        from sushy_tools.emulator.resources.systems import fakedriver
    patch.setattr(fakedriver, "random", SimpleNamespace(randint=lambda *_: 0))
    patch.setattr(memoize.PersistentDict, "connection", _connection)
    patch.setattr(main.app, "_cache", {}, raising=False)  # it remembers its systems
    systems = [{"uuid": name, "name": name, "power_state": power, "nics": []} for name, power in powers.items()]
    main.app.configure(extra_config={
        "SUSHY_EMULATOR_FAKE_DRIVER": True, "SUSHY_EMULATOR_FAKE_SYSTEMS": systems,
        "SUSHY_EMULATOR_STATE_DIR": str(folder),
    })  # fmt: skip
    main.app.logger.setLevel(logging.ERROR)
    return main.app
