"""Service's use in the last day: power, cores, nodes on, cap. Kept in the folder."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from dardis.model.files import atomic_text

FILE: Final = "use.csv"
KEPT_S: Final = 86_400
FINE_S: Final = 3600
"""Older samples become means of `BIN_S`, s."""
BIN_S: Final = 30
_SLACK_S: Final = 600
REPEAT_S: Final = 30
"""Longest time between two samples of a running service, s."""
LONGEST_GAP_S: Final = 3 * REPEAT_S
"""Longest time of a sample, s."""
_HOUR_S: Final = 3600
_LINES: Final = 50_000


class UseSample(NamedTuple):
    """Use from a moment on. None: unknown, or no cap."""

    unix_s: int
    watts: float | None
    cores: int
    cap_watts: float | None
    cap_cores: float | None
    nodes_on: int
    waiting: int


class HourUse(NamedTuple):
    """Power in an hour: mean and largest W, and known hours."""

    unix_s: int
    mean_w: float
    peak_w: float
    hours: float


class UseHistory:
    """Samples of the last day."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.samples: list[UseSample] = []
        self._lines = self._coarse_until = 0
        with suppress(OSError, UnicodeDecodeError):
            for line in self._path.read_text(encoding="ascii").splitlines():
                with suppress(ValueError, TypeError):
                    self._append(_sample(line))
        self._write_anew()

    def add(self, sample: UseSample) -> bool:
        """Add a sample, at most one a second, after a change or much time."""
        while self.samples and self.samples[-1].unix_s > sample.unix_s + REPEAT_S:
            self.samples.pop()  # of a clock that ran ahead
        last = self.samples[-1] if self.samples else None
        if last is not None and (
            sample.unix_s <= last.unix_s
            or (sample[1:] == last[1:] and sample.unix_s < last.unix_s + REPEAT_S)
        ):  # fmt: skip
            return False
        self._append(sample)
        self._lines += 1
        if self._lines > _LINES:
            self._write_anew()
        else:
            with suppress(OSError), self._path.open("a", encoding="ascii") as file:  # not worth the end of the service
                file.write(_line(sample))
        return True

    def _append(self, sample: UseSample) -> None:
        if self.samples and sample.unix_s <= self.samples[-1].unix_s:
            raise ValueError("not later")
        self.samples.append(sample)
        if self._coarse_until < sample.unix_s - FINE_S - _SLACK_S:
            self._coarsen((sample.unix_s - FINE_S) // BIN_S * BIN_S)
        if self.samples[0].unix_s < sample.unix_s - KEPT_S - _HOUR_S:
            del self.samples[: bisect_left(self.samples, sample.unix_s - KEPT_S, key=_time)]

    def _coarsen(self, cut: int) -> None:
        first, last = (bisect_left(self.samples, time, key=_time) for time in (self._coarse_until, cut))
        self._coarse_until = cut
        bins: dict[int, list[tuple[UseSample, int, int]]] = {}
        for place in range(first, last):
            sample = self.samples[place]
            end = min(self.samples[place + 1].unix_s, sample.unix_s + LONGEST_GAP_S)
            if end > cut:
                if self.samples[last].unix_s > cut:
                    self.samples.insert(last, sample._replace(unix_s=cut))
                end = cut
            begin = sample.unix_s
            while begin < end:
                edge = min(end, (begin // BIN_S + 1) * BIN_S)
                bins.setdefault(begin // BIN_S, []).append((sample, begin, edge))
                begin = edge
        self.samples[first:last] = map(_mean, bins.values())

    def _write_anew(self) -> None:
        self._lines = len(self.samples)
        with suppress(OSError), atomic_text(self._path) as file:
            file.writelines(map(_line, self.samples))

    def spans(self, until_s: int) -> Iterator[tuple[UseSample, int]]:
        """Yield each sample and the end of its time, Unix s."""
        ends = [*(one.unix_s for one in self.samples[1:]), until_s]
        for sample, end in zip(self.samples, ends, strict=True):
            yield sample, min(end, sample.unix_s + LONGEST_GAP_S)

    def hours(self, until_s: int) -> list[HourUse]:
        """Power by hour of the day before `until_s`, without unknown hours."""
        first = (until_s - KEPT_S) // _HOUR_S
        found: dict[int, list[float]] = {}
        for sample, end in self.spans(until_s):
            if sample.watts is None:
                continue
            for hour in range(max(sample.unix_s // _HOUR_S, first), -(-end // _HOUR_S)):
                seconds = min(end, (hour + 1) * _HOUR_S) - max(sample.unix_s, hour * _HOUR_S)
                if seconds > 0:
                    of = found.setdefault(hour, [0.0, 0.0, 0.0])
                    of[0], of[1], of[2] = of[0] + sample.watts * seconds, max(of[1], sample.watts), of[2] + seconds
        return [HourUse(hour * _HOUR_S, of[0] / of[2], of[1], of[2] / _HOUR_S) for hour, of in sorted(found.items())]


def _time(sample: UseSample) -> int:
    return sample.unix_s


def _mean(parts: Sequence[tuple[UseSample, int, int]]) -> UseSample:
    seconds = sum(end - begin for _, begin, end in parts)
    known = [(one.watts, end - begin) for one, begin, end in parts if one.watts is not None]
    watts = sum(value * length for value, length in known) / sum(length for _, length in known) if known else None
    cores = sum(one.cores * (end - begin) for one, begin, end in parts) / seconds
    caps = [
        max((value for one, _, _ in parts if (value := one[place]) is not None), default=None)
        for place in (UseSample._fields.index("cap_watts"), UseSample._fields.index("cap_cores"))
    ]
    waiting = max(one.waiting for one, _, _ in parts)
    return UseSample(parts[0][1], watts, round(cores), caps[0], caps[1], parts[-1][0].nodes_on, waiting)


def _line(sample: UseSample) -> str:
    return ",".join("" if value is None else f"{value:.10g}" for value in sample) + "\n"


def _sample(line: str) -> UseSample:
    unix_s, watts, cores, cap_watts, cap_cores, nodes_on, waiting = line.split(",")
    numbers = [None if not text else float(text) for text in (watts, cap_watts, cap_cores)]
    return UseSample(int(unix_s), numbers[0], int(cores), numbers[1], numbers[2], int(nodes_on), int(waiting))
