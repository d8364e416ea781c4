"""Late binding under a cap that is stated anew for each hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.choices import UnitsPerNode
from dardis.model.errors import ProtocolError
from dardis.model.job import NO_TIME, ActualJob
from dardis.model.node_layout import make_layout
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Downtime, Schedule
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split
from dardis.power.account import Account, account, accounted_jobs
from dardis.power.conditions import HOUR_S, Conditions, Tariff
from dardis.power.cooling import Cooling
from dardis.power.node_power import MachinePower
from dardis.power.unit_power import MILLI, UnitPower
from dardis.registry import Cluster, Dispatcher
from dardis.runs.hosts import even_bounds
from dardis.runs.play import predictor_of
from dardis.sim.simulation import Simulation
from dardis.transport.local_transport import LocalPool, in_process_pool
from dardis.turns import LateTurns

SEED: Final = 1
SETTINGS: Final = {"profile": "hard", "profile_split": str(Split.SHARED)}


class QueueState(NamedTuple):
    """Cores in use, and cores and core-s (by walltimes) of waiting jobs."""

    used: int
    waiting: int
    waiting_core_s: int


class CappedHours:
    """Jobs, sorted by (submit, number), on an empty machine from `begin` on (s).

    A cap holds for starts in its hour; running jobs may exceed a later cap. From the next hour on, jobs are planned for
    the complete machine.
    """

    def __init__(
        self, jobs: Sequence[ActualJob], platform: Platform, dispatcher: Dispatcher, begin: int, *, power: bool
    ) -> None:  # fmt: skip
        """`power`: caps limit the power that jobs add, else cores."""
        self._layout = make_layout(platform)
        self._platform = platform
        self._jobs = list(jobs)
        machine = self._layout.machine
        kinds = machine.kinds
        watts = None
        added = UnitPower(machine)
        if power:
            watts = StepFunction.from_steps(-(-int((added.idle_mw + added.busy_mw).sum()) // MILLI), [])
        cores = StepFunction.from_steps(machine.cores, [])
        desired = DesiredProfile(machine, {kinds.index(CORES): cores}, split=Split.SHARED, watts=watts)
        bounds = even_bounds(machine.node_count, 1)
        hosts = LocalPool(dispatcher.pool(machine, *bounds, desired=desired, seed=SEED))
        cluster = Cluster(machine, bounds, SEED, desired=desired, begin=begin, pool=in_process_pool(hosts))
        turns = dispatcher.turns(cluster)
        if not isinstance(turns, LateTurns):
            raise ProtocolError(f"{dispatcher.name} gives no late turns")
        self._turns = turns
        distinct = dispatcher.setup.units_per_node is UnitsPerNode.DISTINCT
        predictor = predictor_of(dispatcher, self._jobs, SEED)
        self._simulation = Simulation(self._jobs, turns, hosts, predictor, site=platform, distinct=distinct)
        self.now = begin
        """Begin of the next hour, s."""
        self.most = int(added.busy_mw.sum()) if power else machine.cores
        """Cap of the complete machine: cores, or mW that jobs add."""
        self._column = len(kinds) if power else kinds.index(CORES)
        self._cores = np.array([job.units * job.request[kinds.index(CORES)] for job in jobs], dtype=np.int64)
        self._submit = np.array([job.submit for job in jobs], dtype=np.int64)
        self._duration = np.array([job.duration for job in jobs], dtype=np.int64)
        self._walltime = np.array([job.walltime for job in jobs], dtype=np.int64)

    def run_hour(self, cap: int) -> None:
        """Run the next hour under a cap."""
        end = self.now + HOUR_S
        withheld = np.zeros(len(self._layout.machine.kinds) + 1, dtype=np.int64)
        withheld[self._column] = self.most - cap
        self._turns.withhold(withheld.tolist(), self.now, end)
        self._simulation.run_instant(self.now)
        self._simulation.run_until(end)
        self.now = end

    def run_to_end(self) -> None:
        """Run all jobs to their ends, without a cap."""
        self._simulation.run()

    @property
    def schedule(self) -> Schedule:
        """Schedule of the jobs until now; those that have begun with their real ends."""
        made = self._simulation.recorder.schedule(self._jobs, self._layout.machine.kinds)
        finish = np.where(made.start == NO_TIME, NO_TIME, made.start + self._duration)
        return self._layout.to_own_nodes(replace(made, finish=finish))

    @property
    def _starts(self) -> Ints:
        return np.array(self._simulation.recorder.start, dtype=np.int64)

    @property
    def _arrived(self) -> Ints:
        """Places of the jobs that arrived before now and are not rejected."""
        reasons = self._simulation.recorder.reasons
        places = np.arange(np.searchsorted(self._submit, self.now))
        return places[[place not in reasons for place in places.tolist()]]

    def waiting_s(self, start: int) -> int:
        """Sum of the jobs' waits from `start` to now."""
        jobs = self._arrived
        begun = np.where(self._starts == NO_TIME, self.now, self._starts)[jobs]
        return int(np.maximum(begun - np.maximum(self._submit[jobs], start), 0).sum())

    def state(self) -> QueueState:
        """State of the queue now."""
        jobs, starts = self._arrived, self._starts
        waits = jobs[starts[jobs] == NO_TIME]
        runs = jobs[(starts[jobs] != NO_TIME) & (starts[jobs] + self._duration[jobs] > self.now)]
        cores = self._cores
        return QueueState(
            int(cores[runs].sum()), int(cores[waits].sum()), int((cores[waits] * self._walltime[waits]).sum())
        )

    def account(self, start: int, conditions: Conditions, cooling: Cooling, tariff: Tariff) -> Account:
        """Account from `start` to now; `conditions` cover it. Only CO2 is charged of the tariff."""
        return account(
            accounted_jobs(self.schedule, self._platform), Downtime.none(), MachinePower.of_platform(self._platform),
            conditions.between(start, self.now), cooling, Tariff(co2_per_t=tariff.co2_per_t),
        )  # fmt: skip
