"""Job requests: options, checks and JSON format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from typing import Any, Final, Literal

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
MOST_AFTER: Final = 1000
LARGEST_ID: Final = 1 << 53
"""JSON numbers are exact up to this."""
DEFAULT_WALLTIME_S: Final = 3600
DEFAULT_GRACE_S: Final = 10

KINDS: Final = ("ok", "any", "fail")
ALL, NONE = "all", "none"

TIMES: Final = "minutes (30), MM:SS, HH:MM:SS, D-HH[:MM[:SS]], or 90s, 10m, 2h, 1d"
MEMORIES: Final = "MiB (500), or 500M, 4G, 1T (of 1024)"
ARRAYS: Final = (
    "indices, FIRST-LAST or FIRST-LAST:STEP, separated by commas, then optionally %MOST at once, as 0-99%8 or 1,4,7-9"
)
AFTERS: Final = "ok:ID, any:ID or fail:ID, separated by commas, A-B for all from A to B"
EXPORTS: Final = "all, none, or names of variables separated by commas, each optionally with =VALUE"
PATTERNS: Final = "a path with %j (id), %A (array's first id), %a (index), %x (name), %u (user), %% (%)"

_SPAN = re.compile(r"(\d{1,18})(?:-(\d{1,18})(?::(\d{1,18}))?)?", re.ASCII)
_MOST = re.compile(r"\d{1,18}", re.ASCII)
_MEMORY = re.compile(r"(\d+)(?:([KMGT])(?:i?B)?)?", re.ASCII | re.IGNORECASE)
_UNIT_TIME = re.compile(r"(\d{1,12})([smhd])", re.ASCII)
_CLOCK_TIME = re.compile(r"(?:(\d{1,12})-)?(\d{1,12})(?::(\d\d?))?(?::(\d\d?))?", re.ASCII)
_PATTERN = re.compile(r"%(\d{0,2})(.?)", re.ASCII | re.DOTALL)
_VARIABLE = re.compile(r"[^=\0,\s]+")
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
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
    """Dependency on any end, success (`ok`) or failure (`fail`) of a job or array."""

    kind: str
    id: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Request of a job, with resources per node. Raises InputError naming the option."""

    argv: tuple[str, ...]
    """Command; with a script only arguments."""
    name: str = ""
    """Empty: last part of the first word."""
    array: Array | None = None
    walltime_s: int = DEFAULT_WALLTIME_S
    nodes: int = 1
    cpus: int = 1
    memory_mib: int | None = None
    gpus: int = 0
    after: tuple[Dependency, ...] = ()
    export: tuple[str, ...] | Literal["all", "none"] = "all"
    """Exported variables."""
    chdir: str | None = None
    """None: folder of the submission."""
    output: str = ""
    """Path pattern; empty: default."""
    error: str = ""
    """Path pattern; empty: equal to output."""
    requeue: bool = False
    hold: bool = False
    grace_s: int | None = None
    """Time from SIGTERM to SIGKILL; None: default."""

    def __post_init__(self) -> None:
        usual = "dardis-%j.out" if self.array is None else "dardis-%A_%a.out"
        output = self.output or usual
        left = {"name": self.name or PurePath(*self.argv[:1]).name or "job", "output": output}
        for name, value in {**left, "error": self.error or output}.items():
            object.__setattr__(self, name, value)
        self._check_texts()
        for option, number, least, most in (
            ("--time", self.walltime_s, 1, MOST_WALLTIME_S),
            ("--nodes", self.nodes, 1, MOST_NODES),
            ("--cpus", self.cpus, 1, MOST_CPUS),
            ("--gpus", self.gpus, 0, MOST_GPUS),
            ("--mem", self.memory_mib, 1, MOST_MEMORY_MIB),
            ("--grace", self.grace_s, 0, MOST_WALLTIME_S),
        ):
            if number is not None and not least <= number <= most:
                raise InputError(option, str(number), f"from {least} to {most}")
        if self.array is not None:
            _check_array("--array", self.array)
        if len(self.after) > MOST_AFTER:
            raise InputError("--after", f"{len(self.after)} jobs", f"at most {MOST_AFTER}")
        for one in self.after:
            _check_after("--after", one)

    def _check_texts(self) -> None:
        for word in self.argv:
            check_text("COMMAND", word)
        check_text("--name", self.name)
        if len(self.name) > 200 or "/" in self.name or not self.name.isprintable():
            raise InputError("--name", repr(self.name), "at most 200 printable characters, without /")
        check_text("--chdir", self.chdir or "")
        check_pattern("--output", self.output)
        check_pattern("--error", self.error)
        if not isinstance(self.export, str):
            for name in self.export:
                _check_variable("--export", name)
        elif self.export not in {ALL, NONE}:
            raise InputError("--export", repr(self.export), EXPORTS)

    @property
    def grace(self) -> int:
        """Time from SIGTERM to SIGKILL, s."""
        return DEFAULT_GRACE_S if self.grace_s is None else self.grace_s

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        value = {one: getattr(self, one) for one in _FIELDS}
        value["argv"] = list(self.argv)
        value["array"] = None if self.array is None else str(self.array)
        value["after"] = [asdict(one) for one in self.after]
        value["export"] = self.export if isinstance(self.export, str) else list(self.export)
        return value

    @classmethod
    def from_dict(cls, value: object, place: str = "jobs") -> JobRequest:
        """Convert from JSON values. Raises InputError."""
        given = dict(_object(value, _FIELDS, place))
        for key, kinds in _KINDS_OF.items():
            if key in given and type(given[key]) not in kinds:
                raise InputError(f"{place}.{key}", repr(given[key]), " or ".join(_KIND_WORDS[kind] for kind in kinds))
        given["argv"] = _texts(given.get("argv", []), f"{place}.argv")
        if (array := given.get("array")) is not None:
            given["array"] = read_array(array, f"{place}.array")
        given["after"] = tuple(_after_of(one, f"{place}.after") for one in given.get("after", []))
        if isinstance(given.get("export"), list):
            given["export"] = _texts(given["export"], f"{place}.export")
        return cls(**given)


_FIELDS: Final = tuple(field.name for field in fields(JobRequest))
_KIND_WORDS: Final = {
    int: "a whole number", str: "a text", bool: "true or false", list: "a list", type(None): "null",
}  # fmt: skip
_KINDS_OF: Final[dict[str, tuple[type, ...]]] = {
    "argv": (list,), "name": (str,), "array": (str, type(None)), "walltime_s": (int,), "nodes": (int,),
    "cpus": (int,), "memory_mib": (int, type(None)), "gpus": (int,), "after": (list,), "export": (str, list),
    "chdir": (str, type(None)), "output": (str,), "error": (str,), "requeue": (bool,), "hold": (bool,),
    "grace_s": (int, type(None)),
}  # fmt: skip


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
    """Readable time for `read_time`: `1:00:00`, `2-00:00:00`."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, second = divmod(rest, 60)
    return f"{days}-{hours:02}:{minutes:02}:{second:02}" if days else f"{hours}:{minutes:02}:{second:02}"


def read_memory(text: str, place: str) -> int:
    """MiB, rounded up, in a format of `MEMORIES`. Raises InputError."""
    match = _MEMORY.fullmatch(text)
    if match is not None and len(match[1]) < 20:
        mib = -(-int(match[1]) * _UNIT_KIB[(match[2] or "M").upper()] // 1024)
        if 1 <= mib <= MOST_MEMORY_MIB:
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
    _check_array(place, array)
    return array


def read_after(text: str, place: str) -> tuple[Dependency, ...]:
    """Dependencies, in the format of `AFTERS`: `ok:1:3-4` is `ok:1,ok:3,ok:4`. Raises InputError."""
    found: list[Dependency] = []
    for part in text.split(","):
        kind, *ids = part.split(":")
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
    return tuple(found)


def read_export(text: str, place: str) -> tuple[tuple[str, ...] | Literal["all", "none"], dict[str, str]]:
    """Exported names and given values, in the format of `EXPORTS`. Raises InputError."""
    names: list[str] = []
    values: dict[str, str] = {}
    whole: Literal["all", "none"] | None = None
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals and name.lower() in {ALL, NONE}:
            whole = "all" if name.lower() == ALL else "none"
            continue
        _check_variable(place, name, text)
        names.append(name)
        if equals:
            values[name] = value
    if whole is not None and (names if whole == NONE else len(names) > len(values)):
        raise InputError(place, repr(text), EXPORTS)
    return (tuple(names) if whole is None else whole), values


def check_pattern(place: str, pattern: str) -> None:
    """Check a path pattern. Raises InputError."""
    check_text(place, pattern)
    wrong = next((match[0] for match in _PATTERN.finditer(pattern) if match[2] not in set("jAaxu%")), None)
    if wrong is not None or not pattern:
        raise InputError(place, repr(pattern), PATTERNS)


def fill_pattern(pattern: str, job: int, first: int | None, index: int | None, name: str, user: str) -> str:
    """Fill in a path pattern; `first` is the first job of the array.

    A number after % is the least number of digits. A single job has itself as first job and index 0.
    """
    values = {
        "j": str(job), "A": str(job if first is None else first), "a": str(index or 0), "x": name, "u": user, "%": "%",
    }  # fmt: skip

    def value(match: re.Match[str]) -> str:
        text = values[match[2]]
        return text.zfill(int(match[1] or 0)) if match[2] in "jAa" else text

    return _PATTERN.sub(value, pattern)


def job_paths(
    asked: JobRequest, job: int, first: int | None, index: int | None, user: str, cwd: str
) -> tuple[str, str, str]:
    """Absolute paths of working directory, output and error output."""
    chdir = PurePath(cwd, asked.chdir or "")
    output, error = (
        str(chdir / fill_pattern(pattern, job, first, index, asked.name, user))
        for pattern in (asked.output, asked.error)
    )
    return str(chdir), output, error


def is_utf8(text: str) -> bool:
    """Whether a text is valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_environment(cwd: object, environment: object) -> None:
    """Check a working directory and an environment. Raises InputError."""
    check_text("cwd", cwd)
    if not str(cwd).startswith("/"):
        raise InputError("cwd", repr(cwd), "an absolute path")
    if not isinstance(environment, dict):
        raise InputError("environment", "is no object", "names and values")
    for name, value in environment.items():
        check_text("environment", name)
        check_text(name, value)
        if not name or "=" in name:
            raise InputError("environment", f"a variable can't be called {name!r}")


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


def _check_array(place: str, array: Array) -> None:
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


def _check_after(place: str, after: Dependency) -> None:
    if after.kind not in KINDS or not 1 <= after.id <= LARGEST_ID:
        raise InputError(place, repr(str(after)), AFTERS)


def _check_variable(place: str, name: str, text: str | None = None) -> None:
    check_text(place, name)
    if _VARIABLE.fullmatch(name) is None:
        raise InputError(place, repr(name if text is None else text), EXPORTS)


def _object(value: object, known: tuple[str, ...], place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(place, repr(value), "an object")
    if unknown := [key for key in value if key not in known]:
        raise InputError(place, f"unknown key {unknown[0]!r}", ", ".join(known))
    return value


def _texts(value: list[object], place: str) -> tuple[str, ...]:
    if wrong := [one for one in value if not isinstance(one, str)]:
        raise InputError(place, repr(wrong[0]), "texts")
    return tuple(str(one) for one in value)


def _after_of(value: object, place: str) -> Dependency:
    given = _object(value, ("kind", "id"), place)
    if not isinstance(given.get("kind"), str) or type(given.get("id")) is not int:
        raise InputError(place, repr(value), 'objects such as {"kind": "ok", "id": 12}')
    return Dependency(given["kind"], given["id"])
