"""Slurm's JSON, of `--json` or slurmrestd (OpenAPI 0.0.38 to 0.0.44)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from dardis.model.errors import InputError, one_line
from dardis.model.files import is_json

LISTS: Final = ("jobs", "nodes", "partitions", "reservations", "sinfo")
"""Keys of documents that hold records."""
_EXPECTED = "the complete output of a Slurm command with --json, or of slurmrestd"
_BLANKS = re.compile(r"\s*")
_UNSET = frozenset({0xFFFFFFFE, (1 << 64) - 2})
_INFINITE = frozenset({0xFFFFFFFF, (1 << 64) - 1})
"""Plain numbers of versions before 0.0.39."""
_LARGEST = 1 << 64


class SlurmRecord(NamedTuple):
    """Record of a list, with its line."""

    line: int
    kind: str
    """Its list, such as `jobs`."""
    content: Mapping[str, Any]


def is_slurm_json(text: str) -> bool:
    """Whether a text is Slurm's JSON, even if incomplete. Batsim's workloads have profiles."""
    return is_json(text) and not _PROFILES.search(text) and _SLURM_KEY.search(text) is not None


_PROFILES = re.compile(r'"profiles"\s*:')
_SLURM_KEY = re.compile(r'"(?:meta|errors|job_id)"\s*:')


def slurm_records(path: Path, text: str, needed: str = "") -> Iterator[SlurmRecord]:
    """Records of all documents of a file.

    Raises InputError for an incomplete document, a stated error, or if no document has the list `needed`.
    """
    documents = _Documents(path, text)
    yield from documents.records()
    if needed and needed not in documents.lists:
        raise InputError(path, f"has no {needed}", _EXPECTED)


class _Documents:
    """Position in a text of concatenated documents. Records are decoded alone, for their lines."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        self._decode = json.JSONDecoder(parse_constant=_reject_constant).raw_decode
        self._at = 0
        self._line, self._counted = 1, 0
        self.lists: set[str] = set()

    def records(self) -> Iterator[SlurmRecord]:
        self._skip_blanks()
        while self._at < len(self._text):
            yield from self._document()
            self._skip_blanks()

    def _document(self) -> Iterator[SlurmRecord]:
        self._take("{")
        while not self._accept("}"):
            key = self._value()
            self._take(":")
            if key in LISTS and self._accept("["):
                self.lists.add(str(key))
                yield from self._records(str(key))
            else:
                self._check(key, self._value())
            self._accept(",")

    def _records(self, kind: str) -> Iterator[SlurmRecord]:
        while not self._accept("]"):
            line, value = self._current_line(), self._value()
            if not isinstance(value, dict):
                raise InputError(f"{self._path}:{line}", f"{kind} with {value!r}"[:60], "objects")
            yield SlurmRecord(line, kind, value)
            self._accept(",")

    def _check(self, key: object, value: object) -> None:
        if key == "errors" and isinstance(value, list) and value:
            first = value[0]
            said = (first.get(word) for word in ("description", "error")) if isinstance(first, dict) else (first,)
            found = f"Slurm's error: {', '.join(str(word) for word in said if word)}"
            raise InputError(self._path, one_line(found, 200), "an answer without errors")

    def _value(self) -> object:
        try:
            value: object
            value, self._at = self._decode(self._text, self._at)
        except RecursionError:
            raise self._error("nested too deeply") from None
        except json.JSONDecodeError as error:
            self._at = error.pos
            raise self._error(error.msg) from None
        except ValueError as error:
            raise self._error(str(error)) from None
        self._skip_blanks()
        return value

    def _accept(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._at)
        if found:
            self._at += 1
            self._skip_blanks()
        elif self._at >= len(self._text):
            raise self._error("it ends too early")
        return found

    def _take(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._error(f"no {sign}")

    def _skip_blanks(self) -> None:
        found = _BLANKS.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _current_line(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _error(self, reason: str) -> InputError:
        line = self._text.count("\n", 0, self._at) + 1
        return InputError(f"{self._path}:{line}", f"is not JSON ({reason})", _EXPECTED)


def _reject_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def number_of(value: object) -> float | None:
    """Number of `5`, `"5"` or `{set, infinite, number}`; None if unset, infinity if unlimited. Raises ValueError."""
    if isinstance(value, Mapping):
        if value.get("infinite") is True:
            return math.inf
        return None if value.get("set") is False else number_of(value.get("number"))
    if value is None or value == "":
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{1,20}", value, re.ASCII):
        value = int(value)
    if type(value) not in {int, float}:
        raise ValueError(f"{value!r} is not a number"[:80])
    assert isinstance(value, int | float)
    if abs(value) > _LARGEST and value != math.inf:
        raise ValueError(f"{value!r} is too large"[:80])
    if value in _INFINITE:
        return math.inf
    return None if value in _UNSET else value


def words_of(value: object) -> tuple[str, ...]:
    """Words of a list, or of a text with commas. Raises ValueError."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(filter(None, map(str.strip, value.split(","))))
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise ValueError(f"{value!r} is not a list of words"[:80])


def inner(value: object, *keys: str) -> object:
    """Value at a path of keys; None if absent."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
