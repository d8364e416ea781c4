"""Platform file from Batsim's SimGrid hosts (XML), as nodes of one core.

Batsim's order: by name, with numbers by value. Master, storage, speeds and network are unused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree as ET

from dardis.config.node_fields import prefixes_of
from dardis.config.platform_file import check_platform
from dardis.config.platform_text import POWER_TO_FILL_IN, Comments, Imported, platform_text
from dardis.config.xml_text import parse_xml
from dardis.model.errors import InputError, one_line
from dardis.model.hostlist import MOST_NAMES, hostlist_in_order
from dardis.model.numbers import whole_number
from dardis.model.platform import NodeGroup, Platform
from dardis.model.resources import CORES, MAX_GROUPS

_EXPECTED: Final = "a SimGrid platform: <platform> with <host>s or <cluster>s"
_BEGINS: Final = re.compile(r"\s*<(?:\?xml|!--|!DOCTYPE|platform)")
_NAME: Final = re.compile(r"[^\s\[\],\'\"]{1,200}")
_PIECE: Final = re.compile(r"[0-9]+|[^0-9]")
_MASTER: Final = "master_host"
_ROLES_WITHOUT_JOBS: Final = ("master", "storage")
_SPEED: Final = re.compile(r"([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,3})?) *([kMGTPEZY]?)(?:f|flops)?")
_PREFIXES: Final = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_LARGEST: Final = 1 << 30


class SimgridHost(NamedTuple):
    """Host; "" without stated speed."""

    name: str
    speed: str
    cores: int


def is_simgrid(text: str) -> bool:
    """Whether a text may be a SimGrid platform."""
    return _BEGINS.match(text) is not None


def simgrid_platform(path: Path, text: str) -> Imported:
    """Convert a text's hosts. Raises InputError."""
    root = parse_xml(path, text, "platform", _EXPECTED)
    hosts, without_jobs = _hosts(path, root)
    if not hosts:
        raise InputError(path, f"no host runs jobs ({len(without_jobs)} are the master or storage)", _EXPECTED)
    groups = [list(alike) for _, alike in groupby(hosts, key=lambda host: host[1:])]
    if len(groups) > MAX_GROUPS:  # equal for DARDIS
        groups = [hosts]
    names = [[host.name for host in group] for group in groups]
    prefixes = prefixes_of(names)
    nodes = tuple(NodeGroup(prefix, len(group), {CORES: 1}) for prefix, group in zip(prefixes, groups, strict=True))
    name = path.name.split(".")[0].encode(errors="replace").decode() or "site"
    platform = Platform(name, nodes, flop_per_s=_slowest(hosts))
    check_platform(platform, f"{path}: hosts", str(path))
    head = [
        "Hosts of a SimGrid platform, a node of one core each. Their names in the order of this file:",
        f"  {hostlist_in_order(host.name for host in hosts)}",
        "Power: fill in figures (W, s) for each group and remove the # (docs/formats.md).",
    ]
    within = [[f"power = {{ {POWER_TO_FILL_IN} }}"]] * len(groups)
    comments = Comments(head=head, above_group=[*map(_group_comment, groups)], within_group=within)
    notes = (one_line(note, len(note)) for note in _notes(hosts, without_jobs))
    return Imported(platform, platform_text(platform, comments), tuple(notes))


def _slowest(hosts: list[SimgridHost]) -> float | None:
    speeds = [_flop_per_s(speed) for speed in {host.speed for host in hosts}]
    return None if None in speeds else min(speed for speed in speeds if speed is not None)


def _flop_per_s(speed: str) -> float | None:
    found = _SPEED.fullmatch(speed)
    value = float(found[1]) * 1000.0 ** _PREFIXES.index(found[2]) if found else 0.0
    return value if 0 < value < float("inf") else None


def _hosts(path: Path, root: ET.Element) -> tuple[list[SimgridHost], list[str]]:
    hosts: list[SimgridHost] = []
    apart: list[str] = []
    for element in root.iter():
        if element.tag not in {"host", "cluster", "cabinet"}:
            continue
        told = f"{path}: <{element.tag} id={element.get('id', '')!r}>"
        try:
            names = [*islice(_names(element), MOST_NAMES + 1)]
            cores = whole_number(element.get("core", "1"), 1, _LARGEST)
        except ValueError as error:
            raise InputError(told, str(error), "an id, or prefix, suffix and radical, and whole numbers") from None
        if wrong := [name for name in names if not _NAME.fullmatch(name) or not name.isprintable()]:
            raise InputError(
                told, f"host {wrong[0]!r}", "names of up to 200 characters without blanks, commas, brackets, quotes"
            )
        if _is_without_jobs(element, names):
            apart += names
        else:
            speed = element.get("speed") or element.get("power") or ""
            hosts += [SimgridHost(name, speed.split(",")[0].strip(), cores) for name in names]
        if len(hosts) + len(apart) > MOST_NAMES:
            raise InputError(told, f"more than {MOST_NAMES:,} hosts", f"at most {MOST_NAMES:,}")
    hosts.sort(key=lambda host: (_by_number(host.name), host.name))
    for one, other in pairwise(hosts):
        if one.name == other.name:
            raise InputError(path, f"host {one.name!r} occurs twice", "each host once")
    return hosts, apart


def _names(element: ET.Element) -> Iterator[str]:
    if element.tag == "host":
        yield element.get("id", "")
        return
    for part in element.get("radical", "").split(","):
        first, dash, last = part.strip().partition("-")
        low = whole_number(first, 0, _LARGEST)
        high = whole_number(last, low, _LARGEST) if dash else low
        if high - low > MOST_NAMES:
            raise ValueError(f"radical {part.strip()!r} has more than {MOST_NAMES:,} hosts")
        for number in range(low, high + 1):
            yield f"{element.get('prefix', '')}{number}{element.get('suffix', '')}"


def _is_without_jobs(element: ET.Element, names: list[str]) -> bool:
    roles = (prop.get("value", "") for prop in element.findall("prop") if prop.get("id") == "role")
    said = {role.strip() for value in roles for role in value.split(",")}
    return not said.isdisjoint(_ROLES_WITHOUT_JOBS) or names == [_MASTER]


def _by_number(name: str) -> list[tuple[int, int]]:
    return [(48, int(piece)) if piece[0].isdigit() else (ord(piece), 0) for piece in _PIECE.findall(name)]


def _group_comment(group: list[SimgridHost]) -> list[str]:
    kinds = dict.fromkeys(f"{host.speed or 'no stated speed'}, core {host.cores}" for host in group)
    told = "; ".join([*kinds][:3]) + (" …" if len(kinds) > 3 else "")
    return [one_line(f"{hostlist_in_order(host.name for host in group)}: {told}", 1 << 20)]


def _notes(hosts: list[SimgridHost], apart: list[str]) -> Iterator[str]:
    if apart:
        yield f"left out, as they run no jobs: {hostlist_in_order(apart)}"
    if several := sum(host.cores > 1 for host in hosts):
        told = f"{several} of {len(hosts)} hosts have several cores"
        yield f"{told}; Batsim's jobs request hosts, so each is one core here"
    slowest = _slowest(hosts)
    if slowest is None:
        yield "some hosts state no speed: computing jobs have no runtime"
    elif len({host.speed for host in hosts}) > 1:
        yield f"speeds differ: computing jobs run as on the slowest host ({slowest:g} operations per second)"
    yield "not used: links, routes, disks, power states"
    yield "power figures must be filled in: the lines `# power = …` of the file"
