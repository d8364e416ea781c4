"""Judges what came of a run by the documents alone, in dictionaries, lists and integers; slow, and for small machines.

It reads the data classes of `dardis.model` and runs no other code of ours: it works out for itself what nodes hold,
what is wished of them, who may run where and what was promised. So it shares no mistake with what it judges.

Not judged: in which order jobs are served (no discipline of a queue, no soonest start), and whether a soft wish was
exceeded only by jobs that had no start within it. Both hang on what was reserved when they asked, which no file says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kit.plain_rows import Down, Finding, Row, steps_of, value_at
from kit.plain_switching import SwitchedNodes, closed_at, groups_of_nodes

from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile, Switching

EVER = -(1 << 62)


@dataclass(frozen=True)
class Promises:
    """What the settings of a dispatcher promise. `hard`: never above the wish (`span`), not at a start (`instant`)."""

    distinct: bool = False
    hard: str | None = None
    grain: int | None = None
    """Starts before the latest one lie on this grid (later windows begin with that); None: on none, as where jobs ask
    again, from then on."""
    searches: bool = False
    """Whether jobs search windows, and so count their attempts."""
    step: int = 1
    """Seconds from one decision to the next at most, where somebody waits."""


@dataclass
class Audit:
    """One run. `jobs` are those that were handed in, `desired` and `switching` what offline wished of it."""

    platform: Platform
    jobs: Sequence[ActualJob]
    promises: Promises
    rows: Sequence[Row]
    desired: DesiredProfile | None = None
    switching: Switching | None = None
    downs: Sequence[Down] = ()
    _group: list[int] = field(init=False)
    """Group of each node."""
    _placed: dict[int, list[tuple[Row, int]]] = field(init=False)
    """Who ran on each node, with how many units."""

    def __post_init__(self) -> None:
        self._group = groups_of_nodes(self.platform)
        self._placed = defaultdict(list)
        for row in self.rows:
            for node, units in row.where:
                if row.ran and 0 <= node < len(self._group):
                    self._placed[node].append((row, units))

    def findings(self) -> list[Finding]:
        """All that is wrong."""
        found = list(self._identities())
        by_number = {row.number: row for row in self.rows}
        for job in self.jobs:
            if job.number in by_number:
                row = by_number[job.number]
                checks = (
                    *(self._asked, self._arrival, self._outcome, self._times),
                    *(self._placement, self._closed, self._searched),
                )
                found += [
                    Finding(rule, f"job {job.number} {text}") for check in checks for rule, text in check(job, row)
                ]
        found += self._overbooked()
        if self.promises.hard and self.desired is not None:
            found += self._above_the_wish()
            found += self._above_what_is_shared() if self.desired.split == "shared" else ()
        begin = min(job.submit for job in self.jobs)
        found += SwitchedNodes(self.platform, self.switching, self.downs, begin, self._placed).findings()
        return found

    def _capacity(self, node: int, kind: str) -> int:
        return self.platform.groups[self._group[node]].resources.get(kind, 0)

    def _kinds(self) -> list[str]:
        return list(dict.fromkeys(["cores", *(kind for group in self.platform.groups for kind in group.resources)]))

    def _wish(self, node: int, kind: str) -> list[tuple[int, int]]:
        """What is wished of a node: from when on, and how much; the first from ever."""
        capacity = self._capacity(node, kind)
        desired, place = self.desired, self._kinds().index(kind)
        if desired is None or desired.split == "shared":
            return [(EVER, capacity)]
        if (own := desired.nodes.get((node, place))) is not None:
            return [(time, min(value, capacity)) for time, value in steps_of(own)]
        if (whole := desired.machine.get(place)) is None:
            return [(EVER, capacity)]
        total = sum(self._capacity(other, kind) for other in range(len(self._group)))
        before = sum(self._capacity(other, kind) for other in range(node))
        mine = [other for other, group in enumerate(self._group) if group == self._group[node]]
        steps = []
        for time, value in steps_of(whole):
            given = min(value, total)
            if desired.split == "whole-nodes":
                steps.append((time, capacity if given >= before + capacity else 0))
            elif desired.split == "open-nodes":
                begun = -(-given * len(mine) // max(total, 1))
                steps.append((time, capacity if mine.index(node) < begun else 0))
            else:
                steps.append((time, given * (before + capacity) // max(total, 1) - given * before // max(total, 1)))
        return steps

    def _shared(self, kind: str) -> list[tuple[int, int]]:
        """What all nodes together may use, if they share it."""
        total = sum(self._capacity(node, kind) for node in range(len(self._group)))
        whole = None if self.desired is None else self.desired.machine.get(self._kinds().index(kind))
        if whole is None or self.desired.split != "shared":
            return [(EVER, total)]
        return [(time, min(value, total)) for time, value in steps_of(whole)]

    def _could_hold(self, job: ActualJob, *, wished: bool) -> int:
        """Units that the empty machine holds when all maintenance is over, with `wished` under the last wish."""
        if wished and not all(
            job.units * amount <= self._shared(kind)[-1][1]
            for kind, amount in zip(self._kinds(), job.request, strict=True) if amount
        ):  # fmt: skip
            return 0
        units = 0
        for node, group in enumerate(self._group):
            if job.groups >> group & 1:
                fits = [
                    min(self._capacity(node, kind), self._wish(node, kind)[-1][1] if wished else 1 << 60) // amount
                    for kind, amount in zip(self._kinds(), job.request, strict=True)
                    if amount
                ]
                units += min([*fits, 1] if self.promises.distinct else fits)
        return units

    def _identities(self) -> Iterator[Finding]:
        there = Counter(row.number for row in self.rows)
        for job in self.jobs:
            if job.number not in there:
                yield Finding("lost", f"job {job.number} was handed in and is not there")
        handed_in = {job.number for job in self.jobs}
        for number, times in there.items():
            if times > 1:
                yield Finding("doubled", f"job {number} is there {times} times")
            if number not in handed_in:
                yield Finding("unknown", f"job {number} was never handed in")

    def _asked(self, job: ActualJob, row: Row) -> Iterator[Finding]:
        """It is the job that was handed in."""
        said = (row.walltime, row.units, [row.request.get(kind, 0) for kind in self._kinds()])
        if said != (job.walltime, job.units, list(job.request)):
            yield Finding("altered", f"asks for {said}, and asked for something else when it was handed in")

    def _arrival(self, job: ActualJob, row: Row) -> Iterator[Finding]:
        """It comes when it is submitted, or so long after the job it follows; with it go earliest and latest start."""
        leaders = [other for other in self.rows if other.number == job.after]
        submit = job.submit
        if leaders and leaders[0].ran:
            submit = max(submit, leaders[0].finish + job.think)
        elif leaders:
            submit = max(submit, row.submit)  # nobody says when a job was rejected
        if row.submit != submit:
            yield Finding("arrival", f"arrives at {row.submit}, not at {submit}")
        latest = None if job.latest is None else job.latest + submit - job.submit
        if (row.earliest, row.latest) != (max(job.earliest, submit), latest):
            yield Finding("window", f"may start from {row.earliest} to {row.latest}, and came with another window")

    def _outcome(self, job: ActualJob, row: Row) -> Iterator[Finding]:
        """Killed are those that would run beyond their walltime, rejected those that nothing can ever hold."""
        if row.status == "rejected":
            if row.start is not None or row.finish is not None or row.where:
                yield Finding("rejected", "is rejected, yet has times or nodes")
            wished = self.promises.hard is not None and self.desired is not None
            if self._could_hold(job, wished=wished) >= job.units:
                yield Finding("rejected", "is rejected, yet the empty machine would hold it")
        elif row.status != ("killed" if job.runtime > job.walltime else "completed"):
            yield Finding("status", f"is {row.status} with runtime {job.runtime} and walltime {job.walltime}")
        elif not row.ran:
            yield Finding("status", "ran, yet has no start or no end")

    def _times(self, job: ActualJob, row: Row) -> Iterator[Finding]:
        if not row.ran:
            return
        if row.start < row.submit or row.start < row.earliest:
            yield Finding("early", f"starts at {row.start}, submitted at {row.submit}, earliest {row.earliest}")
        if row.finish - row.start != min(job.runtime, job.walltime):
            yield Finding("duration", f"runs from {row.start} to {row.finish}")
        grain = self.promises.grain
        if grain and (row.latest is None or row.start < row.latest) and (row.start - row.earliest) % grain:
            yield Finding("grid", f"starts at {row.start}, off the grid of {grain} s from {row.earliest} on")

    def _placement(self, job: ActualJob, row: Row) -> Iterator[Finding]:
        if not row.ran:
            return
        nodes = [node for node, _ in row.where]
        if sum(units for _, units in row.where) != job.units or any(units < 1 for _, units in row.where):
            yield Finding("units", f"has {row.where} instead of {job.units} units")
        if nodes != sorted(set(nodes)):
            yield Finding("nodes", f"is on {nodes}, not in order or twice on one")
        if any(not 0 <= node < len(self._group) for node in nodes):
            yield Finding("nodes", f"is on {nodes} of {len(self._group)} nodes")
        elif any(not job.groups >> self._group[node] & 1 for node in nodes):
            yield Finding("group", f"is on {nodes}, some of a group that may not run it")
        if self.promises.distinct and any(units > 1 for _, units in row.where):
            yield Finding("distinct", f"has several units on a node: {row.where}")

    def _closed(self, job: ActualJob, row: Row) -> Iterator[Finding]:
        """Whoever decides knows the walltime only: the whole of it must be over before maintenance."""
        for node, _ in row.where if row.ran else ():
            if 0 <= node < len(self._group):
                for since, until in closed_at(self.platform, node):
                    if row.start < until and row.start + job.walltime > since:
                        yield Finding(
                            "maintenance", f"is on node {node} at {row.start}, closed from {since} to {until}"
                        )

    def _searched(self, job: ActualJob, row: Row) -> Iterator[Finding]:
        """Later windows are searched by who finds no start in his own; who waits under a hard wish begins anew."""
        if row.ran and not 1 <= row.attempts <= (5 if self.promises.searches and job.latest is not None else 1):
            yield Finding("attempts", f"has searched {row.attempts} windows")
        if not row.ran or row.latest is None or row.start <= row.latest:
            return
        waits = self.promises.hard is not None and self.desired is not None
        if self.promises.searches and not waits and row.attempts == 1:
            yield Finding("late", f"starts at {row.start}, and has searched no window but the one to {row.latest}")
        if self._alone(row) and row.start >= row.latest + self.promises.step:
            yield Finding("late", f"starts at {row.start}, and the machine was empty till {row.latest}")

    def _alone(self, row: Row) -> bool:
        """Whether nothing but the job itself could keep it from a start in its window."""
        if self.desired is not None or self.downs or self.platform.maintenance:
            return False
        others = [other for other in self.rows if other.ran and other is not row]
        return all(other.finish <= row.submit or other.submit > row.latest for other in others)

    def _overbooked(self) -> Iterator[Finding]:
        """Goes through starts and ends; at one instant what ends goes first."""
        for node, placed in sorted(self._placed.items()):
            events = [
                (time, step, row, units)
                for row, units in placed
                for time, step in ((row.start, 1), (row.finish, -1))
                if row.finish > row.start
            ]
            used: Counter[str] = Counter()
            for time, step, row, units in sorted(events, key=lambda event: event[:2]):
                for kind, amount in row.request.items():
                    used[kind] += step * units * amount
                    if step > 0 and amount and used[kind] > self._capacity(node, kind):
                        yield Finding("capacity", f"node {node} at {time} holds {used[kind]} {kind} (job {row.number})")

    def _waited_for_a_boot(self, row: Row) -> bool:
        """Whether it was decided on before it starts, when its nodes are up."""
        nodes = {node for node, _ in row.where}
        return any(down.node in nodes and down.up == row.start for down in self.downs)

    def _above_what_is_shared(self) -> Iterator[Finding]:
        """At every start all who run then, each for its walltime, stay within what is shared from then on."""
        ran = [row for row in self.rows if row.ran]
        for start in sorted({row.start for row in ran}):
            running = [row for row in ran if row.start <= start < row.finish]
            for kind in self._kinds():
                if not any(row.start == start and row.request.get(kind) for row in running):
                    continue
                wish = self._shared(kind)
                for moment in [start, *(time for time, _ in wish if time > start)]:
                    used = sum(
                        units * row.request.get(kind, 0)
                        for row in running if moment < row.start + row.walltime
                        for _, units in row.where
                    )  # fmt: skip
                    if used > max(value_at(wish, moment), 0):
                        text = f"all hold {used} {kind} at {start} for {moment}, {value_at(wish, moment)} are shared"
                        yield Finding("hard", text)

    def _above_the_wish(self) -> Iterator[Finding]:
        """At every start who runs on the node then, each for its walltime, stays within the wish from then on."""
        for node, placed in sorted(self._placed.items()):
            for start in sorted({row.start for row, _ in placed}):
                running = [(row, units) for row, units in placed if row.start <= start < row.finish]
                for kind in self._kinds():
                    asked = any(
                        row.start == start and row.request.get(kind) and not self._waited_for_a_boot(row)
                        for row, _ in running
                    )
                    if not asked and self.promises.hard == "instant":
                        continue
                    wish = self._wish(node, kind)
                    moments = [start]
                    if self.promises.hard == "span":
                        moments += [time for time, _ in wish if time > start]
                    for moment in moments:
                        used = sum(
                            units * row.request.get(kind, 0)
                            for row, units in running
                            if moment < row.start + row.walltime
                        )
                        wished = max(value_at(wish, moment), 0)
                        if used > wished:
                            text = f"node {node} at {start} holds {used} {kind} for {moment}, {wished} are wished"
                            yield Finding("hard", text)
