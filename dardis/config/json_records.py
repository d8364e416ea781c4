"""JSON files. Unknown keys are ignored; damage raises InputError."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from dardis.config.platform_record import MachineRecord, Record
from dardis.config.run_spec import JobsSpec
from dardis.config.toml_file import Table, read_json
from dardis.model.errors import InputError
from dardis.model.numbers import LARGEST_INT64, LEAST_INT64
from dardis.model.platform import Platform
from dardis.model.resources import Count, Time

COUNTS: Final = ("jobs", "completed", "killed", "rejected")
DIGEST: Final = "schedule_digest"
_LARGEST_FIGURE: Final = 1e24


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
    return {} if isinstance(value, list) else value  # a list comes from a run of several days


def _plain(value: JsonValue) -> JsonValue:
    json.dumps(value, allow_nan=False)  # raises ValueError
    return value


Figure = Annotated[Any, BeforeValidator(_figure)]
Plain = Annotated[JsonValue, AfterValidator(_plain)]
Bound = Annotated[int, Field(ge=LEAST_INT64, le=LARGEST_INT64)]


class ChangedRecord(Record):
    """Final request of a changed job, and its runtime before a node failure."""

    job: int
    walltime_s: Count
    queue: str
    ran_s: Count | None = None


class Rejection(Record):
    """Rejected job with the reason."""

    job: int
    reason: str


class RegisteredRecord(Record):
    """Job registered by a scheduler."""

    job: int
    id: str


class RoundedRecord(Record):
    """Cores added to make units equal."""

    cores: Count
    jobs: Count


class RunRecord(JobsSpec, Record):
    """Content of run.json, sufficient to repeat the run. Absent keys have defaults."""

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
    trace: Annotated[str | None, Field(description="File of the trace; `null` if made in Python.")] = None
    trace_sha256: Annotated[str | None, Field(description="Digest of the trace when it was read.")] = None
    from_s: Annotated[Bound | None, Field(description="Begin of counted submissions, s on the trace's clock.")] = None
    to_s: Annotated[Bound | None, Field(description="End of counted submissions, s on the trace's clock.")] = None
    rounded_up: Annotated[
        RoundedRecord | None,
        Field(description="Number of `cores` added to make units equal, and of the `jobs` that got them."),
    ] = None
    platform_file: Annotated[str | None, Field(description="File of the platform; `null` if made in Python.")] = None
    platform: Annotated[Platform | None, Field(description="The platform in full.")] = None
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
            description="Jobs changed by events: `job`, `walltime_s` and `queue` of the last request, and `ran_s`, the"
            " runtime until a node failed (`null` if none failed)."
        ),
    ] = Field(default_factory=list)
    killed: Annotated[list[Count], Field(description="Jobs killed by the scheduler.")] = Field(default_factory=list)
    registered: Annotated[
        list[RegisteredRecord],
        Field(description="Jobs registered by the scheduler: their number, `job`, and Batsim's `id`."),
    ] = Field(default_factory=list)
    deadlines: Annotated[str | None, Field(description="Rule of the latest starts, or the file with them.")] = None
    deadlines_stated: Annotated[
        bool | None, Field(description="Whether deadlines of the trace were kept, as without a rule.")
    ] = None
    deadlines_sha256: Annotated[str | None, Field(description="Digest of the file of deadlines.")] = None
    task_managers: Annotated[int | None, Field(description="Task managers that shared the jobs.")] = None
    arity: Annotated[int | str | None, Field(description="Children of a host in the tree, or `flat`.")] = None
    sample: Annotated[int | None, Field(description="Nodes asked first for each unit; `null`: all.")] = None
    trim: Annotated[
        tuple[Count, Count] | None, Field(description="Warm-up and cool-down, s; their jobs do not count.")
    ] = None
    ranks: Annotated[int | None, Field(description="MPI ranks.")] = None
    unix_start: Annotated[Time | None, Field(description="Unix time of the trace's second 0, if known.")] = None
    warnings: Annotated[list[str], Field(description="Warnings of the run.")] = Field(default_factory=list)
    skipped: Annotated[list[str], Field(description="Lines of the trace without a valid job.")] = Field(
        default_factory=list
    )
    rejected: Annotated[list[Rejection], Field(description="Rejected jobs, each with its reason.")] = Field(
        default_factory=list
    )
    started_utc: Annotated[str | None, Field(description="Time at which the files were read.")] = None
    request: Annotated[
        dict[str, Plain],
        Field(
            description="All inputs that determine the outcome, with digests of files, and the version of DARDIS: two"
            " runs with the same `request` have the same outcome."
        ),
    ] = Field(default_factory=dict)

    @property
    def unit_cores(self) -> int | None:
        """Cores per unit; None: a node."""
        value = self.settings.get("unit_cores")
        return value if isinstance(value, int) else None

    def machine(self, path: Path) -> Platform:
        """Machine of the run.json at `path`. Raises InputError."""
        if self.platform is None:
            raise InputError(f"{path}: platform", "None", "a table")
        return MachineRecord(platform=self.platform).machine(path)


class Figures(Table):
    """Flat object of figures."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Figure]


class Metrics(Figures):
    """Figures of metrics.json: numbers or null, except the digest."""

    @model_validator(mode="after")
    def _of_a_run(self) -> Metrics:
        figures = self.model_dump()
        for key, value in figures.items():
            if isinstance(value, str) and key != DIGEST:
                raise ValueError(f"{key} is {value!r}; expected a number, or null")
        for key in COUNTS:
            if not isinstance(count := figures.get(key, 0), int) or count < 0:
                raise ValueError(f"{key} is {count!r}; expected a number of jobs")
        if not isinstance(figures.get(DIGEST), str | None):
            raise ValueError(f"{DIGEST} is {figures[DIGEST]!r}; expected a text")
        return self


class ClairvoyantFigures(Record):
    """Results with all jobs known, in s."""

    trace: str
    jobs: Count
    bound_s: float | None
    best_s: float | None


class ClairvoyantRecord(Record):
    """Results with the runs as key."""

    key: dict[str, Plain]
    known: ClairvoyantFigures


class PlanHead(MachineRecord):
    """Common fields of plan files."""

    format: Literal["dardis-plan"]
    version: Literal[1]
    settings: dict[str, Plain] = Field(default_factory=dict)


def read_metrics(path: Path) -> dict[str, Any]:
    """Run's figures. Raises InputError."""
    return read_json(path, Metrics).model_dump()


FOUND_FILE: Final = "found.json"


def _inside(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{value!r}; expected a folder inside the comparison's folder")
    return value


class ResultRecord(Record):
    """Run's result."""

    trace: str
    label: str
    dispatcher: str
    settings: list[str] = Field(default_factory=list)
    seed: Count
    folder: Annotated[str, AfterValidator(_inside)]
    metrics: dict[str, Figure] | None = None
    error: str = ""
    deadlines: str = ""
    central: bool = False
    arity: Count = 0
    sample: Count = 0
    draw: Count = 0
    seeded: bool = True
    family: str = ""
    grid: Annotated[list[tuple[str, str]], Field(max_length=2)] = Field(default_factory=list)
    weeks: Count = 0


class FoundRecord(Record):
    """Data of tables and reports."""

    results: Annotated[list[ResultRecord], Field(min_length=1)]
    pair: tuple[str, str]
    known: list[ClairvoyantFigures] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
