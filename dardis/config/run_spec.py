"""Options of `dardis simulate`."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field

from dardis.config import option_texts
from dardis.config.clocks import parse_utc
from dardis.config.cuts import MOST_WALLTIME_FACTOR, Cut, Trim, cut_of, trim_of
from dardis.config.option import FILE, RULE_OR_FILE, Option, Reader, enum_reader, key_of, reader_of
from dardis.config.option_texts import LARGEST_SEED, MOST_TASK_MANAGERS, arity_of, sample_of
from dardis.config.toml_file import Table
from dardis.model.choices import Overrun, Resources
from dardis.model.moments import utc_text
from dardis.model.numbers import LARGEST_INT64

MOST_TIMEOUT_S = 1_000_000
ARITY = reader_of(arity_of, (0, "flat"))
SAMPLE = reader_of(sample_of, (0, "all"))
_CUT = Reader(cut_of)
_TRIM = Reader(trim_of, list_of=(int, str, date))


class JobsSpec(Table):
    """Conversion of a trace to jobs."""

    jobs: Annotated[int | None, Field(ge=1, le=LARGEST_INT64), Option("Only the first N jobs.", "N")] = None
    overrun: Annotated[
        Overrun,
        enum_reader(Overrun),
        Option(
            "Kill jobs at their walltime, or extend their walltime to the runtime.",
            "kill|extend",
            detail="Resource managers kill; 7.3 % of the jobs of HPC2N run longer than their walltime. With `extend`,"
            " planners know their ends, as in other simulators. A warning counts these jobs.",
        ),
    ] = Overrun.KILL
    walltime_factor: Annotated[
        float,
        Field(ge=1, le=MOST_WALLTIME_FACTOR),
        Option(
            "Walltime over runtime for jobs without a stated walltime.",
            "X",
            detail="Walltimes are rounded up. With 1, estimates are perfect, with a warning. Stated walltimes stay.",
        ),
    ] = 1.0
    think_times: Annotated[bool, Option("Submit a job after the one it follows (SWF fields 17, 18).")] = False
    resources: Annotated[
        Resources,
        enum_reader(Resources),
        Option("Numbers in allocated_resources of jobs.csv (nodes; evalys needs cores).", "nodes|cores"),
    ] = Resources.NODES
    strict: Annotated[bool, Option(option_texts.STRICT)] = False


class CalendarSpec(Table):
    """Trace's start."""

    calendar_start: Annotated[str | None, Option("Date of the trace's first submission: 2023-07-03T00:00Z.", "UTC")] = (
        None
    )

    @property
    def begins(self) -> int | None:
        """Unix time of the first submission; None: unstated. Raises InputError."""
        return None if self.calendar_start is None else parse_utc(self.calendar_start)


class CutSpec(Table):
    """Part of a trace by submission time."""

    model_config = ConfigDict(alias_generator=key_of, validate_by_name=True)

    from_: Annotated[
        Cut | None, _CUT, Option("Only jobs submitted from this time: s, a UTC date, or +2d from the first.", "TIME")
    ] = None
    to: Annotated[Cut | None, _CUT, Option("Only jobs submitted before this time, stated as in --from.", "TIME")] = None


class ReplaySpec(CalendarSpec, CutSpec, JobsSpec):
    """Trace, a machine, and replay options."""

    trace: Annotated[
        Path,
        FILE,
        Option(option_texts.TRACE, "TRACE", is_argument=True),
    ]
    platform: Annotated[Path, FILE, Option(option_texts.PLATFORM, "P.toml")]
    trim: Annotated[
        Trim | None, _TRIM, Option("Count only jobs between warm-up and cool-down: s, spans, or times.", "A,B")
    ] = None
    profile: Annotated[Path | None, FILE, Option("Desired profile (CSV), or a plan's target.json.", "F")] = None
    deadlines: Annotated[
        str | None,
        RULE_OR_FILE,
        Option("none, window:SECONDS, factor:X, mean-wait:queue, mean-wait:partition or a table file.", "RULE"),
    ] = None
    task_managers: Annotated[int, Field(ge=1, le=MOST_TASK_MANAGERS), Option(option_texts.TASK_MANAGERS, "N")] = 1
    arity: Annotated[
        int, ARITY, Option("Sum offers up a tree of hosts, A children each; the same schedule.", "flat|A")
    ] = 0
    sample: Annotated[int, SAMPLE, Option(option_texts.SAMPLE, "all|default|S")] = 0
    events: Annotated[
        Path | None, FILE, Option("Events of the site: queues, nodes, reservations, changed requests.", "E.toml")
    ] = None

    def for_trace(self, trace: Path, begins: int | None) -> Self:
        """Spec for another complete trace. `begins` is its Unix start (None: as stated)."""
        start = self.calendar_start if begins is None else utc_text(begins, seconds=True)
        return self.model_copy(
            update={"trace": trace, "jobs": None, "from_": None, "to": None, "calendar_start": start}
        )


class RunSpec(ReplaySpec):
    """Run: a trace, a machine and a dispatcher."""

    dispatcher: Annotated[str, Option("Dispatcher, see `dardis dispatchers`.", "NAME", completes="dispatcher")]
    out: Annotated[Path, FILE, Option(option_texts.RESULTS, "DIR")]
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED), Option(option_texts.SEED, "N")] = 1
    settings: Annotated[tuple[str, ...], Option(option_texts.SETTINGS, "KEY=VALUE", name="--set")] = ()
    force: Annotated[bool, Option("Replace the run in DIR.")] = False
    save_instances: Annotated[
        Path | None, FILE, Option("Store instances of constraint models, for `dardis solve`.", "DIR")
    ] = None
    no_report: Annotated[bool, Option("Draw no report.html (see `dardis report`).")] = False
    batsim: Annotated[
        str | None,
        Option("Let a scheduler with Batsim's protocol decide, in place of --dispatcher.", "tcp://HOST:PORT"),
    ] = None
    batsim_timeout: Annotated[
        int, Field(ge=1, le=MOST_TIMEOUT_S), Option("Longest wait for an answer of that scheduler, s.", "S")
    ] = 60
    batsim_dynamic: Annotated[
        bool, Option("That scheduler may register jobs, until it sends registration_finished.")
    ] = False
