"""What the models minimise, exactly and in whole numbers for the solver.

Starts are s from now, one for each job of a model, in its order.

A solver knows whole numbers only. Weights like 1 / 7 are multiplied by a scale and cut: by the least common multiple of
what they are divided by, where that is small enough (then nothing is lost), else by the most that keeps every sum below
2^52, which is also what a float holds exactly (then a weight loses less than 1 / scale, and a bound stays a bound).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, lcm, log2
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dardis.dispatch.cp.first_answer import Work, least_end, least_weighted_starts
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.errors import InputError
from dardis.solver.cpsat import weighted_sum

if TYPE_CHECKING:
    from dardis.dispatch.cp.decision_problem import Waiting
    from dardis.model.job import Job
    from dardis.model.platform import Platform
    from dardis.solver.cpsat import CpModel, IntVar, LinearExpr

MOST = 1 << 52
"""No sum that a solver is given is above this."""


@dataclass(frozen=True, slots=True)
class Posted:
    """An objective in a model: `expression` is `scale` times its value, `at_hint` what the hint makes of it."""

    expression: LinearExpr | int
    scale: float
    at_hint: int | None


class Objective(Protocol):
    """Something that starts are good or bad at; less is better, and no later start makes it better."""

    def value(self, starts: Ints) -> float:
        """What starts make of it."""
        ...

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> Posted:
        """Write it into a model whose starts are at most `latest`; `hint` are the starts of a whole answer."""
        ...

    def least(self, first: Ints, work: Work) -> float:
        """What no starts undercut that are not before `first`, by what there is for the work of all jobs."""
        ...

    def kin(self, place: int) -> tuple[int, int] | None:
        """Of jobs of equal needs that have the same first number, who has the lower second one best starts first.

        None: nothing can be said.
        """
        ...


@dataclass(frozen=True)
class Makespan:
    """When the last job ends, in s from now (T equation 3.9); running jobs count, they end at `busy_until`."""

    durations: Ints
    busy_until: int = 0

    def value(self, starts: Ints) -> float:
        """As the protocol has it."""
        return float(self._end(starts))

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> Posted:
        """As the protocol has it."""
        last = latest + int(self.durations.max(initial=0))
        end = model.new_int_var(self.busy_until, max(last, self.busy_until), "")
        for start, duration in zip(starts, self.durations.tolist(), strict=True):
            model.add(end >= start + duration)
        at_hint = None if hint is None else self._end(hint)
        if at_hint is not None:
            model.add_hint(end, at_hint)
        return Posted(1 * end, 1, at_hint)

    def least(self, first: Ints, work: Work) -> float:
        """As the protocol has it."""
        return max(self.value(first), float(least_end(work)))

    def kin(self, place: int) -> tuple[int, int]:  # noqa: ARG002 (all alike)
        """As the protocol has it."""
        return 0, 0

    def _end(self, starts: Ints) -> int:
        return int((starts + self.durations).max(initial=self.busy_until))


@dataclass(frozen=True)
class Delay:
    """The sum of `numerator / denominators · max(0, start − due)`."""

    numerator: int
    denominators: Ints
    due: Ints
    """In s from now; it may lie in the past."""

    def value(self, starts: Ints) -> float:
        """As the protocol has it."""
        return float((self.numerator * np.maximum(starts - self.due, 0) / self.denominators).sum())

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> Posted:
        """As the protocol has it."""
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
        return Posted(expression, scale, None if hint is None else at_hint)

    def least(self, first: Ints, work: Work) -> float:
        """As the protocol has it: who is due by now, or everybody, may be as little late as `start − due`, but no less.

        The others are at least as late as at their first starts.
        """

        def least_of(some: Bools) -> float:
            weight: Floats = np.where(some, self.numerator / self.denominators, 0.0)
            weighs = some.nonzero()[0]
            rest = work._replace(duration=work.duration[weighs], need=work.need[weighs])
            starts = least_weighted_starts(weight[weighs], first[weighs], rest)
            late = self.numerator * np.maximum(first - self.due, 0) / self.denominators
            return starts - float((weight * self.due).sum()) + float(late[~some].sum())

        return max(self.value(first), least_of(self.due <= 0), least_of(np.ones_like(self.due, dtype=np.bool_)))

    def kin(self, place: int) -> tuple[int, int]:
        """As the protocol has it: delays are convex."""
        return int(self.denominators[place]), int(self.due[place])

    def only(self, jobs: Ints) -> Delay:
        """The same of some of the jobs."""
        return Delay(self.numerator, self.denominators[jobs], self.due[jobs])

    def most(self, latest: int) -> int:
        """What no starts exceed that are at most `latest`, rounded up a little."""
        delays: list[int] = np.maximum(latest - self.due, 0).tolist()
        denominators: list[int] = self.denominators.tolist()
        return 1 + sum(
            -(-self.numerator * delay // denominator) for delay, denominator in zip(delays, denominators, strict=True)
        )

    def weights(self, latest: int) -> tuple[list[int], int]:
        """The weights times a scale, cut to whole numbers, and the scale."""
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
    """The sum of `weight · start`, weights above 0."""

    weight: Floats

    def value(self, starts: Ints) -> float:
        """As the protocol has it."""
        return float((self.weight * starts).sum())

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> Posted:  # noqa: ARG002
        """As the protocol has it; the scale is a power of 2, so that a weight times it is cut but not rounded."""
        most = max(1, latest) * float(self.weight.sum())
        scale = 2.0 ** floor(log2(MOST / most)) if most else 1.0
        weights = [int(weight * scale) for weight in self.weight.tolist()]
        at_hint = None if hint is None else sum(w * s for w, s in zip(weights, hint.tolist(), strict=True))
        return Posted(weighted_sum(starts, weights), scale, at_hint)

    def least(self, first: Ints, work: Work) -> float:
        """As the protocol has it."""
        return least_weighted_starts(self.weight, first, work)

    def kin(self, place: int) -> None:  # noqa: ARG002
        """As the protocol has it: weights are seldom equal."""
        return


@dataclass(frozen=True)
class LateJobs:
    """How many start after they are due (T equation 3.11)."""

    due: Ints
    """In s from now."""

    def value(self, starts: Ints) -> float:
        """As the protocol has it."""
        return float((starts > self.due).sum())

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> Posted:
        """As the protocol has it."""
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
        return Posted(expression, 1, None if hint is None else int((hint > self.due).sum()))

    def least(self, first: Ints, work: Work) -> float:  # noqa: ARG002
        """As the protocol has it, by the first starts alone."""
        return self.value(first)

    def kin(self, place: int) -> None:  # noqa: ARG002
        """As the protocol has it: who is late anyway may as well be last."""
        return


@dataclass(frozen=True)
class Executed:
    """Within a reservation (T equation 4.4): as many jobs as can be end before it does, then least delay of all.

    Who does not starts later, which is never: that costs more than all delays together.
    """

    delay: Delay
    late: LateJobs
    latest: int
    """The last start, in s from now."""

    @property
    def denominators(self) -> Ints:
        """Those of the delays."""
        return self.delay.denominators

    @property
    def price(self) -> int:
        """Of a job that does not run."""
        return self.delay.most(self.latest)

    def value(self, starts: Ints) -> float:
        """As the protocol has it."""
        return self.delay.value(starts) + self.price * self.late.value(starts)

    def post(self, model: CpModel, starts: Sequence[IntVar], latest: int, hint: Ints | None) -> Posted:
        """As the protocol has it."""
        delay, late = self.delay.post(model, starts, latest, hint), self.late.post(model, starts, latest, hint)
        price = int(self.price * delay.scale)
        at_hint = None
        if delay.at_hint is not None and late.at_hint is not None:
            at_hint = delay.at_hint + price * late.at_hint
        return Posted(delay.expression + price * late.expression, delay.scale, at_hint)

    def least(self, first: Ints, work: Work) -> float:
        """As the protocol has it."""
        return self.delay.least(first, work) + self.price * self.late.least(first, work)

    def kin(self, place: int) -> None:  # noqa: ARG002
        """As the protocol has it: who does not run anyway may as well be last."""
        return

    def only(self, jobs: Ints) -> Executed:
        """The same of some of the jobs."""
        return Executed(self.delay.only(jobs), LateJobs(self.late.due[jobs]), self.latest)


def makespan(jobs: Sequence[Waiting], busy_until: int) -> Makespan:
    """T equation 3.9; the last running job ends `busy_until` s from now."""
    return Makespan(_durations(jobs), busy_until)


def weighted_tardiness(jobs: Sequence[Waiting], now: int) -> Delay:
    """T equation 3.10, and of PCP'19 (002, section 2.2): how far jobs wait beyond what is expected, relative to it."""
    waits = _expected_waits(jobs)
    return Delay(1, waits, _submits(jobs) + waits - now)


def late_jobs(jobs: Sequence[Waiting], now: int) -> LateJobs:
    """T equation 3.11: who waits for longer than is expected."""
    return LateJobs(_submits(jobs) + _expected_waits(jobs) - now)


def slowdown(jobs: Sequence[Waiting], now: int) -> Delay:
    """The sum of `(s − q + d) / d` (002, section 4)."""
    durations = _durations(jobs)
    return Delay(1, durations, _submits(jobs) - durations - now)


def weighted_waiting(jobs: Sequence[Waiting], now: int) -> Delay:
    """The sum of `max(ewt) / ewt · (s − q)`, HCP's (002, section 2.2)."""
    waits = _expected_waits(jobs)
    return Delay(int(waits.max(initial=1)), waits, _submits(jobs) - now)


def queue_waiting(jobs: Sequence[Waiting], platform: Platform, now: int) -> Delay:
    """The sum of `(s − stq) / ewt` (T equation 4.2)."""
    waits = np.array([wait_of_queue(waiting.job, platform) for waiting in jobs], dtype=np.int64)
    return Delay(1, waits, _submits(jobs) - now)


def executed(jobs: Sequence[Waiting], platform: Platform, now: int, latest: int) -> Executed | Delay:
    """T equation 4.2, and within a reservation that of its own model (4.4); no job starts after `latest`, from now."""
    delay = queue_waiting(jobs, platform, now)
    if platform.ends is None:
        return delay
    return Executed(delay, LateJobs(platform.ends - _durations(jobs) - now), latest)


HOUR_S = 3600


def wait_of_queue(job: Job, platform: Platform) -> int:
    """How long a job's queue is told to wait, in s: as expected there, or at most.

    Where its queue says neither, its own window stands for that; who has none either is told an hour, like everybody.
    """
    queue = platform.queue_of.get(job.queue)
    if queue is not None and (queue.expected_wait_s or queue.longest_wait_s):
        return queue.expected_wait_s or queue.longest_wait_s or HOUR_S
    return HOUR_S if job.latest is None else expected_wait(job)


def expected_wait(job: Job) -> int:
    """For how long a job is expected to wait: its window, in s. The papers divide by it, so that 0 counts as 1 s."""
    if job.latest is None:
        raise InputError(f"job {job.number}", "it has no deadline", "deadlines: this objective needs expected waits")
    return max(1, job.latest - job.earliest)


def _expected_waits(jobs: Sequence[Waiting]) -> Ints:
    return np.array([expected_wait(waiting.job) for waiting in jobs], dtype=np.int64)


def _durations(jobs: Sequence[Waiting]) -> Ints:
    return np.array([waiting.duration for waiting in jobs], dtype=np.int64)


def _submits(jobs: Sequence[Waiting]) -> Ints:
    return np.array([waiting.job.submit for waiting in jobs], dtype=np.int64)
