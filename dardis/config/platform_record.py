"""Decides what a JSON file of ours may say of a machine: as strict as a platform file, by the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from dardis.config.platform import check_amounts, check_platform
from dardis.config.queues import time_zone
from dardis.config.reservations import check_reservations, places_of
from dardis.config.toml_file import Table
from dardis.model.errors import InputError
from dardis.model.limits import LATEST
from dardis.model.platform import Platform
from dardis.model.queues import LATEST_BEGIN, Hours


class Record(Table):
    """A JSON object of which some keys are known."""

    model_config = ConfigDict(extra="ignore")


class MachineRecord(Record):
    """A file that tells a machine beside other things."""

    platform: Platform

    def machine(self, path: Path) -> Platform:
        """The machine; `path` is where it was read. Raises InputError for parts that do not go together."""
        for part, mistake in _mistakes(self.platform):
            raise InputError(f"{path}: platform{part}", mistake)
        check_platform(self.platform, f"{path}: platform.groups", f"{path}: platform.maintenance")
        check_reservations(self.platform, places_of(f"{path}: platform.reservations", self.platform))
        return self.platform


def _mistakes(platform: Platform) -> Iterator[tuple[str, str]]:
    """What no type of a field excludes, though it holds for each platform that a file states: where, and what."""
    for index, group in enumerate(platform.groups):
        try:
            check_amounts(group.resources)
        except ValueError as error:
            yield f".groups[{index}].resources", str(error)
    groups = len(platform.groups)
    for name, indices in platform.partitions.items():
        if max(indices) >= groups:
            yield "", f"partition {name!r} names group {max(indices)}; expected numbers from 0 to {groups - 1}"
    if max((group for some in platform.more_sets for group in some), default=0) >= groups:
        yield "", "more_sets name a group that there is not"
    if platform.kept_groups:
        yield ".kept_groups", f"{platform.kept_groups}; expected 0"
    yield from _mistakes_in_time(platform)
    yield from _mistakes_of_queues(platform)


def _mistakes_in_time(platform: Platform) -> Iterator[tuple[str, str]]:
    """Those of spans and of prime time."""
    spans = [(f".maintenance[{index}]", window.start, window.end) for index, window in enumerate(platform.maintenance)]
    limits = enumerate(platform.facility.limits)
    for place, start, end in [*spans, *((f".facility.limits[{index}]", one.start, one.end) for index, one in limits)]:
        if end <= start:
            yield place, f"end {end} is not after start {start}"
    for index, reservation in enumerate(platform.reservations):
        for (start, end), (after, _) in pairwise([*reservation.spans, (LATEST + 1, 0)]):
            if not start < end < after:
                yield f".reservations[{index}]", f"from {start} to {end}, then from {after}; expected spans in order"
        if [*reservation.nodes] != sorted(set(reservation.nodes)):
            yield f".reservations[{index}]", "nodes are not in order"
    if (prime := platform.prime) is None:
        return
    try:
        time_zone(prime.timezone)
    except ValueError as error:
        yield ".prime.timezone", str(error)
    if not 0 <= (prime.unix_start or 0) + prime.first <= LATEST_BEGIN:
        yield ".prime", "begins in a year that no calendar has"


def _mistakes_of_queues(platform: Platform) -> Iterator[tuple[str, str]]:
    for index, queue in enumerate(platform.queues):
        if max(queue.groups or (0,)) >= len(platform.groups):
            yield "", f"queue {queue.name!r} names a group that there is not"
        if queue.hours is not Hours.ANY and (platform.prime is None or platform.prime.unix_start is None):
            yield "", f"queue {queue.name!r} has {queue.hours} hours, and nobody says when that is"
        for start, end in queue.stopped:
            if end <= start:
                yield f".queues[{index}]", f"stopped until {end}, which is not after {start}"


def platform_from_dict(data: dict[str, Any]) -> Platform:
    """The platform that `platform_to_dict` described. Raises ValueError when it is no such description."""
    return MachineRecord.model_validate({"platform": data}, strict=False).platform
