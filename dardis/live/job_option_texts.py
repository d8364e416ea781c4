"""Texts of job options: arrays, dependencies, times, sizes, patterns and exported variables."""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final, Literal, NamedTuple

from dardis.model.errors import InputError
from dardis.model.numbers import whole_number

MOST_ELEMENTS: Final = 100_000
MOST_SPANS: Final = 1000
LARGEST_INDEX: Final = 10**9
MOST_NODES: Final = 1 << 20
MOST_CPUS: Final = 1 << 20
MOST_GPUS: Final = 1 << 12
MOST_MEMORY_MIB: Final = 1 << 40
MOST_WALLTIME_S: Final = 3660 * 86400
UNLIMITED_S: Final = MOST_WALLTIME_S
"""Walltime of a job without limit."""
DEFAULT_RETRY_DELAY_S: Final = 10
MOST_RETRY_DELAY_S: Final = 86400
MOST_RETRIES: Final = 1000
MOST_PRIORITY: Final = (1 << 31) - 1
MOST_NODE_WATTS: Final = 1_000_000
MOST_SIGNAL_S: Final = 65_535
DEFAULT_SIGNAL_S: Final = 60
SIGNAL_NUMBERS: Final = frozenset(int(number) for number in signal.Signals)
MOST_AFTER: Final = 1000
MOST_PATH: Final = 4096
LAST_MOMENT_MS: Final = 253_402_300_799_000
"""End of the year 9999, Unix ms."""
LARGEST_ID: Final = 1 << 53
"""JSON numbers are exact to this."""
DEFAULT_WALLTIME_S: Final = 3600
DEFAULT_GRACE_S: Final = 10

KINDS: Final = ("ok", "any", "fail", "each", "start")
"""`each`: the job with the same index has succeeded. `start`: started or cancelled."""
ALL, NONE = "all", "none"

NODES: Final = "a whole number, or LEAST-MOST"
SIGNALS: Final = "[B:]SIGNAL[@SECONDS] with a name or a number as signal, as B:USR1@300"
TIMES: Final = "minutes (30), MM:SS, HH:MM:SS, D-HH[:MM[:SS]], or 90s, 10m, 2h, 1d"
MEMORIES: Final = "MiB (500), or 500M, 4G, 1T (of 1024)"
ARRAYS: Final = (
    "indices, FIRST-LAST or FIRST-LAST:STEP, separated by commas, then optionally %MOST at once, as 0-99%8 or 1,4,7-9"
)
AFTERS: Final = (
    "ok:ID, any:ID, fail:ID, each:ID or start:ID, A-B for all from A to B, or singleton, "
    "separated by commas (all of them) or ? (one of them)"
)
EXPORTS: Final = "all, none, or names of variables separated by commas, each optionally with =VALUE"
PATTERNS: Final = (
    "a path with %j or %J (id), %A (array's first id), %a (index), %b (index modulo 10), %x (name), %u (user), "
    "%N (first node), %n, %t (0), %s (batch), %% (%)"
)

_SPAN = re.compile(r"(\d{1,18})(?:-(\d{1,18})(?::(\d{1,18}))?)?", re.ASCII)
_MOST = re.compile(r"\d{1,18}", re.ASCII)
_MEMORY = re.compile(r"(\d+)(?:([KMGT])(?:i?B)?)?", re.ASCII | re.IGNORECASE)
_UNIT_TIME = re.compile(r"(\d{1,12})([smhd])", re.ASCII)
_CLOCK_TIME = re.compile(r"(?:(\d{1,12})-)?(\d{1,12})(?::(\d\d?))?(?::(\d\d?))?", re.ASCII)
_NODES = re.compile(r"(\d{1,9})([km]?)(?:-(\d{1,9})([km]?))?", re.ASCII)
_SIGNAL = re.compile(r"(B:)?([A-Z0-9]{1,12})(?:@(\d{1,9}))?", re.ASCII)
_PATTERN = re.compile(r"%(\d{0,2})(.?)", re.ASCII | re.DOTALL)
_EXPORT_COMMA = re.compile(r""",(?=(?:[^'"]|'[^']*'|"[^"]*")*$)""")
_VARIABLE = re.compile(r"[^=\0,\s]+")
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_UNIT_COUNT: Final = {"": 1, "k": 1 << 10, "m": 1 << 20}
_UNIT_KIB: Final = {"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}


@dataclass(frozen=True)
class Array:
    """Array indices; at most `most` jobs run at once."""

    spans: tuple[range, ...]
    most: int | None = None

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return ",".join(map(_span_text, self.spans)) + ("" if self.most is None else f"%{self.most}")

    @cached_property
    def indices(self) -> Sequence[int]:
        """All indices."""
        return self.spans[0] if len(self.spans) == 1 else tuple(chain(*self.spans))


@dataclass(frozen=True, slots=True)
class Dependency:
    """Dependency on a job or array; `kind` is one of `KINDS`."""

    kind: str
    id: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


class After(NamedTuple):
    """Start conditions."""

    jobs: tuple[Dependency, ...]
    any_of: bool = False
    """One of them is enough."""
    singleton: bool = False
    """No earlier job of the same user and name is left."""


@dataclass(frozen=True, slots=True)
class LimitSignal:
    """Signal some seconds before the walltime."""

    number: int
    before_s: int
    batch: bool
    """To the first process only, otherwise to job steps."""


def read_walltime(text: str, place: str) -> int:
    """Seconds of a walltime; UNLIMITED_S for none. Raises InputError."""
    if text.lower() in {"0", "unlimited", "infinite", "infinity", "-1"}:
        return UNLIMITED_S
    return read_time(text, place)


def read_nodes(text: str, place: str) -> tuple[int, int | None]:
    """Least and most number of nodes (None: exactly the least). Raises InputError."""
    match = _NODES.fullmatch(text)
    counts = (
        []
        if match is None
        else [int(one) * _UNIT_COUNT[unit or ""] for one, unit in (match.groups()[:2], match.groups()[2:]) if one]
    )
    if not counts or not 1 <= counts[0] <= counts[-1] <= MOST_NODES:
        raise InputError(place, repr(text), f"{NODES}, from 1 to {MOST_NODES}")
    return counts[0], counts[1] if len(counts) > 1 else None


def read_signal(text: str, place: str) -> LimitSignal:
    """Signal ahead of the walltime, in the format of `SIGNALS`. Raises InputError."""
    match = _SIGNAL.fullmatch(text.upper())
    name = "" if match is None else match[2]
    known = {one.name.removeprefix("SIG"): int(one) for one in signal.Signals}
    number = int(name) if name.isdecimal() else known.get(name.removeprefix("SIG"), 0)
    before_s = DEFAULT_SIGNAL_S if match is None or match[3] is None else int(match[3])
    if match is None or number not in SIGNAL_NUMBERS or before_s > MOST_SIGNAL_S:
        raise InputError(place, repr(text), f"{SIGNALS}, at most {MOST_SIGNAL_S} s")
    return LimitSignal(number, before_s, match[1] is not None)


def read_time(text: str, place: str) -> int:
    """Seconds of a time, in a format of `TIMES`. Raises InputError."""
    seconds = None
    if match := _UNIT_TIME.fullmatch(text):
        seconds = int(match[1]) * _UNIT_S[match[2]]
    elif match := _CLOCK_TIME.fullmatch(text):
        days, *rest = match.groups()
        parts = [int(part) for part in rest if part is not None]
        if days is not None:
            hours, minutes, second = [*parts, 0, 0][:3]
            seconds = None if hours > 23 else int(days) * 86400 + hours * 3600 + minutes * 60 + second
        elif len(parts) == 3:
            hours, minutes, second = parts
            seconds = hours * 3600 + minutes * 60 + second
        else:
            minutes, second = [*parts, 0][:2]
            seconds = minutes * 60 + second
        if any(part > 59 for part in parts[1:]):
            seconds = None
    if seconds is None or not 1 <= seconds <= MOST_WALLTIME_S:
        raise InputError(place, repr(text), f"a time from 1s to 3660d: {TIMES}")
    return seconds


def time_text(seconds: int) -> str:
    """Readable time for `read_walltime`: `1:00:00`, `2-00:00:00`, `unlimited`."""
    if seconds == UNLIMITED_S:
        return "unlimited"
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, second = divmod(rest, 60)
    return f"{days}-{hours:02}:{minutes:02}:{second:02}" if days else f"{hours}:{minutes:02}:{second:02}"


def read_memory(text: str, place: str, least: int = 1) -> int:
    """MiB, rounded up and at least `least`, in a format of `MEMORIES`. Raises InputError."""
    match = _MEMORY.fullmatch(text)
    if match is not None and len(match[1]) < 20:
        mib = -(-int(match[1]) * _UNIT_KIB[(match[2] or "M").upper()] // 1024)
        if least <= mib <= MOST_MEMORY_MIB:
            return mib
    raise InputError(place, repr(text), MEMORIES)


def read_array(text: str, place: str) -> Array:
    """Array, in the format of `ARRAYS`. Raises InputError."""
    said, percent, most = text.partition("%")
    _check_spans(place, said.count(",") + 1)
    if percent and _MOST.fullmatch(most) is None:
        raise InputError(place, repr(text), ARRAYS)
    spans: list[range] = []
    for span in said.split(","):
        if (match := _SPAN.fullmatch(span)) is None:
            raise InputError(place, repr(text), ARRAYS)
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if step < 1:
            raise InputError(place, repr(text), "1 or more as :STEP")
        spans.append(range(first, last + 1, step))
    array = Array(tuple(spans), int(most) if percent else None)
    check_array(place, array)
    return array


def read_after(text: str, place: str) -> After:
    """Start conditions, in the format of `AFTERS`: `ok:1:3-4` is `ok:1,ok:3,ok:4`. Raises InputError."""
    found: list[Dependency] = []
    any_of, singleton = "?" in text, False
    if any_of and "," in text:
        raise InputError(place, repr(text), AFTERS)
    for part in text.split("?" if any_of else ","):
        kind, *ids = part.split(":")
        if part == "singleton" and not any_of:
            singleton = True
            continue
        try:
            for one in ids:
                first, dash, last = one.partition("-")
                low = whole_number(first, 1, LARGEST_ID)
                high = whole_number(last, low, min(low + MOST_AFTER, LARGEST_ID)) if dash else low
                found += [Dependency(kind, number) for number in range(low, high + 1)]
        except ValueError:
            raise InputError(place, repr(text), AFTERS) from None
        if kind not in KINDS or not ids:
            raise InputError(place, repr(text), AFTERS)
    return After(tuple(found), any_of, singleton)


def read_export(text: str, place: str) -> tuple[tuple[str, ...] | Literal["all", "none"], dict[str, str]]:
    """Exported names and values, in the format of `EXPORTS`. Raises InputError."""
    names: list[str] = []
    values: dict[str, str] = {}
    whole: Literal["all", "none"] | None = None
    for part in _EXPORT_COMMA.split(text):
        name, equals, value = part.partition("=")
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        if not equals and name.lower() in {ALL, NONE}:
            whole = "all" if name.lower() == ALL else "none"
            continue
        check_variable(place, name, text)
        names.append(name)
        if equals:
            values[name] = value
    if whole is not None and (names if whole == NONE else len(names) > len(values)):
        raise InputError(place, repr(text), EXPORTS)
    return (tuple(names) if whole is None else whole), values


def check_pattern(place: str, pattern: str) -> None:
    """Check a path pattern. Raises InputError."""
    check_text(place, pattern)
    wrong = next((match[0] for match in _PATTERN.finditer(pattern) if match[2] not in set("jJAabxuNnts%")), None)
    if wrong is not None or not pattern:
        raise InputError(place, repr(pattern), PATTERNS)


def fill_pattern(
    pattern: str, job: int, first: int | None, index: int | None, name: str, user: str, node: str
) -> str:  # fmt: skip
    """Fill in a path pattern; `first`: first job of the array, `node` the first node.

    A number after % is the least number of digits. A single job has index 0.
    """
    values = {
        "j": str(job), "J": str(job), "A": str(job if first is None else first), "a": str(index or 0),
        "b": str((index or 0) % 10), "x": name, "u": user, "N": node, "n": "0", "t": "0", "s": "batch", "%": "%",
    }  # fmt: skip

    def value(match: re.Match[str]) -> str:
        text = values[match[2]]
        return text.zfill(int(match[1] or 0)) if match[2] in "jJAabnt" else text

    return _PATTERN.sub(value, pattern)


def is_utf8(text: str) -> bool:
    """Whether a text is valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_text(place: str, text: object) -> None:
    """Check a text for a path, variable or command. Raises InputError."""
    if not isinstance(text, str):
        raise InputError(place, "is no text", "a text")
    if not is_utf8(text):
        raise InputError(place, ascii(text), "UTF-8")
    if "\0" in text:
        raise InputError(place, repr(text), "a text without zero bytes")


def _check_spans(place: str, count: int) -> None:
    if count > MOST_SPANS:
        raise InputError(place, f"{count} parts", f"at most {MOST_SPANS}")


def check_array(place: str, array: Array) -> None:
    """Check an array. Raises InputError."""
    _check_spans(place, len(array.spans))
    if not all(span and 0 <= span[0] <= span[-1] <= LARGEST_INDEX for span in array.spans) or not array.spans:
        raise InputError(place, repr(str(array)), f"a first index up to the last, from 0 to {LARGEST_INDEX}")
    if array.most is not None and array.most < 1:
        raise InputError(place, repr(str(array)), "1 or more as %MOST")
    if (count := sum(map(len, array.spans))) > MOST_ELEMENTS:
        raise InputError(place, f"{count} jobs", f"at most {MOST_ELEMENTS} in one array")
    if len(array.spans) > 1:
        index, times = Counter(array.indices).most_common(1)[0]
        if times > 1:
            raise InputError(place, f"index {index} {times} times", "each index once")


def _span_text(span: range) -> str:
    if len(span) == 1:
        return str(span[0])
    return f"{span.start}-{span.stop - 1}" + ("" if span.step == 1 else f":{span.step}")


def check_after(place: str, after: Dependency) -> None:
    """Check a dependency. Raises InputError."""
    if after.kind not in KINDS or not 1 <= after.id <= LARGEST_ID:
        raise InputError(place, repr(str(after)), AFTERS)


def check_variable(place: str, name: str, text: str | None = None) -> None:
    """Check a variable's name. Raises InputError."""
    check_text(place, name)
    if _VARIABLE.fullmatch(name) is None:
        raise InputError(place, repr(name if text is None else text), EXPORTS)
