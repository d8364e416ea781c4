"""Objectives of the models, in integers for the solver.

Starts are s from now, by job. Weights like 1 / 7 are scaled by the least common multiple of denominators, if small.
Otherwise the scale keeps sums below 2^52, exact in a float: a weight loses under 1 / scale, and bounds stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, lcm, log2
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dardis.dispatch.cp.first_answer import JobWork, least_end, least_weighted_starts
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.errors import InputError
from dardis.solver.cpsat import weighted_sum

if TYPE_CHECKING:
    from dardis.dispatch.cp.decision_problem import WaitingJob
    from dardis.model.job import Job
    from dardis.model.platform import Platform
    from dardis.solver.cpsat import CpModel, IntVar, LinearExpr

MOST = 1 << 52
"""Maximum sum in a model."""


@dataclass(frozen=True, slots=True)
class PostedObjective:
    """Posted objective: `expression` is `scale` times the value, `at_hint` the hint's."""

    expression: LinearExpr | int
    scale: float
    at_hint: int | None


class Objective(Protocol):
    """Cost of starts, never lowered by later ones."""

    def value(self, starts: Ints) -> float:
        """Cost."""
        ...

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> PostedObjective:
        """Add the objective to a model; `hint`: complete answer."""
        ...

    def least(self, first: Ints, work: JobWork) -> float:
        """Lower bound for starts from `first` on."""
        ...

    def symmetry_key(self, place: int) -> tuple[int, int] | None:
        """Class and rank of a job, or None. With equal demand and class, the lower rank best starts first."""
        ...


@dataclass(frozen=True)
class Makespan:
    """Last end, in s from now, at least `busy_until` (T equation 3.9)."""

    durations: Ints
    busy_until: int = 0

    def value(self, starts: Ints) -> float:
        """Cost."""
        return float(self._end(starts))

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> PostedObjective:
        """Add the objective."""
        last = latest + int(self.durations.max(initial=0))
        end = model.new_int_var(self.busy_until, max(last, self.busy_until), "")
        for start, duration in zip(starts, self.durations.tolist(), strict=True):
            model.add(end >= start + duration)
        at_hint = None if hint is None else self._end(hint)
        if at_hint is not None:
            model.add_hint(end, at_hint)
        return PostedObjective(1 * end, 1, at_hint)

    def least(self, first: Ints, work: JobWork) -> float:
        """Lower bound."""
        return max(self.value(first), float(least_end(work)))

    def symmetry_key(self, place: int) -> tuple[int, int]:  # noqa: ARG002 (all jobs are alike)
        """All jobs are alike."""
        return 0, 0

    def _end(self, starts: Ints) -> int:
        return int((starts + self.durations).max(initial=self.busy_until))


@dataclass(frozen=True)
class Delay:
    """Sum of `numerator / denominators · max(0, start − due)`."""

    numerator: int
    denominators: Ints
    due: Ints
    """In s from now, possibly past."""

    def value(self, starts: Ints) -> float:
        """Cost."""
        return float((self.numerator * np.maximum(starts - self.due, 0) / self.denominators).sum())

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> PostedObjective:
        """Add the objective."""
        weights, scale = self.weights(latest)
        parts: list[IntVar] = []
        factors: list[int] = []
        constant = at_hint = 0
        for place, (start, weight, due) in enumerate(zip(starts, weights, self.due.tolist(), strict=True)):
            if hint is not None:
                at_hint += weight * max(0, int(hint[place]) - due)
            if due >= latest:
                continue
            factors.append(weight)
            if due <= 0:
                parts.append(start)
                constant -= weight * due
                continue
            delay = model.new_int_var(0, latest - due, "")
            model.add(delay >= start - due)
            if hint is not None:
                model.add_hint(delay, max(0, int(hint[place]) - due))
            parts.append(delay)
        expression = weighted_sum(parts, factors) + constant if parts else constant
        return PostedObjective(expression, scale, None if hint is None else at_hint)

    def least(self, first: Ints, work: JobWork) -> float:
        """Lower bound, maximum of three.

        Jobs due by now, or all, count with `start − due`; others with the delay at `first`.
        """

        def least_of(some: Bools) -> float:
            weight: Floats = np.where(some, self.numerator / self.denominators, 0.0)
            weighs = some.nonzero()[0]
            rest = work._replace(duration=work.duration[weighs], need=work.need[weighs])
            starts = least_weighted_starts(weight[weighs], first[weighs], rest)
            late = self.numerator * np.maximum(first - self.due, 0) / self.denominators
            return starts - float((weight * self.due).sum()) + float(late[~some].sum())

        return max(self.value(first), least_of(self.due <= 0), least_of(np.ones_like(self.due, dtype=np.bool_)))

    def symmetry_key(self, place: int) -> tuple[int, int]:
        """Due time is the rank, since delays are convex."""
        return int(self.denominators[place]), int(self.due[place])

    def only(self, jobs: Ints) -> Delay:
        """Objective of some jobs."""
        return Delay(self.numerator, self.denominators[jobs], self.due[jobs])

    def most(self, latest: int) -> int:
        """Upper bound for starts until `latest`."""
        delays: list[int] = np.maximum(latest - self.due, 0).tolist()
        denominators: list[int] = self.denominators.tolist()
        return 1 + sum(
            -(-self.numerator * delay // denominator) for delay, denominator in zip(delays, denominators, strict=True)
        )

    def weights(self, latest: int) -> tuple[list[int], int]:
        """Scaled integer weights, and the scale."""
        denominators = self.denominators.tolist()
        scale, exact = max(1, MOST // self.most(latest)), 1
        for denominator in denominators:
            exact = lcm(exact, denominator)
            if exact > scale:
                break
        scale = min(scale, exact)
        return [scale * self.numerator // denominator for denominator in denominators], scale


@dataclass(frozen=True)
class WeightedStarts:
    """Sum of positive `weight · start`."""

    weight: Floats

    def value(self, starts: Ints) -> float:
        """Cost."""
        return float((self.weight * starts).sum())

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> PostedObjective:  # noqa: ARG002
        """Add the objective; a power of 2 avoids rounding."""
        most = max(1, latest) * float(self.weight.sum())
        scale = 2.0 ** floor(log2(MOST / most)) if most else 1.0
        weights = [int(weight * scale) for weight in self.weight.tolist()]
        at_hint = None if hint is None else sum(w * s for w, s in zip(weights, hint.tolist(), strict=True))
        return PostedObjective(weighted_sum(starts, weights), scale, at_hint)

    def least(self, first: Ints, work: JobWork) -> float:
        """Lower bound."""
        return least_weighted_starts(self.weight, first, work)

    def symmetry_key(self, place: int) -> None:  # noqa: ARG002
        """Weights are seldom equal."""
        return


@dataclass(frozen=True)
class LateJobs:
    """Number of starts after the due time (T equation 3.11)."""

    due: Ints
    """In s from now."""

    def value(self, starts: Ints) -> float:
        """Cost."""
        return float((starts > self.due).sum())

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> PostedObjective:
        """Add the objective."""
        late: list[IntVar] = []
        certain = 0
        for place, (start, due) in enumerate(zip(starts, self.due.tolist(), strict=True)):
            if due < 0:
                certain += 1
            elif due < latest:
                late.append(model.new_bool_var(""))
                model.add(start <= due).only_enforce_if(~late[-1])
                if hint is not None:
                    model.add_hint(late[-1], bool(hint[place] > due))
        expression = weighted_sum(late, [1] * len(late)) + certain if late else certain
        return PostedObjective(expression, 1, None if hint is None else int((hint > self.due).sum()))

    def least(self, first: Ints, work: JobWork) -> float:  # noqa: ARG002
        """Lower bound."""
        return self.value(first)

    def symmetry_key(self, place: int) -> None:  # noqa: ARG002
        """None: a late job may be last."""
        return


@dataclass(frozen=True)
class ReservationObjective:
    """Within a machine reservation (T equation 4.4): run most jobs in time, then minimise delay."""

    delay: Delay
    late: LateJobs
    latest: int
    """Last start, in s from now."""

    @property
    def denominators(self) -> Ints:
        """Denominators of the delays."""
        return self.delay.denominators

    @property
    def price(self) -> int:
        """Cost of a job outside the reservation, above all delays."""
        return self.delay.most(self.latest)

    def value(self, starts: Ints) -> float:
        """Cost."""
        return self.delay.value(starts) + self.price * self.late.value(starts)

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> PostedObjective:
        """Add the objective."""
        delay, late = self.delay.post(model, starts, latest, hint), self.late.post(model, starts, latest, hint)
        price = int(self.price * delay.scale)
        at_hint = None
        if delay.at_hint is not None and late.at_hint is not None:
            at_hint = delay.at_hint + price * late.at_hint
        return PostedObjective(delay.expression + price * late.expression, delay.scale, at_hint)

    def least(self, first: Ints, work: JobWork) -> float:
        """Lower bound."""
        return self.delay.least(first, work) + self.price * self.late.least(first, work)

    def symmetry_key(self, place: int) -> None:  # noqa: ARG002
        """None: a job outside the reservation may be last."""
        return

    def only(self, jobs: Ints) -> ReservationObjective:
        """Objective of some jobs."""
        return ReservationObjective(self.delay.only(jobs), LateJobs(self.late.due[jobs]), self.latest)


def makespan(jobs: Sequence[WaitingJob], busy_until: int) -> Makespan:
    """T equation 3.9; running jobs end by `busy_until`, in s from now."""
    return Makespan(_durations(jobs), busy_until)


def weighted_tardiness(jobs: Sequence[WaitingJob], now: int) -> Delay:
    """T equation 3.10, also PCP'19's (002, section 2.2): relative delay beyond the expected wait."""
    waits = _expected_waits(jobs)
    return Delay(1, waits, _submits(jobs) + waits - now)


def late_jobs(jobs: Sequence[WaitingJob], now: int) -> LateJobs:
    """T equation 3.11: jobs beyond the expected wait."""
    return LateJobs(_submits(jobs) + _expected_waits(jobs) - now)


def slowdown(jobs: Sequence[WaitingJob], now: int) -> Delay:
    """Sum of `(s − q + d) / d` (002, section 4)."""
    durations = _durations(jobs)
    return Delay(1, durations, _submits(jobs) - durations - now)


def weighted_waiting(jobs: Sequence[WaitingJob], now: int) -> Delay:
    """Sum of `max(ewt) / ewt · (s − q)` of HCP (002, section 2.2)."""
    waits = _expected_waits(jobs)
    return Delay(int(waits.max(initial=1)), waits, _submits(jobs) - now)


def queue_waiting(jobs: Sequence[WaitingJob], platform: Platform, now: int) -> Delay:
    """Sum of `(s − stq) / ewt` (T equation 4.2)."""
    waits = np.array([wait_of_queue(waiting.job, platform) for waiting in jobs], dtype=np.int64)
    return Delay(1, waits, _submits(jobs) - now)


def eurora_objective(
    jobs: Sequence[WaitingJob], platform: Platform, now: int, latest: int
) -> ReservationObjective | Delay:
    """T equation 4.2, or 4.4 within a reservation; `latest`: last start, from now."""
    delay = queue_waiting(jobs, platform, now)
    if platform.ends is None:
        return delay
    return ReservationObjective(delay, LateJobs(platform.ends - _durations(jobs) - now), latest)


HOUR_S = 3600


def wait_of_queue(job: Job, platform: Platform) -> int:
    """Wait of the job's queue, in s; else the job's window, else an hour."""
    queue = platform.queue_of.get(job.queue)
    if queue is not None and (queue.expected_wait_s or queue.longest_wait_s):
        return queue.expected_wait_s or queue.longest_wait_s or HOUR_S
    return HOUR_S if job.latest is None else expected_wait(job)


def expected_wait(job: Job) -> int:
    """Job's window, at least 1 s (a divisor in the papers). Raises InputError."""
    if job.latest is None:
        raise InputError(f"job {job.number}", "has no deadline", "deadlines: this objective needs expected waits")
    return max(1, job.latest - job.earliest)


def _expected_waits(jobs: Sequence[WaitingJob]) -> Ints:
    return np.array([expected_wait(waiting.job) for waiting in jobs], dtype=np.int64)


def _durations(jobs: Sequence[WaitingJob]) -> Ints:
    return np.array([waiting.duration for waiting in jobs], dtype=np.int64)


def _submits(jobs: Sequence[WaitingJob]) -> Ints:
    return np.array([waiting.job.submit for waiting in jobs], dtype=np.int64)
