"""Overlapped rounds in virtual time, in waves.

`turns.overlapped` decides. Decisions depend on jobs in flight, and with samples on the number of task managers, not on
ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from dardis.engine.clock import cpu_ns, monotonic_s
from dardis.model.addresses import ONLY_MANAGER, Address, HostId, JobId
from dardis.model.errors import ProtocolError
from dardis.model.job import ActualJob
from dardis.node_manager import NodePool
from dardis.node_manager.relay import process_claims, process_queries
from dardis.sim.recorder import Recorder
from dardis.sim.simulation import Progress
from dardis.task_manager.local_rounds import join_queries, split_offers
from dardis.transport.base import receivers
from dardis.transport.local_transport import Interpreter
from dardis.transport.peers import Batch, Peers
from dardis.turns import OverlappedTurns
from dardis.wire.effects import Placed, SendToManager, ToHosts, ToManagers
from dardis.wire.messages import Confirm, JointOffers, JointQuery, Message, OfferQuery, Offers, Release, UnitsEnded

Note = Callable[[Sequence[ToHosts], Sequence[Message]], object]
"""Called with messages and answers."""
MOST_ROWS_SENT = 1 << 20
"""Offer rows (48 MiB) kept before calls of `note`."""


class OverlappedRounds:
    """One rank's part of a run. Task manager i mod M serves job i, on rank i mod M mod R."""

    def __init__(
        self, jobs: Sequence[ActualJob], turns: OverlappedTurns, pool: NodePool, peers: Peers, note: Note | None = None
    ) -> None:
        """`turns`: of all M task managers. `pool`: the nodes of this rank."""
        self.jobs = jobs
        self._turns = turns
        self._pool = pool
        self._peers = peers
        self._host = HostId(peers.rank)
        self._place = {job.number: place for place, job in enumerate(jobs)}
        self._ending: list[tuple[int, int]] = []
        self.placed: dict[int, Placed] = {}
        """Reservations of this rank's jobs, by place."""
        self.rejected: dict[int, str] = {}
        self.waves = 0
        self._note = note
        self._said: list[tuple[list[ToHosts], list[Message]]] = []
        self._rows_said = 0
        self.noting_s = 0.0
        """Wall-clock and CPU time of `note`."""
        self.noting_ns = 0
        self.cpu_ns = 0
        """CPU time of this rank's machines."""
        self._interpreter = Interpreter(self)
        self._letters: list[Batch] = []
        self._asks: list[list[OfferQuery]] = []

    @property
    def refusals(self) -> int:
        """Refused claims of this rank's jobs."""
        return self._turns.refusals

    def run(self, progress: Progress | None = None) -> None:
        """Place all jobs. The time is the submission of the first job in flight."""
        entered = settled = oldest = 0
        while settled < len(self.jobs):
            now = self.jobs[oldest].submit
            self._letters = self._blank()
            self._end_until(now)
            begun = cpu_ns()
            following = min(self._turns.last_in_flight(settled), len(self.jobs))
            for place in range(entered, following):
                if self._rank_of(place) == self._peers.rank:
                    self._turns.on_submit(self.jobs[place].job, place, now)
            self.cpu_ns += cpu_ns() - begun
            entered = following
            mine = self._wave(now)
            everybody = self._peers.gather_all(mine, self._turns.oldest(entered))
            settled += int(everybody[:, 0].sum())
            oldest = int(everybody[:, 1].min())
            self.waves += 1
            if self._rows_said > MOST_ROWS_SENT:
                self.report_messages()
            if progress is not None:
                progress(settled, len(self.jobs))

    def report_messages(self) -> None:
        """Report new messages to `note`."""
        begun, spent = monotonic_s(), cpu_ns()
        if self._note is not None:
            for sends, answers in self._said:
                self._note(sends, answers)
        self._said.clear()
        self._rows_said = 0
        self.noting_s += monotonic_s() - begun
        self.noting_ns += cpu_ns() - spent

    def _blank(self) -> list[Batch]:
        return [[] for _ in range(self._peers.size)]

    def _end_until(self, now: int) -> None:
        while self._ending and self._ending[0][0] <= now:
            place = heappop(self._ending)[1]
            self._interpreter.perform(ONLY_MANAGER, self._turns.on_job_end(self.jobs[place].number, place), now)

    def _wave(self, now: int) -> int:
        self._asks = [[] for _ in range(self._peers.size)]
        self._interpreter.perform(ONLY_MANAGER, self._turns.begin(), now)
        outgoing = [
            [*first, *((_first_job(ask), ask) for ask in join_queries(then))]
            for first, then in zip(self._letters, self._asks, strict=True)
        ]
        answers = self._serve(self._peers.exchange(outgoing), now)
        claims = self._decide(self._peers.exchange(answers), now)
        verdicts = self._judge(self._peers.exchange(claims), now)
        for number, _ in self._peers.exchange(verdicts):
            self._turns.on_refused_claim(self._place[number])
        return self._settle(now)

    def send(self, who: Address, said: ToHosts, now: int) -> None:  # noqa: ARG002
        """Collect messages to hosts."""
        for host in receivers(said, self._peers.size):
            if isinstance(said.message, OfferQuery):
                self._asks[host].append(said.message)
            else:
                self._letters[host].append((_about(said.message), said.message))

    def send_to_managers(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002
        """Collect messages to jobs."""
        if not isinstance(said, SendToManager):  # no tree and no publications here
            raise ProtocolError(f"host {who} sent {type(said.message).__name__} to no job")
        self._letters[self._rank_of(self._place[said.job])].append((said.job, said.message))

    def _serve(self, batch: Batch, now: int) -> list[Batch]:
        self._letters = self._blank()
        begun = cpu_ns()
        for said in process_queries(self._pool, [message for _, message in batch], now):
            self._interpreter.perform(self._host, said, now)
        self.cpu_ns += cpu_ns() - begun
        return self._letters

    def _decide(self, batch: Batch, now: int) -> list[Batch]:
        begun = cpu_ns()
        heard: dict[int, list[Message]] = {}
        for number, message in batch:
            if isinstance(message, JointOffers):
                for job, offers in split_offers(message):
                    heard.setdefault(self._place[job], []).append(offers)
            else:
                heard.setdefault(self._place[number], []).append(message)
        self._turns.deliver_answers(heard, now)
        self.cpu_ns += cpu_ns() - begun
        for place, asks in self._turns.queries():
            said = heard.get(place, [])
            self._said.append((asks, said))
            self._rows_said += sum(len(answer.rows) for answer in said if isinstance(answer, Offers))
        self._letters = self._blank()
        for claims in self._turns.claims():
            self._said.append((claims, []))
            self._interpreter.perform(ONLY_MANAGER, claims, now)
        return self._letters

    def _judge(self, batch: Batch, now: int) -> list[Batch]:
        self._letters = self._blank()
        claims = [message for _, message in sorted(batch, key=lambda about: self._place[about[0]])]
        begun = cpu_ns()
        for said in process_claims(self._pool, claims, now):
            self._interpreter.perform(self._host, said, now)
        self.cpu_ns += cpu_ns() - begun
        return self._letters

    def _settle(self, now: int) -> int:
        begun = cpu_ns()
        settled = self._turns.settle(now)
        self.cpu_ns += cpu_ns() - begun
        for place, flying in settled.items():
            if flying.rejected is not None:
                self.rejected[place] = flying.rejected
            if flying.claim is not None:
                self.placed[place] = flying.claim
                heappush(self._ending, (flying.claim.start + self.jobs[place].duration, place))
        return len(settled)

    def _rank_of(self, place: int) -> int:
        return self._turns.manager_of(place) % self._peers.size

    def record(self) -> Recorder | None:
        """Record on rank 0, else None. Collective."""
        rows = [[place, placed.start, placed.nodes, placed.units] for place, placed in sorted(self.placed.items())]
        gathered = self._peers.gather([rows, [[place, reason] for place, reason in self.rejected.items()]])
        if gathered is None:
            return None
        recorder = Recorder(len(self.jobs))
        for placed_rows, rejected in gathered:
            for place, start, nodes, units in placed_rows:
                recorder.record_placement(place, start, nodes, units)
                recorder.record_end(place, start + self.jobs[place].duration)
            for place, reason in rejected:
                recorder.record_rejection(place, reason)
        return recorder


def _about(message: Message) -> JobId:
    assert isinstance(message, Confirm | Release | UnitsEnded)
    return message.job


def _first_job(ask: OfferQuery | JointQuery) -> JobId:
    return JobId(int((ask.query if isinstance(ask, JointQuery) else ask).job[0]))
