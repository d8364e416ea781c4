"""Puts power figures into the text of a platform file, and promises that all else in it stays as it was written.

Each edit touches one line. The text is read again afterwards: where it does not say exactly what it said before, with
the new figures, nothing is written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dardis.config.platform import PlatformFile, load_platform
from dardis.config.toml_file import read_toml
from dardis.model.errors import InputError
from dardis.model.files import atomic_text
from dardis.model.platform import Platform

Key = tuple[str, ...]
"""Of a figure within `power`: `("idle_w",)`, `("devices", "gpu", "busy_w")`."""
Figures = Mapping[Key, float]
_PART = r'(?:[A-Za-z0-9_-]+|"[^"\\]*"|\'[^\']*\')'
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=\s*")
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]\]?\s*(?:#.*)?$")
_TEMPLATE = re.compile(r"(\s*)#\s*power\s*=\s*\{[^#]*\?[^#]*\}\s*$")
"""What `dardis platform import` leaves to fill in."""
_OTHERS = ("off_w", "boot_s", "boot_w", "shutdown_s", "shutdown_w")
_NODES, _POWER = "nodes", "power"


@dataclass(frozen=True)
class _Place:
    """A line of a group's part of the file, and what it says: a header of a table, or the value of a key."""

    line: int
    path: Key
    """Within the group's table."""
    value: int | None
    """Where in the line its value begins; None: it is a header."""


def write_figures(path: Path, out: Path, changes: Mapping[int, Figures]) -> None:
    """Write the platform file with other power figures (W) of some groups, by index; `out` may be the file itself.

    Raises InputError where the file's form does not let a figure be put in, or it would say something else from `out`.
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
        _see_the_rest_is_the_same(path, out, before, Path(file.name))


def idle_of_devices(path: Path) -> list[dict[str, float]]:
    """For each group of a platform file the idle power (W) that it states of one device of a kind."""
    tables = read_toml(path, PlatformFile).nodes
    return [
        {kind: one.idle_w for kind, one in (table.power.devices if table.power else {}).items()} for table in tables
    ]


def _see_the_rest_is_the_same(path: Path, out: Path, before: Platform, written: Path) -> None:
    """InputError where more than power differs: files are named relative to the platform file."""
    elsewhere = InputError(out, f"would not find the files that {path} names", f"a file in {path.absolute().parent}")
    try:
        after = load_platform(written)
    except InputError:
        raise elsewhere from None
    if after.facility != before.facility:
        raise elsewhere
    groups = tuple(replace(group, power=old.power) for group, old in zip(after.groups, before.groups, strict=True))
    if replace(after, groups=groups) != before:
        raise InputError(path, "would say something else than before", "a file that nobody writes meanwhile")


def with_figures(text: str, changes: Mapping[int, Figures]) -> str:
    """The text with these figures; ValueError where its form does not let them be put in."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    wanted = tomllib.loads(text)
    for group, figures in changes.items():
        for key, watts in figures.items():
            text = _with_figure(text, group, key, watts)
            table = wanted[_NODES][group].setdefault(_POWER, {})
            for part in key[:-1]:
                table = table.setdefault(part, {})
            table[key[-1]] = watts
            _see_it_says(text, wanted, group, key)
    return mark + text


def _see_it_says(text: str, wanted: dict[str, Any], group: int, key: Key) -> None:
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        said = None
    if said != wanted:
        raise ValueError(f"nodes[{group}] is written so that {'.'.join((_POWER, *key))} can't be put in")


def _with_figure(text: str, group: int, key: Key, watts: float) -> str:
    """With one figure, where the line for it is found: its own, that of a table around it, or a new one."""
    lines = text.splitlines(keepends=True)
    places = list(_places(lines, group))
    path = (_POWER, *key)
    values = {place.path: place for place in places if place.value is not None}
    headers = {place.path: place for place in places if place.value is None}
    for depth in range(len(path), 0, -1):
        part = path[:depth]
        if part in values:
            place = values[part]
            lines[place.line] = _with_value(lines[place.line], place.value or 0, path[depth:], watts)
            return "".join(lines)
        if part in headers:
            return _inserted(lines, headers[part].line, _assigned(path[depth:], watts))
    dotted = next((place for at, place in values.items() if at[0] == _POWER), None)
    if dotted is not None:
        return _inserted(lines, dotted.line, f"{'.'.join(map(_quoted, path))} = {_toml(watts)}")
    if () not in headers:
        raise ValueError(f"nodes[{group}] has no [[nodes]] line of its own")
    template = next((line for line in _own_lines(lines, places) if _TEMPLATE.match(lines[line])), None)
    if template is not None:
        indent, end = _TEMPLATE.match(lines[template])[1], _line_end(lines[template])  # type: ignore[index]
        lines[template] = f"{indent}{_assigned(path, watts)}  # still to fill in: {', '.join(_OTHERS)}{end}"
        return "".join(lines)
    resources = values.get(("resources",))
    first = headers[()].line
    is_own = resources is not None and all(place.line > resources.line for path, place in headers.items() if path)
    return _inserted(lines, resources.line if resources and is_own else first, _assigned(path, watts))


def _places(lines: list[str], group: int) -> Iterator[_Place]:
    """The headers and keys of one group's part; lines within texts of several lines may be taken for some."""
    at = -1
    table: Key = ("",)
    for number, line in enumerate(lines):
        header, key = _HEADER.match(line.rstrip("\r\n")), _KEY.match(line)
        if header is not None:
            path = _parts(header[2])
            at += header[1] == "[[" and path == (_NODES,)
            table = path
            if at == group and table[0] == _NODES:
                yield _Place(number, table[1:], None)
        elif key is not None and at == group and table[0] == _NODES:
            yield _Place(number, (*table[1:], *_parts(key[1])), key.end())


def _own_lines(lines: list[str], places: list[_Place]) -> Iterator[int]:
    """The lines of the group's own table, comments among them: up to the next header."""
    first = next(place.line for place in places if place.path == () and place.value is None)
    for number in range(first + 1, len(lines)):
        if _HEADER.match(lines[number].rstrip("\r\n")):
            return
        yield number


def _parts(key: str) -> Key:
    """The parts of a dotted key, without quotes."""
    return tuple(part.strip("\"'") for part in re.findall(_PART, key))


def _with_value(line: str, begin: int, rest: Key, watts: float) -> str:
    """The line with its value replaced, or with the figure that `rest` names in the inline table that is its value."""
    content = line.rstrip("\r\n")
    for end in range(begin + 1, len(content) + 1):
        behind = content[end:].lstrip()
        if behind and not behind.startswith("#"):
            continue
        try:
            value = tomllib.loads(f"x = {content[begin:end]}")["x"]
        except tomllib.TOMLDecodeError:
            continue
        spaces = content[begin:end][len(content[begin:end].rstrip()) :]
        return content[:begin] + _toml(_put(value, rest, watts)) + spaces + content[end:] + _line_end(line)
    return line


def _put(value: object, rest: Key, watts: float) -> object:
    if not rest:
        return watts
    table = deepcopy(value) if isinstance(value, dict) else {}
    table[rest[0]] = _put(table.get(rest[0], {}), rest[1:], watts)
    return table


def _toml(value: object) -> str:
    """A value of a `power` table: numbers, tables within each other."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_quoted(key)} = {_toml(part)}" for key, part in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _assigned(path: Key, watts: float) -> str:
    """`power = { idle_w = 180 }`."""
    return f"{path[0]} = {_toml(_put({}, path[1:], watts))}"


def _inserted(lines: list[str], after: int, content: str) -> str:
    """With a line more."""
    end = _line_end(lines[after])
    if not end:
        lines[after] += "\n"
    lines.insert(after + 1, content + (end or "\n"))
    return "".join(lines)


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
