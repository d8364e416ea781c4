"""Platforms as Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from dardis.api.plain import plain_value, unchanged_file
from dardis.config.facility import FILE_KEYS
from dardis.config.option import path_of
from dardis.config.platform_file import load_platform, stated_platform
from dardis.config.platform_text import toml_table
from dardis.model import platform as model
from dardis.model.errors import InputError
from dardis.model.files import InputFiles, is_file, write_text

_PLACE: Final = Path("platform")


def nodes(
    count: int, *, prefix: str = "n", power: Mapping[str, Any] | None = None, always_on: bool = False,
    **resources: int | str,
) -> dict[str, Any]:  # fmt: skip
    """Group of `count` equal nodes for `Platform`: `nodes(64, cores=48, memory="192GiB")`.

    - `memory`: MiB, or a text with a unit.
    - `prefix`: node names are the prefix and a number.
    - `power`: power keys of a platform file (`idle_w`, `core_w`, `off_w`, `boot_s`, …), in W and s.
    - `always_on`: nodes are never shut down.
    - other keywords: amounts of other resources (`gpu=4`).
    """
    if not isinstance(always_on, bool):
        raise InputError("always_on", repr(always_on), "True or False")
    group: dict[str, Any] = {"count": count, "prefix": prefix, "resources": resources, "power": power}
    return group | {"always_on": True} if always_on else group


class Platform:
    """Machine: groups of equal nodes and other properties (docs/formats.md). Immutable.

    `nodes`: groups from `dardis.nodes`. Keywords are other keys of a platform file: `partitions`, `queues`,
    `maintenance`, `prices`, `weather`, `cooling`, `tariff`, …, with lists and mappings. File names are relative to the
    current folder. Raises `InputError`.
    """

    def __init__(
        self, nodes: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, name: str = "machine", **keys: Any,  # noqa: ANN401 (whatever a file can say)
    ) -> None:  # fmt: skip
        groups: object = [nodes] if isinstance(nodes, Mapping) else nodes
        if isinstance(groups, str) or not isinstance(groups, Iterable):
            raise InputError(
                f"{_PLACE}: nodes", f"is a {type(nodes).__name__}", "one or several results of dardis.nodes"
            )
        content: dict[str, Any] = plain_value({"name": name, "nodes": list(groups), **keys})
        for key in FILE_KEYS:
            if isinstance(content.get(key), str) and is_file(Path(content[key])):
                content[key] = str(Path(content[key]).resolve())
        self._content, self.file, self.place, self.digest = content, None, _PLACE, None
        self.machine = stated_platform(_PLACE, content)

    machine: model.Platform
    """Platform for dispatchers."""
    place: Path
    """Name in messages."""
    file: Path | None
    """Source file, or None."""
    digest: str | None
    """SHA-256 of `file` when read."""

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Platform:
        """Read a platform file. Raises `InputError` with the key."""
        found = cls.__new__(cls)
        found.file = found.place = path_of("platform", path)
        files = InputFiles()
        found.machine = files.once(load_platform, found.file)
        found.digest = files.digest(found.file)
        return found

    @property
    def name(self) -> str:
        """Platform's name."""
        return self.machine.name

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.machine.node_count

    @property
    def cores(self) -> int:
        """Total number of cores."""
        return self.machine.cores

    def __repr__(self) -> str:
        return f"<Platform {self.name}: {self.machine.describe()}>"

    def write(self, folder: str | PathLike[str]) -> Path:
        """Platform's file, written to `folder` if not read from a file.

        Raises `InputError` if the file has changed since it was read.
        """
        if self.file is not None:
            return unchanged_file(self.file, self.digest)
        file = path_of("folder", folder) / "platform.toml"
        write_text(file, toml_table(self._content))
        return file


def read_platform(path: str | PathLike[str]) -> Platform:
    """Read a platform file; see `Platform.read`."""
    return Platform.read(path)


def as_platform(what: Platform | str | PathLike[str]) -> Platform:
    """Platform from an object or file. Raises InputError."""
    if isinstance(what, Platform):
        return what
    if isinstance(what, str | PathLike):
        return Platform.read(what)
    raise InputError("platform", f"is a {type(what).__name__}", "a path, or a dardis.Platform")
