"""Damages a file as people and disks do: bytes, lines, cells, keys and values, from a seed alone."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

NUMBERS = (
    "9" * 5000, "-" + "9" * 5000, "-1", "0", "1", "-0", "1e400", "1e308", "-1e-400", "nan", "inf", "-inf", "1_800", "٣",
    "５", "²", "", " ", "9223372036854775808", "9223372036854775807", "-9223372036854775808", "2147483648",
    "1099511627776", "1099511627777", "1152921504606846976", "999999999999", "0x10", "+5", "--5", "1,5", "1.5", "=1+1",
    "007", "true", "1e3", ".5", "5.", "1e5", "10000001", "0.0000000001", "10 000", "1'000", "12GiB", "1e12", "99999",
)  # fmt: skip
TEXTS = (
    "x" * 5000, '"', '""', '"a', "'", "\x00", "\ufeff", "\t", "\r", "\v", "\f", "\u2028", "\x85", "\x1b[2J", "*", "-",
    ":", "a\\u0000b", "..", "/", "2023-02-29T00:00Z", "0001-01-01T00:00+10:00", "9999-12-31T23:59-10:00",
    "1969-12-31T23:00Z", "2023-03-26T02:30", "2023-W03-1", "24:00", "n/e", "null", "[1]", "{}", "\U0001f600",
    "K", "ſ", "İ", "job_id",
)  # fmt: skip
BYTES = (b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\t", b'"', b"'", b",", b";", b"\\",
         b"\x1f\x8b", b"[" * 3000, b"{" * 3000, b"]", b"}", b"#", b"=", b" ")  # fmt: skip
VALUES = (
    "[]", "{}", "true", '"x"', "''", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "nan", "-inf", "0xffff", "1e400",
    "[" * 30 + "]" * 30, "[" * 900 + "]" * 900, "[1, 2.5, 'x']", "{ a = 1 }", "-1", "0", "9223372036854775807",
    '"' + "y" * 5000 + '"', '"a\\u0000b"', '"\\n"', '""', "3.7", "10000000",
)  # fmt: skip
LEAVES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, -(2**63), 10**400, 1.5, 1e308, -0.0, float("nan"), float("inf"),
    "", "x", "x" * 5000, "1_800", "٣", "a\0b", "\n", "*", "0:1", "cores", [], {}, [[]], [None], {"a": 1},
    "2023-05-01T00:00",
)  # fmt: skip
_CELL = re.compile(rb"[^,;\t \n]+")
_NUMBER = re.compile(rb"[0-9][0-9.]*")
_KEY = re.compile(rb'(?m)^\s*\[*"?([A-Za-z_]\w*)"?\s*[\]=:]|"(\w+)"\s*:|([A-Za-z_]\w*)\s*=')
_VALUE = re.compile(rb"[=:]\s*([^,\n}\]]+)")
_SEPARATOR = re.compile(rb"[,;\t ]")

Change = Callable[[bytes, Random], bytes]


def mutated(data: bytes, draw: Random) -> bytes:
    """One to four changes of a file, at times of its JSON tree, at times packed as gzip at last."""
    if data[:1] == b"{" and draw.random() < 0.6:
        data = _tree(data, draw)
    else:
        for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
            data = draw.choice(CHANGES)(data, draw)
    return draw.choice(PACKED)(gzip.compress(data, mtime=0)) if draw.random() < 0.04 else data


def _span(data: bytes, draw: Random, most: int) -> tuple[int, int]:
    start = draw.randint(0, len(data))
    return start, min(start + draw.randint(1, most), len(data))


def _replaced(data: bytes, draw: Random, pattern: re.Pattern[bytes], new: bytes, group: int = 0) -> bytes:
    """One match of a pattern, of those from a place at random on, replaced."""
    match = pattern.search(data, draw.randint(0, max(len(data) - 1, 0))) or pattern.search(data)
    if match is None:
        return data + new
    start, end = match.span(group)
    return data[:start] + new + data[end:]


def flip(data: bytes, draw: Random) -> bytes:
    if not data:
        return b"\x01"
    place = draw.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]


def insert(data: bytes, draw: Random) -> bytes:
    place = draw.randint(0, len(data))
    return data[:place] + draw.choice(BYTES) + data[place:]


def delete(data: bytes, draw: Random) -> bytes:
    start, end = _span(data, draw, 20)
    return data[:start] + data[end:]


def repeat(data: bytes, draw: Random) -> bytes:
    start, end = _span(data, draw, 60)
    return data[:end] + data[start:end] * draw.choice((1, 1, 2, 50)) + data[end:]


def cut(data: bytes, draw: Random) -> bytes:
    return data[: draw.randint(0, len(data))]


def number(data: bytes, draw: Random) -> bytes:
    return _replaced(data, draw, _NUMBER, draw.choice(NUMBERS).encode())


def cell(data: bytes, draw: Random) -> bytes:
    return _replaced(data, draw, _CELL, draw.choice((*NUMBERS, *TEXTS)).encode())


def empty_cell(data: bytes, draw: Random) -> bytes:
    return _replaced(data, draw, _CELL, b"")


def value(data: bytes, draw: Random) -> bytes:
    return _replaced(data, draw, _VALUE, draw.choice(VALUES).encode(), 1)


def key(data: bytes, draw: Random) -> bytes:
    """A key renamed, or called as another one is."""
    found = [match[match.lastindex or 0] for match in _KEY.finditer(data)] or [b"a"]
    return re.sub(rb"\b" + re.escape(draw.choice(found)) + rb"\b", draw.choice((*found, b"zz")), data, count=1)


def swap_cells(data: bytes, draw: Random) -> bytes:
    lines = data.split(b"\n")
    place = draw.randrange(len(lines))
    separators = _SEPARATOR.findall(lines[place])
    cells = _SEPARATOR.split(lines[place])
    one, other = draw.randrange(len(cells)), draw.randrange(len(cells))
    cells[one], cells[other] = cells[other], cells[one]
    joined = b"".join(c + s for c, s in zip(cells, [*separators, b""], strict=True))
    return b"\n".join([*lines[:place], joined, *lines[place + 1 :]])


def column(data: bytes, draw: Random) -> bytes:
    """A column of all lines left out, said twice, or put in another's place."""
    lines = [line.split(b",") for line in data.split(b"\n")]
    width = max(map(len, lines))
    one, other = draw.randrange(width), draw.randrange(width)
    what = draw.randrange(3)
    for cells in lines:
        if one >= len(cells) or other >= len(cells):
            continue
        if what == 0:
            del cells[one]
        elif what == 1:
            cells.insert(one, cells[one])
        else:
            cells[one], cells[other] = cells[other], cells[one]
    return b"\n".join(map(b",".join, lines))


def lines_about(data: bytes, draw: Random) -> bytes:
    """A line left out, said twice or put in another's place."""
    lines = data.split(b"\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            lines.insert(one, draw.choice((b"", b" ", b",,,", b";", b"#", b"{", b"[[nodes]]", b"\x00")))
    return b"\n".join(lines)


def replace_file(data: bytes, draw: Random) -> bytes:
    """The file in another shape: empty, its first line, other ends of lines, another coding, twice."""
    shapes: tuple[Callable[[], bytes], ...] = (
        lambda: b"",
        lambda: data.partition(b"\n")[0],
        lambda: data.replace(b"\n", b"\r"),
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b",", b";"),
        lambda: data.replace(b",", b"\t"),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.decode("latin-1").encode("utf-16"),
        lambda: data + data,
        data.upper,
        lambda: data.rstrip(b"\n"),
        lambda: b"\n\n" + data,
        lambda: data.replace(b"\n", b""),
    )
    return draw.choice(shapes)()


CHANGES: tuple[Change, ...] = (
    flip, insert, delete, repeat, cut, number, number, number, cell, cell, empty_cell, value, value, key, swap_cells,
    column, lines_about, lines_about, replace_file,
)  # fmt: skip
PACKED: tuple[Callable[[bytes], bytes], ...] = (
    lambda packed: packed,
    lambda packed: packed[: len(packed) // 2],
    lambda packed: packed[:-4],
    lambda packed: packed[:20] + b"\xff" + packed[21:],
    lambda packed: b"\x1f\x8b" + packed[10:],
    lambda packed: packed + gzip.compress(b"0" * 3_000_000, mtime=0),
)


def _tree(data: bytes, draw: Random) -> bytes:
    """A JSON file with some of its parts replaced, left out, renamed or said twice."""
    content = json.loads(data)
    for _ in range(draw.choice((1, 1, 2, 3))):
        parts = [(content, name) for name in _names(content)]
        for holder, name in parts:
            if len(parts) < 2000:
                parts += [(holder[name], inner) for inner in _names(holder[name])]
        if not parts:
            break
        holder, name = draw.choice(parts)
        match draw.randrange(6):
            case 0:
                del holder[name]
            case 1 if isinstance(holder, dict):
                holder[draw.choice((name + "x", "", "a\0b", "x" * 5000))] = holder.pop(name)
            case 1:
                holder.insert(name, deepcopy(holder[name]))
            case 2:
                other_holder, other = draw.choice(parts)
                holder[name] = deepcopy(other_holder[other])
            case _:
                holder[name] = deepcopy(draw.choice(LEAVES))
    return json.dumps(content).encode()


def _names(part: Any) -> list[Any]:
    return list(part) if isinstance(part, dict) else list(range(len(part))) if isinstance(part, list) else []
