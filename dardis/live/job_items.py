"""Items of `dardis submit --each`, one for each job of an array, and their placeholders. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from dardis.live.job_option_texts import MOST_ELEMENTS, check_text
from dardis.live.job_request import JobRequest
from dardis.model.errors import InputError

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)?\}")
MOST_BYTES: Final = 32 << 20


class ItemFormat(StrEnum):
    """How a file states items."""

    LINES = "lines"
    NULL = "null"
    """Each ends with a zero byte."""
    JSON = "json"
    """JSON object a line, whose fields are placeholders."""


def parse_items(data: bytes, kind: ItemFormat, place: str) -> list[str]:
    """File's items; empty ones are left out. Raises InputError."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InputError(place, "is no UTF-8 text", "text") from None
    separator = "\0" if kind is ItemFormat.NULL else "\n"
    found = []
    for number, item in enumerate(text.split(separator), 1):
        stripped = item.removesuffix("\r") if separator == "\n" else item
        if not stripped.strip():
            continue
        if kind is ItemFormat.JSON:
            _fields(stripped, f"{place}:{number}")
        found.append(stripped)
    if not found:
        raise InputError(place, "has no items", "an item a line")
    return found


def read_items(items: Sequence[object], asked: JobRequest) -> tuple[str, ...]:
    """Submission's items. Raises InputError for bad texts or a mismatch with the array."""
    for item in items:
        check_text("items", item)
    texts = tuple(map(str, items))
    if texts and (asked.array is None or len(asked.array.indices) != len(texts)):
        raise InputError("items", f"{len(texts)} items", "an array with as many jobs")
    if sum(map(len, texts)) > MOST_BYTES:
        raise InputError("items", f"more than {MOST_BYTES} bytes", "smaller items, such as names of files")
    return texts


def check_items(items: Sequence[str], argv: Sequence[str], kind: ItemFormat, place: str) -> None:
    """Check that all items have values for a command's placeholders. Raises InputError."""
    if len(items) > MOST_ELEMENTS:
        raise InputError(place, f"{len(items)} items", f"at most {MOST_ELEMENTS} in one submission")
    if argv and not any(_PLACEHOLDER.search(word) for word in argv):
        raise InputError(place, "the command has no {}", "{}, or {NAME} of a JSON field, in place of each item")
    names = {found[1] for word in argv for found in _PLACEHOLDER.finditer(word)}
    if kind is not ItemFormat.JSON:
        return
    for number, item in enumerate(items, 1):
        fields = _fields(item, f"{place}: item {number}")
        if missing := sorted(name for name in names if name is not None and name not in fields):
            raise InputError(f"{place}: item {number}", f"has no field {missing[0]!r}", "the fields of the command")


def filled_words(argv: Sequence[str], item: str, *, is_json: bool) -> list[str]:
    """Words with the item for `{}`, or fields of a JSON object for `{NAME}`."""
    fields = _fields(item, "item") if is_json else {}

    def value(found: re.Match[str]) -> str:
        return item if found[1] is None else fields.get(found[1], found[0])

    return [_PLACEHOLDER.sub(value, word) for word in argv]


def _fields(item: str, place: str) -> dict[str, str]:
    try:
        told = json.loads(item)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise InputError(place, repr(item), "a JSON object")
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}
