"""Many task managers at once: on every rank node managers and task managers, rounds of many jobs under way together.

Up to `overlap` jobs are in flight, the first in (submit, number) order that are not placed. In a *wave* each of them
asks and is answered, all of the same state; then those that have picked claim, and every host takes the claims in the
order of jobs. Who is refused anywhere gives back what he holds and asks anew in the next wave. The first in order is
never refused, and its search ends: nothing starves; and nobody waits for anybody, so nothing deadlocks.

What is decided depends on `overlap` and, with samples, on the number of task managers (each knows what it has placed),
but not on ranks: with `overlap` 1 it is what turns in the order of jobs decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from dardis.engine.clock import cpu_ns, monotonic_s
from dardis.model.job import Job
from dardis.node_manager import NodePool
from dardis.sim.recorder import Recorder
from dardis.sim.simulation import Progress
from dardis.sim.spread import hosts_of
from dardis.task_manager import PlannedManager
from dardis.task_manager.shared_messages import taken_apart, together
from dardis.transport.peers import Batch, Peers
from dardis.wire.effects import ALL_HOSTS, Effect, Placed, Rejected, Send, Waiting
from dardis.wire.messages import Ask, Confirm, Ended, JointAsk, JointOffers, Message, Offers, Refused

Note = Callable[[Sequence[Send], Sequence[Message]], object]
"""Told what each job of the rank has sent in a wave, and what it was answered."""
MOST_ROWS_SAID = 1 << 20
"""Rows of offers (48 MiB) that are kept before they are told of: to tell takes time, best when all is over."""


@dataclass(slots=True)
class InFlight:
    """A job of this rank that is not placed yet: what it sends next, and what it claims in this wave."""

    effects: list[Effect]
    asked: list[Send] = field(default_factory=list)
    claim: Placed | None = None
    refused: bool = False


class Waves:
    """One rank's part of a run; job i is served by task manager i mod M, and that by rank i mod M mod R."""

    def __init__(
        self, jobs: Sequence[Job], managers: Sequence[PlannedManager], pool: NodePool, bounds: Sequence[int],
        peers: Peers, overlap: int, note: Note | None = None,
    ) -> None:  # fmt: skip
        """`managers` are all M, of which this rank uses its own; rank r holds the nodes [bounds[r], bounds[r + 1])."""
        self.jobs = jobs
        self._managers = managers
        self._pool = pool
        self._bounds = np.array(bounds)
        self._peers = peers
        self._overlap = overlap
        self._place = {job.number: place for place, job in enumerate(jobs)}
        self._flying: dict[int, InFlight] = {}
        self._ending: list[tuple[int, int]] = []
        self.placed: dict[int, Placed] = {}
        """What this rank's jobs have reserved, by place."""
        self.rejected: dict[int, str] = {}
        self.waves = 0
        self.refusals = 0
        self._note = note
        self._said: list[tuple[list[Send], list[Message]]] = []
        self._rows_said = 0
        self.noting_s = 0.0
        """Wall-clock time that `note` took, and CPU time."""
        self.noting_ns = 0
        self.cpu_ns = 0
        """CPU time inside the machines of this rank."""

    def run(self, progress: Progress | None = None) -> None:
        """Place all jobs. The clock stands at the submission of the first job in flight."""
        entered = settled = oldest = 0
        while settled < len(self.jobs):
            now = self.jobs[oldest].submit
            outgoing = self._end_until(now)
            begun = cpu_ns()
            following = min(settled + self._overlap, len(self.jobs))
            for place in range(entered, following):
                if self._rank_of(place) == self._peers.rank:
                    self._flying[place] = InFlight(self._manager(place).submit(self.jobs[place], now))
            self.cpu_ns += cpu_ns() - begun
            entered = following
            mine = self._wave(outgoing, now)
            everybody = self._peers.share(mine, min(self._flying, default=entered))
            settled += int(everybody[:, 0].sum())
            oldest = int(everybody[:, 1].min())
            self.waves += 1
            if self._rows_said > MOST_ROWS_SAID:
                self.tell()
            if progress is not None:
                progress(settled, len(self.jobs))

    def tell(self) -> None:
        """Tell `note` what has been said since it was told last."""
        begun, spent = monotonic_s(), cpu_ns()
        if self._note is not None:
            for sends, answers in self._said:
                self._note(sends, answers)
        self._said.clear()
        self._rows_said = 0
        self.noting_s += monotonic_s() - begun
        self.noting_ns += cpu_ns() - spent

    def _end_until(self, now: int) -> list[Batch]:
        """Let jobs of this rank end that have run; what is to be told of it, by rank."""
        outgoing: list[Batch] = [[] for _ in range(self._peers.size)]
        while self._ending and self._ending[0][0] <= now:
            place = heappop(self._ending)[1]
            number = self.jobs[place].number
            self._manager(place).forget(number)
            for host in hosts_of(self.placed[place].nodes, self._bounds):
                outgoing[host].append((number, Ended(number, 0)))
        return outgoing

    def _wave(self, freed: list[Batch], now: int) -> int:
        """Let all in flight ask, be answered, and claim; return how many of this rank's jobs are settled by it."""
        asks: list[list[Ask]] = [[] for _ in range(self._peers.size)]
        for place, flying in self._flying.items():
            self._post(place, flying, freed, asks)
        outgoing = [
            [*first, *((_first_job(ask), ask) for ask in together(then))]
            for first, then in zip(freed, asks, strict=True)
        ]
        answers = self._serve(self._peers.exchange(outgoing), now)
        claims = self._decide(self._peers.exchange(answers), now)
        verdicts = self._judge(self._peers.exchange(claims), now)
        for number, _ in self._peers.exchange(verdicts):
            self._flying[self._place[number]].refused = True
        return self._settle(now)

    def _post(self, place: int, flying: InFlight, letters: list[Batch], asks: list[list[Ask]] | None) -> None:
        """Sort what a job sends by host, and note what it claims, or that it can't run."""
        number = self.jobs[place].number
        for effect in flying.effects:
            match effect:
                case Send(to=to, message=Ask() as ask) if asks is not None:
                    flying.asked.append(effect)
                    for host in range(self._peers.size) if to == ALL_HOSTS else (to,):
                        asks[host].append(ask)
                case Send(to=host, message=message):
                    letters[host].append((number, message))
                case Placed():
                    flying.claim = effect
                case Rejected(reason=reason) | Waiting(reason=reason):
                    self.rejected[place] = reason
        flying.effects = []

    def _serve(self, batch: Batch, now: int) -> list[Batch]:
        """Let this rank's nodes take what was sent: first what frees something. What they answer, by rank."""
        answers: list[Batch] = [[] for _ in range(self._peers.size)]
        begun = cpu_ns()
        for number, message in sorted(batch, key=lambda about: isinstance(about[1], Ask | JointAsk)):
            home = answers[self._rank_of(self._place[number])]
            home += [(number, said.message) for said in self._pool.handle(message, now) if isinstance(said, Send)]
        self.cpu_ns += cpu_ns() - begun
        return answers

    def _decide(self, batch: Batch, now: int) -> list[Batch]:
        """Let this rank's task managers take the answers; what they claim, by rank. Asks wait for the next wave."""
        begun = cpu_ns()
        heard: dict[int, list[Message]] = {}
        for number, message in batch:
            if isinstance(message, JointOffers):
                for job, offers in taken_apart(message):
                    heard.setdefault(self._place[job], []).append(offers)
            else:
                heard.setdefault(self._place[number], []).append(message)
        # In the order of jobs, not of who answered: what one reserves is a hint to the next one's sample.
        for place in sorted(heard):
            for answer in heard[place]:
                self._flying[place].effects += self._manager(place).handle(answer, now)
        self.cpu_ns += cpu_ns() - begun
        claims: list[Batch] = [[] for _ in range(self._peers.size)]
        for place, flying in self._flying.items():
            said = heard.get(place, [])
            self._said.append((flying.asked, said))
            self._rows_said += sum(len(answer.rows) for answer in said if isinstance(answer, Offers))
            flying.asked = []
            if any(isinstance(effect, Placed | Rejected | Waiting) for effect in flying.effects):
                self._said.append(([effect for effect in flying.effects if isinstance(effect, Send)], []))
                self._post(place, flying, claims, None)
        return claims

    def _judge(self, claims: Batch, now: int) -> list[Batch]:
        """Let this rank's nodes take claims in the order of jobs, one a node; who is refused, by rank.

        A node that a job before has claimed is refused even if that one is refused elsewhere: so what is decided does
        not depend on who holds which nodes.
        """
        verdicts: list[Batch] = [[] for _ in range(self._peers.size)]
        begun = cpu_ns()
        claimed: set[int] = set()
        for number, message in sorted(claims, key=lambda about: self._place[about[0]]):
            assert isinstance(message, Confirm)
            nodes = message.nodes.tolist()
            said: list[Effect] = []
            if claimed.isdisjoint(nodes):
                said = self._pool.handle(message, now)
            else:
                said = [Send(number, Refused(number, message.attempt, self._peers.rank))]
            claimed.update(nodes)
            home = verdicts[self._rank_of(self._place[number])]
            home += [(number, refusal.message) for refusal in said if isinstance(refusal, Send)]
        self.cpu_ns += cpu_ns() - begun
        return verdicts

    def _settle(self, now: int) -> int:
        """Who has claimed is placed, or gives back what he holds and will ask anew; return how many are settled."""
        settled = 0
        for place, flying in list(self._flying.items()):
            if flying.claim is not None and flying.refused:
                self.refusals += 1
                begun = cpu_ns()
                again = self._manager(place).refused(self.jobs[place].number, now)
                self.cpu_ns += cpu_ns() - begun
                self._flying[place] = InFlight(again)
                continue
            if flying.claim is not None:
                self.placed[place] = flying.claim
                heappush(self._ending, (flying.claim.start + self.jobs[place].duration, place))
            if flying.claim is not None or place in self.rejected:
                del self._flying[place]
                settled += 1
        return settled

    def _manager(self, place: int) -> PlannedManager:
        return self._managers[place % len(self._managers)]

    def _rank_of(self, place: int) -> int:
        return place % len(self._managers) % self._peers.size

    def record(self) -> Recorder | None:
        """What became of all jobs, on rank 0; None elsewhere. All ranks call it."""
        rows = [[place, placed.start, placed.nodes, placed.units] for place, placed in sorted(self.placed.items())]
        gathered = self._peers.gather([rows, [[place, reason] for place, reason in self.rejected.items()]])
        if gathered is None:
            return None
        recorder = Recorder(len(self.jobs))
        for placed_rows, rejected in gathered:
            for place, start, nodes, units in placed_rows:
                recorder.placed(place, start, nodes, units)
                recorder.ended(place, start + self.jobs[place].duration)
            for place, reason in rejected:
                recorder.rejected(place, reason)
        return recorder


def _first_job(ask: Ask | JointAsk) -> int:
    """A job that the message is about: all are of one rank."""
    return int((ask.ask if isinstance(ask, JointAsk) else ask).job[0])
