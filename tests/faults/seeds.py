"""One seed is one run: its scenario goes through the fault simulation, and what really happened is judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from faults.scenarios import draw_scenario, holds
from kit.seeds import assert_sound

from dardis.metrics.audit import audit
from dardis.model.job import ActualJob
from dardis.sim.executed_runs import ExecutedAttempts, is_full
from dardis.sim.fault_simulation import FaultSimulation, Log, PoolMaker, RunOutcome, Scenario, UnitRun
from dardis.task_manager import TimedLateManager
from dardis.wire.effects import JobFinished

MOST_EVENTS = 2_000_000
"""What ends a run that would not end by itself. The longest one known has 806,259 (seed 2049, samples over a tree)."""


@dataclass(frozen=True)
class Outcome:
    """What came of a seed; `violations` is empty when all is well."""

    seed: int
    violations: tuple[str, ...]
    digest: str
    jobs: int
    done: int
    rejected: int
    waiting: int
    """Jobs that need a node that never came back."""
    placements: int
    cut: int
    """Attempts that were launched and called off."""
    repeated: int
    """Attempts that ran in full, yet a host died before it could tell."""
    renegotiations: int
    crashes: int
    messages: int
    lost: int
    end_s: int
    events: int

    def __str__(self) -> str:
        problems = "".join(f"\n  {violation}" for violation in self.violations)
        return (
            f"seed {self.seed}: {self.jobs} jobs, {self.done} done, {self.rejected} rejected, {self.waiting} waiting; "
            f"{self.placements} placements, {self.cut} attempts cut, {self.repeated} repeated; {self.crashes} crashes; "
            f"{self.messages} messages, {self.lost} lost; {self.events} events to {self.end_s} s; "
            f"digest {self.digest[:16]}{problems}"
        )


def run_seed(seed: int, *, make_pool: PoolMaker | None = None, log: Log | None = None, **options: bool) -> Outcome:
    """Draw (see `draw_scenario`), run and judge. `reliable`: all messages come, perhaps late, and no node crashes."""
    return judge(draw_scenario(seed, **options), make_pool, log)


def check(seeds: Iterable[int], **options: bool) -> list[Outcome]:
    """Run the seeds; a failing one prints itself and how to see it again."""
    outcomes = [run_seed(seed, **options) for seed in seeds]
    assert_sound(outcomes, "fault", "".join(f" --{name}" for name, value in options.items() if value))
    return outcomes


def _doomed(scenario: Scenario) -> set[int]:
    """Jobs that fit the machine, yet not what stays of it: they may wait for ever."""
    platform, setup, bounds = scenario.platform, scenario.dispatcher.setup, scenario.bounds
    lost = [crash.host for crash in scenario.crashes if crash.back is None]
    dead = {node for host in lost for node in range(bounds[host], bounds[host + 1])}
    return {
        job.number
        for job in scenario.jobs
        if holds(platform, setup, job.request, job.groups, dead) < job.units
        and holds(platform, setup, job.request, job.groups) >= job.units
    }


def judge(scenario: Scenario, make_pool: PoolMaker | None = None, log: Log | None = None) -> Outcome:
    """Run a scenario until every job that can end has ended and all is quiet; then look at what happened."""
    simulation = FaultSimulation(scenario, make_pool, log)
    doomed = _doomed(scenario)
    last_crash = max((crash.at for crash in scenario.crashes if crash.back is None), default=0)

    def is_over() -> bool:
        """Only jobs that need a dead node are left: they go on asking for ever."""
        return bool(
            doomed
            and simulation.network.now > last_crash
            and all(job.number in simulation.told or job.number in doomed for job in scenario.jobs)
            and simulation.quiet
        )

    violations: list[str] = []
    try:
        if not simulation.run(is_over, MOST_EVENTS):
            stuck = [job.number for job in scenario.jobs if job.number not in simulation.told]
            violations.append(f"still not over at {simulation.network.now} s; without an end: {stuck}")
    except Exception as error:  # noqa: BLE001 (whatever goes wrong, the seed is what has to be told)
        violations.append(f"{type(error).__name__}: {error}")
    verdict = Verdict(simulation, doomed)
    violations += verdict.all()
    record = repr((simulation.network.digest(), simulation.runs, sorted(simulation.told.items())))
    ends = [effect for effects in simulation.told.values() for effect in effects]
    return Outcome(
        seed=scenario.seed, violations=tuple(violations), digest=hashlib.sha256(record.encode()).hexdigest(),
        jobs=len(scenario.jobs), done=sum(isinstance(end, JobFinished) for end in ends),
        rejected=sum(not isinstance(end, JobFinished) for end in ends),
        waiting=sum(job.number not in simulation.told for job in scenario.jobs), placements=simulation.placements,
        cut=verdict.cut, repeated=verdict.repeated, renegotiations=simulation.renegotiations,
        crashes=len(scenario.crashes), messages=simulation.network.sent, lost=simulation.network.lost,
        end_s=simulation.network.now, events=simulation.network.events,
    )  # fmt: skip


class Verdict:
    """What is wrong with a run, judged by what the executor saw."""

    def __init__(self, simulation: FaultSimulation, doomed: set[int]) -> None:
        self.simulation = simulation
        self.scenario = simulation.scenario
        self.doomed = doomed
        self.cut = 0
        self.repeated = 0
        self.executed = ExecutedAttempts(simulation)
        self.attempts = self.executed.attempts
        self.accepted: dict[int, list[UnitRun]] = {}

    def all(self) -> list[str]:
        return [
            *(problem for job in self.scenario.jobs for problem in self._job(job)), *self._schedule(),
            *self._retaken(), *self._leaks(),
        ]  # fmt: skip

    def _job(self, job: ActualJob) -> Iterator[str]:
        name = f"job {job.number}"
        told = self.simulation.told.get(job.number, [])
        attempts = self.attempts[job.number]
        possible = holds(self.scenario.platform, self.scenario.dispatcher.setup, job.request, job.groups) >= job.units
        if len(told) > 1:
            yield f"{name} was told to have ended {len(told)} times"
        if not told and job.number not in self.doomed:
            yield f"{name} is lost"
        if told and isinstance(told[0], JobFinished) != possible:
            yield f"{name} was {'rejected, yet fits' if possible else 'run, yet does not fit'} the machine"
        if attempts and not possible:
            yield f"{name} does not fit the machine, yet was started"
        complete = {attempt for attempt, runs in attempts.items() if is_full(job, runs)}
        if told and isinstance(told[0], JobFinished):
            right = [attempt for attempt in complete if self._is_as_agreed(job, attempts[attempt])]
            if len(right) == 1:
                self.accepted[job.number] = attempts[right[0]]
            else:
                yield f"{name} is done, yet {len(right)} attempts ran as agreed on"
        yield from self._other_attempts(job, complete)

    def _is_as_agreed(self, job: ActualJob, runs: list[UnitRun]) -> bool:
        placed = self.simulation.placed.get(job.number)
        if placed is None or {run.start for run in runs} != {placed.start}:
            return False
        where = dict(zip(placed.nodes.tolist(), placed.units.tolist(), strict=True))
        return where == {run.node: run.units for run in runs} and len(where) == len(runs)

    def _other_attempts(self, job: ActualJob, complete: set[int]) -> Iterator[str]:
        """One attempt after the other; what was not accepted was cut, or is repeated since a host died too soon."""
        free_from = 0
        for attempt, runs in sorted(self.attempts[job.number].items()):
            name = f"attempt {attempt} of job {job.number}"
            if min(run.start for run in runs) < free_from:
                yield f"{name} runs while an earlier one does"
            free_from = max(run.end for run in runs)
            if len({run.start for run in runs}) > 1:
                yield f"{name} does not start everywhere at once"
            if any(run.outcome is RunOutcome.RUNNING for run in runs):
                yield f"{name} runs on"
            if sum(run.units for run in runs) > job.units:
                yield f"{name} runs more units than the job has"
            if self.accepted.get(job.number) is runs:
                continue
            self.cut += attempt not in complete
            self.repeated += attempt in complete
            if attempt in complete and not self._a_host_died(runs):
                yield f"{name} ran in full, all its hosts lived, and the job was not done"

    def _a_host_died(self, runs: list[UnitRun]) -> bool:
        bounds = self.scenario.bounds
        return any(
            bounds[crash.host] <= run.node < bounds[crash.host + 1] and crash.at >= run.start
            for crash in self.scenario.crashes
            for run in runs
        )

    def _schedule(self) -> Iterator[str]:
        """The attempts that counted are a legal schedule, beside all others."""
        for violation in audit(self.executed.schedule(self.accepted), self.scenario.platform):
            yield f"audit: {violation}"

    def _retaken(self) -> Iterator[str]:
        for host, job, attempt in self.simulation.retaken:
            yield f"host {host} has reserved attempt {attempt} of job {job} after it had released it"

    def _leaks(self) -> Iterator[str]:
        """Nothing is held any more when all is over."""
        if not self.simulation.quiet:
            yield "a host still holds a reservation or has an end to tell"
        now = self.simulation.network.now
        for address, host in enumerate(self.simulation.hosts):
            if host is None:
                continue
            if host.machine.pool.state.ends()[1] > now:
                yield f"host {address} has something reserved after {now} s, the end of all"
            questions = host.machine._open.values()
            if any(question.relay.expires < now for question in questions):
                yield f"host {address} has not forgotten a question whose time is over at {now} s"
            if any(expires < now for _, expires in host.machine.pool._closed.values()):
                yield f"host {address} has not forgotten a claim that has expired at {now} s"
        for address, manager in enumerate(self.simulation.turns.managers):
            known = {
                *manager._negotiation.states,
                *manager._negotiation._claims._open,
                *manager._negotiation._claims._failures,
            }
            if ended := known & self.simulation.told.keys():
                yield f"task manager {address} has not forgotten jobs that have ended: {sorted(ended)}"
            if isinstance(manager, TimedLateManager) and any(
                manager._claims.is_dead(*source) for source in manager._seen
            ):
                yield f"task manager {address} has not forgotten hosts that are dead"
