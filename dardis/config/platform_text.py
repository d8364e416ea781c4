"""Writing of platform files with comments."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from dardis.config.facility import FILE_KEYS
from dardis.model.errors import InputError
from dardis.model.platform import MODELLED_PLANTS, Platform


@dataclass(frozen=True)
class Comments:
    """Comment lines without `#`."""

    head: Sequence[str] = ()
    above_group: Sequence[Sequence[str]] = ()
    within_group: Sequence[Sequence[str]] = ()
    beside_partition: dict[str, str] = field(default_factory=dict)
    tail: Sequence[str] = ()


def platform_text(platform: Platform, comments: Comments | None = None) -> str:
    """Write groups and partitions as a platform file."""
    said = comments or Comments()
    speed = "" if platform.flop_per_s is None else f"flop_per_s = {platform.flop_per_s!r}\n"
    tables = [_lines(said.head) + f"name = {toml_text(platform.name)}\n{speed}"]
    for index, group in enumerate(platform.groups):
        amounts = ", ".join(f"{kind} = {amount}" for kind, amount in group.resources.items())
        tables.append(
            _lines(said.above_group[index] if said.above_group else ())
            + f"[[nodes]]\ncount = {group.count}\nprefix = {toml_text(group.prefix)}\nresources = {{ {amounts} }}\n"
            + _lines(said.within_group[index] if said.within_group else ())
        )
    if platform.partitions:
        tables.append("[partitions]\n" + "".join(_partition(platform, name, said) for name in platform.partitions))
    if said.tail:
        tables.append(_lines(said.tail))
    return "\n".join(tables)


def _partition(platform: Platform, name: str, comments: Comments) -> str:
    groups = ", ".join(toml_text(platform.groups[group].prefix) for group in platform.partitions[name])
    beside = comments.beside_partition.get(name)
    return f"{toml_text(name)} = [{groups}]" + (f"  # {beside}\n" if beside else "\n")


def _lines(comments: Sequence[str]) -> str:
    return "".join(f"# {line}\n" for line in comments)


def toml_text(text: str) -> str:
    """TOML string."""
    from tomlkit import string

    return string(text).as_string()


def toml_table(content: Mapping[str, object]) -> str:
    """TOML file."""
    from tomlkit import dumps

    return dumps(content)


def rename_files(path: Path, rename: Callable[[str], str]) -> bytes:
    """Content with other names of files. Raises InputError."""
    from tomlkit import dumps, parse
    from tomlkit.exceptions import TOMLKitError

    data = path.read_bytes()
    stated = tomllib.loads(data.decode("utf-8-sig"))
    named = {key: value for key in FILE_KEYS if isinstance(value := stated.get(key), str)}
    names = {key: rename(value) for key, value in named.items() if value not in MODELLED_PLANTS}
    if all(names[key] == named[key] for key in names):
        return data
    try:
        content = parse(data.decode("utf-8-sig"))
    except TOMLKitError as error:
        raise InputError(path, f"its files cannot be renamed: {error}") from None
    content.update(names)
    return dumps(content).encode()


POWER_TO_FILL_IN: Final = "idle_w = ?, core_w = ?, off_w = ?, boot_s = ?, boot_w = ?, shutdown_s = ?, shutdown_w = ?"


class Imported(NamedTuple):
    """Imported site."""

    platform: Platform
    text: str
    notes: tuple[str, ...]
    """Differences from the site."""
    names: tuple[str, ...] = ()
    """Site's node names, in the platform's order; of Slurm only."""
