"""Catalogue of metrics: names, units, meanings, directions.

Used by report, comparison and docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, Kind
from dardis.model.resources import CORES


class Section(Enum):
    """Section of docs/metrics.md."""

    JOBS = "jobs"
    DURATIONS = "expected durations"
    SOLVER = "constraint solvers"
    QUEUES = "longest waits of queues"
    PLACES = "places of jobs"
    MACHINE = "machine"
    POWER = "power and money"
    SCHEDULER = "scheduler"
    SWITCHING = "switched nodes"


class Better(Enum):
    """Direction of improvement of a metric."""

    LESS = "less"
    MORE = "more"


@dataclass(frozen=True)
class Metric(Column):
    """Metric; unit, meaning and format as in Column."""

    section: Section = Section.JOBS
    title: str = ""
    heading: str = ""
    """Title in comparison tables."""
    better: Better | None = None

    @property
    def caption(self) -> str:
        """Capitalised title."""
        return self.title[:1].upper() + self.title[1:]

    @property
    def axis(self) -> str:
        """Axis label: heading with unit."""
        return f"{self.heading} ({self.unit_text})" if self.unit_text else self.heading


JOBS, DURATIONS, SOLVER, QUEUES, PLACES, MACHINE, POWER, SCHEDULER, SWITCHING = Section
LESS, MORE = Better
_EXCESS: Final = "overutilisation_"
_OF_WAIT: Final = "of `wait_i = start_i − submit_i`"
_LINEAR: Final = f"{_OF_WAIT}; percentiles interpolate linearly between neighbours (NumPy's `linear`)"


def _real(
    section: Section,
    name: str,
    title: str,
    meaning: str,
    detail: str = "",
    *,
    kind: Kind = REAL,
    unit: str | None = None,
    heading: str = "",
    better: Better | None = LESS,
) -> Metric:
    return Metric(name, kind, meaning, unit, "", detail, section, title, heading or title, better)


def _count(section: Section, name: str, title: str, meaning: str, detail: str = "", **more: Any) -> Metric:  # noqa: ANN401
    return _real(section, name, title, meaning, detail, kind=WHOLE, **({"better": None} | more))


_ALL: Final = (
    _count(JOBS, "jobs", "jobs", "all that were submitted"),
    _count(JOBS, "completed", "completed", "ran to their end"),
    _count(JOBS, "killed", "killed", "at the end of their walltime, or when a node failed"),
    _count(JOBS, "rejected", "rejected", "never started; run.json says why", better=LESS),
    _count(JOBS, "rounded_up_cores", "cores rounded up",
           "cores that jobs ask for above the processors of their trace, so that units are equal",
           "see [from processors to units](formats.md#from-processors-to-units)"),
    _count(JOBS, "makespan_s", "makespan", "first submission to last end", "`max finish_i − min submit_i`",
           better=LESS),
    _count(PLACES, "theoretical_runtime_s", "theoretical runtime", "of all jobs, were all cores busy all the time",
           "`Σ cores_i · run_i / cores of the machine`"),
    _count(JOBS, "total_wait_s", "total wait", "waits of all jobs, added up", _OF_WAIT, better=LESS),
    _real(JOBS, "mean_wait_s", "mean wait", "start less submission", _OF_WAIT),
    _real(JOBS, "median_wait_s", "median wait", "half of the jobs waited no longer", _LINEAR),
    _real(JOBS, "p95_wait_s", "95th percentile of waits", "95 % of the jobs waited no longer", _LINEAR,
          heading="p95 wait"),
    _real(JOBS, "p99_wait_s", "99th percentile of waits", "99 % of the jobs waited no longer", _LINEAR,
          heading="p99 wait"),
    _count(JOBS, "max_wait_s", "longest wait", "wait of the job that waited longest", better=LESS),
    _real(JOBS, "sd_wait_s", "standard deviation of waits", "how far waits lie from their mean",
          "over these jobs, divided by how many there are"),
    _real(JOBS, "mean_slowdown", "mean slowdown", "from submission to end, in runtimes of the job",
          "mean of `(wait_i + run_i) / run_i`, the stretch in `jobs.csv`: without a bound, so that one job of some "
          "seconds may outweigh all others"),
    _real(JOBS, "mean_bounded_slowdown", "mean bounded slowdown", "runs shorter than 10 s counted as 10 s",
          "mean of `max(1, (wait_i + run_i) / max(run_i, 10 s))` with `run_i = finish_i − start_i`"),
    _real(JOBS, "median_bounded_slowdown", "median bounded slowdown", "half of the jobs had no larger one"),
    _real(JOBS, "p99_bounded_slowdown", "99th percentile of bounded slowdowns", "99 % of the jobs had no larger one",
          heading="p99 bounded slowdown"),
    _real(JOBS, "mean_user_bounded_slowdown", "bounded slowdown by user", "mean over users of the means of their jobs",
          "everybody counts alike however many jobs they have; jobs without a user are those of one; `null` where no "
          "job states one"),
    _real(MACHINE, "utilisation", "utilisation", "core-seconds used of those there were",
          "`Σ cores_i · run_i / (makespan · cores of the machine)`; maintenance and nodes that are off count as if "
          "they were there", unit="share", better=MORE),
    _real(PLACES, "mean_fragmentation", "mean fragmentation", "blocks of neighbouring nodes that a job is on",
          "at least 1: nodes `0-3 7` are two, as `allocated_resources` in `jobs.csv` has them"),
    _real(PLACES, "sd_fragmentation", "standard deviation of fragmentation",
          "how far fragmentations lie from their mean"),
    _real(PLACES, "mean_spread", "mean spread", "nodes from the first of a job to its last, over those it has",
          "at least 1: nodes `0-3 7` have 8 / 5"),
    _real(PLACES, "sd_spread", "standard deviation of spread", "how far spreads lie from their mean"),
    _real(JOBS, "weighted_queue_time", "weighted queue time", "waits, each in windows of its job, added up",
          "`Σ wait_i / window_i` over the jobs with a deadline; `null` when none has one"),
    _count(JOBS, "tardiness_s", "tardiness", "starts after the latest start, added up",
           "`Σ max(0, start_i − lst_i)` over the jobs with a deadline; 0 when none has one", better=LESS),
    _real(JOBS, "weighted_tardiness", "weighted tardiness", "late starts, each in windows of its job, added up",
          "`Σ max(0, start_i − lst_i) / window_i` over the jobs with a deadline; `null` when none has one"),
    _count(JOBS, "late_jobs", "late jobs", "started after their latest start",
           "how many have `start_i > lst_i`; 0 when none has a deadline", better=LESS),
    _real(QUEUES, "queue_weighted_wait", "waits by queue", "each in longest waits of its queue, added up",
          "thesis WQT: `Σ wait_i / longest_i`; `null` when no such job ran"),
    _count(QUEUES, "queue_late_jobs", "waited for too long", "longer than the longest wait of the queue",
           "thesis NL: how many have `wait_i > longest_i`", better=LESS),
    _count(QUEUES, "queue_tardiness_s", "waits beyond the longest", "of the queue, added up",
           "thesis TR: `Σ max(0, wait_i − longest_i)`", better=LESS),
    _real(QUEUES, "queue_weighted_tardiness", "tardiness by queue", "the same, each in longest waits of its queue",
          "thesis WT: `Σ max(0, wait_i − longest_i) / longest_i`; `null` when no such job ran"),
    _count(MACHINE, "overutilisation_<kind>_s", "overutilisation", "use above the desired profile",
           "of each resource kind (`overutilisation_core_s` of cores, in core-seconds; memory in MiB·s): `Σ_t max(0, "
           "used(t) − desired(t))` at all times; the desired profile is the capacity when none is given, so 0 then",
           unit="amount · s", better=LESS),
    _real(MACHINE, "dissimilarity", "dissimilarity", "0: use has the shape of the desired profile; 1: nothing of it",
          "see below; over cores, from time 0; `null` without a desired profile or without deadlines"),
    _real(MACHINE, "dissimilarity_from_first_submission", "dissimilarity since the first submission", "the same",
          "from the first submission on, for traces whose clock does not begin near 0",
          heading="dissimilarity from first submission"),
    _real(POWER, "profit_eur", "profit", "income less IT energy, cooling and what else the contract charges",
          "`income_eur − energy_eur − cooling_eur − tariff_eur`; without a plant cooling counts nothing; `null` "
          "without prices, and without weather where there is a plant", better=MORE),
    _real(POWER, "income_eur", "income", "of the core-hours that ran",
          "core-hours run × income of the queue; killed jobs earn until they are killed", better=MORE),
    _real(POWER, "energy_eur", "cost of IT energy", "energy of IT times its price",
          "summed over segments; prices may be negative; `null` without prices"),
    _real(POWER, "cooling_eur", "cost of cooling", "energy of cooling times its price",
          "summed over segments; `null` without prices, cooling or weather"),
    _real(POWER, "tariff_eur", "other charges", "peak power, CO2 and penalties"),
    _real(POWER, "energy_kwh", "IT energy", "energy of nodes that are on, switch or are off"),
    _real(POWER, "cooling_kwh", "cooling energy", "energy of the cooling plant", "`null` without cooling or weather"),
    _real(POWER, "pue", "PUE", "(IT + cooling) / IT, by energy", "`null` without cooling or weather", unit="ratio"),
    _real(POWER, "co2_kg", "CO2", "of IT and cooling energy",
          "Σ intensity × energy of IT and cooling; `null` without carbon"),
    _real(POWER, "peak_kw", "peak power", "IT and cooling, highest mean of a quarter of an hour",
          "counted from UTC's hours, whatever the segments"),
    _count(SWITCHING, "node_switches", "shut-downs of nodes",
            "each is followed by a boot before the node is used again"),
    _real(SWITCHING, "cycles_per_node_day", "shut-downs a node and day", "of all nodes", "a node and 24 hours"),
    _real(SWITCHING, "off_share", "nodes off", "of all node-seconds; shutting down and booting not counted",
          better=None),
    _real(SWITCHING, "mean_boot_delay_s", "mean wait for boots", "how much earlier jobs could have started",
          "mean of `delay_i` over the jobs that ran"),
    _real(SWITCHING, "delayed_share", "jobs that waited for boots", "of those that ran",
          "share of them with `delay_i > 0`"),
    _real(DURATIONS, "expected_mae_s", "error of expected durations", "mean of how far jobs ran from them",
          "under a central dispatcher: mean of `abs(expected_i − run_i)`, where `expected_i` is for how long its job "
          "was expected to run when it arrived ([expected durations](settings.md#expected-durations))"),
    _real(DURATIONS, "expected_under_share", "ran longer than expected", "of those that ran"),
    _real(DURATIONS, "expected_over_share", "ran shorter than expected", "of those that ran"),
    _real(DURATIONS, "prediction_cpu_s", "CPU time of predictions", "of how long jobs will run; in no decision's",
          "of predicting and learning; it is in no `decision_…` figure"),
    _count(SCHEDULER, "decisions", "decisions", "submissions, searches anew, rounds of asking for earlier starts",
           "each with all that it sets off; of central dispatchers and of `dardis-late` the instants at which "
           "something happened"),
    _real(SCHEDULER, "decision_cpu_s", "CPU time of decisions", "all ranks",
          "inside task and node managers: no reading, no writing, no compilation, no waiting for messages. The few µs "
          "in which the simulation fetches events between turns and records starts are in it: to read the clock around "
          "them takes as long"),
    _real(SCHEDULER, "decision_mean_s", "mean decision", "CPU inside task and node managers",
          "`decision_cpu_s / decisions`; `null` without decisions", heading="CPU a decision"),
    _real(SCHEDULER, "decision_p99_s", "99th percentile of decisions", "99 % of single decisions took no longer",
          "`null` without decisions"),
    _real(SCHEDULER, "decision_max_s", "longest decision", "CPU of the decision that took longest",
          "`null` without decisions"),
    _real(SCHEDULER, "overhead_share", "overhead",
          "CPU time of decisions, of the time from first submission to last end",
          "`decision_cpu_s / (max finish_i − min submit_i)`, over all jobs whatever `--trim` says; `null` when nothing "
          "ran. A simulation's clock stands still while a decision is made"),
    _count(SOLVER, "solver_decisions", "decisions put to a model", "or plans that somebody might improve",
           "where a constraint solver decides, or improves plans (`replan` with `solver=on`)"),
    _count(SOLVER, "solver_asked", "solver asked", "for these; others were decided by our own answer"),
    _count(SOLVER, "solver_proven", "proven", "of those: the best of their model", better=MORE),
    _count(SOLVER, "solver_too_large", "too large for a model", "none was built; our own answer stands", better=LESS),
    _real(SOLVER, "solver_gap_mean", "mean gap", "how far objectives may be above the best of their models",
          "mean of \\|objective − bound\\| / \\|objective\\| over all decisions that have both: never below 0, also "
          "where objectives are (`aucsched`); the bound is the better of the solver's and ours ([constraint "
          "solvers](settings.md#constraint-solvers))", unit="share"),
    _real(SOLVER, "solver_update_cpu_s", "CPU time of taking in what has happened", "before models are asked",
          "this figure and those below to `solver_commit_cpu_s`: CPU time by phase (thesis table 4.16); all are in "
          "`decision_cpu_s`, too"),
    _real(SOLVER, "solver_check_cpu_s", "CPU time of seeing who could ever start", "of `cp-eurora`"),
    _real(SOLVER, "solver_first_cpu_s", "CPU time of first answers", "and of bounds; part of all decisions'"),
    _real(SOLVER, "solver_build_cpu_s", "CPU time of building models", "variables and constraints"),
    _real(SOLVER, "solver_cpu_s", "CPU time of the solver", "of its searches"),
    _real(SOLVER, "solver_commit_cpu_s", "CPU time of starting jobs", "by the models' answers"),
    _real(SOLVER, "solver_deterministic_s", "deterministic time of the solver", "as the solver counts its work",
          "0 under `aucsched`, whose solver counts none"),
    _real(SOLVER, "stopped_by", "stopped by", "`time` if a guard on the wall clock has stopped a search, else `null`",
          kind=WORD, better=None),
    _count(SCHEDULER, "ranks", "ranks", "processes that held nodes", "1 without MPI"),
    _count(SCHEDULER, "nodes_on_largest_rank", "nodes on the largest rank", "most nodes that one rank held"),
    _count(SCHEDULER, "messages", "messages", "between task and node managers",
           "one for each node: asks, offers, confirmations, news of early ends, and of `dardis-late` what nodes "
           "publish, without what is announced to all (`Announce`, `Backlog`); 0 for central dispatchers. Where one "
           "host holds [whole rounds at once](protocol.md#one-round), or [all turns](protocol.md#late-binding), they "
           "are counted as if they had been said", better=LESS),
    _count(SCHEDULER, "message_bytes", "message payload", "between host processes", "0 in one process", better=LESS),
    _count(SCHEDULER, "renegotiations", "renegotiations", "claims and asks after the first",
           "of each job, added up: windows that doubled, and asking again for earlier starts, count", better=LESS),
    _real(SCHEDULER, "renegotiations_per_job", "renegotiations a job", "`renegotiations / jobs`, in comparisons"),
    _real(SCHEDULER, "schedule_digest", "schedule digest", "fingerprint of who ran when and where",
          "[below](#the-digest)", kind=WORD, better=None),
)  # fmt: skip
METRICS: Final = {metric.name: metric for metric in _ALL}
"""Metrics by key, in report order."""
OF_JOBS, OF_DURATIONS, OF_SOLVER, OF_QUEUES, OF_PLACES, OF_MACHINE, OF_POWER, OF_SCHEDULER, OF_SWITCHING = (
    {name: metric for name, metric in METRICS.items() if metric.section is section} for section in Section
)
OF_LINE: Final = (
    Column("trace", TEXT, "name of the trace"), Column("dispatcher", TEXT, "label of the dispatcher"),
)  # fmt: skip
"""First columns of comparison tables."""


def excess_kind(key: str) -> str | None:
    """Resource kind of an overutilisation key, else None."""
    if not key.startswith(_EXCESS):
        return None
    kind = key.removeprefix(_EXCESS).removesuffix("_s")
    return CORES if kind == "core" else kind


def metric_of(key: str) -> Metric:
    """Metric of a key; unknown keys are their own titles."""
    known = METRICS.get(f"{_EXCESS}<kind>_s" if excess_kind(key) else key)
    return known or _real(JOBS, key, key, "", unit="", better=None)


def columns_of(keys: Iterable[str]) -> list[Column]:
    """Table columns for these metrics."""
    return [metric_of(key).renamed(key) for key in keys]
