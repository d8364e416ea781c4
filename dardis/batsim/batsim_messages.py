"""Messages of Batsim's protocol, versions 3 and 4. Mistakes raise InputError. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError, one_line
from dardis.workload.slurm_texts import whole_seconds

_TOLERANCE_S: Final = 1e-6
"""Of `whole_seconds`."""
_FIRST_S: Final = _TOLERANCE_S / 10
"""Sent for 0 s, since pybatsim starts no job at 0."""
_LONGEST_TYPE: Final = 60
_INTERVAL: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_SEPARATORS: Final = re.compile(r"[\s,]+")
Event = dict[str, Any]


def mistake(what: str, now: int, found: str, expected: str = "") -> InputError:
    """Scheduler's mistake."""
    return InputError(f"--batsim: {what} at {now} s", found, expected)


def event(kind: str, now: int, data: Mapping[str, Any]) -> Event:
    """Event to send."""
    return {"timestamp": _clock(now), "type": kind, "data": dict(data)}


def message(now: int, events: Sequence[Event]) -> str:
    """Message, as JSON."""
    return json.dumps({"now": _clock(now), "events": events}, separators=(",", ":"))


def _clock(now: int) -> float:
    return float(now) or _FIRST_S


@dataclass(frozen=True)
class Decision:
    """Scheduler's event, applied at `at` s."""

    kind: str
    at: int
    data: Mapping[str, Any]

    def mistake(self, found: str, expected: str = "") -> InputError:
        """This event's error."""
        return mistake(self.kind, self.at, found, expected)

    def text(self, key: str) -> str:
        """Text."""
        found = self.data.get(key)
        if not isinstance(found, str):
            raise self.mistake(f"{key} is {found!r}", "a text")
        return found

    def texts(self, key: str) -> list[str]:
        """Texts."""
        found = self.data.get(key)
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self.mistake(f"{key} is {found!r}", "a list of texts")
        return found

    def object(self, key: str) -> Mapping[str, Any]:
        """Object."""
        found = self.data.get(key)
        if not isinstance(found, dict):
            raise self.mistake(f"{key} is {found!r}", "an object")
        return found

    def seconds(self, key: str) -> float:
        """Time, s."""
        found = _number(self.data.get(key))
        if found is None:
            raise self.mistake(f"{key} is {self.data.get(key)!r}", "a time in s")
        return found

    def cores(self, key: str, count: int) -> Ints:
        """Numbers of an interval set (`0-3,5` or `0-3 5`) below `count`."""
        text = self.text(key)
        spans = []
        for part in filter(None, _SEPARATORS.split(text)):
            found = _INTERVAL.fullmatch(part)
            if found is None:
                raise self.mistake(f"{key} {text!r}", "an interval set such as 0-3,5")
            low, high = int(found[1]), int(found[2] or found[1])
            if not low <= high < count:
                raise self.mistake(f"{key} {text!r}: no resources {part}", f"resources from 0 to {count - 1}")
            spans.append(np.arange(low, high + 1))
        cores = np.sort(np.concatenate(spans)) if spans else np.zeros(0, dtype=np.int64)
        if (cores[1:] == cores[:-1]).any():
            raise self.mistake(f"{key} {text!r} has a resource twice", "each resource once")
        return cores


class Answer(NamedTuple):
    """Decisions; the scheduler is busy until `ready` s."""

    ready: int
    decisions: list[Decision]


def read_answer(answer: bytes, now: int, to: str) -> Answer:
    """Read an answer; times are rounded up."""
    what = f"answer to {to}"
    try:
        found = json.loads(answer, parse_constant=_no_number)
    except RecursionError:
        raise mistake(what, now, "is not JSON: nested too deeply") from None
    except ValueError as error:
        raise mistake(what, now, f"is not JSON ({error})") from None
    ready = _number(found.get("now")) if isinstance(found, dict) else None
    events = found.get("events") if isinstance(found, dict) else None
    if ready is None or not isinstance(events, list):
        raise mistake(what, now, "lacks `now` or `events`", "an object with a time and a list")
    last = now - _TOLERANCE_S
    if ready < last:
        raise mistake(what, now, f"goes back to {ready} s")
    decisions = []
    for one in events:
        kind, time, data = (one.get(key) for key in ("type", "timestamp", "data")) if isinstance(one, dict) else 3 * [0]
        if not isinstance(kind, str) or not isinstance(data, dict | None) or (at := _number(time)) is None:
            raise mistake(what, now, f"event {one!r}", "an object with type, timestamp and data")
        kind = one_line(kind, _LONGEST_TYPE)
        if at < last or at > ready + _TOLERANCE_S:
            raise mistake(
                kind, now, f"timestamp {at} s", f"ascending timestamps from {now} s to the answer's {ready} s"
            )
        last = at
        decisions.append(Decision(kind, max(now, whole_seconds(at)), data or {}))
    return Answer(max(now, whole_seconds(ready)), decisions)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1 << 62 or not isfinite(value):
        return None
    return float(value)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def interval_set(numbers: Ints) -> str:
    """Ascending numbers as `0-3 5`."""
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    first, last = numbers[[0, *(breaks + 1)]].tolist(), numbers[[*breaks, -1]].tolist()
    return " ".join(str(low) if low == high else f"{low}-{high}" for low, high in zip(first, last, strict=True))


def kinds_of(events: Iterable[Event]) -> str:
    """Types of events."""
    return ", ".join(dict.fromkeys(one["type"] for one in events))
