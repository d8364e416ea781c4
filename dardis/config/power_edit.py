"""Editing of power figures in platform files, compared before writing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dardis.config.platform_file import PlatformFile, load_platform
from dardis.config.toml_file import read_toml
from dardis.model.errors import InputError
from dardis.model.files import atomic_text
from dardis.model.platform import Platform

if TYPE_CHECKING:
    from tomlkit.items import InlineTable, Table

Key = tuple[str, ...]
Figures = Mapping[Key, float]
_TEMPLATE: Final = re.compile(r"#\s*power\s*=\s*\{[^#]*\?[^#]*\}\s*$")
"""From `dardis platform import`."""
_OTHERS: Final = "off_w, boot_s, boot_w, shutdown_s, shutdown_w"
_NODES, _POWER = "nodes", "power"


def write_figures(path: Path, out: Path, changes: Mapping[int, Figures]) -> None:
    """Write new power figures (W) by group index to `out`.

    Raises InputError if the format prevents it, or relative files would differ.
    """
    before = load_platform(path)
    text = path.read_bytes().decode("utf-8")
    try:
        changed = with_figures(text, changes)
    except ValueError as error:
        raise InputError(path, str(error), "power = { … } on one line of its [[nodes]] table") from None
    with atomic_text(out) as file:
        file.write(changed)
        file.flush()
        _check_only_power_changed(path, out, before, Path(file.name))


def idle_of_devices(path: Path) -> list[dict[str, float]]:
    """Idle power (W) per device kind for each group."""
    tables = read_toml(path, PlatformFile).nodes
    return [
        {kind: one.idle_w for kind, one in (table.power.devices if table.power else {}).items()} for table in tables
    ]


def _check_only_power_changed(path: Path, out: Path, before: Platform, written: Path) -> None:
    elsewhere = InputError(out, f"cannot find the files that {path} names", f"a file in {path.absolute().parent}")
    try:
        after = load_platform(written)
    except InputError:
        raise elsewhere from None
    if after.facility != before.facility:
        raise elsewhere
    groups = tuple(replace(group, power=old.power) for group, old in zip(after.groups, before.groups, strict=True))
    if replace(after, groups=groups) != before:
        raise InputError(path, "changed during the edit", "a file that no other program writes")


def with_figures(text: str, changes: Mapping[int, Figures]) -> str:
    """Edited text. Raises ValueError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    wanted = tomllib.loads(text)
    line_end = "\r\n" if text.count("\r\n") == text.count("\n") > 0 else "\n"
    try:
        document = tomlkit.parse(text.replace(line_end, "\n"))
        for group, figures in changes.items():
            for key, watts in figures.items():
                _put(wanted[_NODES][group], (_POWER, *key), watts)
            _edit_group(document[_NODES][group], figures)
        text = document.as_string().replace("\n", line_end)
        said = tomllib.loads(text)
    except (TOMLKitError, tomllib.TOMLDecodeError):
        said = {}
    if said != wanted:
        raise ValueError(f"the format of {_NODES} prevents the insertion of power figures")
    return mark + text


def _put(table: dict[str, Any], key: Key, watts: float) -> None:
    for part in key[:-1]:
        table = table.setdefault(part, {})
    table[key[-1]] = int(watts) if watts == int(watts) else watts


def _edit_group(group: Table | InlineTable, figures: Figures) -> None:
    from tomlkit.items import Comment, Table

    is_new = _POWER not in group
    for key, watts in figures.items():
        _edit(group, (_POWER, *key), watts)
    comments = [part for _, part in group.value.body if isinstance(part, Comment)] if isinstance(group, Table) else []
    template = next((one for one in comments if _TEMPLATE.match(one.trivia.comment)), None)
    if is_new and template is not None:
        template.trivia.comment = f"{_POWER} = {group.pop(_POWER).as_string()}  # to be filled in: {_OTHERS}"


def _edit(table: Any, key: Key, watts: float) -> None:  # noqa: ANN401 (any kind of table that tomlkit has)
    import tomlkit
    from tomlkit.items import InlineTable

    name, *rest = key
    within = table.get(name)
    if rest and isinstance(within, Mapping) and not isinstance(within, InlineTable):
        _edit(within, tuple(rest), watts)
        return
    plain = {name: within.unwrap()} if rest and isinstance(within, InlineTable) else {}
    _put(plain, key, watts)
    table[name] = tomlkit.value(_inline(plain[name]))


def _inline(value: object) -> str:
    import tomlkit

    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{tomlkit.key(key).as_string()} = {_inline(part)}" for key, part in value.items()) + " }"
        )
    return tomlkit.item(value).as_string()
