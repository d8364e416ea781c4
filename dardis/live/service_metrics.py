"""Service's metrics for Prometheus. The only import of `prometheus_client`."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from dardis import __version__
from dardis.engine.clock import monotonic_s, unix_now
from dardis.live.energy_prices import EnergyPrices
from dardis.live.gateway import Gateway
from dardis.live.gateway_orders import ForgetRun, GatewayOutput, StartRun
from dardis.live.job_option_texts import LARGEST_ID
from dardis.live.live_jobs import LiveJob, LiveJobState
from dardis.metrics.page_rows import JOULES_PER_KWH
from dardis.power.node_power import MachinePower
from dardis.power.unit_power import MILLI

disable_created_metrics()  # type: ignore[no-untyped-call]  # the start of the service is a figure of its own
_WAIT_S: Final = (1, 10, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 259_200, 604_800)
_WRITE_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2, 10)
_CORES: Final = ("used", "free", "closed")
_UNFINISHED: Final = (LiveJobState.HELD, LiveJobState.WAITING, LiveJobState.RUNNING)


class _Run(NamedTuple):
    user: str
    cores: int
    watts: float
    """Power that the job adds to its nodes."""


@dataclass(slots=True)
class _Use:
    since_s: float
    runs: int = 0
    cores: int = 0
    watts: float = 0.0
    core_s: float = 0.0
    joules: float = 0.0
    cost: float = 0.0

    def take(self, run: _Run, sign: int) -> None:
        self.runs += sign
        self.cores += sign * run.cores
        self.watts = self.watts + sign * run.watts if self.runs else 0.0  # no rests of rounding

    def advance(self, now_s: float, price: float) -> None:
        seconds, self.since_s = max(now_s - self.since_s, 0.0), now_s
        self.core_s += self.cores * seconds
        self.joules += self.watts * seconds
        self.cost += max(price, 0.0) * self.watts * seconds / JOULES_PER_KWH


class ServiceMetrics:
    """Figures of a service process. Counters begin at its start."""

    def __init__(self, gateway: Callable[[], Gateway], epoch: int, unreachable: Callable[[], Iterable[str]]) -> None:
        self._gateway, self._epoch, self._unreachable = gateway, epoch, unreachable
        machine = gateway().machine
        self._power, self._model = machine.power, MachinePower.of_platform(machine.platform)
        self._registry = CollectorRegistry()
        self._submitted = self._counter("jobs_submitted", "Jobs submitted.")
        self._started = self._counter("jobs_started", "Starts of jobs, with reruns.")
        self._restarted = self._counter("jobs_restarted", "Starts of jobs that had run before.")
        self._ended = self._counter("jobs_ended", "Ends of jobs.", "state")
        for state in LiveJobState:
            if state.is_over:
                self._ended.labels(state)
        self._requests = self._counter("requests", "Requests of clients.", "method", "status")
        self._waits = Histogram(
            "dardis_job_wait_seconds", "Time from submission, or the begin time, to the first start.",
            buckets=_WAIT_S, registry=self._registry,
        )  # fmt: skip
        self._writes = Histogram(
            "dardis_journal_write_seconds", "Time of a write to the journal.", buckets=_WRITE_S, registry=self._registry
        )
        self._begun_s = unix_now()
        self._runs: dict[str, _Run] = {}
        self._uses: dict[str, _Use] = {}
        self._prices = EnergyPrices(machine.platform)
        for job in gateway().jobs():
            if job.state is LiveJobState.RUNNING:
                self._begin(job)
        self._registry.register(self)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"dardis_{name}", text, labels, registry=self._registry)

    def on_output(self, taken: GatewayOutput, write_s: float) -> None:
        """Count what was written to the journal, in `write_s`."""
        if taken.batch:
            self._writes.observe(write_s)
        for order in taken.orders:
            if isinstance(order, StartRun):
                self._count_start(order.job)
            elif isinstance(order, ForgetRun):
                self._end(order.run)
        for job in taken.finished_jobs:
            self._ended.labels(job.state).inc()
            self._end(job.run)

    def on_submission(self, jobs: int) -> None:
        """Count accepted jobs."""
        self._submitted.inc(jobs)

    def on_request(self, method: str, status: int) -> None:
        """Count an answered request."""
        self._requests.labels(method, str(status)).inc()

    def text(self, accepted: str) -> tuple[bytes, str]:
        """All figures and content type, for an `Accept` header."""
        try:
            encode, content_type = choose_encoder(accepted)
        except (TypeError, ValueError):  # no version number
            encode, content_type = choose_encoder("")
        return encode(self._registry), content_type

    # ------------------------------------------------------------------------------------------------------------------

    def _count_start(self, job: LiveJob) -> None:
        self._started.inc()
        self._begin(job)
        if job.attempt > 1:
            self._restarted.inc()
        else:
            since_ms = max(job.submission.submitted_ms, job.begin_ms)
            self._waits.observe(max(unix_now() - since_ms / 1000, 0.0))

    def _begin(self, job: LiveJob) -> None:
        cores = sum(len(share.cores) for share in job.shares)
        run = _Run(job.submission.user.name, cores, self.job_watts(job))
        self._runs[job.run] = run
        self._advanced(run.user).take(run, 1)

    def _end(self, name: str) -> None:
        if (run := self._runs.pop(name, None)) is not None:
            self._advanced(run.user).take(run, -1)

    def _advanced(self, user: str) -> _Use:
        now_s = monotonic_s()  # never goes back, and so no counter does
        use = self._uses.setdefault(user, _Use(now_s))
        use.advance(now_s, self._prices.at(unix_now()) or 0.0)
        return use

    def job_watts(self, job: LiveJob) -> float:
        """Power that a job adds to its nodes, by the platform's model, W."""
        machine, found = self._gateway().machine, 0.0
        for share in job.shares:
            if (node := machine.node(share.node)) is not None:
                found += float(self._model.core_w[node]) * len(share.cores)
                if (of_gpu := self._model.device_w.get("gpu")) is not None:
                    found += float(of_gpu[node]) * len(share.gpus)
        return found

    def collect(self) -> Iterator[Metric]:
        """Figures of the service's state. Called by the registry."""
        gateway, now_s = self._gateway(), unix_now()
        for run in [name for name in self._runs if gateway.job_of_run(name) is None]:  # of lost hosts
            self._end(run)
        states = gateway.counts(1, LARGEST_ID)
        yield _gauges("jobs", "Unfinished jobs.", "state", {state: states[state] for state in _UNFINISHED})
        wait_s = max(now_s - _oldest_ms(gateway.waiting_jobs(), now_s * 1000) / 1000, 0.0)
        yield _gauge("oldest_wait_seconds", "Wait of the job that waits longest.", wait_s)
        yield from self._node_figures(gateway)
        yield _gauge("hosts_unreachable", "Hosts that do not answer.", len([*self._unreachable()]))
        yield _gauge("epoch", "Number of the service at its journal; it grows with each start.", self._epoch)
        yield _gauge("start_time_seconds", "Start of the service, Unix s.", self._begun_s)
        yield _gauges("info", "Version of the service.", "version", {__version__: 1})
        uses = {user: self._advanced(user) for user in sorted(self._uses)}
        by_user = {user: use.core_s for user, use in uses.items()}
        yield _counters("core_seconds", "Core-seconds of running and ended jobs.", by_user)
        if (use := gateway.account.use(int(now_s))) is not None and gateway.account.cap is not None:
            unit = "watts" if gateway.account.cap.is_power else "cores"
            if use.limit is not None:
                yield _gauge(f"cap_{unit}", "Cap on the sum of all nodes now.", use.limit)
            yield _gauge(f"cap_used_{unit}", "What nodes and running jobs take of the cap.", use.used)
            yield _gauge(f"cap_excess_{unit}", "What they take beyond the cap.", use.excess)
        if gateway.account.measured:
            yield _gauge("power_measured_watts", "Measured power of nodes.", sum(gateway.account.measured.values()))
        if not self._power.is_stated:
            return
        idle_w = (int(self._power.idle_mw.sum()) - gateway.switching.saved_mw()) / MILLI
        watts = {"idle": idle_w, "jobs": sum(use.watts for use in uses.values())}
        yield _gauges("power_watts", "Power by the model of the platform: nodes, and what jobs add.", "part", watts)
        by_user = {user: use.joules for user, use in uses.items()}
        yield _counters("energy_joules", "Energy that jobs added, by the model of the platform.", by_user)
        if self._prices.are_stated:
            by_user = {user: use.cost for user, use in uses.items()}
            yield _counters("energy_cost", "Cost of this energy, without cooling, in the platform's currency.", by_user)
            if (price := self._prices.at(now_s)) is not None:
                yield _gauge("energy_price", "Price of a kWh now, in the platform's currency.", price)

    def _node_figures(self, gateway: Gateway) -> Iterator[Metric]:
        nodes, cores, gpus = Counts[str](), Counts[str](), Counts[str]()
        for node in gateway.nodes():
            state = "unreachable" if node["silent"] else node["state"]
            nodes[state] += 1
            cores["used"] += node["used_cores"]
            cores["free" if state == "up" else "closed"] += node["cores"] - node["used_cores"]
            gpus["all"] += node["gpus"]
        known = ("up", "draining", "drained", "unreachable")
        yield _gauges("nodes", "Nodes.", "state", {state: nodes[state] for state in known})
        yield _gauges("cores", "Cores of all nodes.", "state", {state: cores[state] for state in _CORES})
        yield _gauge("gpus", "GPUs of all nodes.", gpus["all"])


def _oldest_ms(waiting: Iterable[LiveJob], now_ms: float) -> float:
    oldest_ms = now_ms
    for job in waiting:
        oldest_ms = min(oldest_ms, max(job.submission.submitted_ms, job.begin_ms))
        if job.submission.submitted_ms >= oldest_ms:
            break
    return oldest_ms


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"dardis_{name}", text, value=value)


def _gauges(name: str, text: str, label: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(f"dardis_{name}", text, labels=[label])
    for key, value in values.items():
        family.add_metric([str(key)], value)
    return family


def _counters(name: str, text: str, values: dict[str, float]) -> Metric:
    family = CounterMetricFamily(f"dardis_{name}", text, labels=["user"])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
