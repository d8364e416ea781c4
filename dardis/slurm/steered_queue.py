"""Queue of a steered partition: views of Slurm in, orders and log entries out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dardis.model.addresses import JobId
from dardis.model.hostlist import hostlist, names_in
from dardis.model.job import Job
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.predict import Predictor
from dardis.predict.base import raise_prediction
from dardis.slurm.learned_limits import LONGEST_RETRY_S, RETRY_S, LearnedLimits
from dardis.slurm.open_decisions import Decided, OpenDecisions, Order, Pin, Run, View
from dardis.slurm.round_decision import RoundDecision
from dardis.slurm.steered_job import SteeredJob
from dardis.slurm.steered_nodes import Holding, SteeredNodes
from dardis.slurm.steering_log import QUEUED_AGAIN, Entry, Event
from dardis.workload.slurm_texts import JobPhase

PATIENCE_S: Final = 30
"""Time until a decision is taken back."""
OVERRUN_S: Final = 30
"""Assumed rest of jobs beyond their limits."""
MOST_JOBS: Final = 2000
_NO_LIMIT: Final = 1 << 62
Decide = Callable[[Platform, DesiredProfile | None, Sequence[Job], int], RoundDecision]
"""Machine, profile, jobs and time to starts."""


@dataclass
class RoundResult:
    """Orders and log entries of a round. Entries come first."""

    orders: list[Order] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    waiting: int = 0
    """Jobs that wait for nodes."""
    held: int = 0
    """Other waiting jobs."""
    running: int = 0


class SteeredQueue:
    """State of the decisions."""

    def __init__(
        self, partition: str, reservation: str, nodes: SteeredNodes, decide: Decide, *,
        desired: DesiredProfile | None = None, predictor: Predictor | None = None, past: Iterable[Entry] = (),
    ) -> None:  # fmt: skip
        self._partition, self._reservation, self._nodes, self._decide = partition, reservation, nodes, decide
        self._desired, self._predictor = desired, predictor
        self._place = {name: place for place, name in enumerate(nodes.names)}
        self.open = OpenDecisions(past)
        self._never: dict[str, str] = {}
        self._retry: dict[str, tuple[int, int]] = {}
        """Next attempt, and the pause after it."""
        self._limits = LearnedLimits()
        self._expected: dict[str, int] = {}
        self._is_first = True

    def on_lapse(self) -> None:
        """Slurm may have started jobs, and took waiting ones out of the reservation."""
        self._is_first = True
        for name in self.open.passed:
            self._retry.pop(name, None)

    def observe(self, view: View, now: int) -> RoundResult:
        """Orders at `now`, Unix s, which never decreases."""
        found = RoundResult()
        mine = [one for one in view.jobs if self._partition in one.job.partition.split(",")]
        waiting = [one for one in mine if one.job.phase is JobPhase.WAITS]
        self._note_runs(view, mine, found, now)
        if view.is_complete:
            self._drop_gone(view, mine, found, now)
        self._review_pins(waiting, found, now)
        candidates = [*self._candidates(waiting, found, now)]
        candidates.sort(key=lambda one: (one[1].job.submit, one[1].job.number, one[2]))
        self._start(view, candidates[:MOST_JOBS], found, now)
        self._is_first = False
        return found

    def on_outcome(self, order: Order, failure: str, now: int) -> Entry | None:
        """Log entry after an order; `failure`: Slurm's refusal, perhaps wrong: the next view decides."""
        job, done = order.job, not failure
        match order.event:
            case Event.START if failure and job in self.open.pins:
                self.open.pins[job].failure = failure
            case Event.TAKEN_BACK if done:
                is_limit = self._limits.on_failure(job, order.detail, now)
                self.open.forget(job)
                self._delay(job, now, 2 if is_limit else 1)  # others under the limit try before
                return Entry(now, job, Event.TAKEN_BACK, detail=order.detail)
            case Event.PASSED:
                self._delay(job, now)
                if failure:
                    return Entry(now, job, Event.REFUSED, detail=failure)
                self.open.passed[job] = order.detail
                return Entry(now, job, Event.PASSED, detail=order.detail)
            case _:
                pass
        return None

    def _note_runs(self, view: View, mine: Sequence[SteeredJob], found: RoundResult, now: int) -> None:
        running, shown = self.open.running, set[str]()
        over: dict[tuple[str, int | None], int] = {}
        for one in mine:
            if one.job.phase is JobPhase.WAITS:
                continue
            shown.add(one.labels[0])
            self._note_run(one, over, found, now)
        self.open.over = over if view.is_complete else self.open.over | over
        self.open.forget_over(now)
        waits = {label for one in mine if one.job.phase is JobPhase.WAITS for label in one.labels}
        for label in [label for label in running if label not in shown]:
            if view.is_complete or label in waits:
                self._end(label, found, now, now, QUEUED_AGAIN if label in waits else "no longer shown")
        found.running = len(running)

    def _note_run(
        self, one: SteeredJob, over: dict[tuple[str, int | None], int], found: RoundResult, now: int
    ) -> None:  # fmt: skip
        running, job, label = self.open.running, one.job, one.labels[0]
        if (run := running.get(label)) is not None:
            if run.restarts is None:
                run.restarts = job.restarts
            if job.restarts > run.restarts:
                self._end(label, found, now, now, QUEUED_AGAIN)
            elif job.phase is not JobPhase.ENDED:
                run.start = job.start  # while a node boots, Slurm moves the start
        is_expected = label in self.open.pins or one.reservation == self._reservation
        # Slurm states a moving start for a job that was queued again and still ends on its nodes.
        is_new = label in self.open.pins or job.state != "COMPLETING"
        is_known = label in running or (label, job.start) in self.open.over
        if is_new and not is_known and (job.is_running or (is_expected and job.has_run)):
            self._begin(one, label, found, now)
        if job.phase is JobPhase.ENDED:
            over[label, job.start] = now
            if label in running:
                self._end(label, found, now, job.end or now, job.state)

    def _begin(self, one: SteeredJob, label: str, found: RoundResult, now: int) -> None:
        pin, why = self.open.pins.pop(label, None), self.open.why_passed(label)
        if pin is None and label in self.open.decided and one.reservation == self._reservation:
            pin = self._again(one, label, found, now)
        nodes = one.job.cells.get("NodeList", "")
        is_as_decided = pin is not None and names_in(pin.nodes) == names_in(nodes)
        is_found = self._is_first and not is_as_decided and not why
        detail = "" if pin is not None or is_found else why or "not decided"
        event = Event.FOUND if is_found else Event.STARTED
        found.entries.append(Entry(now, label, event, nodes, one.job.start, detail=detail))
        self._retry.pop(label, None)
        self._limits.on_success(label, now)
        self.open.running[label] = Run(one.job.start, nodes, one.job.restarts, None if pin is None else pin.job)

    def _again(self, one: SteeredJob, label: str, found: RoundResult, now: int) -> Pin:
        before = self.open.decided[label].before
        found.entries.append(Entry(now, label, Event.START, one.required, before=before, detail=QUEUED_AGAIN))
        return Pin(now, one.required)

    def _end(self, label: str, found: RoundResult, now: int, end: int, why: str) -> None:
        run = self.open.running.pop(label)
        if why != QUEUED_AGAIN:
            self.open.forget(label)
            if self._predictor is not None and run.job is not None and run.start is not None:
                self._predictor.observe(run.job, max(end - run.start, 1), end)
        found.entries.append(Entry(now, label, Event.ENDED, start=run.start, end=end, detail=why))

    def _drop_gone(self, view: View, mine: Sequence[SteeredJob], found: RoundResult, now: int) -> None:
        present = (one for one in mine if one.job.phase is not JobPhase.ENDED)
        labels = {label for one in present for label in (one.name, *one.labels)}
        elsewhere = view.waiting()
        for label in {**self.open.decided, **self.open.passed}:
            if label in labels or label in self.open.running:
                continue
            one = elsewhere.get(label)
            if one is not None and self.open.is_bound(label, one, self._reservation):
                found.orders.append(self.open.take_back(label, one, self._reservation, "in another partition"))
            else:
                is_open = label in self.open.pins or label in self.open.passed
                self.open.forget(label)
                found.entries += [Entry(now, label, Event.LEFT)] if is_open else []
        self._limits.keep(labels)
        for known in (self._retry, self._never, self._expected):
            for label in known.keys() - labels - self.open.running.keys():
                del known[label]

    def _candidates(
        self, waiting: Sequence[SteeredJob], found: RoundResult, now: int
    ) -> Iterator[tuple[str, SteeredJob, int]]:  # fmt: skip
        left: dict[str, int] = {}
        for one in waiting:
            if one.array not in left:
                left[one.array] = self._permitted_tasks(one)
            for place, label in enumerate(one.labels):
                if label in self.open.pins:
                    continue
                if one.is_held or one.job.eligible is None or one.job.eligible > now:
                    found.held += 1
                elif one.reservation:
                    continue  # the user's own, or passed
                elif "," in one.job.partition:
                    self._refuse(label, "several partitions: only Slurm's scheduler starts it, in another", found, now)
                elif one.unsupported:
                    self._pass(one, found, now)
                    break
                else:
                    found.waiting += 1
                    if left[one.array] > 0 and self._may_try(label, now) and not self._limits.delays(one, now):
                        left[one.array] -= 1
                        yield label, one, place

    def _permitted_tasks(self, one: SteeredJob) -> int:
        if not one.array or not one.throttle:
            return _NO_LIMIT
        busy = sum(label.startswith(f"{one.array}_") for label in (*self.open.running, *self.open.pins))
        return max(one.throttle - busy, 0)

    def _review_pins(self, waiting: Sequence[SteeredJob], found: RoundResult, now: int) -> None:
        pins = self.open.pins
        for one in waiting:
            for label in one.labels:
                is_bound = self.open.is_bound(label, one, self._reservation)
                if label not in pins and is_bound:
                    pins[label] = self._again(one, label, found, now)
                pin = pins.get(label)
                if pin is None:
                    continue
                if not is_bound:  # not ordered, or withdrawn by the user
                    del pins[label]
                    self._delay(label, now)
                    why = pin.failure or "not in the reservation"
                    found.entries.append(Entry(now, label, Event.REFUSED, pin.nodes, detail=why))
                elif not 0 <= now - pin.at < PATIENCE_S or one.reservation != self._reservation or one.is_held:
                    self._limits.on_wait(label, one)
                    found.orders.append(self.open.take_back(label, one, self._reservation, one.job.reason))

    def _may_try(self, name: str, now: int) -> bool:
        return self._retry.get(name, (0, 0))[0] <= now

    def _delay(self, name: str, now: int, times: int = 1) -> None:
        pause = self._retry.get(name, (0, RETRY_S))[1]
        self._retry[name] = now + times * pause, min(2 * pause, LONGEST_RETRY_S)

    def _pass(self, one: SteeredJob, found: RoundResult, now: int) -> None:
        if self._may_try(one.name, now):
            found.orders.append(
                Order(Event.PASSED, one.name, one.all_tasks, one.account, self._reservation, None, one.unsupported)
            )

    def _start(
        self, view: View, candidates: Sequence[tuple[str, SteeredJob, int]], found: RoundResult, now: int
    ) -> None:  # fmt: skip
        if not candidates:
            return
        holdings = [*self._holdings(view, now)]
        needs = (one.request.needs for _, one, _ in candidates if one.request is not None)
        machine, groups = self._nodes.machine(view.nodes, needs, holdings, view.closures, now)
        able: list[tuple[str, SteeredJob]] = []
        jobs: list[Job] = []
        for label, one, _ in candidates:
            assert one.request is not None
            if bits := groups[one.request.needs]:
                able.append((label, one))
                jobs.append(self._job(one, label, JobId(len(able)), bits, now))
            else:
                self._refuse(label, "no node of the partition is permitted", found, now)
        desired = None if self._desired is None else self._nodes.remaining(self._desired, holdings, now)
        decision = self._decide(machine, desired, jobs, now)
        for number, reason in decision.refused.items():
            self._refuse(able[number - 1][0], reason, found, now)
        permitted = self._limits.permitted(
            (able[number - 1] for number in decision.starts), self.open.pins, self._retry
        )
        for number, places in decision.starts.items():
            label, one = able[number - 1]
            if label in permitted:
                nodes = hostlist(self._nodes.names[place] for place in places.tolist())
                self.open.pins[label] = Pin(now, nodes, jobs[number - 1])
                self.open.decided[label] = Decided(nodes, one.required)
                found.orders.append(Order(Event.START, label, label, one.account, self._reservation, nodes))
                found.entries.append(Entry(now, label, Event.START, nodes, before=one.required))

    def _refuse(self, label: str, reason: str, found: RoundResult, now: int) -> None:
        if self._never.get(label) != reason:
            self._never[label] = reason
            found.entries.append(Entry(now, label, Event.NEVER, detail=reason))

    def _job(self, one: SteeredJob, label: str, number: JobId, groups: int, now: int) -> Job:
        assert one.request is not None
        submit = min(one.job.submit, now)
        job = Job(
            number, submit, submit, None, one.walltime, one.request.nodes, self._nodes.request(one.request), groups,
            one.job.qos, one.job.user, one.job.cells.get("JobName", ""),
        )  # fmt: skip
        if self._predictor is None:
            return job
        if label not in self._expected:
            self._expected[label] = self._predictor.predict(job, now).duration
        return replace(job, prediction=self._expected[label])

    def _holdings(self, view: View, now: int) -> Iterator[Holding]:
        known: dict[str, dict[str, int]] = {name: {} for name in self._place}
        for one in view.jobs:
            for name, amounts in one.held.items():
                if name in known:
                    for kind, amount in amounts.items():
                        known[name][kind] = known[name].get(kind, 0) + amount
                    yield Holding(self._place[name], self._nodes.vector(amounts), self._end_of(one, now))
        waiting = view.waiting()
        for label, pin in self.open.pins.items():
            pinned = waiting.get(label)
            if pinned is not None and pinned.request is not None:
                amounts_of_node = self._nodes.request(pinned.request)
                for name in sorted(names_in(pin.nodes) & known.keys()):
                    yield Holding(self._place[name], amounts_of_node, now + pinned.walltime)
        for name, place in self._place.items():
            stated = view.nodes[name].allocated if name in view.nodes else {}
            beyond = {kind: amount - known[name].get(kind, 0) for kind, amount in stated.items()}
            if any(amount > 0 for amount in beyond.values()):
                most = {kind: max(amount, 0) for kind, amount in beyond.items()}
                yield Holding(place, self._nodes.vector(most), now + OVERRUN_S)

    def _end_of(self, one: SteeredJob, now: int) -> int:
        expected, start = self._expected.get(one.labels[0]), one.job.start
        end = one.latest_end(now, OVERRUN_S)
        if expected is None or start is None:
            return end
        return max(min(end, start + raise_prediction(expected, one.walltime, max(now - start, 0))), now + 1)
