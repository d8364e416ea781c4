"""Writing of platform files with comments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dardis.config.facility import FILE_KEYS
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


def rename_files(data: bytes, rename: Callable[[str], str]) -> bytes:
    """Rename referenced files."""
    from tomlkit import dumps, parse

    content, changed = parse(data.decode("utf-8-sig")), False
    for key in FILE_KEYS:
        value = content.get(key)
        if isinstance(value, str) and value not in MODELLED_PLANTS and (name := rename(value)) != value:
            content[key], changed = name, True
    return dumps(content).encode() if changed else data


POWER_TO_FILL_IN: Final = "idle_w = ?, core_w = ?, off_w = ?, boot_s = ?, boot_w = ?, shutdown_s = ?, shutdown_w = ?"


class Imported(NamedTuple):
    """Imported site."""

    platform: Platform
    text: str
    notes: tuple[str, ...]
    """Differences from the site."""
    names: tuple[str, ...] = ()
    """Site's node names, in the platform's order; of Slurm only."""
