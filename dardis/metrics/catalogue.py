"""Names, units, meanings and directions of metrics, for reports and docs/metrics.md."""

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
    _count(JOBS, "jobs", "jobs", "submitted jobs"),
    _count(JOBS, "completed", "completed", "jobs that ran to their end"),
    _count(JOBS, "killed", "killed", "jobs killed at their walltime, or because a node failed"),
    _count(JOBS, "rejected", "rejected", "jobs that never started, with reasons in run.json", better=LESS),
    _count(JOBS, "rounded_up_cores", "cores rounded up",
           "cores added to the requests of the trace to make units equal",
           "see [from processors to units](formats.md#from-processors-to-units)"),
    _count(JOBS, "makespan_s", "makespan", "from the first submission to the last end", "`max finish_i − min submit_i`",
           better=LESS),
    _count(PLACES, "theoretical_runtime_s", "theoretical runtime", "makespan of all jobs if all cores were always busy",
           "`Σ cores_i · run_i / cores of the machine`"),
    _count(JOBS, "total_wait_s", "total wait", "sum of all waits", _OF_WAIT, better=LESS),
    _real(JOBS, "mean_wait_s", "mean wait", "mean time from submission to start", _OF_WAIT),
    _real(JOBS, "median_wait_s", "median wait", "half of the jobs waited no longer", _LINEAR),
    _real(JOBS, "p95_wait_s", "95th percentile of waits", "95 % of the jobs waited no longer", _LINEAR,
          heading="p95 wait"),
    _real(JOBS, "p99_wait_s", "99th percentile of waits", "99 % of the jobs waited no longer", _LINEAR,
          heading="p99 wait"),
    _count(JOBS, "max_wait_s", "longest wait", "wait of the job that waited longest", better=LESS),
    _real(JOBS, "sd_wait_s", "standard deviation of waits", "standard deviation of the waits",
          "the divisor is the number of these jobs"),
    _real(JOBS, "mean_slowdown", "mean slowdown", "mean time from submission to end over runtime",
          "mean of `(wait_i + run_i) / run_i`, the stretch in `jobs.csv`; without a bound, so one job of a few "
          "seconds can dominate"),
    _real(JOBS, "mean_bounded_slowdown", "mean bounded slowdown", "mean slowdown, where runs under 10 s count as 10 s",
          "mean of `max(1, (wait_i + run_i) / max(run_i, 10 s))` with `run_i = finish_i − start_i`"),
    _real(JOBS, "median_bounded_slowdown", "median bounded slowdown", "half of the jobs had no larger value"),
    _real(JOBS, "p99_bounded_slowdown", "99th percentile of bounded slowdowns", "99 % of the jobs had no larger value",
          heading="p99 bounded slowdown"),
    _real(JOBS, "mean_user_bounded_slowdown", "bounded slowdown by user", "mean over users of the means of their jobs",
          "all users have equal weight; jobs without a user count as one user; `null` if no job states a user"),
    _real(MACHINE, "utilisation", "utilisation", "used core-seconds over available core-seconds",
          "`Σ cores_i · run_i / (makespan · cores of the machine)`; nodes in maintenance or off count as available"
         , unit="share", better=MORE),
    _real(PLACES, "mean_fragmentation", "mean fragmentation", "mean number of blocks of neighbouring nodes of a job",
          "at least 1; nodes `0-3 7` are two blocks, as in `allocated_resources` of `jobs.csv`"),
    _real(PLACES, "sd_fragmentation", "standard deviation of fragmentation",
          "standard deviation of the jobs' fragmentation"),
    _real(PLACES, "mean_spread", "mean spread",
          "mean number of nodes from a job's first to its last node, over the nodes of the job",
          "at least 1; nodes `0-3 7` have 8 / 5"),
    _real(PLACES, "sd_spread", "standard deviation of spread", "standard deviation of the jobs' spread"),
    _real(JOBS, "weighted_queue_time", "weighted queue time", "sum of waits, each over the window of its job",
          "`Σ wait_i / window_i` over the jobs with a deadline; `null` if there are none"),
    _count(JOBS, "tardiness_s", "tardiness", "sum of delays after the latest start",
           "`Σ max(0, start_i − lst_i)` over the jobs with a deadline; 0 if there are none", better=LESS),
    _real(JOBS, "weighted_tardiness", "weighted tardiness",
          "sum of delays after the latest start, each over the window of its job",
          "`Σ max(0, start_i − lst_i) / window_i` over the jobs with a deadline; `null` if there are none"),
    _count(JOBS, "late_jobs", "late jobs", "jobs that started after their latest start",
           "number of jobs with `start_i > lst_i`; 0 if no job has a deadline", better=LESS),
    _real(QUEUES, "queue_weighted_wait", "waits by queue", "sum of waits, each over the longest wait of its queue",
          "thesis WQT: `Σ wait_i / longest_i`; `null` if no such job ran"),
    _count(QUEUES, "queue_late_jobs", "late jobs by queue",
           "jobs that waited longer than the longest wait of their queue",
           "thesis NL: number of jobs with `wait_i > longest_i`", better=LESS),
    _count(QUEUES, "queue_tardiness_s", "waits beyond the longest", "sum of waits beyond the longest wait of the queue",
           "thesis TR: `Σ max(0, wait_i − longest_i)`", better=LESS),
    _real(QUEUES, "queue_weighted_tardiness", "tardiness by queue", "the same, each over the longest wait of its queue",
          "thesis WT: `Σ max(0, wait_i − longest_i) / longest_i`; `null` if no such job ran"),
    _count(MACHINE, "overutilisation_<kind>_s", "overutilisation", "use above the desired profile",
           "one figure for each resource kind (`overutilisation_core_s` in core-seconds, memory in MiB·s): `Σ_t max(0, "
           "used(t) − desired(t))`, by sums of the machine; 0 without a desired profile",
           unit="amount · s", better=LESS),
    _real(MACHINE, "dissimilarity", "dissimilarity",
          "difference between use and desired profile, from 0 (same shape) to 1",
          "over cores, from time 0, see below; `null` without a desired profile or deadlines"),
    _real(MACHINE, "dissimilarity_from_first_submission", "dissimilarity since the first submission", "the same",
          "from the first submission, for traces whose clock does not begin near 0",
          heading="dissimilarity from first submission"),
    _real(POWER, "profit_eur", "profit", "income less the costs of IT energy, cooling and other charges",
          "`income_eur − energy_eur − cooling_eur − tariff_eur`; cooling costs nothing without a plant; `null` "
          "without prices, or with a plant and no weather", better=MORE),
    _real(POWER, "income_eur", "income", "income of all core-hours that ran",
          "core-hours run × income of the queue; killed jobs earn until they are killed", better=MORE),
    _real(POWER, "energy_eur", "cost of IT energy", "IT energy times its price",
          "summed over segments; prices may be negative; `null` without prices"),
    _real(POWER, "cooling_eur", "cost of cooling", "cooling energy times its price",
          "summed over segments; `null` without prices, cooling or weather"),
    _real(POWER, "tariff_eur", "other charges", "peak power, CO2 and penalties"),
    _real(POWER, "energy_kwh", "IT energy", "energy of all nodes, whether on, off or switching"),
    _real(POWER, "cooling_kwh", "cooling energy", "energy of the cooling plant", "`null` without cooling or weather"),
    _real(POWER, "pue", "PUE", "(IT + cooling) / IT, by energy", "`null` without cooling or weather", unit="ratio"),
    _real(POWER, "co2_kg", "CO2", "CO2 of the energy of IT and cooling",
          "`Σ intensity · energy`; `null` without carbon"),
    _real(POWER, "peak_kw", "peak power", "highest mean power of IT and cooling in a quarter of an hour",
          "quarters of UTC hours"),
    _count(SWITCHING, "node_switches", "shut-downs of nodes",
            "number of shut-downs; a node boots before its next use"),
    _real(SWITCHING, "cycles_per_node_day", "shut-downs per node and day", "mean over all nodes, per 24 hours"),
    _real(SWITCHING, "off_share", "nodes off", "share of node-seconds that are off, without shutting down and booting",
          better=None),
    _real(SWITCHING, "mean_boot_delay_s", "mean wait for boots", "mean delay of starts by booting nodes",
          "mean of `delay_i` over the jobs that ran"),
    _real(SWITCHING, "delayed_share", "jobs that waited for boots", "share of the jobs that ran",
          "`delay_i > 0`"),
    _real(DURATIONS, "expected_mae_s", "error of expected durations", "mean absolute error",
          "under a central dispatcher: mean of `abs(expected_i − run_i)`, where `expected_i` is the runtime expected "
          "at submission ([expected durations](settings.md#expected-durations))"),
    _real(DURATIONS, "expected_under_share", "ran longer than expected", "share of the jobs that ran"),
    _real(DURATIONS, "expected_over_share", "ran shorter than expected", "share of the jobs that ran"),
    _real(DURATIONS, "prediction_cpu_s", "CPU time of predictions", "CPU time of predicting runtimes and learning",
          "not part of the `decision_…` figures"),
    _count(SCHEDULER, "decisions", "decisions", "submissions, repeated searches, rounds of asking again",
           "each with its consequences; central dispatchers and `dardis-late` count the instants with events"),
    _real(SCHEDULER, "decision_cpu_s", "CPU time of decisions", "CPU time of task and node managers on all ranks",
          "without input, output, compilation and waiting for messages; it includes the few µs in which the simulation "
          "fetches events and records starts. Queues in the compiled loop need no "
          "Python around a decision, so their figures are several times smaller"),
    _real(SCHEDULER, "decision_mean_s", "mean decision", "mean CPU time of a decision",
          "`decision_cpu_s / decisions`; `null` without decisions", heading="CPU per decision"),
    _real(SCHEDULER, "decision_p99_s", "99th percentile of decisions", "99 % of the decisions took no longer",
          "`null` without decisions"),
    _real(SCHEDULER, "decision_max_s", "longest decision", "CPU time of the longest decision",
          "`null` without decisions"),
    _real(SCHEDULER, "overhead_share", "overhead",
          "CPU time of decisions over the time from the first submission to the last end",
          "`decision_cpu_s / (max finish_i − min submit_i)`, over all jobs, also with `--trim`; `null` if no job "
          "ran. The clock of a simulation stands still during a decision"),
    _count(SOLVER, "solver_decisions", "decisions for the solver",
           "decisions that a solver might take, or plans that it might improve",
           "if a constraint solver decides, or improves plans (`replan` with `solver=on`)"),
    _count(SOLVER, "solver_asked", "solver calls", "searches of the solver; the heuristic took the other decisions"),
    _count(SOLVER, "solver_proven", "proven", "solver calls with a proven optimum of the model", better=MORE),
    _count(SOLVER, "solver_too_large", "too large for a model",
           "decisions whose model was not built; the heuristic's answer counts", better=LESS),
    _real(SOLVER, "solver_gap_mean", "mean gap", "mean relative gap between objective and bound",
          "mean of \\|objective − bound\\| / \\|objective\\| over all decisions that have both; never below 0, also "
          "if objectives are (`aucsched`); the bound is the better of the solver's and our own ([constraint "
          "solvers](settings.md#constraint-solvers))", unit="share"),
    _real(SOLVER, "solver_update_cpu_s", "CPU time of updates", "CPU time of processing events before models are built",
          "this figure and those below to `solver_commit_cpu_s` are CPU times by phase (thesis table 4.16), all parts "
          "of `decision_cpu_s`"),
    _real(SOLVER, "solver_check_cpu_s", "CPU time of checking jobs",
          "CPU time of finding the jobs that can ever start (`cp-eurora`)"),
    _real(SOLVER, "solver_first_cpu_s", "CPU time of first answers",
          "CPU time of the heuristic's answers and of bounds"),
    _real(SOLVER, "solver_build_cpu_s", "CPU time of building models", "CPU time of making variables and constraints"),
    _real(SOLVER, "solver_cpu_s", "CPU time of the solver", "CPU time of its searches"),
    _real(SOLVER, "solver_commit_cpu_s", "CPU time of starting jobs",
          "CPU time of starting the jobs of the models' answers"),
    _real(SOLVER, "solver_deterministic_s", "deterministic time of the solver", "work of the solver in its own unit",
          "0 under `aucsched`, whose solver does not count it"),
    _real(SOLVER, "stopped_by", "stopped by", "`time` if the limit of wall time has stopped a search, else `null`",
          kind=WORD, better=None),
    _count(SCHEDULER, "ranks", "ranks", "processes that hold nodes", "1 without MPI"),
    _count(SCHEDULER, "nodes_on_largest_rank", "nodes on the largest rank", "largest number of nodes of one rank"),
    _count(SCHEDULER, "messages", "messages", "messages between task and node managers",
           "one for each node: requests, offers, claims, early ends, and with `dardis-late` the nodes' free capacity, "
           "without broadcasts (`Announce`, `BacklogReport`); 0 for central dispatchers. Messages that one host saves "
           "by [rounds](protocol.md#one-round) or [turns](protocol.md#late-binding) in one computation count too",
           better=LESS),
    _count(SCHEDULER, "message_bytes", "message payload", "bytes sent between host processes",
           "0 in one process", better=LESS),
    _count(SCHEDULER, "renegotiations", "renegotiations", "requests and claims after a job's first",
           "sum over jobs, with doubled windows and with asking again for earlier starts", better=LESS),
    _real(SCHEDULER, "renegotiations_per_job", "renegotiations per job", "`renegotiations / jobs`, in comparisons"),
    _real(SCHEDULER, "schedule_digest", "schedule digest", "fingerprint of the starts, ends and nodes of all jobs",
          "[below](#the-digest)", kind=WORD, better=None),
)  # fmt: skip
METRICS: Final = {metric.name: metric for metric in _ALL}
"""In report order."""
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
