"""Decides what the JSON files may say that our own commands wrote: as strict as what a user writes, by the same rules.

Keys that are unknown here are a later version's and are left out. Any damage is an InputError with file and key.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from dardis.config.facility import Amount, FacilityKeys
from dardis.config.platform import NodesTable, PowerTable, check_platform
from dardis.config.queues import Limit, Priority, time_zone
from dardis.config.reservations import check_reservations, places_of
from dardis.config.run import JobsSpec
from dardis.config.times import LATEST, Time
from dardis.config.toml_file import Table, read_json
from dardis.model.errors import InputError
from dardis.model.laid_out import BEFORE_ALL
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64
from dardis.model.platform import MAX_GROUPS, NOBODY_KNOWS, Facility, Platform
from dardis.model.platform_dict import platform_from_dict
from dardis.model.queues import LATEST_BEGIN, Hours

COUNTS: Final = ("jobs", "completed", "killed", "rejected")
"""The counts of jobs in a metrics.json."""
DIGEST: Final = "schedule_digest"
_LARGEST_FIGURE: Final = 1e24
"""Beyond all that can be counted, measured or paid."""


class Record(Table):
    """A JSON object of which some keys are known."""

    model_config = ConfigDict(extra="ignore")


def _figure(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str | None):
        raise ValueError(f"{value!r}; expected a number, a text or null")
    if isinstance(value, int | float) and not abs(value) <= _LARGEST_FIGURE:
        raise ValueError(f"{value!r}; expected a number of at most {_LARGEST_FIGURE:g}")
    return value


def _setting(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{value!r}; expected a word or a whole number")
    return value


def _by_key(value: object) -> object:
    return {} if isinstance(value, list) else value  # that of several days holds --set as it was written


def _plain(value: JsonValue) -> JsonValue:
    json.dumps(value, allow_nan=False)  # raises ValueError
    return value


Figure = Annotated[Any, BeforeValidator(_figure)]
"""A number, finite; a text; None where it has no meaning."""
Plain = Annotated[JsonValue, AfterValidator(_plain)]
"""Whatever JSON can say; its numbers are finite."""
Count = Annotated[int, Field(ge=0, le=LATEST)]
Edge = Annotated[int, Field(ge=BEFORE_ALL, le=NOBODY_KNOWS)]
"""When a span begins or ends: at a time, before all of them, or nobody knows when."""
Bound = Annotated[int, Field(ge=LEAST_INT64, le=LARGEST_INT64)]
"""A time that jobs are cut at: any that `--from` and `--to` take."""


class PowerRecord(PowerTable):
    """What a node draws."""

    model_config = ConfigDict(extra="ignore")

    device_w: dict[str, Amount] = Field(default_factory=dict)


class GroupRecord(NodesTable):
    """A group of equal nodes."""

    model_config = ConfigDict(extra="ignore")

    power: PowerRecord | None = None


class MaintenanceRecord(Record):
    """Nodes that hold nothing during `[start, end)`."""

    nodes: Annotated[list[Count], Field(min_length=1)]
    start: Edge
    end: Edge
    less: list[Count] | None = None
    foreseen: bool = True

    @model_validator(mode="after")
    def _has_length(self) -> MaintenanceRecord:
        if self.end <= self.start:
            raise ValueError(f"end {self.end} is not after start {self.start}")
        return self


class LimitRecord(Record):
    """What the grid asked for, for a time."""

    start: Time
    end: Time
    most_kw: Amount
    penalty_per_kwh: Amount | None = None

    @model_validator(mode="after")
    def _has_length(self) -> LimitRecord:
        if self.end <= self.start:
            raise ValueError(f"end {self.end} is not after start {self.start}")
        return self


class FacilityRecord(FacilityKeys):
    """What surrounds the machine."""

    model_config = ConfigDict(extra="ignore")

    calendar_start: Count | None = None
    demand_per_kw: Amount = Facility().demand_per_kw
    co2_per_t: Amount = Facility().co2_per_t
    contracted_kw: Amount | None = None
    contract_penalty_per_kwh: Amount | None = None
    limits: list[LimitRecord] = Field(default_factory=list)


class QueueRecord(Record):
    """A queue of the site."""

    name: Annotated[str, Field(min_length=1)]
    expected_wait_s: Limit | None = None
    longest_wait_s: Limit | None = None
    priority: Priority = 0
    groups: Annotated[list[Count], Field(min_length=1)] | None = None
    max_units: Limit | None = None
    max_walltime_s: Limit | None = None
    max_job: dict[str, Count] = Field(default_factory=dict)
    hours: Hours = Hours.ANY
    stopped: list[tuple[Edge, Edge]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _spans_have_length(self) -> QueueRecord:
        for start, end in self.stopped:
            if end <= start:
                raise ValueError(f"stopped until {end}, which is not after {start}")
        return self


class PrimeRecord(Record):
    """The hours of the working day."""

    start: Annotated[int, Field(ge=0, le=86_400)]
    end: Annotated[int, Field(ge=0, le=86_400)]
    days: Annotated[list[Annotated[int, Field(ge=0, le=6)]], Field(min_length=1)]
    timezone: Annotated[str, AfterValidator(time_zone)]
    unix_start: Time | None = None
    first: Time = 0

    @model_validator(mode="after")
    def _begins_in_a_known_year(self) -> PrimeRecord:
        if not 0 <= (self.unix_start or 0) + self.first <= LATEST_BEGIN:
            raise ValueError("begins in a year that no calendar has")
        return self


class ReservationRecord(Record):
    """What is kept on some nodes for the jobs of a queue."""

    name: Annotated[str, Field(min_length=1)]
    queue: Annotated[str, Field(min_length=1)]
    nodes: Annotated[list[Count], Field(min_length=1)]
    spans: Annotated[list[tuple[Time, Time]], Field(min_length=1)]
    resources: dict[str, Count] | None = None
    users: list[str] | None = None
    stands: bool = True

    @model_validator(mode="after")
    def _spans_have_length(self) -> ReservationRecord:
        for (start, end), (following, _) in zip(self.spans, [*self.spans[1:], (LATEST + 1, 0)], strict=True):
            if not start < end < following:
                raise ValueError(f"from {start} to {end}, then from {following}; expected spans in order")
        if self.nodes != sorted(set(self.nodes)):
            raise ValueError("nodes are not in order")
        return self


class PlatformRecord(Record):
    """A machine, as `platform_to_dict` tells it."""

    name: Annotated[str, Field(min_length=1)]
    groups: Annotated[list[GroupRecord], Field(min_length=1, max_length=MAX_GROUPS)]
    partitions: dict[str, Annotated[list[Count], Field(min_length=1)]]
    maintenance: list[MaintenanceRecord]
    currency: Annotated[str, Field(min_length=1)] = "EUR"
    exchange: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    flop_per_s: Annotated[float, Field(gt=0)] | None = None
    more_sets: list[list[Count]] = Field(default_factory=list)
    income_per_core_h: Amount = 0.013
    income_by_queue: dict[str, Amount] = Field(default_factory=dict)
    states_income: bool = True
    facility: FacilityRecord = Field(default_factory=FacilityRecord)
    queues: list[QueueRecord] = Field(default_factory=list)
    prime: PrimeRecord | None = None
    reservations: list[ReservationRecord] = Field(default_factory=list)
    ends: Edge | None = None
    """When it is over, if it is the part of one that is kept for a reservation."""

    @model_validator(mode="after")
    def _groups_that_exist(self) -> PlatformRecord:
        for name, indices in self.partitions.items():
            if max(indices) >= len(self.groups):
                expected = f"numbers from 0 to {len(self.groups) - 1}"
                raise ValueError(f"partition {name!r} names group {max(indices)}; expected {expected}")
        if max((group for groups in self.more_sets for group in groups), default=0) >= len(self.groups):
            raise ValueError("more_sets name a group that there is not")
        for queue in self.queues:
            if max(queue.groups or (0,)) >= len(self.groups):
                raise ValueError(f"queue {queue.name!r} names a group that there is not")
            if queue.hours is not Hours.ANY and (self.prime is None or self.prime.unix_start is None):
                raise ValueError(f"queue {queue.name!r} has {queue.hours} hours, and nobody says when that is")
        return self


class MachineRecord(Record):
    """A file that tells a machine beside other things."""

    platform: PlatformRecord

    def machine(self, path: Path) -> Platform:
        """The machine; `path` is where it was read. Raises InputError for parts that do not go together."""
        platform = platform_from_dict(self.platform.model_dump())
        check_platform(platform, f"{path}: platform.groups", f"{path}: platform.maintenance")
        check_reservations(platform, places_of(f"{path}: platform.reservations", platform))
        return platform


class ChangedRecord(Record):
    """What events have made of a job: what it asked for in the end, and how long it ran before its nodes failed."""

    job: int
    walltime_s: Count
    queue: str
    ran_s: Count | None = None


class Rejection(Record):
    """A job that was rejected, and why."""

    job: int
    reason: str


class RoundedRecord(Record):
    """Cores that were added so that jobs have equal units, and of how many jobs."""

    cores: Count
    jobs: Count


class RunRecord(JobsSpec, Record):
    """The run.json of a run: all that is needed to run it again.

    A key that an older version did not write has its default.
    """

    model_config = ConfigDict(extra="ignore")

    dardis_version: Annotated[str | None, Field(description="Version of DARDIS.")] = None
    command: Annotated[list[str], Field(description="Command line.")] = Field(default_factory=list)
    dispatcher: Annotated[str | None, Field(description="Name of the dispatcher.")] = None
    settings: Annotated[
        dict[str, Annotated[Any, BeforeValidator(_setting)]],
        BeforeValidator(_by_key),
        Field(description="Value of every key of `--set`."),
    ] = Field(default_factory=dict)
    seed: Annotated[int | None, Field(description="Seed of every random choice.")] = None
    trace: Annotated[str | None, Field(description="File of the trace; `null`: made in Python.")] = None
    trace_sha256: Annotated[str | None, Field(description="Digest of the trace when it was read.")] = None
    from_s: Annotated[Bound | None, Field(description="Jobs submitted from then, s on the trace's clock.")] = None
    to_s: Annotated[Bound | None, Field(description="Jobs submitted before then, s on the trace's clock.")] = None
    rounded_up: Annotated[
        RoundedRecord | None,
        Field(description="`cores` that were added so that units are equal, in so many `jobs`."),
    ] = None
    platform_file: Annotated[str | None, Field(description="File of the platform; `null`: made in Python.")] = None
    platform: Annotated[PlatformRecord | None, Field(description="The platform in full.")] = None
    platform_files_sha256: Annotated[
        dict[str, str | None], Field(description="Digests of the files that the platform names.")
    ] = Field(default_factory=dict)
    profile_file: Annotated[str | None, Field(description="File of the desired profile.")] = None
    profile_sha256: Annotated[str | None, Field(description="Its digest.")] = None
    events_file: Annotated[str | None, Field(description="File of the events.")] = None
    events_sha256: Annotated[str | None, Field(description="Its digest.")] = None
    changed: Annotated[
        list[ChangedRecord],
        Field(
            description="Effects of events on single jobs: `job`, `walltime_s` and `queue` as in its last request, and"
            " `ran_s`, its runtime until a node failed (`null`: none failed)."
        ),
    ] = Field(default_factory=list)
    deadlines: Annotated[str | None, Field(description="Rule of the latest starts, or the file with them.")] = None
    deadlines_stated: Annotated[
        bool | None, Field(description="Whether deadlines in the trace stayed, as they do without a rule.")
    ] = None
    deadlines_sha256: Annotated[str | None, Field(description="Digest of the file of deadlines.")] = None
    task_managers: Annotated[int | None, Field(description="Task managers that shared the jobs.")] = None
    arity: Annotated[int | str | None, Field(description="Children of a host in the tree, or `flat`.")] = None
    sample: Annotated[int | None, Field(description="Nodes asked first for each unit; `null`: all.")] = None
    trim: Annotated[
        tuple[Count, Count] | None, Field(description="Warm-up and cool-down, s, whose jobs don't count.")
    ] = None
    ranks: Annotated[int | None, Field(description="MPI ranks.")] = None
    unix_start: Annotated[Time | None, Field(description="Unix time of the trace's second 0, if known.")] = None
    warnings: Annotated[list[str], Field(description="Warnings of the run.")] = Field(default_factory=list)
    skipped: Annotated[list[str], Field(description="Lines of the trace that give no job.")] = Field(
        default_factory=list
    )
    rejected: Annotated[list[Rejection], Field(description="Rejected jobs, each with its reason.")] = Field(
        default_factory=list
    )
    started_utc: Annotated[str | None, Field(description="When the files were read.")] = None
    request: Annotated[
        dict[str, Plain],
        Field(
            description="All that the outcome depends on, with files by their digests before they were read, and the"
            " version of DARDIS: two runs with the same `request` have the same outcome."
        ),
    ] = Field(default_factory=dict)

    @property
    def unit_cores(self) -> int | None:
        """The setting of that name: cores of a unit; None: of a node."""
        value = self.settings.get("unit_cores")
        return value if isinstance(value, int) else None

    def machine(self, path: Path) -> Platform:
        """The machine of the run.json at `path`. Raises InputError where it is damaged."""
        if self.platform is None:
            raise InputError(f"{path}: platform", "None", "a table")
        return MachineRecord(platform=self.platform).machine(path)


class Figures(Table):
    """A flat object of figures."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Figure]


class Metrics(Figures):
    """The figures of a metrics.json: numbers or null, but for the digest; the counts of jobs are whole."""

    @model_validator(mode="after")
    def _of_a_run(self) -> Metrics:
        figures = self.model_dump()
        for key, value in figures.items():
            if isinstance(value, str) and key != DIGEST:
                raise ValueError(f"{key} is {value!r}; expected a number, or null")
        for key in COUNTS:
            if not isinstance(count := figures.get(key, 0), int) or count < 0:
                raise ValueError(f"{key} is {count!r}; expected how many jobs")
        if not isinstance(figures.get(DIGEST), str | None):
            raise ValueError(f"{DIGEST} is {figures[DIGEST]!r}; expected a text")
        return self


class KnownFigures(Record):
    """What was found of a trace had all its jobs been known; s."""

    trace: str
    jobs: Count
    bound_s: float | None
    best_s: float | None


class KnownRecord(Record):
    """The same, and of which runs."""

    key: dict[str, Plain]
    known: KnownFigures


class PlanHead(MachineRecord):
    """What every JSON form of a plan begins with."""

    format: Literal["dardis-plan"]
    version: Literal[1]
    settings: dict[str, Plain] = Field(default_factory=dict)


def read_metrics(path: Path) -> dict[str, Any]:
    """The figures of a run by their keys. Raises InputError."""
    return read_json(path, Metrics).model_dump()
